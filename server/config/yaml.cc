#include "server/config/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace onced {
namespace {

// Length of the UTF-8 sequence that `text` begins with (RFC 3629: no surrogates,
// nothing overlong, nothing above U+10FFFF); 0 if it begins with none.
std::size_t SequenceLength(absl::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead < 0xC2   ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;
  if (lead == 0xED && byte(1) > 0x9F) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

// yaml-cpp replaces bad bytes, and takes U+0004 for the end of the file.
std::optional<YamlProblem> FindBadBytes(absl::string_view text) {
  int line = 1;
  while (!text.empty()) {
    const std::size_t length = SequenceLength(text);
    if (length == 0) return YamlProblem{line, "is not valid UTF-8"};
    const auto c = static_cast<unsigned char>(text.front());
    if (c == '\n') ++line;
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F) {
      return YamlProblem{line, "has a control character"};
    }
    text.remove_prefix(length);
  }
  return std::nullopt;
}

// Copies yaml-cpp's tree, in which an alias is the same node again.
class Copier {
 public:
  explicit Copier(YamlDocument& document) : document_(document) {}

  // False: a bound was hit, and is among the problems.
  bool Copy(const YAML::Node& from, int depth, YamlNode& to) {
    to.line = from.Mark().line + 1;
    if (depth > kYamlDepthMax || ++nodes_ > kYamlNodesMax) {
      document_.problems.push_back(
          {to.line, absl::StrCat("is nested deeper than ", kYamlDepthMax, " levels, or has over ",
                                 kYamlNodesMax, " values")});
      return false;
    }
    switch (from.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        return true;
      case YAML::NodeType::Scalar:
        to.kind = YamlNode::Kind::kScalar;
        to.scalar = from.Scalar();
        return true;
      case YAML::NodeType::Sequence:
        to.kind = YamlNode::Kind::kList;
        return CopyList(from, depth, to);
      case YAML::NodeType::Map:
        to.kind = YamlNode::Kind::kMap;
        return CopyMap(from, depth, to);
    }
    return true;
  }

 private:
  bool CopyList(const YAML::Node& from, int depth, YamlNode& to) {
    for (const auto& item : from) {
      to.entries.push_back({"", item.Mark().line + 1, {}});
      if (!Copy(item, depth + 1, to.entries.back().value)) return false;
    }
    return true;
  }

  bool CopyMap(const YAML::Node& from, int depth, YamlNode& to) {
    std::set<std::string> seen;
    for (const auto& item : from) {
      const int line = item.first.Mark().line + 1;
      if (!item.first.IsScalar()) {
        document_.problems.push_back({line, "has a key that is not text"});
        continue;
      }
      const std::string& key = item.first.Scalar();
      if (!seen.insert(key).second) {
        document_.problems.push_back(
            {line, absl::StrCat("has the key ", absl::CHexEscape(key), " twice")});
        continue;
      }
      to.entries.push_back({key, line, {}});
      if (!Copy(item.second, depth + 1, to.entries.back().value)) return false;
    }
    return true;
  }

  YamlDocument& document_;
  int nodes_ = 0;
};

YamlDocument Unreadable(YamlProblem problem) { return {{}, {std::move(problem)}}; }

// Counts documents, and notes where the second one's content begins.
class DocumentCounter final : public YAML::EventHandler {
 public:
  int count() const { return count_; }
  int second_line() const { return second_line_; }

  void OnDocumentStart(const YAML::Mark&) override { ++count_; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { Note(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { Note(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    Note(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    Note(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    Note(mark);
  }
  void OnMapEnd() override {}

 private:
  void Note(const YAML::Mark& mark) {
    if (count_ == 2 && second_line_ == 0) second_line_ = mark.line + 1;
  }

  int count_ = 0;
  int second_line_ = 0;
};

// Not by YAML::LoadAll(): where a flow's comma or bracket stands outside of one, that
// finds empty documents without end, and takes memory for each.
YamlDocument ParseOrThrow(const std::string& text) {
  std::istringstream in(text);
  YAML::Parser parser(in);
  DocumentCounter documents;
  while (documents.count() < 2 && parser.HandleNextDocument(documents)) {
  }
  if (documents.count() > 1) {
    return Unreadable({documents.second_line(), "has more than one document"});
  }
  YamlDocument document;
  if (documents.count() == 0) return document;
  if (!Copier(document).Copy(YAML::Load(text), 0, document.root)) document.root = {};
  return document;
}

// The library puts the character into it at which it gave up: any, and one that stands for the
// end of the text.
std::string NotYaml(absl::string_view why) {
  return absl::StrCat("is not YAML: ", absl::CHexEscape(why));
}

}  // namespace

YamlDocument ParseYaml(absl::string_view text) {
  if (std::optional<YamlProblem> bad = FindBadBytes(text)) return Unreadable(*std::move(bad));
  try {
    return ParseOrThrow(std::string(text));
  } catch (const YAML::Exception& e) {
    // Aliases are resolved at a null mark, whose line is -1.
    return Unreadable({e.mark.line + 1, NotYaml(e.msg)});
  } catch (const std::exception& e) {
    return Unreadable({0, NotYaml(e.what())});
  }
}

}  // namespace onced
