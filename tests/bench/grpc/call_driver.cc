#include "tests/bench/grpc/call_driver.h"

#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "idempotency/v1/idempotency.grpc.pb.h"
#include "tests/bench/grpc/channels.h"
#include "tests/bench/grpc/messages.h"

namespace onced::bench {
namespace {

namespace v1 = idempotency::v1;

using Stub = v1::IdempotencyService::Stub;

// A call of one kind, made again and again with the same messages.
template <typename Request, typename Response>
struct Call {
  Request request;
  Response response;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader;

  // `prepare` is the stub's function.
  template <typename Prepare>
  void Start(Stub& stub, Prepare prepare, grpc::ClientContext& context,
             grpc::CompletionQueue& queue, grpc::Status& status, void* tag) {
    reader = (stub.*prepare)(&context, request, &queue);
    reader->StartCall();
    reader->Finish(&response, &status, tag);
  }
};

// What one caller has in flight.
class UnaryCaller {
 public:
  void Start(const std::vector<Step>& steps, Stub& stub, grpc::ClientContext& context,
             grpc::CompletionQueue& queue, grpc::Status& status, void* tag) {
    const Step& step = steps.front();
    op_ = step.op;
    expected_ = {step.expect, step.body};
    if (op_ == Op::kReserve) {
      Fill(step, reserve_.request);
      reserve_.Start(stub, &Stub::PrepareAsyncReserve, context, queue, status, tag);
    } else {
      Fill(step, commit_.request);
      commit_.Start(stub, &Stub::PrepareAsyncCommit, context, queue, status, tag);
    }
  }
  std::vector<Outcome> Outcomes(const grpc::Status& status) {
    if (!status.ok()) return {Outcome{}};
    if (op_ == Op::kReserve) return {Judge(expected_, reserve_.response)};
    return {Judge(expected_, commit_.response)};
  }

 private:
  Op op_ = Op::kReserve;
  Expected expected_;
  Call<v1::ReserveRequest, v1::ReserveResponse> reserve_;
  Call<v1::CommitRequest, v1::CommitResponse> commit_;
};

class BatchCaller {
 public:
  void Start(const std::vector<Step>& steps, Stub& stub, grpc::ClientContext& context,
             grpc::CompletionQueue& queue, grpc::Status& status, void* tag) {
    expected_ = ExpectedOf(steps);
    Fill(steps, *batch_.request.mutable_operations());
    batch_.Start(stub, &Stub::PrepareAsyncBatch, context, queue, status, tag);
  }
  std::vector<Outcome> Outcomes(const grpc::Status& status) {
    if (!status.ok()) return std::vector<Outcome>(expected_.size());
    return Judge(expected_, batch_.response.items());
  }

 private:
  std::vector<Expected> expected_;
  Call<v1::BatchRequest, v1::BatchResponse> batch_;
};

// Lifetime: ends with the calls that are in flight.
template <typename Caller>
class CallDriver final : public Driver {
 public:
  CallDriver(const std::vector<std::shared_ptr<grpc::Channel>>& channels, int callers)
      : slots_(static_cast<std::size_t>(callers)) {
    for (const auto& channel : channels) stubs_.push_back(v1::IdempotencyService::NewStub(channel));
  }
  ~CallDriver() override {
    for (Slot& slot : slots_) {
      if (slot.context.has_value()) slot.context->TryCancel();
    }
    while (in_flight_ > 0) {
      if (waiter_.Next(Clock::now() + std::chrono::seconds(1)).has_value()) --in_flight_;
    }
  }

  void Start(int caller, const std::vector<Step>& steps) override {
    const auto at = static_cast<std::size_t>(caller);
    Slot& slot = slots_[at];
    slot.context.emplace();
    slot.caller.Start(steps, *stubs_[at % stubs_.size()], *slot.context, waiter_.queue(),
                      slot.status, &slot);
    ++in_flight_;
  }

  void Poll(Clock::time_point until, std::vector<Completion>& done) override {
    auto event = waiter_.Next(until);
    while (event.has_value()) {
      --in_flight_;
      done.push_back(Finish(*static_cast<Slot*>(event->tag)));
      // Another look costs a system call, which nothing in flight can repay.
      if (in_flight_ == 0) return;
      event = waiter_.TryNext();
    }
  }

 private:
  struct Slot {
    Caller caller;
    std::optional<grpc::ClientContext> context;  // gRPC wants a new one for each call.
    grpc::Status status;
  };

  Completion Finish(Slot& slot) {
    if (!slot.status.ok() && !complained_) {
      std::fprintf(stderr, "a call failed: %s\n", slot.status.error_message().c_str());
      complained_ = true;
    }
    return {static_cast<int>(&slot - slots_.data()), slot.caller.Outcomes(slot.status)};
  }

  std::vector<std::unique_ptr<Stub>> stubs_;
  CompletionWaiter waiter_;
  std::vector<Slot> slots_;
  int in_flight_ = 0;
  bool complained_ = false;
};

template <typename Caller>
absl::StatusOr<std::unique_ptr<Driver>> Make(const DriverOptions& options) {
  auto channels = Connect(options.address, options.connections);
  if (!channels.ok()) return channels.status();
  return std::make_unique<CallDriver<Caller>>(*channels, options.callers);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Driver>> MakeUnaryDriver(const DriverOptions& options) {
  return Make<UnaryCaller>(options);
}

absl::StatusOr<std::unique_ptr<Driver>> MakeBatchDriver(const DriverOptions& options) {
  return Make<BatchCaller>(options);
}

}  // namespace onced::bench
