#include "tests/bench/cli/arguments.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace onced::bench {

absl::StatusOr<Arguments> Arguments::Parse(const std::vector<std::string>& arguments) {
  Arguments parsed;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.rfind("--", 0) != 0) {
      return absl::InvalidArgumentError(absl::StrCat("not a flag: ", argument));
    }
    const std::size_t equals = argument.find('=');
    if (equals != std::string::npos) {
      parsed.values_.emplace(argument.substr(2, equals - 2), argument.substr(equals + 1));
    } else if (i + 1 < arguments.size() && arguments[i + 1].rfind("--", 0) != 0) {
      parsed.values_.emplace(argument.substr(2), arguments[i + 1]);
      ++i;
    } else {
      parsed.values_.emplace(argument.substr(2), "yes");
    }
  }
  return parsed;
}

std::string Arguments::Text(const std::string& name, const std::string& otherwise) {
  const auto found = values_.find(name);
  if (found == values_.end()) return otherwise;
  std::string value = found->second;
  values_.erase(found);
  return value;
}

double Arguments::Number(const std::string& name, double otherwise) {
  const std::string text = Text(name, "");
  double value = otherwise;
  if (!text.empty() && (!absl::SimpleAtod(text, &value) || !(value >= 0))) {
    error_.Update(absl::InvalidArgumentError(absl::StrCat("--", name, ": not a number: ", text)));
  }
  return value;
}

std::optional<int> Arguments::Core(const std::string& name) {
  const double core = Number(name, -1);
  if (core < 0) return std::nullopt;
  return static_cast<int>(core);
}

std::vector<std::string> Arguments::All(const std::string& name) {
  std::vector<std::string> all;
  const auto [begin, end] = values_.equal_range(name);
  for (auto at = begin; at != end; ++at) all.push_back(at->second);
  values_.erase(begin, end);
  return all;
}

absl::Status Arguments::Check() const {
  if (!error_.ok() || values_.empty()) return error_;
  return absl::InvalidArgumentError(
      absl::StrCat("no such flag, or given twice: --", values_.begin()->first));
}

}  // namespace onced::bench
