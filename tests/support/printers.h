// How gtest prints the ledger's types; else it shows their bytes in hexadecimal.
// Include it in every test that compares them.
#pragma once

#include <iterator>
#include <ostream>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "server/ledger/decide.h"
#include "server/ledger/operation.h"
#include "server/ledger/policy.h"
#include "server/ledger/record.h"
#include "server/ledger/token.h"

namespace onced {

// ---- Helpers ----

// Bytes in quotes, cut where they get long.
inline std::string Quoted(absl::string_view bytes) {
  constexpr std::size_t kShown = 40;
  if (bytes.size() <= kShown) return absl::StrCat("\"", absl::CHexEscape(bytes), "\"");
  return absl::StrCat("\"", absl::CHexEscape(bytes.substr(0, kShown)), "…\" (", bytes.size(),
                      " bytes)");
}
inline std::string Shown(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", time, absl::UTCTimeZone());
}
template <typename T>
std::string Shown(const T& value) {
  return testing::PrintToString(value);
}

// ---- Names ----

inline void PrintTo(State state, std::ostream* os) {
  constexpr const char* kNames[] = {"ABSENT", "PENDING", "LAPSED", "COMMITTED"};
  *os << kNames[static_cast<int>(state)];
}
inline void PrintTo(OnLapse on_lapse, std::ostream* os) {
  *os << (on_lapse == OnLapse::kHold ? "HOLD" : "REGRANT");
}
inline void PrintTo(Refusal refusal, std::ostream* os) {
  constexpr const char* kNames[] = {"SUPERSEDED",
                                    "RESTORED",
                                    "COMMITTED_DIFFERENTLY",
                                    "ALREADY_COMMITTED",
                                    "NOT_RESERVED",
                                    "FENCE_MISMATCH",
                                    "HELD",
                                    "QUEUE_FULL",
                                    "DISK_FULL",
                                    "DRAINING",
                                    "STORE_FAILED",
                                    "DEADLINE_PASSED",
                                    "CANCELLED",
                                    "NAMESPACE_NOT_ALLOWED",
                                    "REPLY_TOO_LARGE",
                                    "MEMORY_FULL",
                                    "QUOTA_EXCEEDED",
                                    "OUTCOME_UNKNOWN"};
  static_assert(std::size(kNames) == static_cast<int>(Refusal::kOutcomeUnknown) + 1);
  *os << kNames[static_cast<int>(refusal)];
}

// ---- Values ----

inline void PrintTo(Fence fence, std::ostream* os) { *os << "fence " << fence.value; }
inline void PrintTo(Epoch epoch, std::ostream* os) { *os << "epoch " << epoch.value; }
inline void PrintTo(const TraceRef& trace, std::ostream* os) {
  const auto hex = [](const auto& bytes) {
    return ToHex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  *os << "trace " << (trace.empty() ? "none" : hex(trace.trace_id) + "/" + hex(trace.span_id));
}
inline void PrintTo(const Token& token, std::ostream* os) { *os << token.ToText(); }
inline void PrintTo(const RecordKey& key, std::ostream* os) {
  *os << Quoted(key.name_space) << "/" << Quoted(key.key);
}
inline void PrintTo(const Header& header, std::ostream* os) {
  *os << Quoted(header.name) << ": " << Quoted(header.value);
}
inline void PrintTo(const DurationBounds& bounds, std::ostream* os) {
  *os << absl::FormatDuration(bounds.min) << ".." << absl::FormatDuration(bounds.max) << " ("
      << absl::FormatDuration(bounds.preset) << ")";
}
inline void PrintTo(const Result& result, std::ostream* os) {
  *os << "Result{status " << result.status_code << ", headers " << Shown(result.headers)
      << (result.headers_omitted ? " omitted" : "") << ", body " << Quoted(result.body) << " of "
      << result.body_size << " bytes" << (result.body_omitted ? " omitted" : "") << ", sha256 "
      << ToHex(result.body_sha256).substr(0, 8) << "…}";
}
inline void PrintTo(const StoredResult& result, std::ostream* os) { PrintTo(*result, os); }
inline void PrintTo(const Previous& previous, std::ostream* os) {
  *os << "Previous{" << Shown(previous.fence) << ", owner " << Quoted(previous.owner) << ", lapsed "
      << Shown(previous.lapse_time) << "}";
}
inline void PrintTo(const Outage& outage, std::ostream* os) {
  *os << "Outage{down " << Shown(outage.down_since) << ", serving " << Shown(outage.serving_since)
      << ", grace until " << Shown(outage.grace_until) << "}";
}

// ---- Records ----

inline void PrintTo(const Pending& pending, std::ostream* os) {
  *os << "Pending{request_id " << Quoted(pending.request_id) << ", lease until "
      << Shown(pending.lease_expire_time) << ", then " << Shown(pending.on_lapse) << " for "
      << absl::FormatDuration(pending.lapsed_retention) << ", retention "
      << Shown(pending.retention) << ", previous " << Shown(pending.previous) << ", checkpoint "
      << Quoted(pending.checkpoint) << "}";
}
inline void PrintTo(const Committed& committed, std::ostream* os) {
  *os << "Committed{at " << Shown(committed.commit_time) << (committed.late ? " late" : "")
      << ", until " << Shown(committed.expire_time) << ", " << Shown(committed.result) << "}";
}
inline void PrintTo(const Record& record, std::ostream* os) {
  *os << "Record{" << Shown(record.token) << ", " << Shown(record.fence) << ", attempt "
      << record.attempt << ", owner " << Quoted(record.owner) << ", fingerprint "
      << Quoted(record.fingerprint) << ", reserved " << Shown(record.reserve_time) << ", "
      << Shown(record.phase) << ", " << Shown(record.trace) << "}";
}

// ---- Replies ----

inline void PrintTo(const Fresh& fresh, std::ostream* os) {
  *os << "Fresh{" << Shown(fresh.token) << ", " << Shown(fresh.fence) << ", attempt "
      << fresh.attempt << ", lease until " << Shown(fresh.lease_expire_time) << ", previous "
      << Shown(fresh.previous) << ", checkpoint " << Quoted(fresh.checkpoint) << "}";
}
inline void PrintTo(const Replayed& replayed, std::ostream* os) {
  *os << "Replayed{" << Shown(replayed.result) << ", committed " << Shown(replayed.commit_time)
      << ", until " << Shown(replayed.expire_time) << ", " << Shown(replayed.fence) << ", "
      << Shown(replayed.trace) << "}";
}
inline void PrintTo(const Holder& holder, std::ostream* os) {
  *os << "Holder{" << Shown(holder.state) << ", owner " << Quoted(holder.owner) << ", "
      << Shown(holder.fence) << ", reserved " << Shown(holder.reserve_time) << ", lease until "
      << (holder.lease_expire_time.has_value() ? Shown(*holder.lease_expire_time) : "-") << ", "
      << Shown(holder.trace) << "}";
}
inline void PrintTo(const Conflict& conflict, std::ostream* os) {
  *os << "Conflict{" << Shown(conflict.holder) << ", retry after "
      << absl::FormatDuration(conflict.retry_delay) << "}";
}
inline void PrintTo(const Mismatch& mismatch, std::ostream* os) {
  *os << "Mismatch{" << Shown(mismatch.holder) << "}";
}
inline void PrintTo(const Unresolved& unresolved, std::ostream* os) {
  *os << "Unresolved{" << Shown(unresolved.holder) << "}";
}
inline void PrintTo(const Parked&, std::ostream* os) { *os << "Parked{}"; }
inline void PrintTo(const CommitDone& done, std::ostream* os) {
  *os << "CommitDone{at " << Shown(done.commit_time) << ", until " << Shown(done.expire_time)
      << (done.already_committed ? ", already committed" : "") << (done.late ? ", late" : "")
      << (done.body_omitted ? ", body omitted" : "")
      << (done.headers_omitted ? ", headers omitted" : "") << "}";
}
inline void PrintTo(const ReleaseDone& done, std::ostream* os) {
  *os << "ReleaseDone{" << (done.released ? "released" : "nothing to release") << "}";
}
inline void PrintTo(const ExtendDone& done, std::ostream* os) {
  *os << "ExtendDone{until " << Shown(done.lease_expire_time) << "}";
}
inline void PrintTo(const Inspected& inspected, std::ostream* os) {
  *os << "Inspected{" << Shown(inspected.state) << ", " << Shown(inspected.record)
      << ", lease until "
      << (inspected.lease_expire_time.has_value() ? Shown(*inspected.lease_expire_time) : "-")
      << ", until " << (inspected.expire_time.has_value() ? Shown(*inspected.expire_time) : "-")
      << "}";
}
inline void PrintTo(const ResolveDone& done, std::ostream* os) {
  *os << "ResolveDone{" << (done.committed.has_value() ? Shown(*done.committed) : "released")
      << "}";
}
inline void PrintTo(const EvictDone& done, std::ostream* os) {
  *os << "EvictDone{" << Shown(done.evicted) << "}";
}
inline void PrintTo(const Refused& refused, std::ostream* os) {
  *os << "Refused{" << Shown(refused.reason) << ", state " << Shown(refused.state) << ", "
      << Shown(refused.fence) << "}";
}

// ---- Decisions ----

inline void PrintTo(const Keep&, std::ostream* os) { *os << "Keep{}"; }
inline void PrintTo(const Erase&, std::ostream* os) { *os << "Erase{}"; }
inline void PrintTo(const Write& write, std::ostream* os) {
  *os << "Write{" << Shown(write.record) << "}";
}
inline void PrintTo(const Decision& decision, std::ostream* os) {
  *os << "Decision{" << Shown(decision.change) << ", " << Shown(decision.reply) << "}";
}

}  // namespace onced
