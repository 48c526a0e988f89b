#include "client/cli/flags.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/failure.h"
#include "client/cli/text.h"
#include "client/cpp/duration.h"

namespace onced::cli {
namespace {

const Flag* FindFlag(const std::vector<Flag>& flags, absl::string_view name) {
  const auto found =
      std::find_if(flags.begin(), flags.end(), [&](const Flag& flag) { return flag.name == name; });
  return found == flags.end() ? nullptr : &*found;
}

// absl's durations, and whole days, of which retentions are made.
std::optional<absl::Duration> ParseDuration(absl::string_view text) {
  std::int64_t days = 0;
  absl::Duration duration;
  if (absl::EndsWith(text, "d") && absl::SimpleAtoi(text.substr(0, text.size() - 1), &days)) {
    duration = absl::Hours(24) * days;
  } else if (!absl::ParseDuration(text, &duration)) {
    return std::nullopt;
  }
  if (absl::AbsDuration(duration) > client::kMaxProtoDuration) return std::nullopt;
  return duration;
}

}  // namespace

Args Args::Parse(const std::vector<std::string>& args, const std::vector<Flag>& flags) {
  Args parsed;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const absl::string_view arg = args[i];
    if (!absl::StartsWith(arg, "-")) {
      parsed.words_.emplace_back(arg);
      continue;
    }
    const std::size_t equals = arg.find('=');
    const bool attached = equals != absl::string_view::npos;
    const absl::string_view name = arg.substr(0, equals);
    const Flag* flag = absl::StartsWith(name, "--") ? FindFlag(flags, name.substr(2)) : nullptr;
    if (flag == nullptr) {
      parsed.AddProblem(absl::StrCat("there is no flag ", Printable(name)));
      continue;
    }
    std::vector<std::string>& values = parsed.given_[flag->name];
    if (flag->kind != Flag::kRepeated && !values.empty()) {
      parsed.AddProblem(absl::StrCat(name, " is given twice"));
    }
    if (flag->kind == Flag::kSwitch) {
      if (attached) parsed.AddProblem(absl::StrCat(name, " takes no value"));
      values.emplace_back();
    } else if (attached) {
      values.emplace_back(arg.substr(equals + 1));
    } else if (i + 1 < args.size()) {
      values.push_back(args[++i]);
    } else {
      parsed.AddProblem(absl::StrCat(name, " needs a value: ", flag->value));
      values.emplace_back();
    }
  }
  return parsed;
}

std::string Args::words() const { return absl::StrJoin(words_, " "); }

bool Args::Has(absl::string_view name) const { return given_.find(name) != given_.end(); }

std::string Args::Text(absl::string_view name) const {
  const auto found = given_.find(name);
  return found == given_.end() ? "" : found->second.back();
}

std::vector<std::string> Args::All(absl::string_view name) const {
  const auto found = given_.find(name);
  return found == given_.end() ? std::vector<std::string>() : found->second;
}

std::string Args::Required(absl::string_view name) {
  if (!Has(name)) AddProblem(absl::StrCat("--", name, " is missing"));
  return Text(name);
}

std::string Args::Utf8(absl::string_view name) {
  std::string text = Text(name);
  if (!IsUtf8(text)) AddProblem(absl::StrCat("--", name, " isn't UTF-8"));
  return text;
}

std::string Args::RequiredUtf8(absl::string_view name) {
  Required(name);
  return Utf8(name);
}

std::optional<absl::Duration> Args::Duration(absl::string_view name) {
  if (!Has(name)) return std::nullopt;
  const std::optional<absl::Duration> duration = ParseDuration(Text(name));
  if (!duration.has_value()) {
    AddProblem(absl::StrCat("--", name,
                            " isn't a duration such as 500ms, 2m or 24h: ", Printable(Text(name))));
  }
  return duration;
}

std::optional<std::int64_t> Args::Integer(absl::string_view name, std::int64_t min,
                                          std::int64_t max) {
  if (!Has(name)) return std::nullopt;
  std::int64_t value = 0;
  if (absl::SimpleAtoi(Text(name), &value) && value >= min && value <= max) return value;
  AddProblem(absl::StrCat("--", name, " isn't an integer from ", min, " to ", max, ": ",
                          Printable(Text(name))));
  return std::nullopt;
}

std::string Args::Hex(absl::string_view name) {
  const std::string digits = Text(name);
  if (digits.size() % 2 == 0 && std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit)) {
    return absl::HexStringToBytes(digits);
  }
  AddProblem(absl::StrCat("--", name, " isn't hexadecimal: ", Printable(digits)));
  return "";
}

void Args::AtMostOne(const std::vector<absl::string_view>& names) {
  std::vector<std::string> present;
  for (const absl::string_view name : names) {
    if (Has(name)) present.push_back(absl::StrCat("--", name));
  }
  if (present.size() > 1) {
    AddProblem(absl::StrCat("only one can be given of ", absl::StrJoin(present, " and ")));
  }
}

void Args::Only(const std::vector<Flag>& flags, absl::string_view command) {
  for (const auto& [name, values] : given_) {
    if (FindFlag(flags, name) == nullptr) {
      AddProblem(absl::StrCat(command, " has no flag --", name));
    }
  }
}

absl::Status Args::Problems() const {
  if (problems_.empty()) return absl::OkStatus();
  return UsageError(absl::StrJoin(problems_, "; "));
}

}  // namespace onced::cli
