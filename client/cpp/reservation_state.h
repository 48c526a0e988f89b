// What a Reservation holds.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "client/cpp/client.h"
#include "client/cpp/reservation.h"

namespace onced::client {

struct Reservation::State {
  explicit State(Client grantor) : client(std::move(grantor)) {}

  // Constant once granted.
  Client client;
  Key key;
  std::string token;
  std::int64_t fence = 0;
  int attempt = 0;
  std::optional<Previous> previous;
  // The Reserve was sent more than once: it may have been granted before the last time, and the
  // answer told what was left of the lease.
  bool repeated = false;

  mutable std::mutex mutex;
  // By the client's clock; guarded by mutex.
  absl::Time lease_end;
  // The same by the server's; guarded by mutex.
  absl::Time server_lease_end;
  // How long a lease is when it is given: as it was asked for, or as the last answer showed.
  // Guarded by mutex.
  absl::Duration lease;
};

}  // namespace onced::client
