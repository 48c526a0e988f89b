#include "tests/bench/grpc/session_driver.h"

#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <deque>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "idempotency/v1/idempotency.grpc.pb.h"
#include "tests/bench/grpc/channels.h"
#include "tests/bench/grpc/messages.h"

namespace onced::bench {
namespace {

namespace v1 = idempotency::v1;

using Stream = grpc::ClientAsyncReaderWriter<v1::SessionRequest, v1::SessionResponse>;

// What completes on the queue.
struct Tag {
  enum class What : std::uint8_t { kStart, kRead, kWrite };
  What what;
  std::size_t stream;
};

// Lifetime: what is in flight is cancelled by the destructor.
class SessionDriver final : public Driver {
 public:
  SessionDriver(const std::vector<std::shared_ptr<grpc::Channel>>& channels, int callers)
      : callers_(static_cast<std::size_t>(callers)), streams_(channels.size()) {
    for (std::size_t i = 0; i < channels.size(); ++i) {
      OneStream& stream = streams_[i];
      stream.start = {Tag::What::kStart, i};
      stream.read = {Tag::What::kRead, i};
      stream.write = {Tag::What::kWrite, i};
      stream.stub = v1::IdempotencyService::NewStub(channels[i]);
      stream.call = stream.stub->PrepareAsyncSession(&stream.context, &waiter_.queue());
      stream.call->StartCall(&stream.start);
    }
  }
  ~SessionDriver() override {
    for (OneStream& stream : streams_) stream.context.TryCancel();
  }

  void Start(int caller, const std::vector<Step>& steps) override {
    const auto at = static_cast<std::size_t>(caller);
    Caller& one = callers_[at];
    one.expected = ExpectedOf(steps);
    one.request.set_id(at);
    Fill(steps, *one.request.mutable_operations());
    one.in_flight = true;
    OneStream& stream = streams_[at % streams_.size()];
    stream.unsent.push_back(at);
    WriteNext(stream);
  }

  void Poll(Clock::time_point until, std::vector<Completion>& done) override {
    auto event = waiter_.Next(until);
    while (event.has_value()) {
      Handle(*static_cast<const Tag*>(event->tag), event->ok, done);
      event = waiter_.TryNext();
    }
    if (broken_) FailBroken(done);
  }

 private:
  struct Caller {
    v1::SessionRequest request;
    std::vector<Expected> expected;
    bool in_flight = false;
  };
  struct OneStream {
    std::unique_ptr<v1::IdempotencyService::Stub> stub;
    grpc::ClientContext context;
    std::unique_ptr<Stream> call;
    v1::SessionResponse response;
    std::deque<std::size_t> unsent;  // Callers.
    bool ready = false;              // To write: nothing is being written.
    bool broken = false;
    Tag start{};
    Tag read{};
    Tag write{};
  };

  void Handle(const Tag& tag, bool ok, std::vector<Completion>& done) {
    OneStream& stream = streams_[tag.stream];
    if (!ok) {
      if (!stream.broken) std::fputs("a stream broke\n", stderr);
      stream.broken = broken_ = true;
      return;
    }
    switch (tag.what) {
      case Tag::What::kStart:
        stream.call->Read(&stream.response, &stream.read);
        stream.ready = true;
        return WriteNext(stream);
      case Tag::What::kWrite:
        stream.ready = true;
        return WriteNext(stream);
      case Tag::What::kRead:
        done.push_back(Take(stream.response));
        return stream.call->Read(&stream.response, &stream.read);
    }
  }

  void WriteNext(OneStream& stream) {
    if (!stream.ready || stream.unsent.empty() || stream.broken) return;
    const std::size_t caller = stream.unsent.front();
    stream.unsent.pop_front();
    stream.ready = false;
    grpc::WriteOptions options;
    // The next one follows at once: both may go in one system call.
    if (!stream.unsent.empty()) options.set_buffer_hint();
    stream.call->Write(callers_[caller].request, options, &stream.write);
  }

  Completion Take(const v1::SessionResponse& response) {
    const auto at = static_cast<std::size_t>(response.id());
    if (at >= callers_.size() || !callers_[at].in_flight) return {};  // Of nobody: wrong.
    callers_[at].in_flight = false;
    return {static_cast<int>(at), Judge(callers_[at].expected, response.items())};
  }

  // Their answers will never come.
  void FailBroken(std::vector<Completion>& done) {
    for (std::size_t i = 0; i < callers_.size(); ++i) {
      if (!callers_[i].in_flight || !streams_[i % streams_.size()].broken) continue;
      callers_[i].in_flight = false;
      done.push_back({static_cast<int>(i), std::vector<Outcome>(callers_[i].expected.size())});
    }
  }

  std::vector<Caller> callers_;
  bool broken_ = false;            // Any of the streams.
  std::deque<OneStream> streams_;  // They stay where they are.
  CompletionWaiter waiter_;        // Last: its end waits for what uses the above.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Driver>> MakeSessionDriver(const DriverOptions& options) {
  auto channels = Connect(options.address, options.connections);
  if (!channels.ok()) return channels.status();
  return std::make_unique<SessionDriver>(*channels, options.callers);
}

}  // namespace onced::bench
