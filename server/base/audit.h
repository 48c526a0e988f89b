// What operators did, or wanted to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace onced {

// One call that changes something, at its end.
struct AuditEntry {
  std::string action;    // The method: "Resolve".
  std::string identity;  // Who called.
  // What it was about, as far as that applies and was a valid request. A key is not
  // written as it is.
  std::string name_space;
  std::string key;
  std::optional<std::int64_t> fence;
  std::optional<bool> force;
  std::string comment;  // The operator's.
  // What came of it: "committed". Empty: it was refused, or failed, for `reason`.
  std::string outcome;
  std::string reason;  // Of the error.
  std::vector<std::pair<std::string, std::int64_t>> counts;
};

// Threads: any.
class AuditLog {
 public:
  virtual ~AuditLog() = default;
  // Nothing is left out, however much there is.
  virtual void Note(const AuditEntry& entry) = 0;
};

}  // namespace onced
