// What the tests of the house rules share: the tree's files, and text without what a rule is not
// about. A rule is a function from text to violations, so that a test can plant one.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace onced::tidy {

struct File {
  std::string path;  // From the root of the tree, with slashes.
  std::string text;
};

struct Violation {
  std::string path;
  int line = 0;  // From 1; 0: the whole file.
  std::string what;
  bool operator==(const Violation&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Violation& violation);

using Rule = std::function<std::vector<Violation>(const File&)>;

// Every file that belongs to the project: not what git keeps, builds made, or links point to.
const std::vector<File>& Tree();
// Those of them that `rule` objects to.
std::vector<Violation> CheckTree(const Rule& rule);
// Whether the tree has this file or folder.
bool Exists(const std::string& path);

std::vector<std::string> Lines(const std::string& text);
// C++ with comments, and strings and characters if `strings`, blanked. Lines stay where they are.
std::string Blank(const std::string& cpp, bool strings);

bool IsCpp(const File& file);
bool StartsWith(std::string_view text, std::string_view prefix);
bool EndsWith(std::string_view text, std::string_view suffix);

}  // namespace onced::tidy
