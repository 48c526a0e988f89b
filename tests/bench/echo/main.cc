// What gRPC alone can do: answers calls of the API with what has the right shape, and
// knows, stores and checks nothing: by gRPC's callback API, as its tutorial has it.
//
//   bench_echo HOST:PORT
#include <grpcpp/grpcpp.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "idempotency/v1/idempotency.grpc.pb.h"
#include "tests/bench/load/workload.h"

namespace onced::bench {
namespace {

namespace v1 = idempotency::v1;

constexpr std::int64_t kSeconds = 1'800'000'000;
constexpr std::int64_t kFence = 1'800'000'000'000'000;
constexpr int kNanos = 123'456'000;
constexpr int kStreamsMax = 256;  // As onced.
// As long as the real ones.
constexpr char kToken[] = "00000000-0123456789abcdef0123456789abcdef";
constexpr char kSha256[] = "0123456789abcdef0123456789abcdef";

void Set(google::protobuf::Timestamp& time) {
  time.set_seconds(kSeconds);
  time.set_nanos(kNanos);
}

void FillReservation(v1::ReserveResponse& response) {
  response.set_outcome(v1::OUTCOME_FRESH);
  v1::Reservation& reservation = *response.mutable_reservation();
  reservation.set_token(kToken);
  reservation.set_fence(kFence);
  reservation.set_attempt(1);
  Set(*reservation.mutable_lease_expire_time());
}

void FillReplay(v1::ReserveResponse& response) {
  response.set_outcome(v1::OUTCOME_REPLAYED);
  v1::Replay& replay = *response.mutable_replay();
  v1::Result& result = *replay.mutable_result();
  result.set_status_code(200);
  result.set_body(ResultBody());
  result.set_body_size(static_cast<std::int64_t>(ResultBody().size()));
  result.set_body_sha256(kSha256);
  Set(*replay.mutable_commit_time());
  Set(*replay.mutable_expire_time());
  replay.set_fence(kFence);
}

void FillConflict(v1::ReserveResponse& response) {
  response.set_outcome(v1::OUTCOME_CONFLICT);
  v1::Holder& holder = *response.mutable_holder();
  holder.set_state(v1::STATE_PENDING);
  holder.set_fence(kFence);
  Set(*holder.mutable_reserve_time());
  Set(*holder.mutable_lease_expire_time());
  holder.mutable_retry_delay()->set_seconds(1);
}

// The key says what its answer is to be.
void Fill(const v1::ReserveRequest& request, v1::ReserveResponse& response) {
  const char kind = request.key().empty() ? kFreshKey : request.key().front();
  if (kind == kCommittedKey) {
    FillReplay(response);
  } else if (kind == kContestedKey) {
    FillConflict(response);
  } else {
    FillReservation(response);
  }
  Set(*response.mutable_server_time());
}

void Fill(const v1::CommitRequest&, v1::CommitResponse& response) {
  Set(*response.mutable_commit_time());
  Set(*response.mutable_expire_time());
}

void Fill(const google::protobuf::RepeatedPtrField<v1::Operation>& operations,
          google::protobuf::RepeatedPtrField<v1::BatchItem>& items) {
  for (const v1::Operation& operation : operations) {
    v1::BatchItem& item = *items.Add();
    if (operation.has_commit()) {
      Fill(operation.commit(), *item.mutable_commit());
    } else {
      Fill(operation.reserve(), *item.mutable_reserve());
    }
  }
}

// Lifetime: gRPC calls OnDone() last, and it deletes itself there.
class EchoSession final : public grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse> {
 public:
  EchoSession() { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    response_.Clear();
    response_.set_id(request_.id());
    Fill(request_.operations(), *response_.mutable_items());
    StartWrite(&response_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

 private:
  v1::SessionRequest request_;
  v1::SessionResponse response_;
};

class Echo final : public v1::IdempotencyService::CallbackService {
 public:
  grpc::ServerUnaryReactor* Reserve(grpc::CallbackServerContext* context,
                                    const v1::ReserveRequest* request,
                                    v1::ReserveResponse* response) override {
    Fill(*request, *response);
    return Finished(context);
  }
  grpc::ServerUnaryReactor* Commit(grpc::CallbackServerContext* context,
                                   const v1::CommitRequest* request,
                                   v1::CommitResponse* response) override {
    Fill(*request, *response);
    return Finished(context);
  }
  grpc::ServerUnaryReactor* Batch(grpc::CallbackServerContext* context,
                                  const v1::BatchRequest* request,
                                  v1::BatchResponse* response) override {
    Fill(request->operations(), *response->mutable_items());
    return Finished(context);
  }
  grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>* Session(
      grpc::CallbackServerContext*) override {
    return new EchoSession;
  }

 private:
  static grpc::ServerUnaryReactor* Finished(grpc::CallbackServerContext* context) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

int Main(const std::string& address) {
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGTERM);
  sigaddset(&stop_signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);
  Echo echo;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsMax);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterService(&echo);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::fprintf(stderr, "bench_echo: can't listen on %s\n", address.c_str());
    return 1;
  }
  std::fprintf(stderr, "{\"event\":\"serving\",\"listen\":\"127.0.0.1:%d\"}\n", port);
  int received = 0;
  sigwait(&stop_signals, &received);
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(250));
  return 0;
}

}  // namespace
}  // namespace onced::bench

int main(int argc, char** argv) { return onced::bench::Main(argc > 1 ? argv[1] : "127.0.0.1:0"); }
