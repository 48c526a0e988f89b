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
  absl::Duration lease;  // What was left of it when the grant was judged.

  mutable std::mutex mutex;
  // By the client's clock; guarded by mutex.
  absl::Time lease_end;
  // The same by the server's; guarded by mutex.
  absl::Time server_lease_end;
};

}  // namespace onced::client
