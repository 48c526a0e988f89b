// A service that answers as it is told, without a connection, and a clock that tests move.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "client/cpp/client_core.h"
#include "client/cpp/convert.h"
#include "client/cpp/duration.h"
#include "client/cpp/error.h"
#include "gmock/gmock.h"
#include "grpcpp/test/client_context_test_peer.h"
#include "idempotency/v1/idempotency_mock.grpc.pb.h"

namespace onced::client {

// Stands still until it is moved. The thread that made it moves it by sleeping; others
// sleep until it is moved.
class ManualClock final : public Clock {
 public:
  absl::Time Now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  // Far from the other, so that one taken for the other is noticed.
  absl::Time WallNow() const override { return Now() + absl::Hours(1'000); }

  bool SleepUntil(absl::Time time, const std::stop_token& stop) override {
    if (std::this_thread::get_id() == mover_) {
      if (stop.stop_requested()) return false;
      MoveTo(time + oversleep);
      return true;
    }
    std::unique_lock lock(mutex_);
    sleeper_ = time;
    moved_.notify_all();
    const bool reached = moved_.wait(lock, stop, [&] { return now_ >= time; });
    sleeper_ = absl::InfinitePast();
    return reached;
  }

  // Until when the one other thread sleeps; waits until it does.
  absl::Time AwaitSleeper() const {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return sleeper_ > now_; });
    return sleeper_;
  }

  void Advance(absl::Duration duration) { MoveTo(Now() + duration); }
  // Until the other thread's sleep is over, which is waited for.
  void AdvanceToSleeper() { MoveTo(AwaitSleeper()); }

  absl::Duration oversleep;  // By which its mover sleeps too long.

 private:
  void MoveTo(absl::Time time) {
    const std::lock_guard lock(mutex_);
    now_ = std::max(now_, time);
    moved_.notify_all();
  }

  const std::thread::id mover_ = std::this_thread::get_id();
  mutable std::mutex mutex_;
  mutable std::condition_variable_any moved_;
  // Guarded by mutex_.
  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  absl::Time sleeper_ = absl::InfinitePast();
};

inline google::protobuf::Timestamp ToProtoTime(absl::Time time) {
  google::protobuf::Timestamp proto;
  const absl::Duration since = time - absl::UnixEpoch();
  proto.set_seconds(ToProto(since).seconds());
  proto.set_nanos(ToProto(since).nanos());
  return proto;
}

// An error of the service's own.
inline grpc::Status ServiceError(absl::StatusCode code, const std::string& reason,
                                 std::optional<absl::Duration> retry_delay = std::nullopt) {
  const absl::Status status = ToAbslStatus(ErrorDetails{.code = code,
                                                        .message = reason,
                                                        .reason = reason,
                                                        .domain = kDomain,
                                                        .retry_delay = retry_delay});
  const std::string details(*status.GetPayload("type.googleapis.com/google.rpc.Status"));
  return {static_cast<grpc::StatusCode>(code), reason, details};
}
inline grpc::Status Broken() { return {grpc::StatusCode::UNAVAILABLE, "connection refused"}; }

// One method. Answers are given in order; once they are used up, `otherwise` answers.
//
// Threads: any.
template <typename Request, typename Response>
class Script {
 public:
  using Answer = std::function<grpc::Status(const Request&, Response&)>;
  using Forward = std::function<grpc::Status(grpc::ClientContext*, const Request&, Response*)>;

  Script& Then(Answer answer) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
    return *this;
  }
  // All calls go there instead.
  void ForwardTo(Forward forward) { forward_ = std::move(forward); }
  Script& ThenFail(const grpc::Status& status, int times = 1) {
    for (int i = 0; i < times; ++i) Then([status](const auto&, auto&) { return status; });
    return *this;
  }
  Script& Otherwise(Answer answer) {
    const std::lock_guard lock(mutex_);
    otherwise_ = std::move(answer);
    return *this;
  }
  Script& OtherwiseFail(const grpc::Status& status) {
    return Otherwise([status](const auto&, auto&) { return status; });
  }

  std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::size_t calls() const { return requests().size(); }
  std::vector<absl::Time> deadlines() const {
    const std::lock_guard lock(mutex_);
    return deadlines_;
  }
  // Empty: the call had none.
  std::vector<std::string> traceparents() const {
    const std::lock_guard lock(mutex_);
    return traceparents_;
  }
  // Waits until it has been called that often, answered or not.
  void AwaitSent(std::size_t count) const {
    std::unique_lock lock(mutex_);
    called_.wait(lock, [&] { return requests_.size() >= count; });
  }
  // Waits until it has been called that often and those calls are answered.
  void AwaitCalls(std::size_t count) const {
    std::unique_lock lock(mutex_);
    called_.wait(lock, [&] { return answered_ >= count; });
  }

