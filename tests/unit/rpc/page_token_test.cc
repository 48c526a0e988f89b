// Tokens of pages: what comes out is what went in, and nothing else comes out.
#include "server/rpc/page_token.h"

#include <random>
#include <string>

#include "gtest/gtest.h"

namespace onced {
namespace {

const StoreIdentity kStore{.shards = 16, .hash_seed = {1, 2, 3}, .epoch = {7}};
const ListFilter kFilter{.name_space = "ns", .key_prefix = "a", .states = {State::kLapsed}};

TEST(PageTokens, ComeBackAsTheyWere) {
  const PageTokens tokens("List", kStore, kFilter);
  for (const ListPosition& position :
       {ListPosition{0, ""}, ListPosition{15, "key"},
        ListPosition{3, std::string("\xff\x01 /+", 5)}, ListPosition{1, std::string(256, 'k')}}) {
    const std::string text = tokens.ToText(position);
    EXPECT_EQ(
        text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
        std::string::npos);
    EXPECT_EQ(tokens.FromText(text), position);
  }
}

TEST(PageTokens, AreOfOneListAlone) {
  const std::string token = PageTokens("List", kStore, kFilter).ToText({1, "key"});
  const auto of = [&](const char* method, const StoreIdentity& store, const ListFilter& filter) {
    return PageTokens(method, store, filter).FromText(token);
  };
  EXPECT_TRUE(of("List", kStore, kFilter).has_value());
  EXPECT_FALSE(of("EvictNamespace", kStore, kFilter).has_value());
  StoreIdentity store = kStore;
  store.epoch.value = 8;
  EXPECT_FALSE(of("List", store, kFilter).has_value()) << "restored";
  store = kStore;
  store.hash_seed[15] = 1;
  EXPECT_FALSE(of("List", store, kFilter).has_value()) << "another store";
  for (const ListFilter& filter :
       {ListFilter{"ns2", "a", {State::kLapsed}}, ListFilter{"ns", "", {State::kLapsed}},
        ListFilter{"nsa", "", {State::kLapsed}}, ListFilter{"ns", "a", {}},
        ListFilter{"ns", "a", {State::kLapsed, State::kPending}}}) {
    EXPECT_FALSE(of("List", kStore, filter).has_value());
  }
}

TEST(PageTokens, RefuseWhatTheyDidNotMake) {
  const PageTokens tokens("List", kStore, kFilter);
  const std::string token = tokens.ToText({15, "key"});
  for (std::size_t n = 0; n < 16; ++n) {
    EXPECT_FALSE(tokens.FromText(token.substr(0, n)).has_value()) << n;
  }
  for (const char* more : {"!", "=", " ", "\n", "."}) {
    EXPECT_FALSE(tokens.FromText(token + more).has_value()) << more;
  }
  EXPECT_FALSE(tokens.FromText(tokens.ToText({16, "key"})).has_value());
  EXPECT_FALSE(tokens.FromText(tokens.ToText({0, std::string(257, 'k')})).has_value());
  std::mt19937_64 random(5);
  for (int i = 0; i < 2'000; ++i) {
    std::string junk(random() % 40, ' ');
    for (char& c : junk) c = static_cast<char>(random());
    EXPECT_FALSE(tokens.FromText(junk).has_value());
  }
}

}  // namespace
}  // namespace onced
