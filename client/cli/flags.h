// The command line: which flags there are, and what was given.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace onced::cli {

// One flag. A name means the same wherever it occurs: which arguments are
// values has to be known before the command is.
struct Flag {
  enum Kind { kSwitch, kValue, kRepeated };

  std::string name;  // Without the dashes.
  Kind kind;
  std::string value;  // What the help calls the value: "DURATION".
  std::string help;
};

// The words and flags of one command line, and all that is wrong with them: a
// getter that can't give what it was asked for notes that and returns nothing,
// so that a command asks for everything it needs and looks at Problems() once.
//
// `--name value` and `--name=value` are the same. A value may start with a dash.
class Args {
 public:
  static Args Parse(const std::vector<std::string>& args, const std::vector<Flag>& flags);

  // What isn't a flag or its value, joined by single spaces.
  std::string words() const;

  bool Has(absl::string_view name) const;
  // Empty if it wasn't given.
  std::string Text(absl::string_view name) const;
  // In their order.
  std::vector<std::string> All(absl::string_view name) const;

  // As Text(), for what has to be given.
  std::string Required(absl::string_view name);
  // As Text(), for what travels in a protobuf string.
  std::string Utf8(absl::string_view name);
  std::string RequiredUtf8(absl::string_view name);
  // "1.5s", "2m", "24h", "30d", "1h30m".
  std::optional<absl::Duration> Duration(absl::string_view name);
  std::optional<std::int64_t> Integer(absl::string_view name, std::int64_t min, std::int64_t max);
  // The bytes that hexadecimal digits stand for.
  std::string Hex(absl::string_view name);

  // Notes a problem if more than one of them was given.
  void AtMostOne(const std::vector<absl::string_view>& names);
  // Notes a problem for each flag given that isn't among `flags`.
  void Only(const std::vector<Flag>& flags, absl::string_view command);
  void AddProblem(std::string problem) { problems_.push_back(std::move(problem)); }

  // OK, or a UsageError() that names all problems.
  absl::Status Problems() const;

 private:
  std::vector<std::string> words_;
  std::map<std::string, std::vector<std::string>, std::less<>> given_;
  std::vector<std::string> problems_;
};

}  // namespace onced::cli
