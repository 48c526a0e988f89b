// The service in memory, for the tests of those who use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/cpp/client.h"
#include "client/cpp/types.h"

namespace onced::client {

// What a namespace allows, as the server's configuration has it; the defaults are the server's.
// Each default lies within its bounds, and these within the server's own: see
// docs/configuration.md.
struct FakePolicy {
  // `on_lapse: HOLD`: nobody takes over from a holder that vanished.
  bool hold_on_lapse = false;
  absl::Duration lease_min = absl::Milliseconds(100);
  absl::Duration lease_max = absl::Hours(24);
  absl::Duration lease_default = absl::Minutes(2);
  absl::Duration retention_min = absl::Seconds(1);
  absl::Duration retention_max = absl::Hours(24 * 400);
  absl::Duration retention_default = absl::Hours(24);
  absl::Duration wait_max = absl::Seconds(60);
  absl::Duration wait_default = absl::ZeroDuration();
  // How long a reservation that lapsed is kept, unless it is held.
  absl::Duration lapsed_retention = absl::Hours(24);
  std::int64_t max_body_bytes = 1 << 20;
};

struct FakeServerOptions {
  std::map<std::string, FakePolicy> namespaces = {};
  // Of those that are not named there; nothing: they may not be used.
  std::optional<FakePolicy> others = FakePolicy{};
  // After Start(), leases that ran out meanwhile lapse no earlier than this.
  absl::Duration restart_grace = absl::Seconds(15);
  // The server's time goes on by Advance() alone: for tests that must pass however slow the
  // machine is, and that wait for no lease or wait to end by itself.
  bool time_stands_still = false;
};

enum class Rpc : std::uint8_t {
  kReserve,
  kCommit,
  kRelease,
  kExtend,
  kInspect,
  kBatch,
  kSession,
};

// Operation: the server's own code, from the bytes of a call to the shards, over a memory in
//            place of the disk. Serves the API and the admin service over gRPC, to clients in any
//            language, on one port of 127.0.0.1, without TLS; asks nobody who they are. Its time
//            goes on by itself, unless it is to stand still, and can be moved ahead.
// Threads:   any function from any thread. It has two of its own, and gRPC some more.
// Lifetime:  calls in flight end with it, as UNAVAILABLE; clients may outlive it.
// Promise:   an answer is the server's, but for the faults that were asked for.
// Limits:    all records stay in memory. What can't work ends the process, for there is nothing
//            to test then: an impossible policy, or no port to be had.
class FakeServer {
 public:
  explicit FakeServer(const FakeServerOptions& options = {});
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  // "127.0.0.1:PORT", the same for its whole life.
  const std::string& address() const;
  // A client of it. As Client::Connect(), but that Start() waits until it is connected again.
  Client client(const ClientOptions& options = {}) const;

  // ---- Time, of which the server has its own ----

  // What the server goes by.
  absl::Time Now() const;
  // Lets so much time pass, at once. Leases lapse, results expire and waits end as they come, to
  // a tenth of a second, and calls that were parked are answered when it returns. Clients have
  // the machine's time, and notice nothing: a RunOnce() at work doesn't extend its lease in time,
  // and one that waits, and whose call has ended, calls again. A call's own deadline is the
  // server's to keep, too: a Reserve that is to be parked through an hour needs one that is
  // longer. Not negative, and at most 1,000 years.
  void Advance(absl::Duration by);
  // Calls that are parked: a Reserve with a wait_timeout, while another holds the key.
  std::size_t waiters() const;
  // Blocks until there are so many, or for `patience`. Whether there are.
  bool AwaitWaiters(std::size_t count, absl::Duration patience = absl::Seconds(30)) const;

  // ---- Faults. Those that are asked for first come first. Sessions have none of them. ----

  // The next `count` calls, of `rpc` if that is given, fail so and are not executed. Details, as
  // of ToAbslStatus() in error.h, go with it. Not OK.
  void FailNext(int count, const absl::Status& status, std::optional<Rpc> rpc = {});
  // The next `count` are executed, but their answers are lost: they fail as UNAVAILABLE.
  void LoseAnswers(int count, std::optional<Rpc> rpc = {});
  // Those that have not come yet don't.
  void ClearFaults();

  // Ends: calls in flight fail, waits end, and no connection can be had. No effect if it has
  // ended.
  void Stop();
  // Goes on where it ended, with its records, on its address. No effect if it has not ended.
  void Start();

  // ---- What an operator does, to a key in any state ----

  // As `oncectl resolve --force`: stores `result`, or releases if there is none.
  absl::Status Resolve(const Key& key, const std::optional<Result>& result);
  // As `oncectl evict --force`: the key is as if it had never been used.
  absl::Status Evict(const Key& key);

  // Calls that have come, with those that were made to fail; of a session, one when it begins.
  std::int64_t calls(Rpc rpc) const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace onced::client
