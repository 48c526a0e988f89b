// What operators did, told to nobody.
#pragma once

#include "server/base/audit.h"

namespace onced::client {

// Threads: any.
class SilentAuditLog final : public AuditLog {
 public:
  void Note(const AuditEntry&) override {}
};

}  // namespace onced::client
