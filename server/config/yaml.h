// YAML text to a plain tree. The sole user of yaml-cpp.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace onced {

struct YamlEntry;

// Scalars are text, whatever YAML would take them for: what a value means is
// for its setting to say.
struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  int line = 0;                    // From 1.
  std::string scalar;              // Of a kScalar.
  std::vector<YamlEntry> entries;  // Of a kMap or, without keys, a kList, in the file's order.
};
struct YamlEntry {
  std::string key;
  int line = 0;
  YamlNode value;
};

// What is wrong at a line, from 1; 0 if that is not known.
struct YamlProblem {
  int line = 0;
  std::string text;
};

// Anchors and aliases are resolved. Where there is no tree at all (a syntax
// error, bytes that are not UTF-8, two documents, a bound below), `root` is null
// and the problem says why; keys that occur twice or aren't text are problems
// beside the tree.
struct YamlDocument {
  YamlNode root;
  std::vector<YamlProblem> problems;
};

inline constexpr int kYamlDepthMax = 16;
// Aliases counted as often as they are used: a small file can say a lot.
inline constexpr int kYamlNodesMax = 100'000;

YamlDocument ParseYaml(absl::string_view text);

}  // namespace onced
