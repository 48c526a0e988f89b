// What the clients of a run asked and heard, and when the server was down.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace onced::fault {

// Positions in one total order over all clients: what was answered before
// another was sent came before it.
using Position = std::uint64_t;
inline constexpr Position kNever = UINT64_MAX;

enum class Op : std::uint8_t { kReserve, kCommit, kRelease, kExtend, kInspect };

enum class Status : std::uint8_t {
  kUnanswered,  // As kUnknown.
  kOk,          // Judged: `said` tells how.
  kFail,        // Refused, and nothing was done.
  kUnknown,     // It may or may not have been done, then or later.
};

enum class Said : std::uint8_t {
  kNothing,
  // Verdicts of Reserve.
  kFresh,
  kReplayed,
  kConflict,
  kMismatch,
  kUnresolved,
  // The good ends of the others.
  kCommitted,
  kReleased,
  kNothingToRelease,
  kExtended,
  kSeen,
  // The rules that they broke.
  kSuperseded,
  kCommittedDifferently,
  kAlreadyCommitted,
  kNotReserved,
};

enum class State : std::uint8_t { kUnsaid, kAbsent, kPending, kLapsed, kCommitted };

// Times are in microseconds; 0 is "not said". A fence is 0 where it isn't said.
struct Answer {
  Status status = Status::kUnanswered;
  Said said = Said::kNothing;
  std::string reason;  // Of an error: its reason, else its code.
  State state = State::kUnsaid;
  std::string token;
  std::int64_t fence = 0;
  std::int64_t attempt = 0;
  std::string owner;
  std::string result;  // See Digest().
  std::string checkpoint;
  std::int64_t server_time = 0;
  std::int64_t lease_end = 0;
  std::int64_t commit_time = 0;
  std::int64_t expire_time = 0;
  bool already = false;
  bool late = false;
  std::int64_t previous_fence = 0;
  std::string previous_owner;
  bool operator==(const Answer&) const = default;
};

struct Call {
  // ---- As sent ----
  std::uint64_t id = 0;  // Its place in the history, from 0.
  Position sent = 0;
  std::int64_t client = 0;
  Op op = Op::kReserve;
  std::string key;  // "namespace/key".
  std::string request_id;
  std::string fingerprint;
  std::string owner;
  std::string token;
  std::string result;  // See Digest().
  std::string checkpoint;
  bool has_checkpoint = false;
  std::int64_t ttl = 0;  // Of the lease or of the retention, in microseconds.
  // In a batch: the operation on the same key before this one.
  std::optional<std::uint64_t> after;

  // ---- As answered ----
  Position answered = kNever;
  Answer answer;
  bool operator==(const Call&) const = default;
};

// A server may have been there from `up` to `down`, and at no other time was there any.
// What it had not done by `down` is never done.
struct Life {
  Position up = 0;
  Position down = kNever;
  bool operator==(const Life&) const = default;
};

// Everything that is kept of a run, enough to judge it again.
struct Recording {
  std::uint64_t seed = 0;
  std::vector<Call> calls;
  std::vector<Life> lives;
  bool operator==(const Recording&) const = default;
};

// Collects a run.
// Threads: any, at once.
class History {
 public:
  explicit History(std::uint64_t seed) { run_.seed = seed; }

  // Fills in `id` and `sent`; the id is returned.
  std::uint64_t Sent(Call call);
  void Answered(std::uint64_t id, Answer answer);
  // From here on calls may reach a server: to be told before it starts. Told twice, the
  // first one counts.
  void ServerUp();
  // It is dead for sure.
  void ServerDown();

  // As far as it has come.
  Recording Copy() const;
  std::uint64_t answered() const;  // Calls that were judged: kOk.

 private:
  mutable std::mutex mutex_;
  Position next_ = 1;         // Guarded by mutex_.
  std::uint64_t judged_ = 0;  // Guarded by mutex_.
  Recording run_;             // Guarded by mutex_, but for the seed.
};

// Text, one line an event, in the order in which they happened:
//   seed 4711
//   up 1
//   sent 2 id=0 client=3 op=Reserve key="fault/k1" ...
//   answered 3 id=0 status=ok said=FRESH ...
//   down 4
// Fields that are empty or 0 are left out.
std::string ToText(const Recording& run);
// Throws std::runtime_error, with the line, on what ToText() doesn't write.
Recording FromText(const std::string& text);

// All that makes a result what it is, in a short text: two results that differ in
// any byte of it have, but for a chance of 2^-64, different ones.
std::string Digest(int status_code, const std::vector<std::pair<std::string, std::string>>& headers,
                   const std::string& body);

// As it stands in the text.
std::string NameOf(Said said);

// One call in one line, for people.
std::string Describe(const Call& call);

}  // namespace onced::fault
