// Reserves in flight, many at once.
#pragma once

#include <future>
#include <memory>
#include <vector>

#include "tests/integration/api.h"

namespace onced::integration {

// One Reserve that is on its way.
// Threads: one.
class AsyncReserve {
 public:
  // The API's object must live until it is answered.
  AsyncReserve(Api& api, v1::ReserveRequest request,
               std::chrono::system_clock::time_point deadline = Soon());
  ~AsyncReserve();  // Cancels it, if it isn't answered.

  void Cancel() { context_.TryCancel(); }
  // Waits for the answer.
  const Reply<v1::ReserveResponse>& Get();
  // The verdict; the test fails if it is an error.
  v1::Outcome Outcome() { return Get().value().outcome(); }
  bool IsAnswered() const;

 private:
  const v1::ReserveRequest request_;
  grpc::ClientContext context_;
  Reply<v1::ReserveResponse> reply_;
  std::promise<void> done_;
  std::future<void> answered_;
};

using AsyncReserves = std::vector<std::unique_ptr<AsyncReserve>>;

// How many of them ended with that verdict.
int CountOf(const AsyncReserves& reserves, v1::Outcome outcome);
int CountAnswered(const AsyncReserves& reserves);

}  // namespace onced::integration
