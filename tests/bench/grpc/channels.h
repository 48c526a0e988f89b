// Connections, and the queue on which their calls complete.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/driver.h"

namespace onced::bench {

// As many real connections as asked for; all are up when it returns.
absl::StatusOr<std::vector<std::shared_ptr<grpc::Channel>>> Connect(const std::string& address,
                                                                    int count);

// Threads: the load's.
class CompletionWaiter {
 public:
  CompletionWaiter();
  ~CompletionWaiter();

  grpc::CompletionQueue& queue() { return queue_; }

  struct Event {
    void* tag;
    bool ok;
  };
  // The next event, for which it waits until about then: it returns early rather than
  // late, since gRPC's own deadlines are whole milliseconds.
  std::optional<Event> Next(Clock::time_point until);
  // One that is there already.
  std::optional<Event> TryNext();

 private:
  grpc::CompletionQueue queue_;
};

}  // namespace onced::bench
