// Work that is done once, however often it is asked for.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/classify.h"
#include "client/cpp/client.h"

namespace onced::client {

class IdempotentMethod;
class LeaseKeeper;

// What the work knows of its own run.
//
// Threads:  any function from any thread.
// Lifetime: of the work's call.
class WorkContext {
 public:
  // An earlier holder's lease lapsed before it committed: the effect may have happened
  // already. Look before you do it.
  bool takeover() const { return previous().has_value(); }
  // That holder: its fence, and the checkpoint that it saved.
  const std::optional<Previous>& previous() const;
  // Grows with every grant of the key. Hand it to your own database, so that it refuses a
  // worker with a smaller one. 0 if the run is unprotected.
  std::int64_t fence() const;
  // 1, and one more for every takeover. 0 if the run is unprotected.
  int attempt() const;
  // The service could not be reached, and the run goes on without it: see FailOpen.
  bool unprotected() const { return reservation_ == nullptr; }

  // After a takeover: the work has looked, the earlier holder's effect isn't there, and it can't
  // come any more. Then Verdict::kRelease frees the key as after a first run, and the next run
  // is told of nobody; else the key lapses, so that the next one looks, too.
  void NothingHappenedBefore() { nothing_before_ = true; }

  // A stop is requested once another was granted the key, it was settled by an operator, or the
  // lease is over without a word from the service: nothing more should be done. The first two are
  // noticed when the lease is next extended, not at once. It is never requested where the run is
  // unprotected.
  std::stop_token lost() const;
  // How much of the lease is left: as Reservation's. Not positive: the service could not be
  // reached to extend it, and somebody else may do the work by now. Infinite if the run
  // is unprotected.
  absl::Duration lease_left() const;
  // Hands `checkpoint` (up to 64 KiB) to whoever takes over, should this run not end: the last
  // one, but for one that was delayed on its way (see ExtendOptions).
  // ABORTED: the key is lost. FAILED_PRECONDITION if the run is unprotected.
  absl::Status SaveCheckpoint(const std::string& checkpoint);

 private:
  friend class IdempotentMethod;
  friend class Run;
  WorkContext(Reservation* reservation, const LeaseKeeper* keeper,
              std::optional<absl::Duration> lease_ttl)
      : reservation_(reservation), keeper_(keeper), lease_ttl_(lease_ttl) {}

  Reservation* reservation_;  // nullptr: unprotected; and so the next.
  const LeaseKeeper* keeper_;
  std::optional<absl::Duration> lease_ttl_;
  std::atomic<bool> nothing_before_ = false;
};

// Has the effect, and says what came of it. An error has nothing to be stored; an exception is
// caught; it may not end its thread (pthread_exit). It may go on when its caller has gone: what it
// has done is committed all the same.
using Work = std::function<absl::StatusOr<Result>(WorkContext& context)>;

// Doing the work although the service can't be reached. Where a second effect is worse than none,
// don't. Nor is it done after an error of the service's own (but for DRAINING), where the token's
// file can't be read, where the caller has given up, and where another has the key: it was told so,
// or a Reserve with a `wait_timeout` went on for more than 1 s.
struct FailOpen {
  // Told of each such run before it starts, with the error of the Reserve. Required.
  std::function<void(const Key& key, const absl::Status& error)> report;
};

struct RunOptions {
  // Decides what becomes of the key. Required: no rule is right for all work.
  Classifier classifier;
  // The same for an exception of the work. Nothing: unknown. As of an error, kCommit is taken as
  // unknown.
  std::function<Verdict(const std::exception_ptr& exception)> exception_classifier = {};

  // As in ReserveOptions.
  std::string owner = {};
  // Names this execution. Empty: a new one is drawn for each call of RunOnce(), which is right
  // but where an error is answered by calling it again: draw one by NewRequestId() and give both
  // calls the same, so that the second has the grant of which the first didn't hear. Never give
  // it to two calls at once, nor again after any outcome: the grant would be had twice.
  std::string request_id = {};
  std::optional<absl::Duration> lease_ttl = {};
  // How long to wait while another has the key; may be longer than the service lets one
  // call wait, 60 s. A policy that allows less makes it an INVALID_ARGUMENT. Nothing: as the
  // namespace's policy says, 0 unless configured.
  std::optional<absl::Duration> wait_timeout = {};
  // As in CommitOptions.
  std::optional<absl::Duration> retention_ttl = {};

