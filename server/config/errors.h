// All that is wrong with a configuration.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace onced {

class ConfigErrors {
 public:
  // One line: `name: "value" (source): problem`. Without `value` and `source`
  // where there is none. The value is escaped, and cut where it is long.
  void Add(absl::string_view name, absl::string_view source, absl::string_view value,
           absl::string_view problem);
  void Add(absl::string_view name, absl::string_view source, absl::string_view problem);

  bool Mentions(absl::string_view name) const { return names_.count(std::string(name)) > 0; }
  // OK if there are none, else INVALID_ARGUMENT with all lines.
  absl::Status ToStatus() const;

 private:
  std::vector<std::string> lines_;
  std::set<std::string> names_;
};

}  // namespace onced
