// What the documents name exists, and what a client must know is documented.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "tests/tidy/tidy.h"

namespace onced::tidy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Existence = std::function<bool(const std::string&)>;

bool IsMarkdown(const File& file) { return EndsWith(file.path, ".md"); }

// The lines outside of ``` blocks; those inside are empty.
std::vector<std::string> Prose(const std::string& text) {
  std::vector<std::string> lines = Lines(text);
  bool fenced = false;
  for (std::string& line : lines) {
    const std::size_t first = line.find_first_not_of(" ");
    const bool fence = first != std::string::npos && line.compare(first, 3, "```") == 0;
    fenced = fenced != fence;
    if (fenced || fence) line.clear();
  }
  return lines;
}

// a.{h,cc} is a.h and a.cc.
std::vector<std::string> Expand(const std::string& path) {
  static const std::regex kBraces("^(.*)\\{([^{}]*)\\}(.*)$");
  std::smatch match;
  if (!std::regex_match(path, match, kBraces)) return {path};
  std::vector<std::string> all;
  std::stringstream parts(match[2].str());
  for (std::string part; std::getline(parts, part, ',');) {
    for (std::string& each : Expand(match[1].str() + part + match[3].str())) all.push_back(each);
  }
  return all;
}

// ---- Paths in backticks ----

// What `quoted` names in the tree; nothing if it is something else, or a pattern.
std::vector<std::string> PathsIn(std::string quoted) {
  static const std::regex kInTree(
      "^(server|client|proto|tests|deploy|docs|\\.ci)/[A-Za-z0-9_./{},-]*(:[0-9]+)?$");
  if (!std::regex_match(quoted, kInTree)) return {};
  quoted = quoted.substr(0, quoted.find(':'));
  return Expand(quoted);
}

std::vector<Violation> CheckPaths(const File& file, const Existence& exists) {
  std::vector<Violation> found;
  if (!IsMarkdown(file)) return found;
  static const std::regex kQuoted("`([^`]+)`");
  int number = 0;
  for (const std::string& line : Prose(file.text)) {
    ++number;
    for (std::sregex_iterator at(line.begin(), line.end(), kQuoted), end; at != end; ++at) {
      for (const std::string& path : PathsIn((*at)[1])) {
        if (!exists(path)) found.push_back({file.path, number, path + " doesn't exist"});
      }
    }
  }
  return found;
}

TEST(Docs, NamePathsThatExist) {
  EXPECT_THAT(CheckTree([](const File& file) { return CheckPaths(file, Exists); }), IsEmpty());
}

// ---- Links ----

std::string Target(const std::string& from, std::string link) {
  link = link.substr(0, link.find('#'));
  const auto folder = std::filesystem::path(from).parent_path();
  return (folder / link).lexically_normal().generic_string();
}

bool IsRelative(const std::string& link) {
  static const std::regex kElsewhere("^([a-z][a-z0-9+.-]*:|//|#)");
  return !std::regex_search(link, kElsewhere);
}

std::vector<Violation> CheckLinks(const File& file, const Existence& exists) {
  std::vector<Violation> found;
  if (!IsMarkdown(file)) return found;
  // [text](target "title"), images, and [text]: target.
  static const std::regex kLink(
      "\\]\\(\\s*<?([^)\\s>]+)[^)]*\\)|^\\s*\\[[^\\]]+\\]:\\s*<?([^\\s>]+)");
  int number = 0;
  for (std::string line : Prose(file.text)) {
    ++number;
    line = std::regex_replace(line, std::regex("`[^`]*`"), "``");  // Code is no link.
    for (std::sregex_iterator at(line.begin(), line.end(), kLink), end; at != end; ++at) {
      const std::string link = (*at)[1].matched ? (*at)[1] : (*at)[2];
      if (!IsRelative(link)) continue;
      const std::string target = Target(file.path, link);
      if (StartsWith(link, "/") || StartsWith(target, "..") || !exists(target)) {
        found.push_back({file.path, number, link + " leads nowhere"});
      }
    }
  }
  return found;
}

TEST(Docs, LinkToWhatExists) {
  EXPECT_THAT(CheckTree([](const File& file) { return CheckLinks(file, Exists); }), IsEmpty());
}

// ---- Error reasons ----

std::vector<std::string> ReasonsIn(const std::string& proto) {
  static const std::regex kReason("\\bERROR_REASON_([A-Z_]+)\\s*=\\s*[0-9]+");
  const std::string code = Blank(proto, /*strings=*/true);
  std::vector<std::string> reasons;
  for (std::sregex_iterator at(code.begin(), code.end(), kReason), end; at != end; ++at) {
    if ((*at)[1] != "UNSPECIFIED") reasons.push_back((*at)[1]);
  }
  return reasons;
}

