#include "server/ledger/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onced {
namespace {

TEST(PolicyTable, NumbersWhatIsListedInTheOrderOfNames) {
  const PolicyTable table({{"b", {}}, {"a", {}}, {"c", {}}}, Policy{});
  EXPECT_THAT(table.Names(), testing::ElementsAre("a", "b", "c"));
  EXPECT_EQ(table.Find("a")->listed_as, NamespaceId{1});
  EXPECT_EQ(table.Find("b")->listed_as, NamespaceId{2});
  EXPECT_EQ(table.Find("c")->listed_as, NamespaceId{3});
  EXPECT_EQ(table.Find("any other")->listed_as, NamespaceId{});
}

TEST(PolicyTable, HasNoNamesWhereNoneIsListed) {
  EXPECT_THAT(PolicyTable({}, Policy{}).Names(), testing::IsEmpty());
  EXPECT_EQ(PolicyTable({}, std::nullopt).Find("any"), nullptr);
}

}  // namespace
}  // namespace onced
