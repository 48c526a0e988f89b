#include "tests/scenarios/scenario.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace onced::scenarios {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

// A value of a field that is no message; `index` is -1 where it isn't repeated.
std::string ScalarText(const Message& message, const FieldDescriptor& field, int index) {
  const auto& reflection = *message.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    return index < 0 ? reflection.GetString(message, &field)
                     : reflection.GetRepeatedString(message, &field, index);
  }
  std::string text;
  TextFormat::PrintFieldValueToString(message, &field, index, &text);
  return text;
}

const Message& SubMessage(const Message& message, const FieldDescriptor& field, int index) {
  const auto& reflection = *message.GetReflection();
  return index < 0 ? reflection.GetMessage(message, &field)
                   : reflection.GetRepeatedMessage(message, &field, index);
}

absl::Status MatchesAt(const Message& want, const Message& got, const std::string& path);

absl::Status MatchesValue(const Message& want, const Message& got, const FieldDescriptor& field,
                          int index, const std::string& path) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return MatchesAt(SubMessage(want, field, index), SubMessage(got, field, index), path + ".");
  }
  const std::string wanted = ScalarText(want, field, index);
  const std::string is = ScalarText(got, field, index);
  if (wanted == is) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, " is ", absl::CHexEscape(is), ", should be ", absl::CHexEscape(wanted)));
}

absl::Status MatchesAt(const Message& want, const Message& got, const std::string& path) {
  std::vector<const FieldDescriptor*> fields;
  want.GetReflection()->ListFields(want, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string name = path + field->name();
    if (!field->is_repeated()) {
      if (field->has_presence() && !got.GetReflection()->HasField(got, field)) {
        return absl::FailedPreconditionError(absl::StrCat(name, " is missing"));
      }
      if (absl::Status same = MatchesValue(want, got, *field, -1, name); !same.ok()) return same;
      continue;
    }
    const int wanted = want.GetReflection()->FieldSize(want, field);
    const int size = got.GetReflection()->FieldSize(got, field);
    if (wanted != size) {
      return absl::FailedPreconditionError(
          absl::StrCat(name, " has ", size, " items, should have ", wanted));
    }
    for (int i = 0; i < size; ++i) {
      absl::Status same = MatchesValue(want, got, *field, i, absl::StrCat(name, "[", i, "]"));
      if (!same.ok()) return same;
    }
  }
  return absl::OkStatus();
}

// One part of a path: "name" or "name[3]"; the index is -1 for the former.
absl::StatusOr<int> IndexOf(std::string& part) {
  const std::size_t bracket = part.find('[');
  if (bracket == std::string::npos) return -1;
  int index = 0;
  if (part.back() != ']' ||
      !absl::SimpleAtoi(part.substr(bracket + 1, part.size() - bracket - 2), &index)) {
    return absl::InvalidArgumentError(absl::StrCat("no path: ", part));
  }
  part.resize(bracket);
  return index;
}

}  // namespace

absl::StatusOr<std::vector<Directive>> ParseScenario(const std::string& text) {
  std::vector<Directive> directives;
  std::istringstream stream(text);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (line.find_first_not_of(' ') == std::string::npos || line[0] == '#') continue;
    if (line[0] == ' ') {
      if (directives.empty()) {
        return absl::InvalidArgumentError(absl::StrCat("line ", number, " goes on with nothing"));
      }
      absl::StrAppend(&directives.back().rest, "\n", line);
      continue;
    }
    const std::size_t space = line.find(' ');
    directives.push_back(
        {number, line.substr(0, space), space == std::string::npos ? "" : line.substr(space + 1)});
  }
  return directives;
}

absl::StatusOr<std::string> Substitute(const std::string& text, const Saved& saved) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      result.push_back(text[at++]);
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && (absl::ascii_isalnum(text[end]) || text[end] == '_')) ++end;
    const std::string name = text.substr(at + 1, end - at - 1);
    const auto found = saved.find(name);
    if (found == saved.end()) return absl::NotFoundError(absl::StrCat("$", name, " wasn't saved"));
    result += absl::CEscape(found->second);
    at = end;
  }
  return result;
}

absl::Status Matches(const Message& want, const Message& got) { return MatchesAt(want, got, ""); }

absl::StatusOr<std::string> TextAt(const Message& message, const std::string& path) {
  const Message* at = &message;
  const std::vector<std::string> parts = absl::StrSplit(path, '.');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string name = parts[i];
    const absl::StatusOr<int> index = IndexOf(name);
    if (!index.ok()) return index.status();
    const FieldDescriptor* field = at->GetDescriptor()->FindFieldByName(name);
    if (field == nullptr || field->is_repeated() != (*index >= 0)) {
      return absl::InvalidArgumentError(absl::StrCat("there is no field ", path));
    }
    const auto& reflection = *at->GetReflection();
    const bool is_there = *index < 0 ? !field->has_presence() || reflection.HasField(*at, field)
                                     : *index < reflection.FieldSize(*at, field);
    if (!is_there) return "";
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      if (i + 1 == parts.size()) return ScalarText(*at, *field, *index);
      return absl::InvalidArgumentError(absl::StrCat("there is no field ", path));
    }
    at = &SubMessage(*at, *field, *index);
  }
  return at->ShortDebugString();
}

}  // namespace onced::scenarios
