#include "client/cpp/method_key.h"

#include <set>

#include "client/cpp/error.h"
#include "client/cpp/idempotent_method.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onced::client {
namespace {

using testing::HasSubstr;

absl::StatusOr<std::optional<std::string>> Read(const std::vector<std::string>& values) {
  std::multimap<grpc::string_ref, grpc::string_ref> metadata{{"other-key", "x"}};
  for (const std::string& value : values) {
    metadata.emplace(kKeyMetadata, grpc::string_ref(value.data(), value.size()));
  }
  return ReadKey(metadata);
}

// INVALID_ARGUMENT with one violation of the metadata that says `problem`.
void ExpectViolation(const absl::Status& status, const std::string& reason,
                     const std::string& problem) {
  const ErrorDetails details = DetailsOf(status);
  EXPECT_EQ(details.code, absl::StatusCode::kInvalidArgument) << status;
  EXPECT_EQ(details.domain, kMethodDomain) << status;
  EXPECT_EQ(details.reason, reason) << status;
  ASSERT_EQ(details.violations.size(), 1u) << status;
  EXPECT_EQ(details.violations[0].field, kKeyMetadata);
  EXPECT_THAT(details.violations[0].description, HasSubstr(problem));
  EXPECT_THAT(details.message, HasSubstr(problem));
}

TEST(MethodKey, ReadsBareAndQuotedAlike) {
  const struct {
    const char* name;
    const char* value;
    const char* want;
  } kRows[] = {
      {"bare", "order-1", "order-1"},
      {"quoted", "\"order-1\"", "order-1"},
      {"spaces_around", "  order-1 ", "order-1"},
      {"spaces_around_quotes", " \"order-1\"  ", "order-1"},
      {"one", "1", "1"},
      {"all_kinds", "!#$%&'()*+-./:;<=>?@[]^_`{|}~\\", "!#$%&'()*+-./:;<=>?@[]^_`{|}~\\"},
      {"quoted_spaces", "\" a b \"", " a b "},
      {"quoted_comma", "\"a,b\"", "a,b"},
      {"quoted_quote", R"("a\"b")", "a\"b"},
      {"quoted_backslash", R"("a\\b")", "a\\b"},
      {"same_as_bare", R"(a\b)", "a\\b"},
      {"only_a_quote", R"("\"")", "\""},
      {"slash", "a/b", "a/b"},
  };
  for (const auto& row : kRows) {
    const auto key = Read({row.value});
    ASSERT_TRUE(key.ok()) << row.name << " " << key.status();
    EXPECT_EQ(key->value_or("none"), row.want) << row.name;
  }
}

TEST(MethodKey, RefusesWhatIsMalformed) {
  const char* const kBare = "visible ASCII";
  const char* const kQuoted = "RFC 8941";
  const struct {
    const char* name;
    std::vector<std::string> values;
    const char* problem;
  } kRows[] = {
      {"empty", {""}, "empty"},
      {"spaces", {"   "}, "empty"},
      {"empty_string", {"\"\""}, "empty"},
      {"two", {"a", "b"}, "more than one"},
      {"the_same_twice", {"a", "a"}, "more than one"},
      {"two_joined", {"a, b"}, kBare},
      {"two_joined_without_space", {"a,b"}, kBare},
      {"two_quoted_joined", {"\"a\", \"b\""}, kQuoted},
      {"space_inside", {"a b"}, kBare},
      {"tab_before", {"\ta"}, kBare},
      {"quote_inside", {"a\"b"}, kBare},
      {"quote_at_the_end", {"a\""}, kBare},
      {"control", {"a\x01"}, kBare},
      {"newline", {"a\nb"}, kBare},
      {"del", {"a\x7f"}, kBare},
      {"zero", {std::string("a\0b", 3)}, kBare},
      {"utf8", {"\xc3\xa4"}, kBare},
      {"no_end", {"\"a"}, kQuoted},
      {"one_quote", {"\""}, kQuoted},
      {"after_the_end", {"\"a\"b"}, kQuoted},
      {"parameters", {"\"a\";v=1"}, kQuoted},
      {"escaped_end", {"\"a\\\""}, kQuoted},
      {"ends_in_backslash", {"\"a\\"}, kQuoted},
      {"other_escape", {"\"a\\n\""}, kQuoted},
      {"quoted_control", {"\"a\x1f\""}, kQuoted},
      {"quoted_tab", {"\"a\tb\""}, kQuoted},
      {"quoted_del", {"\"\x7f\""}, kQuoted},
      {"quoted_utf8", {"\"\xc3\xa4\""}, kQuoted},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.name);
    const auto key = Read(row.values);
    ASSERT_FALSE(key.ok()) << key->value_or("none");
    ExpectViolation(key.status(), "IDEMPOTENCY_KEY_INVALID", row.problem);
  }
}

TEST(MethodKey, IsNothingWhereThereIsNone) {
  ASSERT_TRUE(Read({}).ok());
  EXPECT_FALSE(Read({})->has_value());
  ExpectViolation(KeyMissing(), "IDEMPOTENCY_KEY_REQUIRED", "required");
}

// ---- With the scope ----

TEST(MethodKey, StaysWithinItsScope) {
  EXPECT_EQ(JoinKey("acme", "order/1").value(), "acme/order/1");
  EXPECT_EQ(JoinKey("acme/eu 5%", "k").value(), "acme%2Feu 5%25/k");
  const std::vector<std::string> kTexts = {"a",   "/",   "%",     "a/",    "/a", "a/a",
                                           "%2F", "%25", "%252F", "a%2Fa", "//", "%2f"};
  std::set<std::string> names;
  for (const std::string& scope : kTexts) {
    for (const std::string& key : kTexts) names.insert(JoinKey(scope, key).value());
  }
  EXPECT_EQ(names.size(), kTexts.size() * kTexts.size());
}

TEST(MethodKey, HasTheRoomThatItsScopeLeaves) {
  const auto text = [](int size) { return std::string(size, 'x'); };
  EXPECT_EQ(JoinKey(text(250), text(5)).value().size(), 256u);
  ExpectViolation(JoinKey(text(250), text(6)).status(), "IDEMPOTENCY_KEY_INVALID",
                  "6 bytes; at most 5");
  EXPECT_EQ(JoinKey("a", text(254)).value().size(), 256u);
  ExpectViolation(JoinKey("a", text(255)).status(), "IDEMPOTENCY_KEY_INVALID",
                  "255 bytes; at most 254");
  // Escaped, it takes more.
  EXPECT_EQ(JoinKey("///", text(246)).value().size(), 256u);
  ExpectViolation(JoinKey("///", text(247)).status(), "IDEMPOTENCY_KEY_INVALID", "at most 246");
  EXPECT_TRUE(JoinKey(text(254), "k").ok());
}

TEST(MethodKey, RefusesAScopeThatLeavesNoRoomOrIsNone) {
  for (const std::string& scope : {std::string(), std::string(255, 'x'), std::string(86, '/')}) {
    const ErrorDetails details = DetailsOf(JoinKey(scope, "k").status());
    EXPECT_EQ(details.code, absl::StatusCode::kInternal) << scope;
    EXPECT_EQ(details.reason, "IDEMPOTENCY_REFUSED") << scope;
    EXPECT_TRUE(details.violations.empty()) << scope;
  }
}

}  // namespace
}  // namespace onced::client
