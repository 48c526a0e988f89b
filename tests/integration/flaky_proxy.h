// A network between gRPC callers and servers, which loses, doubles and delays calls.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace grpc {
class Server;
}

namespace onced::integration {

// How often what happens to a call: 0 never, 1 always. Of the first three, a call meets one at
// most.
struct Faults {
  // No server hears of the call; the caller hears UNAVAILABLE.
  double lose_request = 0;
  // A server executes it; the caller hears UNAVAILABLE.
  double lose_reply = 0;
  // It is sent twice, at once or up to `late_max` apart, each time to a server drawn by lot. The
  // caller hears one of the two answers.
  double duplicate = 0;
  // Of the calls that are lost either way, those whose callers hear nothing until their deadline.
  double silence = 0;
  // It is late by up to `late_max`.
  double delay = 0;
  std::chrono::milliseconds late_max{0};
};

// What it did so far.
struct FaultCounts {
  std::int64_t calls = 0;
  std::int64_t lost_requests = 0;
  std::int64_t lost_replies = 0;  // Of calls that a server had answered.
  std::int64_t silences = 0;      // Of these two.
  std::int64_t duplicates = 0;
  std::int64_t delays = 0;
};

// Operation: hands unary calls of any service to one of its servers, with their metadata, and the
//            answers back, with their trailers and details, as far as the faults let it. A call is
//            ended with its caller, but not one that is doubled or whose reply gets lost: that is
//            executed all the same.
// Threads:   gRPC's own; the functions from any.
// Promise:   destroyed, it has nothing under way any more.
class FlakyProxy {
 public:
  // From the seed come the lots: one after the other, to the calls as they arrive.
  FlakyProxy(std::uint64_t seed, const std::vector<std::string>& servers);
  ~FlakyProxy();
  FlakyProxy(const FlakyProxy&) = delete;
  FlakyProxy& operator=(const FlakyProxy&) = delete;

  const std::string& address() const { return address_; }
  // None at first.
  void SetFaults(const Faults& faults);
  // Calls from now on find that one there.
  void SetServer(std::size_t index, const std::string& address);
  FaultCounts counts() const;

 private:
  class Network;
  class Service;
  class Call;
  struct Sending;

  // Shared with the calls under way.
  std::shared_ptr<Network> network_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace onced::integration
