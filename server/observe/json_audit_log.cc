#include "server/observe/json_audit_log.h"

#include <vector>

namespace onced {

void JsonAuditLog::Note(const AuditEntry& entry) {
  const std::string key_hash = entry.key.empty() ? "" : KeyHash(entry.key);
  std::vector<LogField> fields = {{"action", entry.action}, {"identity", entry.identity}};
  const auto add = [&fields](const char* name, const std::string& value) {
    if (!value.empty()) fields.emplace_back(name, value);
  };
  add("outcome", entry.outcome);
  add("reason", entry.reason);
  add("namespace", entry.name_space);
  add("key_hash", key_hash);
  if (entry.fence.has_value()) fields.emplace_back("fence", *entry.fence);
  if (entry.force.has_value()) fields.emplace_back("force", *entry.force);
  for (const auto& [name, count] : entry.counts) fields.emplace_back(name, count);
  add("comment", entry.comment);
  log_.Audit(fields);
}

}  // namespace onced
