#include "tests/examples/payments/adversary.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace onced::examples {

void Adversary::Act() {
  if (planned_.empty()) {
    planned_ = {Deed::kKillOnced, Deed::kKillServer, Deed::kFreezeServer};
    std::shuffle(planned_.begin(), planned_.end(), random_);
  }
  const Deed deed = planned_.back();
  planned_.pop_back();
  switch (deed) {
    case Deed::kKillOnced:
      ++onced_kills_;
      return fleet_.RestartOnced();
    case Deed::kKillServer:
      ++server_kills_;
      return fleet_.RestartServer(AnyServer());
    case Deed::kFreezeServer:
      ++freezes_;
      return FreezeAServer();
  }
}

void Adversary::FreezeAServer() {
  PaymentServer& server = fleet_.server(AnyServer());
  server.Freeze();
  // How long is the point here, not something to wait for: a lease, and time to take over.
  std::this_thread::sleep_for(std::chrono::milliseconds(1'500) +
                              std::chrono::milliseconds(1'500) * Fraction());
  server.Thaw();
}

}  // namespace onced::examples
