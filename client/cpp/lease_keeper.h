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

struct ClientCore;

// Operation: extends the lease whenever a third of it has passed; where that fails, again
//            and again until it is refused, several times in a lease. One that ran out is extended
//            all the same: it is the holder's until somebody else is granted the key.
// Threads:   one of its own; lost() from any.
// Lifetime:  `reservation` outlives it and isn't moved meanwhile.
// Promise:   once the destructor returns, nothing is sent any more.
class LeaseKeeper {
 public:
  struct Options {
    std::optional<absl::Duration> lease_ttl;  // As in the Reserve.
    absl::Duration keep_max;                  // From now on; then it extends no more.
    CallOptions call;                         // Its trace context only.
  };

  // RESOURCE_EXHAUSTED: no thread can be made.
  static absl::StatusOr<std::unique_ptr<LeaseKeeper>> Start(Reservation& reservation,
                                                            const Options& options);
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;
  ~LeaseKeeper();

  // A stop is requested once the server has refused to extend, so that the key isn't the
  // holder's any more, or once the lease is over, so that it may be another's.
  std::stop_token lost() const { return lost_.get_token(); }

 private:
  LeaseKeeper(Reservation& reservation, const Options& options);

  void Run(const std::stop_token& stop);
  // When a third of the lease has passed.
  absl::Time Due() const;
  // When to say that the lease is over; never: that was said.
  absl::Time Over() const;
  // These say when to send the next one; never: it was refused.
  absl::Time TryExtend(const std::stop_token& stop);
  absl::Time Extend(const std::stop_token& stop);
  absl::Time AfterRefusal();
  absl::Time After(absl::Duration pause) const;

  absl::Status Send(const std::stop_token& stop);
  absl::Duration Timeout() const;
  // The longest pause after a failure.
  absl::Duration PauseMax() const;

  // Constant after construction.
  Reservation& reservation_;
  const ClientCore& core_;
  const Options options_;
  const absl::Time end_;

  // The thread's own.
  int failures_ = 0;                         // In a row.
  std::optional<absl::Duration> lease_ttl_;  // Nothing also: it was refused.

  std::stop_source lost_;
  std::jthread thread_;  // Last: starts once everything above exists.
};

}  // namespace onced::client
