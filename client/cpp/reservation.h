// The right to do the work.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/call_options.h"
#include "client/cpp/types.h"

namespace onced::client {

struct CommitOptions {
  // How long the result is replayed: 1 s - 400 d, moved to the nearest bound of the
  // namespace's policy. Nothing: the policy's default, 24 h unless configured.
  std::optional<absl::Duration> retention_ttl = {};
};

struct ExtendOptions {
  // Counted from when the server gets the call; never makes the lease end earlier. 100 ms -
  // 24 h, inside the bounds of the policy, else INVALID_ARGUMENT. Nothing: the policy's default.
  std::optional<absl::Duration> lease_ttl = {};
  // Saved for whoever takes over: up to 64 KiB. Empty: removes the last one. Nothing:
  // keeps it. An earlier attempt that was given up may still be on its way, and arrive after the
  // next one: have each say all that there is to say.
  std::optional<std::string> checkpoint = {};
};

// Operation: a grant, and what can be done with it. RunOnce() does it all by itself; this
//            is for those who want the steps.
// Threads:   any function from any thread, many at once, but for moving and destroying.
// Lifetime:  movable; outlives the Client that it came from.
// Promise:   the destructor does nothing: it neither commits nor releases, since it can't
//            know whether the effect has happened. A reservation that isn't settled lapses
//            at the end of its lease; what happens then is the namespace's policy.
// Limits:    nothing extends the lease but Extend().
class Reservation {
 public:
  Reservation(Reservation&&) noexcept;
  Reservation& operator=(Reservation&&) noexcept;
  ~Reservation();

  const Key& key() const;
  // A secret: whoever has it is the holder. To let another process settle it.
  const std::string& token() const;
  // Grows with every grant of the key. Hand it to your own database, so that it refuses
  // a worker with a smaller one.
  std::int64_t fence() const;
  // 1, and one more for every takeover.
  int attempt() const;
  // If this is a takeover: the effect may have happened already.
  const std::optional<Previous>& previous() const;
  // How much of the lease is left: never more than there is, as long as the clocks go
  // equally fast, also while this machine sleeps; less, by the time that it took to be granted.
  // Not positive: somebody else may hold the key by now.
  absl::Duration lease_left() const;

  // Stores the result. After an error that DetailsOf() says is OutcomeUnknown(), or that
  // is UNAVAILABLE, call it again with the same result; never Release instead. ABORTED
  // (`SUPERSEDED`): another was granted the key. FAILED_PRECONDITION
  // (`COMMITTED_DIFFERENTLY`): an operator or an earlier commit stored another result, which
  // stands. NOT_FOUND (`NOT_RESERVED`): there is no record any more.
  absl::StatusOr<Committed> Commit(const Result& result, const CommitOptions& options = {},
                                   const CallOptions& call = {});
  // Gives the key back: the work was not done, surely, and may be done anew. Not of a takeover,
  // unless you know it of the holder before you, too: with `previous()` it is forgotten that the
  // effect may have happened. False: it was free already. FAILED_PRECONDITION
  // (`ALREADY_COMMITTED`): a release undoes no commit.
  absl::StatusOr<bool> Release(const CallOptions& call = {});
  // Makes the lease longer, and may save a checkpoint. Errors as of Commit().
  absl::Status Extend(const ExtendOptions& options = {}, const CallOptions& call = {});

 private:
  friend class Client;
  friend class LeaseKeeper;
  friend class Run;
  struct State;

  explicit Reservation(std::unique_ptr<State> state);
  // By the client's clock; else as lease_left().
  absl::Time lease_end() const;
  // How long it is whenever it is extended.
  absl::Duration lease() const;

  std::unique_ptr<State> state_;  // nullptr once moved from.
};

}  // namespace onced::client
