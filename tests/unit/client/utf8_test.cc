#include "client/cpp/utf8.h"

#include "gtest/gtest.h"

namespace onced::client {
namespace {

TEST(ToUtf8, KeepsCharactersAndNothingElse) {
  const struct {
    const char* text;
    const char* want;  // With ? for U+FFFD.
  } kRows[] = {
      {"", ""},
      {"plain", "plain"},
      {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
      {"\xc2\x80\xdf\xbf", "\xc2\x80\xdf\xbf"},
      {"\xe0\xa0\x80\xef\xbf\xbf", "\xe0\xa0\x80\xef\xbf\xbf"},
      {"\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80"},
      {"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
      // Latin-1.
      {"M\xfcller", "M?ller"},
      {"\x80\xbf\xff", "???"},
      // Longer than need be.
      {"\xc0\x80\xc1\xbf", "????"},
      {"\xe0\x9f\xbf", "???"},
      {"\xf0\x8f\xbf\xbf", "????"},
      // Surrogates, and what is beyond.
      {"\xed\xa0\x80", "???"},
      {"\xf4\x90\x80\x80", "????"},
      {"\xf5\x80\x80\x80", "????"},
      // That end too early.
      {"\xc3", "?"},
      {"\xe2\x82", "??"},
      {"\xe2\x82z", "??z"},
      {"\xf0\x9f\x98", "???"},
      {"\xf0\x9fz\x80", "??z?"},
  };
  for (const auto& row : kRows) {
    std::string want;
    for (const char c : std::string_view(row.want))
      want += c == '?' ? "\xef\xbf\xbd" : std::string(1, c);
    EXPECT_EQ(ToUtf8(row.text, 100), want) << row.want;
  }
}

TEST(ToUtf8, CutsAfterACharacter) {
  EXPECT_EQ(ToUtf8("abc", 2), "ab");
  EXPECT_EQ(ToUtf8("abc", 0), "");
  EXPECT_EQ(ToUtf8("a\xe2\x82\xac\xe2\x82\xac", 2), "a\xe2\x82\xac");
  EXPECT_EQ(ToUtf8("a\xe2\x82\xac\xe2\x82\xac", 4), "a\xe2\x82\xac");
}

}  // namespace
}  // namespace onced::client
