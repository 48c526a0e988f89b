#include "client/cpp/fingerprint.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onced::client {
namespace {

// Made by another implementation: it is stable, or requests of before an upgrade mismatch.
TEST(Fingerprint, HasKnownValues) {
  EXPECT_EQ(Fingerprint({}),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(RequestFingerprint("POST", "/charges", R"({"amount":1})"),
            "sha256:b556db435c4eb618e7acaca2e3a1050676f9d5773c1ee1917fbd8fde52c4d9a8");
}

TEST(Fingerprint, DiffersWhereTheFieldsDo) {
  const std::initializer_list<std::string_view> kLists[] = {
      {},
      {""},
      {"", ""},
      {"", "", ""},
      {"ab", "c"},
      {"a", "bc"},
      {"abc"},
      {"abc", ""},
      {"", "abc"},
      {"c", "ab"},
      {std::string_view("\0\0\0\0\0\0\0\0", 8)},
      {std::string_view("a\1\0\0\0\0\0\0\0b", 10)},
      {"a", "b"},
  };
  std::set<std::string> seen;
  for (const auto& list : kLists) EXPECT_TRUE(seen.insert(Fingerprint(list)).second);
}

TEST(RequestFingerprint, IsOfAllThree) {
  EXPECT_EQ(RequestFingerprint("POST", "/a", "b"), Fingerprint({"POST", "/a", "b"}));
  EXPECT_LE(RequestFingerprint("POST", "/a", "b").size(), 128u);
}

TEST(JsonRequestFingerprint, IsOfWhatTheBodyMeans) {
  const auto of = [](std::string_view body) {
    return JsonRequestFingerprint("POST", "/charges", body).value_or("refused");
  };
  EXPECT_EQ(of(R"({"amount":1,"to":"é"})"),
            "sha256:fb2cddbcf76c8c6e0e94ad06ad207f536be1add147e2ad52b85dd9e5d65fb528");
  EXPECT_EQ(of(R"({"amount":1,"to":"é"})"),
            RequestFingerprint("POST", "/charges", R"({"amount":1,"to":"é"})"));
  EXPECT_EQ(of("{ \"to\": \"\\u00e9\",\n \"amount\": 1.0 }"), of(R"({"amount":1,"to":"é"})"));
  EXPECT_NE(of(R"({"amount":"1","to":"é"})"), of(R"({"amount":1,"to":"é"})"));
}

TEST(JsonRequestFingerprint, IsOfJsonOnly) {
  for (const char* body : {"", "amount=1", R"({"amount":9007199254740993})"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(JsonRequestFingerprint("POST", "/", body).status()))
        << body;
  }
}

}  // namespace
}  // namespace onced::client
