#include "tests/bench/overload/open_load.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "idempotency/v1/idempotency.grpc.pb.h"
#include "tests/bench/grpc/channels.h"
#include "tests/bench/load/arrivals.h"

namespace onced::bench {
namespace {

namespace v1 = idempotency::v1;
using Stub = v1::IdempotencyService::Stub;

// Calls that are due within that time are sent together.
constexpr auto kTurn = std::chrono::microseconds(100);

class OpenLoad {
 public:
  OpenLoad(const std::vector<std::shared_ptr<grpc::Channel>>& channels,
           const OpenLoadOptions& options)
      : options_(options),
        slots_(static_cast<std::size_t>(options.in_flight_max)),
        begin_(Clock::now() + options.warm_up),
        end_(begin_ + options.duration) {
    for (const auto& channel : channels) stubs_.push_back(v1::IdempotencyService::NewStub(channel));
    for (Slot& slot : slots_) {
      idle_.push_back(&slot);
      if (options_.operations == 1) {
        slot.reserve.set_namespace_(options_.name_space);
        continue;
      }
      for (int i = 0; i < options_.operations; ++i) {
        slot.batch.add_operations()->mutable_reserve()->set_namespace_(options_.name_space);
      }
    }
  }

  OpenLoadResult Run() {
    if (options_.calls_per_second > 0) {
      RunOpen();
    } else {
      RunClosed();
    }
    while (idle_.size() < slots_.size()) Poll(Clock::now() + std::chrono::seconds(1));
    result_.seconds = std::chrono::duration<double>(options_.duration).count();
    return std::move(result_);
  }

 private:
  struct Slot {
    Clock::time_point due;
    std::optional<grpc::ClientContext> context;
    grpc::Status status;
    v1::ReserveRequest reserve;
    v1::ReserveResponse reserved;
    v1::BatchRequest batch;
    v1::BatchResponse batched;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::ReserveResponse>> reserve_reader;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::BatchResponse>> batch_reader;
  };

  void RunOpen() {
    Arrivals arrivals(Clock::now(), options_.calls_per_second, options_.seed);
    for (auto now = Clock::now(); now < end_; now = Clock::now()) {
      // While all are busy nothing can be sent, so it looks at nothing but the answers:
      // else it would be busy itself, with what it doesn't send.
      const bool busy = idle_.empty();
      Poll(busy ? end_ : std::max(arrivals.next(), now + kTurn));
      if (busy) {
        for (now = Clock::now(); arrivals.next() <= now; arrivals.Pop()) Lose(arrivals.next());
      }
      for (now = Clock::now(); arrivals.next() <= now; arrivals.Pop()) Due(arrivals.next());
    }
  }
  void RunClosed() {
    while (Clock::now() < end_) {
      while (!idle_.empty()) Due(Clock::now());
      Poll(Clock::now() + std::chrono::milliseconds(10));
    }
  }

  bool Counts(Clock::time_point due) const { return due >= begin_ && due < end_; }
  std::uint64_t operations() const { return static_cast<std::uint64_t>(options_.operations); }

  void Lose(Clock::time_point due) {
    if (!Counts(due)) return;
    result_.due += operations();
    result_.lost += operations();
  }
  void Due(Clock::time_point due) {
    if (idle_.empty()) return Lose(due);
    if (Counts(due)) result_.due += operations();
    Slot& slot = *idle_.back();
    idle_.pop_back();
    slot.due = due;
    Start(slot);
  }

  void Start(Slot& slot) {
    Stub& stub = *stubs_[next_stub_++ % stubs_.size()];
    slot.context.emplace();
    const auto rest = slot.due + options_.deadline - Clock::now();
    slot.context->set_deadline(std::chrono::system_clock::now() + rest);
    if (options_.operations == 1) {
      slot.reserve.set_key(NextKey());
      slot.reserve_reader =
          stub.PrepareAsyncReserve(&*slot.context, slot.reserve, &waiter_.queue());
      slot.reserve_reader->StartCall();
      slot.reserve_reader->Finish(&slot.reserved, &slot.status, &slot);
      return;
    }
    for (v1::Operation& operation : *slot.batch.mutable_operations()) {
      operation.mutable_reserve()->set_key(NextKey());
    }
    slot.batch_reader = stub.PrepareAsyncBatch(&*slot.context, slot.batch, &waiter_.queue());
    slot.batch_reader->StartCall();
    slot.batch_reader->Finish(&slot.batched, &slot.status, &slot);
  }
  std::string NextKey() { return absl::StrCat("k-", options_.seed, "-", ++last_key_); }

  void Poll(Clock::time_point until) {
    auto event = waiter_.Next(until);
    while (event.has_value()) {
      Slot& slot = *static_cast<Slot*>(event->tag);
      if (Counts(slot.due)) Count(slot);
      idle_.push_back(&slot);
      event = waiter_.TryNext();
    }
  }

  void Count(const Slot& slot) {
    const auto latency = Clock::now() - slot.due;
    const bool in_time = latency <= options_.deadline;
    if (!slot.status.ok()) return CountError(slot.status.error_code(), slot.status.error_message());
    if (in_time) result_.latency.Record(latency);
    if (options_.operations == 1) return CountOne(in_time, slot.reserved.outcome());
    for (const v1::BatchItem& item : slot.batched.items()) {
      if (!item.has_error()) {
        CountOne(in_time, item.reserve().outcome());
      } else if (item.error().code() == grpc::RESOURCE_EXHAUSTED) {
        ++result_.refused;
      } else if (item.error().code() == grpc::DEADLINE_EXCEEDED) {
        ++result_.late;
      } else {
        Fail(item.error().message());
      }
    }
  }
  void CountOne(bool in_time, v1::Outcome outcome) {
    if (outcome != v1::OUTCOME_FRESH) return Fail("a verdict that isn't FRESH");
    ++(in_time ? result_.good : result_.late);
  }
  void CountError(grpc::StatusCode code, const std::string& message) {
    if (code == grpc::RESOURCE_EXHAUSTED) {
      result_.refused += operations();
    } else if (code == grpc::DEADLINE_EXCEEDED) {
      result_.late += operations();
    } else {
      result_.failed += operations() - 1;
      Fail(message);
    }
  }
  void Fail(const std::string& what) {
    ++result_.failed;
    result_.failure = what;
  }

  const OpenLoadOptions options_;
  std::vector<std::unique_ptr<Stub>> stubs_;
  std::size_t next_stub_ = 0;
  std::vector<Slot> slots_;
  std::vector<Slot*> idle_;
  const Clock::time_point begin_;
  const Clock::time_point end_;
  std::uint64_t last_key_ = 0;
  OpenLoadResult result_;
  CompletionWaiter waiter_;  // Last: its end waits for what uses the above.
};

}  // namespace

OpenLoadResult RunOpenLoad(const std::vector<std::shared_ptr<grpc::Channel>>& channels,
                           const OpenLoadOptions& options) {
  return OpenLoad(channels, options).Run();
}

}  // namespace onced::bench
