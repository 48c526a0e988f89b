// A scenario file, read. README.md here says what such a file is.
#pragma once

#include <google/protobuf/message.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace onced::scenarios {

// One directive: its first word, and the rest with its continuation lines.
struct Directive {
  int line;
  std::string word;
  std::string rest;
};

// INVALID_ARGUMENT for a file that begins with a continuation.
absl::StatusOr<std::vector<Directive>> ParseScenario(const std::string& text);

// ---- What directives are made of ----

using Saved = std::map<std::string, std::string>;  // Text by name.

// `text` with every $NAME replaced; NOT_FOUND for a name that wasn't saved.
absl::StatusOr<std::string> Substitute(const std::string& text, const Saved& saved);

// Whether `got` has every field that `want` has, with its value; else the first
// that differs.
absl::Status Matches(const google::protobuf::Message& want, const google::protobuf::Message& got);

// The field at a path such as "items[0].reserve.outcome", as text; "" if it is
// not set. INVALID_ARGUMENT if the type has no such field.
absl::StatusOr<std::string> TextAt(const google::protobuf::Message& message,
                                   const std::string& path);

}  // namespace onced::scenarios
