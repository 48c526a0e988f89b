#include "tests/tidy/tidy.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace onced::tidy {
namespace {

namespace fs = std::filesystem;

bool IsOurs(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name != ".git" && name != ".cache" && name != "node_modules" && name != "build" &&
         !StartsWith(name, "build-");
}

std::string Read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<File> ReadTree() {
  const fs::path root(ONCED_SOURCE_DIR);
  std::vector<File> files;
  for (auto at = fs::recursive_directory_iterator(root); at != fs::end(at); ++at) {
    if (at->is_symlink()) continue;
    if (at->is_directory() && !IsOurs(at->path())) at.disable_recursion_pending();
    if (!at->is_regular_file()) continue;
    files.push_back({fs::relative(at->path(), root).generic_string(), Read(at->path())});
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

// Where a string that starts at `from` ends: just behind its closing quote.
std::size_t EndOfQuoted(const std::string& text, std::size_t from) {
  const char quote = text[from];
  std::size_t at = from + 1;
  while (at < text.size() && text[at] != quote && text[at] != '\n') {
    at += text[at] == '\\' ? 2 : 1;
  }
  return std::min(at + 1, text.size());
}

// The same for R"x(...)x", of which the quote is at `quote`.
std::size_t EndOfRaw(const std::string& text, std::size_t quote) {
  const std::size_t open = text.find('(', quote);
  if (open == std::string::npos) return text.size();
  const std::string close = ")" + text.substr(quote + 1, open - quote - 1) + "\"";
  const std::size_t end = text.find(close, open);
  return end == std::string::npos ? text.size() : end + close.size();
}

// An apostrophe between digits, as in 1'000, starts no character.
bool IsDigitSeparator(const std::string& text, std::size_t at) {
  return at > 0 && at + 1 < text.size() &&
         std::isxdigit(static_cast<unsigned char>(text[at - 1])) &&
         std::isxdigit(static_cast<unsigned char>(text[at + 1]));
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Violation& v) {
  return out << "\n" << v.path << ":" << v.line << ": " << v.what;
}

const std::vector<File>& Tree() {
  static const std::vector<File> files = ReadTree();
  return files;
}

std::vector<Violation> CheckTree(const Rule& rule) {
  std::vector<Violation> all;
  for (const File& file : Tree()) {
    std::vector<Violation> found = rule(file);
    std::move(found.begin(), found.end(), std::back_inserter(all));
  }
  return all;
}

bool Exists(const std::string& path) { return fs::exists(fs::path(ONCED_SOURCE_DIR) / path); }

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string Blank(const std::string& cpp, bool strings) {
  std::string out = cpp;
  const auto blank = [&out](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
  };
  for (std::size_t at = 0; at < cpp.size();) {
    std::size_t end = at + 1;
    if (cpp.compare(at, 2, "//") == 0) {
      end = std::min(cpp.find('\n', at), cpp.size());
      blank(at, end);
    } else if (cpp.compare(at, 2, "/*") == 0) {
      const std::size_t close = cpp.find("*/", at + 2);
      end = close == std::string::npos ? cpp.size() : close + 2;
      blank(at, end);
    } else if (cpp.compare(at, 2, "R\"") == 0) {
      end = EndOfRaw(cpp, at + 1);
      if (strings) blank(at, end);
    } else if (cpp[at] == '"' || (cpp[at] == '\'' && !IsDigitSeparator(cpp, at))) {
      end = EndOfQuoted(cpp, at);
      if (strings) blank(at, end);
    }
    at = end;
  }
  return out;
}

bool IsCpp(const File& file) { return EndsWith(file.path, ".cc") || EndsWith(file.path, ".h"); }
bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}
bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

}  // namespace onced::tidy
