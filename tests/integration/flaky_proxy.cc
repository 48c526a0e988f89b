#include "tests/integration/flaky_proxy.h"

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <utility>

#include "tests/integration/process.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

using std::chrono::milliseconds;
using Metadata = std::multimap<grpc::string_ref, grpc::string_ref>;

// What is to happen to one call.
struct Lot {
  enum class Fate { kNone, kLoseRequest, kLoseReply, kDuplicate };
  Fate fate = Fate::kNone;
  bool silence = false;
  bool second_answers = false;  // Of a duplicate.
  milliseconds late{0};
  milliseconds second_late{0};
};

std::string Text(grpc::string_ref text) { return {text.data(), text.size()}; }

// Whether it is the application's, and not the transport's own, which is made anew.
bool IsHandedOn(const std::string& name) {
  return name.rfind("grpc-", 0) != 0 && name.rfind(':', 0) != 0 && name != "user-agent" &&
         name != "te" && name != "content-type";
}

void HandOn(const Metadata& metadata,
            const std::function<void(const std::string&, const std::string&)>& add) {
  for (const auto& [name, value] : metadata) {
    if (IsHandedOn(Text(name))) add(Text(name), Text(value));
  }
}

}  // namespace

// The servers, the lots, and what was done.
// Threads: any.
class FlakyProxy::Network {
 public:
  using Stub = std::shared_ptr<grpc::GenericStub>;

  Network(std::uint64_t seed, const std::vector<std::string>& servers) : random_(seed) {
    for (const std::string& server : servers) stubs_.push_back(StubOf(server));
  }

  void SetFaults(const Faults& faults) {
    const std::lock_guard lock(mutex_);
    faults_ = faults;
  }
  void SetServer(std::size_t index, const std::string& address) {
    Stub stub = StubOf(address);
    const std::lock_guard lock(mutex_);
    stubs_.at(index) = std::move(stub);
  }

  Lot Draw() {
    const std::lock_guard lock(mutex_);
    Lot lot;
    const double fate = Fraction();
    const double reply = faults_.lose_request + faults_.lose_reply;
    if (fate < faults_.lose_request) {
      lot.fate = Lot::Fate::kLoseRequest;
    } else if (fate < reply) {
      lot.fate = Lot::Fate::kLoseReply;
    } else if (fate < reply + faults_.duplicate) {
      lot.fate = Lot::Fate::kDuplicate;
    }
    lot.silence = Fraction() < faults_.silence;
    lot.second_answers = Fraction() < 0.5;
    if (Fraction() < faults_.delay) lot.late = Late();
    if (Fraction() < 0.5) lot.second_late = Late();
    ++counts_.calls;
    if (lot.fate == Lot::Fate::kDuplicate) ++counts_.duplicates;
    if (lot.late > milliseconds(0)) ++counts_.delays;
    return lot;
  }
  Stub DrawServer() {
    const std::lock_guard lock(mutex_);
    return stubs_[std::uniform_int_distribution<std::size_t>(0, stubs_.size() - 1)(random_)];
  }
  void CountLost(std::int64_t FaultCounts::*what, bool silently) {
    const std::lock_guard lock(mutex_);
    ++(counts_.*what);
    if (silently) ++counts_.silences;
  }
  FaultCounts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

  void Sent() { ++under_way_; }
  void Answered() { --under_way_; }
  bool idle() const { return under_way_ == 0; }

 private:
  static Stub StubOf(const std::string& address) {
    return std::make_shared<grpc::GenericStub>(ConnectTo(address));
  }
  // Both: mutex_ is held.
  double Fraction() { return std::uniform_real_distribution<>(0, 1)(random_); }
  milliseconds Late() {
    return milliseconds(
        std::uniform_int_distribution<int>(0, static_cast<int>(faults_.late_max.count()))(random_));
  }

  std::atomic<int> under_way_ = 0;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::mt19937_64 random_;
  Faults faults_;
  FaultCounts counts_;
  std::vector<Stub> stubs_;
};

// A request on its way to a server, and the answer. Owned by its own callbacks.
struct FlakyProxy::Sending {
  std::shared_ptr<Network> network;
  Network::Stub stub;
  std::string method;
  grpc::ByteBuffer request;
  grpc::ClientContext context;
  grpc::Alarm alarm;
  grpc::ByteBuffer response;
  grpc::Status status;

  // Calls `done` on a thread of gRPC's.
  static void Start(const std::shared_ptr<Sending>& sending, milliseconds late,
                    const std::function<void(Sending&)>& done) {
    sending->network->Sent();
    // Of a late one, the alarm keeps this function, and the sending the alarm: so it lets go.
    auto send = [kept = sending, done](bool) mutable {
      const std::shared_ptr<Sending> sent = std::move(kept);
      sent->stub->UnaryCall(&sent->context, sent->method, {}, &sent->request, &sent->response,
                            [sent, done](grpc::Status answer) {
                              sent->status = std::move(answer);
                              done(*sent);
                              sent->network->Answered();
                            });
    };
    if (late == milliseconds(0)) {
      send(true);
    } else {
      sending->alarm.Set(std::chrono::system_clock::now() + late, std::move(send));
    }
  }
};

// One call of a caller's.
// Lifetime: until gRPC has done with it and every sending of it is answered.
class FlakyProxy::Call : public grpc::ServerGenericBidiReactor {
 public:
  static Call* Begin(std::shared_ptr<Network> network,
                     grpc::GenericCallbackServerContext* context) {
    const std::shared_ptr<Call> call(new Call(std::move(network), context));
    call->self_ = call;
    call->StartRead(&call->request_);
    return call.get();
  }

