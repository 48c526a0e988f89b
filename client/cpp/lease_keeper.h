// Keeps a lease from running out while the work goes on.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/reservation.h"

namespace onced::client {

// Operation: extends the lease whenever a third of it has passed; where that fails, again
//            and again until it is refused. A lease that ran out is extended all the same: it
//            is the holder's until somebody else is granted the key.
// Threads:   one of its own; lost() from any.
// Lifetime:  `reservation` outlives it and isn't moved meanwhile.
// Promise:   once the destructor returns, nothing is sent any more.
class LeaseKeeper {
 public:
  struct Options {
    std::optional<absl::Duration> lease_ttl;  // As in the Reserve.
    absl::Duration keep_max;                  // From now on; then it stops.
    CallOptions call;                         // Its trace context only.
  };

  // RESOURCE_EXHAUSTED: no thread can be made.
  static absl::StatusOr<std::unique_ptr<LeaseKeeper>> Start(Reservation& reservation,
                                                            const Options& options);
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;
  ~LeaseKeeper();

  // A stop is requested once the server has refused to extend: the key isn't the
  // holder's any more.
  std::stop_token lost() const { return lost_.get_token(); }

 private:
  LeaseKeeper(Reservation& reservation, const Options& options);

  void Run(const std::stop_token& stop);
  // When a third of the lease has passed.
  absl::Time Due() const;
  // When to send the next one; nothing: it was refused.
  std::optional<absl::Time> Extend(const std::stop_token& stop);

  // Constant after construction.
  Reservation& reservation_;
  const Options options_;
  const absl::Time end_;

  // The thread's own.
  int failures_ = 0;  // In a row.

  std::stop_source lost_;
  std::jthread thread_;  // Last: starts once everything above exists.
};

}  // namespace onced::client