  grpc::Status Call(grpc::ClientContext* context, const Request& request, Response* response) {
    Answer answer;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      deadlines_.push_back(absl::FromChrono(context->deadline()));
      const auto sent = grpc::testing::ClientContextTestPeer(context).GetSendInitialMetadata();
      const auto trace = sent.find("traceparent");
      traceparents_.push_back(trace == sent.end() ? "" : trace->second);
      called_.notify_all();
      answer = otherwise_;
      if (!answers_.empty()) {
        answer = std::move(answers_.front());
        answers_.pop_front();
      }
    }
    if (forward_ != nullptr) return forward_(context, request, response);
    const grpc::Status status = answer(request, *response);
    const std::lock_guard lock(mutex_);
    ++answered_;
    called_.notify_all();
    return status;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable called_;
  // Guarded by mutex_.
  std::deque<Answer> answers_;
  Answer otherwise_ = [](const Request&, Response&) { return grpc::Status::OK; };
  std::vector<Request> requests_;
  std::vector<absl::Time> deadlines_;
  std::vector<std::string> traceparents_;
  std::size_t answered_ = 0;

  Forward forward_;  // Constant once there are calls.
};

// A client over scripts. Unless told otherwise every Reserve is FRESH, with a lease of
// `kLease`, and every other call succeeds.
class ScriptedService {
 public:
  static constexpr absl::Duration kLease = absl::Seconds(30);

  explicit ScriptedService(const ClientOptions& options = {}) {
    auto stub = std::make_unique<testing::NiceMock<v1::MockIdempotencyServiceStub>>();
    using testing::_;
    ON_CALL(*stub, Reserve(_, _, _)).WillByDefault([this](auto* c, const auto& q, auto* p) {
      return reserve.Call(c, q, p);
    });
    ON_CALL(*stub, Commit(_, _, _)).WillByDefault([this](auto* c, const auto& q, auto* p) {
      return commit.Call(c, q, p);
    });
    ON_CALL(*stub, Release(_, _, _)).WillByDefault([this](auto* c, const auto& q, auto* p) {
      return release.Call(c, q, p);
    });
    ON_CALL(*stub, Extend(_, _, _)).WillByDefault([this](auto* c, const auto& q, auto* p) {
      return extend.Call(c, q, p);
    });
    ON_CALL(*stub, Inspect(_, _, _)).WillByDefault([this](auto* c, const auto& q, auto* p) {
      return inspect.Call(c, q, p);
    });
    reserve.Otherwise([this](const auto&, auto& response) {
      response = FreshAnswer();
      return grpc::Status::OK;
    });
    release.Otherwise([](const auto&, auto& response) {
      response.set_released(true);
      return grpc::Status::OK;
    });
    extend.Otherwise([this](const auto& request, auto& response) {
      const absl::Duration ttl = request.has_lease_ttl() ? FromProto(request.lease_ttl()) : kLease;
      *response.mutable_lease_expire_time() = ToProtoTime(ServerNow() + ttl);
      return grpc::Status::OK;
    });
    core_ = std::make_shared<ClientCore>(
        std::move(stub), options, clock, [this] { return uniform; },
        [this](auto body) {
          if (threads) return StartJthread(std::move(body));
          throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
        });
  }

  Client client() const { return Client(core_); }
  // Nobody here has the same time.
  absl::Time ServerNow() const { return clock.Now() - absl::Hours(30); }

  v1::ReserveResponse FreshAnswer() const {
    v1::ReserveResponse response;
    response.set_outcome(v1::OUTCOME_FRESH);
    response.mutable_reservation()->set_token("token-7");
    response.mutable_reservation()->set_fence(7);
    response.mutable_reservation()->set_attempt(1);
    *response.mutable_server_time() = ToProtoTime(ServerNow());
    *response.mutable_reservation()->mutable_lease_expire_time() =
        ToProtoTime(ServerNow() + kLease);
    return response;
  }
  static v1::ReserveResponse VerdictOf(v1::Outcome outcome) {
    v1::ReserveResponse response;
    response.set_outcome(outcome);
    if (outcome == v1::OUTCOME_REPLAYED) {
      response.mutable_replay()->mutable_result()->set_body("stored");
      response.mutable_replay()->set_fence(5);
      return response;
    }
    response.mutable_holder()->set_owner("another");
    response.mutable_holder()->set_state(v1::STATE_PENDING);
    *response.mutable_holder()->mutable_retry_delay() = ToProto(absl::Milliseconds(500));
    return response;
  }
  // The next Reserve is answered with it.
  void ThenVerdict(const v1::ReserveResponse& verdict) {
    reserve.Then([verdict](const auto&, auto& response) {
      response = verdict;
      return grpc::Status::OK;
    });
  }
  void ThenVerdict(v1::Outcome outcome) { ThenVerdict(VerdictOf(outcome)); }

  ManualClock clock;
  double uniform = 0;   // What the jitter is drawn as.
  bool threads = true;  // Whether they can be made.
  Script<v1::ReserveRequest, v1::ReserveResponse> reserve;
  Script<v1::CommitRequest, v1::CommitResponse> commit;
  Script<v1::ReleaseRequest, v1::ReleaseResponse> release;
  Script<v1::ExtendRequest, v1::ExtendResponse> extend;
  Script<v1::InspectRequest, v1::InspectResponse> inspect;

 private:
  std::shared_ptr<ClientCore> core_;
};

}  // namespace onced::client
