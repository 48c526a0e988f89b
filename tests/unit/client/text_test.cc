#include "client/cli/text.h"

#include "gtest/gtest.h"

namespace onced::cli {
namespace {

struct Row {
  const char* name;
  std::string bytes;
  bool utf8;
  bool plain;
  const char* printable;
};

const Row kRows[] = {
    {"empty", "", true, true, ""},
    {"ascii", "a b~", true, true, "a b~"},
    {"nul", std::string(1, '\0'), true, false, R"(\x00)"},
    {"line_end", "a\nb", true, true, R"(a\x0ab)"},
    {"tab", "a\tb", true, true, R"(a\x09b)"},
    {"return", "a\rb", true, false, R"(a\x0db)"},
    {"escape", "\x1B[2J", true, false, R"(\x1b[2J)"},
    {"delete", "\x7F", true, false, R"(\x7f)"},
    {"c1_first", "\xC2\x80", true, false, R"(\xc2\x80)"},
    {"c1_last", "\xC2\x9F", true, false, R"(\xc2\x9f)"},
    {"after_c1", "\xC2\xA0", true, true, "\xC2\xA0"},
    {"two_bytes", "\xC3\xA9", true, true, "\xC3\xA9"},
    {"three_bytes", "\xE2\x82\xAC", true, true, "\xE2\x82\xAC"},
    {"four_bytes", "\xF0\x9F\x98\x80", true, true, "\xF0\x9F\x98\x80"},
    {"last_before_surrogates", "\xED\x9F\xBF", true, true, "\xED\x9F\xBF"},
    {"surrogate", "\xED\xA0\x80", false, false, R"(\xed\xa0\x80)"},
    {"highest", "\xF4\x8F\xBF\xBF", true, true, "\xF4\x8F\xBF\xBF"},
    {"too_high", "\xF4\x90\x80\x80", false, false, R"(\xf4\x90\x80\x80)"},
    {"no_such_first", "\xF5\x80\x80\x80", false, false, R"(\xf5\x80\x80\x80)"},
    {"overlong_two", "\xC0\x80", false, false, R"(\xc0\x80)"},
    {"overlong_three", "\xE0\x9F\xBF", false, false, R"(\xe0\x9f\xbf)"},
    {"overlong_four", "\xF0\x8F\xBF\xBF", false, false, R"(\xf0\x8f\xbf\xbf)"},
    {"continuation", "\x80", false, false, R"(\x80)"},
    {"cut", "a\xE2\x82", false, false, R"(a\xe2\x82)"},
    {"not_continued", "\xC3zz", false, false, R"(\xc3zz)"},
};

TEST(Text, TellsUtf8AndControlCharacters) {
  for (const Row& row : kRows) {
    EXPECT_EQ(IsUtf8(row.bytes), row.utf8) << row.name;
    EXPECT_EQ(IsPlainText(row.bytes), row.plain) << row.name;
    EXPECT_EQ(Printable(row.bytes), row.printable) << row.name;
  }
}

TEST(Text, QuotesForJson) {
  EXPECT_EQ(JsonString("a\"b\\c\n"), R"("a\"b\\c\n")");
  EXPECT_EQ(JsonString("\xC3\xA9"), "\"\xC3\xA9\"");
  EXPECT_EQ(JsonString("\xFF"), R"("\\xff")");
  EXPECT_EQ(DurationJson(absl::Milliseconds(250)), "0.250s");
}

TEST(Lines, AreAligned) {
  Lines lines;
  lines.Add("a", "1");
  lines.Add("long_name", "first\nsecond");
  lines.Add("empty", "");
  EXPECT_EQ(lines.Text(),
            "a:         1\n"
            "long_name: first\n"
            "           second\n"
            "empty:\n");
  EXPECT_EQ(Lines().Text(), "");
}

TEST(Lines, AreIndented) {
  Lines lines;
  lines.Add("a", "1");
  EXPECT_EQ(lines.Text(2), "  a: 1\n");
}

}  // namespace
}  // namespace onced::cli
