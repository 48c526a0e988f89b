// A ShardGroup on a store in memory, driven by hand: the test says when a drain
// is executed and what time it is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "server/shard/shard_group.h"
#include "server/storage/memory/memory_store.h"
#include "tests/support/faulty_store.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"
#include "tests/unit/shard/counting_telemetry.h"
#include "tests/unit/shard/seeded_random.h"

namespace onced::shard_test {

inline constexpr absl::Duration kTick = absl::Microseconds(1);  // The least difference of times.
inline constexpr absl::Duration kMargin = absl::Milliseconds(100);  // Before a caller's deadline.

// What became of one request.
struct Fate {
  RequestId id;
  std::optional<Answer> answer;
  int answers = 0;
};
using Call = std::shared_ptr<Fate>;

struct ReserveArgs {
  std::string key = "key";
  std::string request_id;
  absl::Duration wait;
  absl::Duration lease = absl::Seconds(10);
  std::string fingerprint = "print";
  std::string owner;
  absl::Time deadline = absl::InfiniteFuture();
};

Result ResultWith(std::string body);

// Whether `call` was answered with a T.
template <typename T>
testing::AssertionResult Got(const Call& call) {
  if (!call->answer.has_value()) return testing::AssertionFailure() << "no answer yet";
  if (std::holds_alternative<T>(call->answer->reply)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << testing::PrintToString(call->answer->reply);
}
testing::AssertionResult GotRefusal(const Call& call, Refusal reason);
testing::AssertionResult IsParked(const Call& call);
// Dies if the answer is another one: say EXPECT_TRUE(Got<T>(call)) before, where in doubt.
template <typename T>
const T& As(const Call& call) {
  return std::get<T>(call->answer->reply);
}

class GroupTest : public testing::Test {
 protected:
  GroupTest();
  // Destroys the group, and checks that every call was answered exactly once.
  void TearDown() override;

  // ---- Into the next drain ----
  Call Reserve(const ReserveArgs& args = {});
  Call Commit(const Token& token, const std::string& body = "done", const std::string& key = "key");
  Call Release(const Token& token, const std::string& key = "key");
  Call Extend(const Token& token, absl::Duration lease, const std::string& key = "key");
  Call Inspect(const std::string& key = "key");
  Call Submit(const std::string& key, Operation operation,
              absl::Time deadline = absl::InfiniteFuture());
  void Cancel(const Call& call) { drain_.cancelled.push_back(call->id); }

  // ---- Time passes, things happen ----
  void Advance(absl::Duration by) { now_ += by; }
  // Checks that no timer is left in the past, which would be a busy loop.
  void Execute();
  void ExecuteDraining();

  // ---- In one go ----
  // Reserves, and is granted.
  Token Hold(ReserveArgs args = {.request_id = "holder"});
  // Parks one call after the other.
  Call Park(const std::string& request_id, absl::Duration wait = absl::Seconds(60));
  Inspected Look(const std::string& key = "key");

  // A new process on the same disk, `downtime` later by the wall clock.
  void Restart(absl::Duration downtime);
  // A new group on the same store.
  void MakeGroup(std::uint64_t seed = 1);

  Policy policy_;
  std::string name_space_ = "ns";
  absl::Time now_ = TestStart();
  CountingTelemetry telemetry_;
  WaiterCount waiter_count_;
  MemoryDisk disk_;
  std::unique_ptr<MemoryStore> memory_;
  std::unique_ptr<FaultyStore> store_;
  std::unique_ptr<SeededRandom> random_;
  std::unique_ptr<ShardGroup> group_;
  Drain drain_;
  std::vector<Call> calls_;

 private:
  void OpenStore();
};

}  // namespace onced::shard_test
