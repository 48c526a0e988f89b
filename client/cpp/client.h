// The calls of the service, for those who use it. RunOnce(), in run_once.h, puts them together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/call_options.h"
#include "client/cpp/connect_options.h"
#include "client/cpp/reservation.h"
#include "client/cpp/retry.h"
#include "client/cpp/types.h"

namespace idempotency::v1 {
class ReserveResponse;
}

namespace onced::client {

struct ClientOptions {
  ConnectOptions connect = {};
  // How long a call may take with all its attempts, if it has no deadline of its own; a
  // Reserve that waits has its `wait_timeout` on top. Positive, else every call is an
  // INVALID_ARGUMENT.
  absl::Duration timeout = absl::Seconds(5);
  RetryPolicy retry = {};
};

struct ReserveOptions {
  // Up to 128 bytes that say what is asked for: see fingerprint.h. Compared exactly.
  std::string fingerprint = {};
  // Who asks, for people and logs: up to 128 bytes. Shown to other callers.
  std::string owner = {};
  // Names this execution; as secret as the token. Empty: a new one is drawn, which is right
  // but where a call is to be repeated by the caller itself: see NewRequestId().
  std::string request_id = {};
  // How long the work may take before somebody else may take over: 100 ms - 24 h, inside the
  // policy's bounds. Nothing: the policy's default, 2 min unless configured.
  std::optional<absl::Duration> lease_ttl = {};
  // How long to wait for a holder to finish: 0 - 60 s, inside the policy's bounds, else
  // INVALID_ARGUMENT. Nothing: the policy's default, 0 unless configured.
  std::optional<absl::Duration> wait_timeout = {};
};

// ---- The verdicts on a Reserve. The work is done on Fresh and on nothing else. ----

// The key is the caller's: do the work, then commit or release.
struct Fresh {
  Reservation reservation;
};
// The work was done before.
struct Replayed {
  Result result = {};
  absl::Time commit_time = {};
  absl::Time expire_time = {};
  std::int64_t fence = 0;  // Of the holder who committed.
};
// Somebody holds the key and its lease is running; also any verdict that this version doesn't
// know.
struct Conflict {
  Holder holder = {};
};
// The key was used with another fingerprint: one key, two different requests.
struct Mismatch {
  Holder holder = {};
};
// The last holder's lease lapsed and the namespace's policy is to hold: the effect may
// have happened. Its late commit or an operator settles it.
struct Unresolved {
  Holder holder = {};
};
using ReserveOutcome = std::variant<Fresh, Replayed, Conflict, Mismatch, Unresolved>;

// What a client has done since it was made.
struct ClientStats {
  std::int64_t attempts = 0;          // Sent, of all calls.
  std::int64_t retries = 0;           // Of these, not the first of their call.
  std::int64_t unprotected_runs = 0;  // RunOnce() without the service: see FailOpen.
};

struct ClientCore;
struct Sent;

// Operation: each call blocks until it is answered, has failed for good, or its deadline has
//            passed; one that fails as UNAVAILABLE is sent again: see RetryPolicy.
// Threads:   any function from any thread, many at once.
// Lifetime:  a handle: copies share one connection, which goes with the last of them and of
//            their reservations. Copying and destroying is cheap.
// Promise:   a call is the same in all its attempts: no request_id or token changes, so that a
//            lost answer costs nothing. Errors carry the server's details: see DetailsOf() in
//            error.h. A deadline that passed, or a stop, says nothing of what became of the call.
// Limits:    as gRPC, it doesn't survive fork(): connect in the child.
class Client {
 public:
  // Returns at once: the connection is made by the first call, and again whenever it was
  // lost. `target` is a gRPC name: "host:port", "dns:///name:port", "unix:/path".
  static Client Connect(const std::string& target, const ClientOptions& options = {});

  // The verdict. An error: the key could not be judged, and the work must not be done.
  absl::StatusOr<ReserveOutcome> Reserve(const Key& key, const ReserveOptions& options = {},
                                         const CallOptions& call = {}) const;
  // What is known of the key; one that was never used is kAbsent, and no error. Sees every
  // write that was acknowledged before.
  absl::StatusOr<Record> Inspect(const Key& key, bool include_result = false,
                                 const CallOptions& call = {}) const;

  // As those of Reservation, for a process that was handed the token.
  absl::StatusOr<Committed> Commit(const Key& key, const std::string& token, const Result& result,
                                   const CommitOptions& options = {},
                                   const CallOptions& call = {}) const;
  absl::StatusOr<bool> Release(const Key& key, const std::string& token,
                               const CallOptions& call = {}) const;
  // When the lease ends, by the server's clock.
  absl::StatusOr<absl::Time> Extend(const Key& key, const std::string& token,
                                    const ExtendOptions& options = {},
                                    const CallOptions& call = {}) const;

  ClientStats stats() const;

  // Made of other parts: for tests.
  explicit Client(std::shared_ptr<ClientCore> core);
  ClientCore& core() const { return *core_; }

 private:
  friend class Reservation;

  absl::StatusOr<ReserveOutcome> Granted(const Key& key, const ReserveOptions& options,
                                         const ::idempotency::v1::ReserveResponse& response,
                                         const Sent& sent) const;
  absl::StatusOr<absl::Time> Extend(const Key& key, const std::string& token,
                                    const ExtendOptions& options, const CallOptions& call,
                                    Sent* sent) const;

  // Shared by the copies and by reservations, which may outlive them all.
  std::shared_ptr<ClientCore> core_;
};

}  // namespace onced::client
