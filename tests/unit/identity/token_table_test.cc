// The token file: every line that it may have, and every one that it may not.
#include "server/identity/token_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/base/bytes.h"

namespace onced {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const std::string kToken = "a-token-of-a-test";
const std::string kOther = "another-token-of-it";

std::string DigestOf(const std::string& token) {
  return absl::StrCat("sha256:", ToHex(Sha256(token)));
}

// ---- Lines ----

const struct {
  const char* name;
  std::string line;
  absl::Time not_after = absl::InfiniteFuture();
} kGood[] = {
    {"plain", "batch " + DigestOf(kToken)},
    {"tab", "batch\t" + DigestOf(kToken)},
    {"much_space", "  batch \t  " + DigestOf(kToken) + " \t "},
    {"of_windows", "batch " + DigestOf(kToken) + "\r"},
    {"comment_after", "batch " + DigestOf(kToken) + " # since May"},
    {"comment_at_once", "batch " + DigestOf(kToken) + "#since May"},
    {"capital_digits", "batch sha256:" + absl::AsciiStrToUpper(ToHex(Sha256(kToken)))},
    {"until", "batch " + DigestOf(kToken) + " not_after 2027-01-31T12:00:00Z",
     absl::FromCivil(absl::CivilSecond(2027, 1, 31, 12), absl::UTCTimeZone())},
    {"until_elsewhere", "batch " + DigestOf(kToken) + " not_after 2027-01-31T12:00:00+02:00",
     absl::FromCivil(absl::CivilSecond(2027, 1, 31, 10), absl::UTCTimeZone())},
};

TEST(TokenTable, ReadsWhatALineMayHave) {
  for (const auto& row : kGood) {
    SCOPED_TRACE(row.name);
    const auto table = TokenTable::Parse(row.line, "t");
    ASSERT_TRUE(table.ok()) << table.status();
    const TokenTable::Entry* entry = table->Find(kToken);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->identity, "token:batch");
    EXPECT_EQ(entry->not_after, row.not_after);
  }
}

constexpr char kForm[] = "must be NAME sha256:HEX, or NAME sha256:HEX not_after TIME";
constexpr char kName[] = "the name must be 1 to 64 of [A-Za-z0-9._-], first a letter or digit";
constexpr char kDigest[] = "the digest must be sha256: and 64 hexadecimal digits";
constexpr char kTime[] = "not_after must be a time such as 2027-01-31T12:00:00Z";

const struct {
  const char* name;
  std::string line;
  const char* error;
} kBad[] = {
    {"name_alone", "batch", kForm},
    {"three_words", "batch " + DigestOf(kToken) + " not_after", kForm},
    {"five_words", "batch " + DigestOf(kToken) + " not_after 2027-01-31T12:00:00Z x", kForm},
    {"time_without_word", "batch " + DigestOf(kToken) + " 2027-01-31T12:00:00Z", kForm},
    {"cut_off_by_a_comment", "batch #" + DigestOf(kToken), kForm},
    {"name_begins_with_a_dash", "-batch " + DigestOf(kToken), kName},
    {"name_with_a_colon", "token:batch " + DigestOf(kToken), kName},
    {"name_with_a_slash", "a/b " + DigestOf(kToken), kName},
    {"name_with_a_star", "batch* " + DigestOf(kToken), kName},
    {"name_not_of_ascii", "b\xc3\xa4tch " + DigestOf(kToken), kName},
    {"name_after_a_byte_order_mark", "\xef\xbb\xbf" + ("batch " + DigestOf(kToken)), kName},
    {"name_with_a_null", std::string("ba\0ch ", 6) + DigestOf(kToken), kName},
    {"name_too_long", std::string(65, 'a') + " " + DigestOf(kToken), kName},
    {"no_algorithm", "batch " + ToHex(Sha256(kToken)), kDigest},
    {"another_algorithm", "batch sha512:" + ToHex(Sha256(kToken)), kDigest},
    {"algorithm_in_capitals", "batch SHA256:" + ToHex(Sha256(kToken)), kDigest},
    {"digest_empty", "batch sha256:", kDigest},
    {"digest_short", "batch " + DigestOf(kToken).substr(0, 7 + 63), kDigest},
    {"digest_long", "batch " + DigestOf(kToken) + "0", kDigest},
    {"digest_not_of_digits", "batch sha256:" + std::string(64, 'g'), kDigest},
    {"the_token_itself", "batch " + kToken, kDigest},
    {"other_word", "batch " + DigestOf(kToken) + " not_before 2027-01-31T12:00:00Z",
     "the third word must be not_after"},
    {"word_in_capitals", "batch " + DigestOf(kToken) + " NOT_AFTER 2027-01-31T12:00:00Z",
     "the third word must be not_after"},
    {"time_without_zone", "batch " + DigestOf(kToken) + " not_after 2027-01-31T12:00:00", kTime},
    {"day_alone", "batch " + DigestOf(kToken) + " not_after 2027-01-31", kTime},
    {"no_such_day", "batch " + DigestOf(kToken) + " not_after 2027-02-31T12:00:00Z", kTime},
    {"number", "batch " + DigestOf(kToken) + " not_after 1800000000", kTime},
    {"for_ever", "batch " + DigestOf(kToken) + " not_after infinite-future", kTime},
};

