#include "server/config/yaml.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace onced {
namespace {

using Kind = YamlNode::Kind;

// The tree on one line: what an operator wrote, and where.
std::string Shown(const YamlNode& node) {
  if (node.kind == Kind::kNull) return "~";
  if (node.kind == Kind::kScalar) return node.scalar;
  if (node.kind == Kind::kList) {
    std::string text = "[";
    for (const YamlEntry& entry : node.entries) {
      text += std::to_string(entry.line) + ":" + Shown(entry.value) + " ";
    }
    return text + "]";
  }
  std::string text = "{";
  for (const YamlEntry& entry : node.entries) {
    text += entry.key + "@" + std::to_string(entry.line) + ":" + Shown(entry.value) + " ";
  }
  return text + "}";
}

TEST(ParseYaml, KeepsListsInTheirOrder) {
  EXPECT_EQ(Shown(ParseYaml("a:\n- b: 1\n- [x, '*']\n-\nc: []\n").root),
            "{a@1:[2:{b@2:1 } 3:[3:x 3:* ] 5:~ ] c@5:[] }");
}

TEST(ParseYaml, KeepsScalarsAsTheyWereWritten) {
  const YamlDocument document = ParseYaml(
      "a: 16\n"
      "b: 0x10\n"
      "c: 'yes'\n"
      "# comment, caf\xc3\xa9\n"
      "d:\n"
      "  e: 1h\n"
      "  f:\n"
      "g: [1, 2]\n");
  EXPECT_TRUE(document.problems.empty());
  EXPECT_EQ(Shown(document.root), "{a@1:16 b@2:0x10 c@3:yes d@5:{e@6:1h f@7:~ } g@8:[8:1 8:2 ] }");
}

TEST(ParseYaml, TakesAnEmptyFile) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "~\n"}) {
    const YamlDocument document = ParseYaml(text);
    EXPECT_TRUE(document.problems.empty()) << text;
    EXPECT_EQ(document.root.kind, Kind::kNull) << text;
  }
}

TEST(ParseYaml, ResolvesAnchors) {
  const YamlDocument document = ParseYaml("a: &x {k: v}\nb: *x\n");
  EXPECT_TRUE(document.problems.empty());
  EXPECT_EQ(Shown(document.root), "{a@1:{k@1:v } b@2:{k@1:v } }");
}

struct BadRow {
  const char* name;
  std::string text;
  int line;
  const char* problem;
  friend std::ostream& operator<<(std::ostream& out, const BadRow& row) { return out << row.name; }
};

class ParseYamlBad : public testing::TestWithParam<BadRow> {};

TEST_P(ParseYamlBad, SaysWhereAndWhat) {
  const YamlDocument document = ParseYaml(GetParam().text);
  ASSERT_EQ(document.problems.size(), 1u);
  EXPECT_EQ(document.problems[0].line, GetParam().line);
  EXPECT_NE(document.problems[0].text.find(GetParam().problem), std::string::npos)
      << document.problems[0].text;
}

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// Each level has eight aliases of the one before: 8^12 values in 13 lines.
std::string ManyAliases() {
  std::string text = "a0: &a0 {x: 1, y: 1}\n";
  for (int i = 1; i <= 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    const std::string name = "a" + std::to_string(i);
    text += name + ": &" + name + " {";
    for (int k = 0; k < 8; ++k) text += "k" + std::to_string(k) + ": " + before + ", ";
    text += "z: 1}\n";
  }
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    , ParseYamlBad,
    testing::Values(
        BadRow{"twice", "a: 1\nb: 2\na: 3\n", 3, "has the key a twice"},
        BadRow{"twice_unseen", "\"\\e[2J\": 1\n\"\\e[2J\": 2\n", 2, "has the key \\x1b[2J twice"},
        BadRow{"twice_below", "n:\n  a: 1\n  a: 3\n", 3, "has the key a twice"},
        BadRow{"list_as_key", "? [1, 2]\n: x\n", 1, "a key that is not text"},
        BadRow{"syntax", "a: 1\nb: [1\n", 3, "is not YAML: "},
        BadRow{"tab", "a:\n\tb: 1\n", 2, "is not YAML: "},
        BadRow{"unknown_alias", "a: 1\nb: *nobody\n", 2, "is not YAML: "},
        BadRow{"two_documents", "a: 1\n---\nb: 2\n", 3, "more than one document"},
        // yaml-cpp alone would find documents in these for ever.
        BadRow{"stray_comma", ",d", 1, "more than one document"},
        BadRow{"escape_of_the_end", "\"\\", 1, "unknown escape character: \\x04"},
        BadRow{"stray_bracket", "a: 1\n]\n", 2, ""},
        BadRow{"latin1", "a: 1\nb: caf\xe9\n", 2, "not valid UTF-8"},
        BadRow{"overlong", "a: \xc0\xaf\n", 1, "not valid UTF-8"},
        BadRow{"surrogate", "a: \xed\xa0\x80\n", 1, "not valid UTF-8"},
        BadRow{"cut_short", "a: 1\nb: \xe2\x82", 2, "not valid UTF-8"},
        // yaml-cpp takes it for the end of the file, and would drop the rest.
        BadRow{"end_of_transmission", "a: 1\n\x04\nb: 2\n", 2, "a control character"},
        BadRow{"nul", std::string("a: 1\n\0b: 2\n", 11), 2, "a control character"},
        BadRow{"utf16",
               std::string("\xff\xfe"
                           "a\0:\0",
                           6),
               1, "not valid UTF-8"},
        BadRow{"deep", Repeated("{a: ", 40) + "1" + Repeated("}", 40), 1, "deeper than 16"},
        BadRow{"very_deep", Repeated("[", 100'000), 1, "is not YAML: "},
        BadRow{"cycle", "a: &a\n  b: *a\n", 1, "deeper than 16"},
        BadRow{"many_aliases", ManyAliases(), 1, "has over 100000 values"}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace onced
