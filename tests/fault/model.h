// The protocol of one key as a sequential machine: what may be answered in which
// state, and what comes of it. It is not deterministic: what an unanswered call did,
// and what a grant that nobody was told of looks like, is found out later.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/fault/checker.h"
#include "tests/fault/evidence.h"

namespace onced::fault {

// What is known of the record, and of all there ever was for this key.
struct Known {
  enum class Phase : std::uint8_t { kAbsent, kReserved, kCommitted };

  Phase phase = Phase::kAbsent;
  std::int64_t now = 0;        // The server's time is at least this.
  std::int64_t max_fence = 0;  // Of every grant whose fence is known.

  // ---- Unless absent: the last grant ----
  std::int32_t grant = -1;  // The Reserve that got it, by index.
  std::int32_t token = 0;   // See Model::Intern(); 0: not told yet.
  std::int64_t fence = 0;   // 0: not told yet.
  std::int64_t attempt = 0;
  // When it lapses as stored: exactly then, or at the earliest.
  std::int64_t stored_end = 0;
  bool end_known = false;
  // The latest end that a caller was told of, grace after an outage included.
  std::int64_t told_end = 0;
  std::int32_t checkpoint = 0;
  std::int64_t previous_fence = 0;  // 0: no takeover; -1: not told yet.

  // ---- Committed ----
  std::int32_t commit = -1;                       // The Commit that did it, by index.
  std::int64_t commit_time = 0, expire_time = 0;  // Exactly, or at the earliest.
  bool times_known = false;
  std::int8_t late = -1;  // -1: not told yet.

  auto Tie() const {
    return std::tie(phase, now, max_fence, grant, token, fence, attempt, stored_end, end_known,
                    told_end, checkpoint, previous_fence, commit, commit_time, expire_time,
                    times_known, late);
  }
  friend bool operator==(const Known& a, const Known& b) { return a.Tie() == b.Tie(); }
  template <typename H>
  friend H AbslHashValue(H hash, const Known& known) {
    return H::combine(std::move(hash), known.Tie());
  }
};

// Lifetime: what it is made of outlives it.
class Model {
 public:
  // `events` are those of one key.
  Model(const std::vector<Event>& events, const std::vector<Life>& lives, const Rule& rule);

  // All states that the key may be in after the call was executed as it was answered.
  // Empty: it can't have been. For one that wasn't answered, as it may have had effect.
  std::vector<Known> Execute(const Known& known, std::size_t index) const;

  std::string Describe(const Known& known) const;

 private:
  using Maybe = std::optional<Known>;

  const Call& CallAt(std::int32_t index) const {
    return *events_[static_cast<std::size_t>(index)].call;
  }
  std::int32_t Intern(const std::string& text) const;
  bool RestartedSinceGrant(const Known& known, const Event& event) const;

  // ---- The state at the time of a call, which is not before `at_least` ----
  static Maybe At(Known known, const When& when, std::int64_t at_least = 0);
  Maybe Absent(const Known& known, const When& when) const;
  Maybe Reserved(const Known& known, const Event& event) const;
  Maybe Running(const Known& known, const Event& event) const;
  Maybe Lapsed(const Known& known, const Event& event) const;
  Maybe Committed(const Known& known, const When& when) const;
  // As the answer tells, with all that it tells of the record.
  Maybe Told(const Known& known, const Event& event) const;

  // ---- What an answer tells; false if it contradicts what is known ----
  static bool TellFence(Known& known, std::int64_t fence);
  bool TellOwner(const Known& known, const std::string& owner) const;
  bool TellLease(Known& known, const Event& event, std::int64_t end, bool running) const;
  bool TellCommit(Known& known, const Event& event) const;

  // ---- Operations ----
  void Reserve(const Known& known, std::size_t index, std::vector<Known>& next) const;
  void Fresh(const Known& known, std::size_t index, std::vector<Known>& next) const;
  void Commit(const Known& known, std::size_t index, std::vector<Known>& next) const;
  void Release(const Known& known, const Event& event, std::vector<Known>& next) const;
  void Extend(const Known& known, const Event& event, std::vector<Known>& next) const;
  void Inspect(const Known& known, const Event& event, std::vector<Known>& next) const;
  void Unanswered(const Known& known, std::size_t index, std::vector<Known>& next) const;

  Maybe Grant(Known known, std::size_t index) const;
  bool Holds(const Known& known, const Call& call) const;
  bool SameFingerprint(const Known& known, const Call& call) const;
  bool SameRequest(const Known& known, const Call& call) const;

  const std::vector<Event>& events_;
  const std::vector<Life>& lives_;
  const Rule rule_;
  std::map<std::string, std::int32_t> interned_;  // From 1; the empty one is 0.
};

}  // namespace onced::fault