std::vector<Violation> CheckReasons(const std::string& proto, const File& page) {
  std::vector<Violation> found;
  for (const std::string& reason : ReasonsIn(proto)) {
    if (!std::regex_search(page.text, std::regex("\\b" + reason + "\\b"))) {
      found.push_back({page.path, 0, reason + " isn't documented"});
    }
  }
  return found;
}

const File* Find(const std::string& path) {
  for (const File& file : Tree()) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

TEST(Docs, TellOfEveryErrorReason) {
  const File* page = Find("docs/errors.md");
  if (page == nullptr) GTEST_SKIP() << "docs/errors.md isn't written";
  for (const char* path :
       {"proto/idempotency/v1/idempotency.proto", "proto/idempotency/admin/v1/admin.proto"}) {
    const File* proto = Find(path);
    ASSERT_NE(proto, nullptr);
    EXPECT_GT(ReasonsIn(proto->text).size(), 9U) << path;
    EXPECT_THAT(CheckReasons(proto->text, *page), IsEmpty()) << path;
  }
}

// ---- Planted ----

bool OnlyReadme(const std::string& path) {
  return path == "README.md" || path == "docs/a.md" || path == "server/base/a.h" ||
         path == "server/base/a.cc" || path == "server/base/";
}

const struct {
  const char* name;
  const char* text;
  std::size_t violations;
} kPlantedPaths[] = {
    {"there", "See `server/base/a.h`.", 0},
    {"there_with_line", "See `server/base/a.h:12`.", 0},
    {"folder", "See `server/base/`.", 0},
    {"both", "See `server/base/a.{h,cc}`.", 0},
    {"one_of_both", "See `server/base/a.{h,py}`.", 1},
    {"gone", "See `server/base/b.h`.", 1},
    {"two_gone", "See `server/b.h` and `docs/b.md`.", 2},
    {"gone_in_ci", "Run `.ci/gone`.", 1},
    {"pattern", "See `server/*/b.h` and `server/<folder>`.", 0},
    {"command", "Run `server/base/b.h --help`.", 0},
    {"no_path", "See `b.h` and `build/bin/onced`.", 0},
    {"no_backticks", "See server/base/b.h.", 0},
    {"in_a_block", "```\n`server/base/b.h`\n```", 0},
    {"after_a_block", "```\nx\n```\n`server/base/b.h`", 1},
};

TEST(Planted, PathsAreFound) {
  for (const auto& row : kPlantedPaths) {
    EXPECT_THAT(CheckPaths({"README.md", row.text}, OnlyReadme), SizeIs(row.violations))
        << row.name;
  }
  EXPECT_THAT(CheckPaths({"a.cc", "`server/base/b.h`"}, OnlyReadme), IsEmpty());
}

const struct {
  const char* name;
  const char* text;
  std::size_t violations;
} kPlantedLinks[] = {
    {"there", "[a](a.md)", 0},
    {"up", "[readme](../README.md)", 0},
    {"anchor", "[a](a.md#part)", 0},
    {"own_anchor", "[here](#part)", 0},
    {"title", "[a](a.md \"A\")", 0},
    {"web", "[w](https://example.org/b.md)", 0},
    {"mail", "[m](mailto:a@example.org)", 0},
    {"gone", "[b](b.md)", 1},
    {"gone_image", "![b](b.png)", 1},
    {"gone_by_reference", "[b]: b.md", 1},
    {"second_on_a_line", "[a](a.md) and [b](b.md)", 1},
    {"out_of_the_tree", "[b](../../README.md)", 1},
    {"from_the_root", "[a](/docs/a.md)", 1},
    {"code", "`[b](b.md)`", 0},
};

TEST(Planted, LinksAreFound) {
  for (const auto& row : kPlantedLinks) {
    EXPECT_THAT(CheckLinks({"docs/index.md", row.text}, OnlyReadme), SizeIs(row.violations))
        << row.name;
  }
}

TEST(Planted, ReasonsAreFound) {
  const std::string proto =
      "ERROR_REASON_UNSPECIFIED = 0;\n// ERROR_REASON_OLD = 7;\n"
      "ERROR_REASON_LOST = 1;\nERROR_REASON_LOST_AGAIN = 2;";
  EXPECT_THAT(ReasonsIn(proto), ElementsAre("LOST", "LOST_AGAIN"));
  EXPECT_THAT(CheckReasons(proto, {"docs/errors.md", "`LOST`, `LOST_AGAIN`"}), IsEmpty());
  EXPECT_THAT(CheckReasons(proto, {"docs/errors.md", "`LOST_AGAIN`"}), SizeIs(1));
  EXPECT_THAT(CheckReasons(proto, {"docs/errors.md", ""}), SizeIs(2));
}

}  // namespace
}  // namespace onced::tidy
