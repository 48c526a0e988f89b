#include "client/fake/fake_server.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/admin_client.h"
#include "client/cpp/call.h"
#include "client/cpp/client_core.h"
#include "client/cpp/convert.h"
#include "client/cpp/error.h"
#include "client/fake/ahead_of_time.h"
#include "client/fake/faults.h"
#include "client/fake/fixed_port.h"
#include "client/fake/service_run.h"
#include "server/base/check.h"
#include "server/base/mutex.h"
#include "server/base/names.h"
#include "server/ledger/policy.h"

namespace onced::client {
namespace {

// So finely time is moved while calls are parked: who lapses or gives up first, does so first.
constexpr absl::Duration kStep = absl::Milliseconds(100);
constexpr absl::Duration kAdvanceMax = absl::Hours(24 * 365 * 1'000);
// Between two looks at who waits.
constexpr std::chrono::milliseconds kLook{1};
// Within which a client that can be connected is.
constexpr std::chrono::seconds kConnectPatience{10};
// What a longer one comes to.
constexpr absl::Duration kPatienceMax = absl::Hours(24 * 365);

DurationBounds BoundsOf(absl::Duration min, absl::Duration preset, absl::Duration max,
                        absl::Duration least, absl::Duration most) {
  ONCED_CHECK(least <= min && min <= preset && preset <= max && max <= most);
  return {.min = min, .max = max, .preset = preset};
}

Policy PolicyOf(const FakePolicy& from) {
  ONCED_CHECK(from.max_body_bytes >= 0 && from.max_body_bytes <= limits::kBodyBytesMax);
  ONCED_CHECK(from.lapsed_retention >= absl::ZeroDuration());
  Policy policy;
  policy.lease = BoundsOf(from.lease_min, from.lease_default, from.lease_max, limits::kLeaseMin,
                          limits::kLeaseMax);
  policy.retention = BoundsOf(from.retention_min, from.retention_default, from.retention_max,
                              limits::kRetentionMin, limits::kRetentionMax);
  policy.wait = BoundsOf(absl::ZeroDuration(), from.wait_default, from.wait_max,
                         absl::ZeroDuration(), limits::kWaitMax);
  policy.on_lapse = from.hold_on_lapse ? OnLapse::kHold : OnLapse::kRegrant;
  policy.lapsed_retention = from.lapsed_retention;
  policy.body_bytes_max = from.max_body_bytes;
  return policy;
}

PolicyTable PoliciesOf(const FakeServerOptions& options) {
  absl::flat_hash_map<std::string, Policy> listed;
  for (const auto& [name, policy] : options.namespaces) {
    ONCED_CHECK(IsName(name, limits::kNamespaceBytesMax));
    listed.emplace(name, PolicyOf(policy));
  }
  std::optional<Policy> unlisted;
  if (options.others.has_value()) unlisted = PolicyOf(*options.others);
  return PolicyTable(std::move(listed), std::move(unlisted));
}

// An operator's, to a key in any state.
template <typename Request>
Request ByForce(const Key& key, std::optional<std::int64_t> fence) {
  Request request;
  request.set_namespace_(key.name_space);
  request.set_key(key.name);
  // Of no record: a Resolve is refused, and an Evict has nothing to do.
  request.set_fence(fence.value_or(1));
  request.set_force(true);
  return request;
}

}  // namespace

class FakeServer::Impl {
 public:
  explicit Impl(const FakeServerOptions& options)
      : policies_(PoliciesOf(options)),
        restart_grace_(options.restart_grace),
        address_(absl::StrCat("127.0.0.1:", port_.number())),
        time_(options.time_stands_still) {
    Start();
  }
  ~Impl() { Stop(); }

  const std::string& address() const { return address_; }
  Faults& faults() { return faults_; }

  Client NewClient(ClientOptions options) ABSL_LOCKS_EXCLUDED(clients_mutex_) {
    options.connect.reconnect_backoff_max = absl::ZeroDuration();  // As little as there may be.
    const std::shared_ptr<grpc::Channel> channel = NewChannel(address_, options.connect);
    {
      const MutexLock lock(clients_mutex_);
      std::erase_if(channels_, [](const auto& known) { return known.expired(); });
      channels_.push_back(channel);
    }
    return Client(
        std::make_shared<ClientCore>(v1::IdempotencyService::NewStub(channel), std::move(options)));
  }

  void Start() ABSL_LOCKS_EXCLUDED(mutex_, clients_mutex_) {
    {
      const MutexLock lock(mutex_);
      if (run_ != nullptr) return;
      run_ = std::make_unique<ServiceRun>(ServiceRun::Lasting{.disk = disk_,
                                                              .time = time_,
                                                              .policies = policies_,
                                                              .faults = faults_,
                                                              .port = port_.number(),
                                                              .restart_grace = restart_grace_});
    }
    // Else their next calls would fail for as long as gRPC waits before it tries again.
    const auto end = std::chrono::system_clock::now() + kConnectPatience;
    for (const auto& channel : Channels()) {
      // Ignored: whether it is connected the next call says.
      (void)channel->WaitForConnected(end);
    }
  }
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    run_ = nullptr;
  }

