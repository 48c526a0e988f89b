// The audit log, as lines of the server's log.
#pragma once

#include "server/base/audit.h"
#include "server/observe/log.h"

namespace onced {

// Operation: a line "audit" for each entry, whatever the log's level and however many
//            there are.
// Threads:   any.
// Lifetime:  `log` outlives it.
class JsonAuditLog final : public AuditLog {
 public:
  explicit JsonAuditLog(Log& log) : log_(log) {}
  void Note(const AuditEntry& entry) override;

 private:
  Log& log_;
};

}  // namespace onced
