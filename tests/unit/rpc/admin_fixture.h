// The admin service over a server in this process, on a store in memory.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/rpc/admin_service.h"
#include "server/rpc/errors.h"
#include "server/storage/memory/memory_store.h"
#include "tests/support/faulty_store.h"
#include "tests/unit/rpc/served.h"
#include "tests/unit/shard/counting_telemetry.h"
#include "tests/unit/shard/seeded_random.h"

namespace onced::rpc_test {

// Keeps what it is told.
// Threads: any.
class NotedAudit final : public AuditLog {
 public:
  void Note(const AuditEntry& entry) override {
    if (before_) before_();
    const MutexLock lock(mutex_);
    entries_.push_back(entry);
  }
  // Is called before an entry is kept. Before there are calls.
  void Before(std::function<void()> before) { before_ = std::move(before); }
  std::vector<AuditEntry> entries() const {
    const MutexLock lock(mutex_);
    return entries_;
  }

 private:
  std::function<void()> before_;

  mutable Mutex mutex_;
  std::vector<AuditEntry> entries_ ABSL_GUARDED_BY(mutex_);
};

class AdminServing {
 public:
  explicit AdminServing(AdminService::Options options,
                        const std::optional<Authenticator::Options>& asked = std::nullopt)
      : store_(*MemoryStore::Open(
            disk_, {.shards = 4, .wall_now = SystemClock().Now(), .random = random_})),
        authenticator_(asked.has_value() ? Authenticator(*asked) : Authenticator()),
        shards_({.executors = 2}, faulty_, clock_, telemetry_),
        service_(std::move(options), {.authenticator = authenticator_,
                                      .shards = shards_,
                                      .store = faulty_,
                                      .policies = policies_,
                                      .clock = clock_,
                                      .telemetry = telemetry_,
                                      .audit_log = audit_}) {}

  AdminService& service() { return service_; }
  admin_v1::AdminService::Stub& stub() { return *stub_; }
  Served& served() { return served_; }
  ShardSet& shards() { return shards_; }
  BelievedClock& clock() { return clock_; }
  MemoryDisk& disk() { return disk_; }
  MemoryStore& store() { return *store_; }
  FaultyStore& faulty() { return faulty_; }
  std::vector<AuditEntry> audit() const { return audit_.entries(); }
  NotedAudit& audit_log() { return audit_; }

  // By the shards, as the API does.
  Reply Ask(const std::string& name_space, const std::string& key, Operation operation) {
    std::promise<Reply> reply;
    shards_.Submit({.key = {name_space, key},
                    .operation = std::move(operation),
                    .policy = &policy_,
                    .answer = [&](Answer answer) { reply.set_value(std::move(answer.reply)); }});
    return reply.get_future().get();
  }
  Fresh Hold(const std::string& name_space, const std::string& key,
             absl::Duration lease = absl::Hours(1)) {
    const Reply reply =
        Ask(name_space, key,
            ReserveOp{
                .fingerprint = "fp", .request_id = "secret", .owner = "alice", .lease_ttl = lease});
    EXPECT_TRUE(std::holds_alternative<Fresh>(reply));
    return std::get<Fresh>(reply);
  }
  Fresh Commit(const std::string& name_space, const std::string& key,
               const std::string& body = "body") {
    const Fresh fresh = Hold(name_space, key);
    Result result{.status_code = 201, .body = body};
    result.body_size = static_cast<std::int64_t>(body.size());
    result.body_sha256 = std::string(32, 's');
    Ask(name_space, key, CommitOp{fresh.token, StoredResult(std::move(result)), absl::Hours(1)});
    return fresh;
  }

 private:
  const SystemTimeSource time_;
  BelievedClock clock_{time_, {}};
  CountingTelemetry telemetry_;
  NotedAudit audit_;
  SeededRandom random_{1};
  MemoryDisk disk_;
  const std::unique_ptr<MemoryStore> store_;
  FaultyStore faulty_{*store_};
  const Policy policy_;
  const PolicyTable policies_{{}, Policy{}};
  const Authenticator authenticator_;
  ShardSet shards_;
  AdminService service_;
  Served served_{service_, [this](CallQueue& queue) { service_.Accept(queue); },
                 CallQueue::Callers::kFew};
  const std::unique_ptr<admin_v1::AdminService::Stub> stub_ =
      admin_v1::AdminService::NewStub(served_.channel());
};

inline std::string ReasonOf(const grpc::Status& status) {
  google::rpc::Status error;
  EXPECT_TRUE(error.ParseFromString(status.error_details())) << status.error_message();
  return onced::ReasonOf(error);
}

}  // namespace onced::rpc_test
