// Who may do what, by name and namespace: every kind of entry.
#include "server/ledger/access.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace onced {
namespace {

constexpr Rights kUse{.use = true};
constexpr Rights kInspect{.inspect = true};
constexpr Rights kAdmin{.admin = true};
constexpr Rights kAll{.use = true, .inspect = true, .admin = true};
constexpr Right kRights[] = {Right::kUse, Right::kInspect, Right::kAdmin};

std::vector<AccessList::Entry> Entries() {
  return {{"token:shop", {"shop", "shop-*"}, kUse},
          {"token:shop", {"shop"}, kInspect},
          {"token:admin", {"*"}, kAll},
          {"token:almost", {"a*"}, kAdmin},
          {"spiffe://prod/ns/shop/*", {"shop"}, kUse},
          {"spiffe://prod/ns/shop/sa/pay", {"pay"}, kUse},
          {"dns:pay.prod.internal", {"pay"}, kUse}};
}

const struct {
  const char* name;
  std::vector<std::string> names;
  Right right;
  const char* name_space;
  bool allowed;
} kRows[] = {
    {"own", {"token:shop"}, Right::kUse, "shop", true},
    {"by_beginning", {"token:shop"}, Right::kUse, "shop-eu", true},
    {"the_beginning_itself", {"token:shop"}, Right::kUse, "shop-", true},
    {"longer_than_own", {"token:shop"}, Right::kUse, "shop2", false},
    {"shorter_than_own", {"token:shop"}, Right::kUse, "sho", false},
    {"in_capitals", {"token:shop"}, Right::kUse, "SHOP", false},
    {"of_others", {"token:shop"}, Right::kUse, "pay", false},
    {"second_entry", {"token:shop"}, Right::kInspect, "shop", true},
    {"second_entry_elsewhere", {"token:shop"}, Right::kInspect, "shop-eu", false},
    {"right_not_given", {"token:shop"}, Right::kAdmin, "shop", false},
    {"everywhere", {"token:admin"}, Right::kAdmin, "whatever", true},
    {"nobody", {}, Right::kUse, "shop", false},
    {"unknown", {"token:mallory"}, Right::kUse, "shop", false},
    {"name_in_part", {"token:sho"}, Right::kUse, "shop", false},
    {"of_another_kind", {"dns:shop"}, Right::kUse, "shop", false},
    {"below", {"spiffe://prod/ns/shop/sa/checkout"}, Right::kUse, "shop", true},
    {"just_below", {"spiffe://prod/ns/shop/x"}, Right::kUse, "shop", true},
    {"not_itself", {"spiffe://prod/ns/shop"}, Right::kUse, "shop", false},
    {"empty_below", {"spiffe://prod/ns/shop/"}, Right::kUse, "shop", false},
    {"beside", {"spiffe://prod/ns/shop2/sa/checkout"}, Right::kUse, "shop", false},
    {"other_domain", {"spiffe://test/ns/shop/sa/checkout"}, Right::kUse, "shop", false},
    {"up_again", {"spiffe://prod/ns/shop/../pay/sa/x"}, Right::kUse, "shop", false},
    {"up_at_the_end", {"spiffe://prod/ns/shop/.."}, Right::kUse, "shop", false},
    {"encoded", {"spiffe://prod/ns/shop/%2e%2e/x"}, Right::kUse, "shop", false},
    {"doubled", {"spiffe://prod/ns/shop//x"}, Right::kUse, "shop", false},
    {"star", {"spiffe://prod/ns/shop/*"}, Right::kUse, "shop", false},
    {"exact_beside_below", {"spiffe://prod/ns/shop/sa/pay"}, Right::kUse, "pay", true},
    {"below_beside_exact", {"spiffe://prod/ns/shop/sa/pay"}, Right::kUse, "shop", true},
    {"dns", {"dns:pay.prod.internal"}, Right::kUse, "pay", true},
    {"any_of_several", {"dns:other", "token:shop"}, Right::kUse, "shop", true},
    {"none_of_several", {"dns:other", "token:shop"}, Right::kUse, "pay", false},
};

TEST(AccessList, AllowsWhatAnEntrySays) {
  const AccessList list(Entries());
  for (const auto& row : kRows) {
    EXPECT_EQ(list.GrantsOf(row.names).Allow(row.right, row.name_space), row.allowed) << row.name;
  }
}

TEST(AccessList, OnlyAStarIsEverywhere) {
  const AccessList list(Entries());
  for (const Right right : kRights) {
    EXPECT_TRUE(list.GrantsOf({{"token:admin"}}).AllowEverywhere(right));
    EXPECT_FALSE(list.GrantsOf({{"token:shop"}}).AllowEverywhere(right));
    EXPECT_FALSE(list.GrantsOf({}).AllowEverywhere(right));
  }
  EXPECT_FALSE(list.GrantsOf({{"token:almost"}}).AllowEverywhere(Right::kAdmin));
  EXPECT_TRUE(list.GrantsOf({{"token:almost"}}).Allow(Right::kAdmin, "accounts"));
}

TEST(AccessList, AnyNamespaceIsSomewhere) {
  const AccessList list({{"ops", {"mine*"}, {.admin = true}}, {"app", {"*"}, {.use = true}}});
  EXPECT_TRUE(list.GrantsOf({{"ops"}}).AllowSomewhere(Right::kAdmin));
  EXPECT_FALSE(list.GrantsOf({{"ops"}}).AllowSomewhere(Right::kUse));
  EXPECT_FALSE(list.GrantsOf({{"app"}}).AllowSomewhere(Right::kAdmin));
  EXPECT_FALSE(list.GrantsOf({}).AllowSomewhere(Right::kAdmin));
}

TEST(AccessList, AnEmptyOneAllowsNothing) {
  const AccessList list;
  EXPECT_TRUE(list.empty());
  EXPECT_FALSE(list.GrantsOf({{"token:shop"}, {"*"}, {""}}).Allow(Right::kUse, "shop"));
}

}  // namespace
}  // namespace onced
