// Judges what a server answered by the protocol's invariants alone. It knows
// nothing of the ledger: not its types, not its decisions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace onced::sim {

enum class Op : std::uint8_t { kReserve, kCommit, kRelease, kExtend, kInspect, kResolve, kEvict };

// What a call was answered with.
enum class Said : std::uint8_t {
  kNothing,  // Never answered: it may or may not have been done.
  kUnknown,  // OUTCOME_UNKNOWN: likewise.
  kNotDone,  // An error that says that nothing was done.
  // Verdicts of Reserve.
  kFresh,
  kReplayed,
  kConflict,
  kMismatch,
  kUnresolved,
  // The others' good ends.
  kCommitted,
  kReleased,
  kNothingToRelease,
  kExtended,
  kInspected,
  kEvicted,
  kNothingToEvict,
  // The rules that they broke.
  kSuperseded,
  kCommittedDifferently,
  kAlreadyCommitted,
  kFenceMismatch,
  kHeld,
  kNotReserved,
};

enum class Seen : std::uint8_t { kUnsaid, kAbsent, kPending, kLapsed, kCommitted };

// One call, from when it was sent to when it was answered. Numbers in `sent` and
// `answered` are positions in one total order: a call that was answered before
// another was sent came before it.
struct Call {
  // ---- As sent ----
  Op op = Op::kReserve;
  std::string key;
  std::uint64_t sent = 0;
  std::string request_id;
  std::string fingerprint;
  std::string token;             // Of Commit, Release, Extend.
  std::string result;            // Of Commit and Resolve: all that will be replayed, as bytes.
  std::int64_t named_fence = 0;  // Of Resolve, Evict.
  bool force = false;            // Likewise.

  // ---- As answered ----
  std::uint64_t answered = UINT64_MAX;  // Never.
  Said said = Said::kNothing;
  absl::Time server_time;
  // What the answer says of the record, as far as it says it.
  Seen seen = Seen::kUnsaid;
  std::optional<std::int64_t> fence;
  absl::Time seen_until = absl::InfinitePast();  // Till when it lasts at least, if it says so.
  std::string granted_token;                     // Of kFresh.
  absl::Time lease_end;                          // Of kFresh and kExtended.
  std::string replayed;                          // Of kReplayed, as `result`.
  absl::Time commit_time;                        // Of kReplayed and kCommitted.
  absl::Time expire_time;                        // Likewise.
  std::optional<std::int64_t> previous_fence;
};

// What a key's reservations come to after their leases.
struct KeyRules {
  bool hold = false;
  absl::Duration lapsed_retention;
};

using History = std::vector<Call>;

// One line for each rule that was broken; empty if none was. Rules are looked up
// by the key.
std::vector<std::string> Check(const History& history,
                               const std::map<std::string, KeyRules>& rules);

// For people.
std::string Describe(const Call& call);

}  // namespace onced::sim