  absl::Time Now() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    return run_ != nullptr ? run_->Now() : time_.Read().wall;
  }
  void Advance(absl::Duration by) ABSL_LOCKS_EXCLUDED(mutex_) {
    ONCED_CHECK(by >= absl::ZeroDuration() && by <= kAdvanceMax);
    const MutexLock lock(mutex_);
    while (by > absl::ZeroDuration()) {
      const bool parked = run_ != nullptr && run_->waiters() > 0;
      const absl::Duration step = parked ? std::min(by, kStep) : by;
      time_.Advance(step);
      by -= step;
      // Of any key: the shards look at their clock for it.
      if (run_ != nullptr) (void)run_->Look({"fake", "clock"});  // Ignored: it isn't used.
    }
  }
  std::size_t waiters() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    return run_ != nullptr ? run_->waiters() : 0;
  }
  bool AwaitWaiters(std::size_t count, absl::Duration patience) const ABSL_LOCKS_EXCLUDED(mutex_) {
    const Countdown countdown(
        absl::ToChronoNanoseconds(std::clamp(patience, absl::ZeroDuration(), kPatienceMax)));
    const MutexLock lock(mutex_);
    while (run_ == nullptr || run_->waiters() < count) {
      if (countdown.rest().count() <= 0) return false;
      looked_.WaitFor(mutex_, kLook);  // Nobody tells of them: looks again and again.
    }
    return true;
  }
  // nullopt: there is no record, or it has ended.
  std::optional<std::int64_t> FenceOf(const Key& key) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    if (run_ == nullptr) return std::nullopt;
    const Inspected seen = run_->Look({key.name_space, key.name});
    if (!seen.record.has_value()) return std::nullopt;
    return seen.record->fence.value;
  }

 private:
  std::vector<std::shared_ptr<grpc::Channel>> Channels() const ABSL_LOCKS_EXCLUDED(clients_mutex_) {
    std::vector<std::shared_ptr<grpc::Channel>> channels;
    const MutexLock lock(clients_mutex_);
    for (const auto& known : channels_) {
      if (auto channel = known.lock()) channels.push_back(std::move(channel));
    }
    return channels;
  }

  // Constant after construction.
  const PolicyTable policies_;
  const absl::Duration restart_grace_;
  const FixedPort port_;
  const std::string address_;

  // Shared; they lock themselves.
  MemoryDisk disk_;
  AheadOfTime time_;
  Faults faults_;

  // Held while it starts, ends, or time is moved.
  mutable Mutex mutex_;
  std::unique_ptr<ServiceRun> run_ ABSL_GUARDED_BY(mutex_);  // Null: it has ended.
  mutable CondVar looked_;

  mutable Mutex clients_mutex_;
  // Of the clients that were handed out, while they live.
  std::vector<std::weak_ptr<grpc::Channel>> channels_ ABSL_GUARDED_BY(clients_mutex_);
};

FakeServer::FakeServer(const FakeServerOptions& options) : impl_(std::make_unique<Impl>(options)) {}
FakeServer::~FakeServer() = default;

const std::string& FakeServer::address() const { return impl_->address(); }
Client FakeServer::client(const ClientOptions& options) const { return impl_->NewClient(options); }

absl::Time FakeServer::Now() const { return impl_->Now(); }
void FakeServer::Advance(absl::Duration by) { impl_->Advance(by); }
std::size_t FakeServer::waiters() const { return impl_->waiters(); }
bool FakeServer::AwaitWaiters(std::size_t count, absl::Duration patience) const {
  return impl_->AwaitWaiters(count, patience);
}

void FakeServer::FailNext(int count, const absl::Status& status, std::optional<Rpc> rpc) {
  ONCED_CHECK(!status.ok());
  impl_->faults().Order(count, rpc, {.refused = true, .status = ToGrpcStatus(status)});
}
void FakeServer::LoseAnswers(int count, std::optional<Rpc> rpc) {
  impl_->faults().Order(count, rpc,
                        {.status = {grpc::StatusCode::UNAVAILABLE, "the answer was lost"}});
}
void FakeServer::ClearFaults() { impl_->faults().Clear(); }

void FakeServer::Stop() { impl_->Stop(); }
void FakeServer::Start() { impl_->Start(); }

absl::Status FakeServer::Resolve(const Key& key, const std::optional<Result>& result) {
  auto request = ByForce<admin_v1::ResolveRequest>(key, impl_->FenceOf(key));
  if (result.has_value()) {
    *request.mutable_commit()->mutable_result() = ToProto(*result);
  } else {
    request.mutable_release();
  }
  return AdminClient::Connect(address()).Resolve(request).status();
}

absl::Status FakeServer::Evict(const Key& key) {
  const auto request = ByForce<admin_v1::EvictRequest>(key, impl_->FenceOf(key));
  return AdminClient::Connect(address()).Evict(request).status();
}

std::int64_t FakeServer::calls(Rpc rpc) const { return impl_->faults().calls(rpc); }

}  // namespace onced::client
