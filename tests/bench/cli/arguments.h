// "--name value" and "--name=value".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace onced::bench {

// Operation: takes values out by name; what nobody took is an error.
class Arguments {
 public:
  // A name without a value, before another one or at the end, has the value "yes".
  static absl::StatusOr<Arguments> Parse(const std::vector<std::string>& arguments);

  std::string Text(const std::string& name, const std::string& otherwise);
  double Number(const std::string& name, double otherwise);
  std::optional<int> Core(const std::string& name);
  // All values of a name that may be given again and again.
  std::vector<std::string> All(const std::string& name);
  bool Flag(const std::string& name) { return Text(name, "no") == "yes"; }

  // After all were taken: the first that was wrong, or that nobody took.
  absl::Status Check() const;

 private:
  std::multimap<std::string, std::string> values_;
  absl::Status error_;
};

}  // namespace onced::bench