  void OnReadDone(bool ok) override {
    const std::shared_ptr<Call> self = self_;
    if (!ok) return End(grpc::Status(grpc::StatusCode::INTERNAL, "no request came"));
    const Lot lot = network_->Draw();
    const auto answer = [self](Sending& sending) { self->Answer(sending); };
    const auto ignore = [self](Sending&) {};
    switch (lot.fate) {
      case Lot::Fate::kNone:
        return Send(lot.late, /*ends_with_caller=*/true, answer);
      case Lot::Fate::kLoseRequest:
        network_->CountLost(&FaultCounts::lost_requests, lot.silence);
        return Lose(lot);
      case Lot::Fate::kLoseReply:
        return Send(lot.late, /*ends_with_caller=*/false,
                    [self, lot](Sending& sending) { self->LoseReply(sending, lot); });
      case Lot::Fate::kDuplicate:
        Send(lot.late, /*ends_with_caller=*/false, lot.second_answers ? Heard(ignore) : answer);
        Send(lot.late + lot.second_late, /*ends_with_caller=*/false,
             lot.second_answers ? Heard(answer) : ignore);
    }
  }
  void OnCancel() override {
    std::shared_ptr<Sending> sending;
    {
      const std::lock_guard lock(mutex_);
      sending = sending_.lock();
    }
    if (sending != nullptr) {
      sending->context.TryCancel();
      sending->alarm.Cancel();
    }
    End(grpc::Status(grpc::StatusCode::CANCELLED, "the caller has gone"));
  }
  void OnDone() override { self_ = nullptr; }

 private:
  using Heard = std::function<void(Sending& sending)>;

  Call(std::shared_ptr<Network> network, grpc::GenericCallbackServerContext* context)
      : network_(std::move(network)), context_(context) {}

  void Send(milliseconds late, bool ends_with_caller, const Heard& heard) {
    const auto sending = std::make_shared<Sending>();
    sending->network = network_;
    sending->stub = network_->DrawServer();
    sending->method = context_->method();
    sending->request = request_;
    HandOn(context_->client_metadata(), [&](const std::string& name, const std::string& value) {
      sending->context.AddMetadata(name, value);
    });
    // What goes over a network is how much time is left. It counts from the arrival.
    const auto deadline = context_->deadline();
    const bool ever = deadline < std::chrono::system_clock::time_point::max();
    sending->context.set_deadline(ends_with_caller || !ever ? deadline : deadline + late);
    if (ends_with_caller) {
      const std::lock_guard lock(mutex_);
      sending_ = sending;
    }
    Sending::Start(sending, late, heard);
  }

  void Answer(Sending& sending) {
    if (!Claim()) return;
    HandOn(sending.context.GetServerInitialMetadata(),
           [&](const auto& name, const auto& value) { context_->AddInitialMetadata(name, value); });
    HandOn(sending.context.GetServerTrailingMetadata(), [&](const auto& name, const auto& value) {
      context_->AddTrailingMetadata(name, value);
    });
    if (!sending.status.ok()) return Finish(sending.status);
    response_ = sending.response;
    StartWriteAndFinish(&response_, {}, sending.status);
  }
  void LoseReply(const Sending& sending, const Lot& lot) {
    const bool executed = sending.status.error_code() != grpc::StatusCode::UNAVAILABLE;
    if (executed) network_->CountLost(&FaultCounts::lost_replies, lot.silence);
    Lose(lot);
  }
  void Lose(const Lot& lot) {
    // Else OnCancel() ends it, at its deadline.
    if (!lot.silence) End(grpc::Status(grpc::StatusCode::UNAVAILABLE, "lost on the way"));
  }
  void End(const grpc::Status& status) {
    if (Claim()) Finish(status);
  }
  // Whether it is the caller of this who answers.
  bool Claim() {
    const std::lock_guard lock(mutex_);
    return !std::exchange(finished_, true);
  }

  const std::shared_ptr<Network> network_;
  grpc::GenericCallbackServerContext* const context_;  // Of use until Finish().
  std::shared_ptr<Call> self_;                         // Until OnDone().
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;

  std::mutex mutex_;
  // Guarded by mutex_.
  bool finished_ = false;
  std::weak_ptr<Sending> sending_;  // The one that ends with the caller.
};

class FlakyProxy::Service : public grpc::CallbackGenericService {
 public:
  explicit Service(std::shared_ptr<Network> network) : network_(std::move(network)) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return Call::Begin(network_, context);
  }

 private:
  const std::shared_ptr<Network> network_;
};

FlakyProxy::FlakyProxy(std::uint64_t seed, const std::vector<std::string>& servers)
    : network_(std::make_shared<Network>(seed, servers)),
      service_(std::make_unique<Service>(network_)) {
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(service_.get());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) throw std::runtime_error("the proxy can't listen");
  address_ = "127.0.0.1:" + std::to_string(port);
}

FlakyProxy::~FlakyProxy() {
  server_->Shutdown(std::chrono::system_clock::now());
  Await("the end of what the proxy has under way", [this] { return network_->idle(); });
}

void FlakyProxy::SetFaults(const Faults& faults) { network_->SetFaults(faults); }
void FlakyProxy::SetServer(std::size_t index, const std::string& address) {
  network_->SetServer(index, address);
}
FaultCounts FlakyProxy::counts() const { return network_->counts(); }

}  // namespace onced::integration