  // The caller's own deadline and stop, and the trace context of all calls. Deadline and stop end
  // the Reserve and the wait. Once the work runs they have no effect: it is to look at them
  // itself, and what it has done is committed whatever they say.
  CallOptions call = {};
  // How long a Commit or Release is repeated, at most, until it is answered. Positive.
  absl::Duration settle_timeout = absl::Minutes(1);
  // How long the lease is extended at most, from the grant on: work that hangs for longer
  // lapses. Not negative; zero: it isn't extended.
  absl::Duration keep_max = absl::Hours(24);

  // Nothing: without the service the work is not done, and the call fails.
  std::optional<FailOpen> fail_open = {};
};

// ---- What came of it; beside these, the verdicts of client.h that did no work. ----

// What all runs of the work by this call have in common.
struct Executed {
  std::int64_t fence = 0;  // 0: unprotected.
  int attempt = 0;
  bool takeover = false;
};
// Done here, and stored: from now on it is replayed.
struct Done {
  Executed executed = {};
  Result result = {};
  Committed committed = {};
};
// Run here, and nothing happened: the classifier said so.
struct NothingDone {
  Executed executed = {};
  absl::StatusOr<Result> outcome = absl::UnknownError("");
  std::exception_ptr exception = {};
  // OK: the key is free again. Else it lapses by itself, or isn't this caller's any more.
  // FAILED_PRECONDITION of a takeover, which isn't released unless the work has called
  // NothingHappenedBefore(): the next run must be told of the one that this one took over from.
  absl::Status released = {};
};
// Run here, and nobody knows whether anything happened: the key is left to lapse.
struct Undecided {
  Executed executed = {};
  absl::StatusOr<Result> outcome = absl::UnknownError("");
  std::exception_ptr exception = {};
};
// Done here, but not known to be stored.
struct NotCommitted {
  enum class Reason {
    // The service could not be reached, or not any more: it may be stored or not.
    kUnknown,
    // Another was granted the key meanwhile: the effect may have happened twice, unless your
    // database compares fences.
    kSuperseded,
    // Another result is stored, by an operator or by another holder, and is replayed.
    kCommittedDifferently,
    // There is no record any more.
    kGone,
    // The service does not take this commit.
    kRefused,
  };
  Executed executed = {};
  Result result = {};
  Reason reason = Reason::kUnknown;
  absl::Status error = {};
  // The reservation's, a secret: of kUnknown, for Client::Commit() later on. A late commit counts
  // as long as nobody took over.
  std::string token = {};
};
// Run here without the service: nothing is stored, and others may have done it too.
struct Unprotected {
  absl::StatusOr<Result> outcome = absl::UnknownError("");
  std::exception_ptr exception = {};
  absl::Status error = {};  // Of the Reserve.
};

using RunOutcome = std::variant<Done, Replayed, Conflict, Mismatch, Unresolved, NothingDone,
                                Undecided, NotCommitted, Unprotected>;

// Reserves the key, runs `work` if and only if the verdict is FRESH, and settles the key by
// what `options.classifier` says of its outcome. Meanwhile the lease is extended.
//
// An error: the work was not run. INVALID_ARGUMENT also if `options` lack what is required,
// RESOURCE_EXHAUSTED also if no thread can be made for the lease; then the grant is given back.
// CANCELLED and DEADLINE_EXCEEDED of the caller's own making: a grant that came just then was
// given back if the service could be reached; an answer that was lost may leave one that
// lapses at the end of its lease.
//
// Threads: blocks, for the wait, the work, and at most `settle_timeout`; before the work also for
//          an Extend or two and a Release, each at most ClientOptions::timeout. The work runs on
//          the calling thread. One more thread extends the lease.
[[nodiscard]] absl::StatusOr<RunOutcome> RunOnce(const Client& client, const Key& key,
                                                 const std::string& fingerprint,
                                                 const RunOptions& options, const Work& work);

// What to tell the caller's own caller: the result of Done, Replayed, NotCommitted, and of
// an Unprotected whose work returned one; else nullptr. Part of `outcome`, so that of one that is
// gone at once there is none.
const Result* ResultOf(const RunOutcome& outcome);
const Result* ResultOf(const RunOutcome&& outcome) = delete;

}  // namespace onced::client