TEST(TokenTable, RefusesALineThatIsMalformedAndQuotesNothingOfIt) {
  for (const auto& row : kBad) {
    SCOPED_TRACE(row.name);
    const absl::Status status =
        TokenTable::Parse("ok " + DigestOf(kOther) + "\n" + row.line + "\n", "/etc/t").status();
    EXPECT_EQ(status.message(), absl::StrCat("/etc/t:2: ", row.error));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr(kToken)));
  }
}

TEST(TokenTable, TheLongestNameIsOne) {
  EXPECT_TRUE(TokenTable::Parse(std::string(64, 'a') + " " + DigestOf(kToken), "t").ok());
}

// ---- The whole file ----

TEST(TokenTable, OneNameMayHaveSeveralTokens) {
  const auto table = TokenTable::Parse("# Ours.\n\nbatch " + DigestOf(kToken) + "\nbatch " +
                                           DigestOf(kOther) + " not_after 2027-01-31T12:00:00Z",
                                       "t");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->size(), 2U);
  for (const std::string& token : {kToken, kOther}) {
    ASSERT_NE(table->Find(token), nullptr);
    EXPECT_EQ(table->Find(token)->identity, "token:batch");
  }
}

TEST(TokenTable, OneTokenHasOneLine) {
  const std::string lower = ToHex(Sha256(kToken));
  EXPECT_EQ(TokenTable::Parse(
                absl::StrCat("a sha256:", lower, "\nb sha256:", absl::AsciiStrToUpper(lower)), "t")
                .status()
                .message(),
            "t:2: has the digest of an earlier line");
}

// It may be read while it is being written.
TEST(TokenTable, WithoutTokensIsAnError) {
  for (const char* text : {"", "\n", "# nobody\n", " \t\r\n"}) {
    EXPECT_EQ(TokenTable::Parse(text, "t").status().message(),
              "t: has no token; to revoke all, leave one whose not_after has passed");
  }
}

TEST(TokenTable, TellsAllErrorsAtOnceButNoMoreThanHelp) {
  std::string text;
  for (const auto& row : kBad) absl::StrAppend(&text, row.line, "\n");
  ASSERT_GT(std::size(kBad), 20U);
  const absl::Status status = TokenTable::Parse(text, "t").status();
  const std::vector<std::string> lines = absl::StrSplit(std::string(status.message()), '\n');
  ASSERT_THAT(lines, SizeIs(20));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i], absl::StrCat("t:", i + 1, ": ", kBad[i].error));
  }
}

TEST(TokenTable, HasABound) {
  std::string text;
  for (std::size_t i = 0; i < TokenTable::kTokensMax; ++i) {
    absl::StrAppend(&text, "n sha256:", absl::Hex(i, absl::kZeroPad16), std::string(48, '0'), "\n");
  }
  const auto full = TokenTable::Parse(text, "t");
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_EQ(full->size(), TokenTable::kTokensMax);
  EXPECT_EQ(TokenTable::Parse(text + "n " + DigestOf(kToken), "t").status().message(),
            "t:10001: is one more than 10000 tokens");
}

TEST(TokenTable, FindsNothingElseThanTheToken) {
  const std::string shortest(16, 's');
  const std::string longest(256, 'l');
  const std::string below(15, 'b');
  const std::string above(257, 'a');
  std::string text;
  for (const std::string& token : {kToken, shortest, longest, below, above, std::string()}) {
    absl::StrAppend(&text, "n ", DigestOf(token), "\n");
  }
  const auto table = TokenTable::Parse(text, "t");
  ASSERT_TRUE(table.ok()) << table.status();
  for (const std::string& token : {kToken, shortest, longest}) {
    EXPECT_NE(table->Find(token), nullptr) << token;
  }
  for (const std::string& token : {below, above, std::string(), kToken + " ", " " + kToken,
                                   kToken.substr(1), DigestOf(kToken), Sha256(kToken), kOther}) {
    EXPECT_EQ(table->Find(token), nullptr) << token;
  }
}

}  // namespace
}  // namespace onced
