// The line in the audit log of one call.
#pragma once

#include <string>
#include <utility>

#include "google/rpc/status.pb.h"
#include "server/base/audit.h"
#include "server/rpc/errors.h"

namespace onced {

// Filled while the call goes on, and written before it is answered.
// Lifetime: `log` outlives it.
class Audited {
 public:
  // Of a call that changes nothing: no line.
  Audited() = default;
  Audited(AuditLog& log, std::string action) : log_(&log) { entry_.action = std::move(action); }

  AuditEntry& entry() { return entry_; }
  // Either, once.
  void Done(std::string outcome) {
    entry_.outcome = std::move(outcome);
    Note();
  }
  void Refused(const google::rpc::Status& error) {
    entry_.reason = ReasonOf(error);
    Note();
  }

 private:
  void Note() const {
    if (log_ != nullptr) log_->Note(entry_);
  }

  AuditLog* log_ = nullptr;
  AuditEntry entry_;
};

}  // namespace onced
