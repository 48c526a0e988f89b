#include "tests/unit/shard/group_fixture.h"

#include <utility>

#include "server/base/bytes.h"
#include "server/base/check.h"

namespace onced::shard_test {

Result ResultWith(std::string body) {
  Result result;
  result.status_code = 200;
  result.headers = {{"set-cookie", "a"}, {"set-cookie", "b"}};
  result.body_size = static_cast<std::int64_t>(body.size());
  result.body_sha256 = Sha256(body);
  result.body = std::move(body);
  return result;
}

testing::AssertionResult GotRefusal(const Call& call, Refusal reason) {
  if (testing::AssertionResult refused = Got<Refused>(call); !refused) return refused;
  if (As<Refused>(call).reason == reason) return testing::AssertionSuccess();
  return testing::AssertionFailure() << testing::PrintToString(As<Refused>(call));
}

testing::AssertionResult IsParked(const Call& call) {
  if (!call->answer.has_value()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << testing::PrintToString(call->answer->reply);
}

GroupTest::GroupTest() {
  OpenStore();
  MakeGroup();
}

void GroupTest::TearDown() {
  for (Request& request : drain_.requests) std::move(request.answer)({});  // Never executed.
  group_.reset();
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    EXPECT_EQ(calls_[i]->answers, 1) << "call " << i << " must be answered exactly once";
  }
  EXPECT_EQ(waiter_count_.total(), 0u);
}

void GroupTest::OpenStore() {
  SeededRandom random(7);
  auto opened = MemoryStore::Open(disk_, {.shards = 4, .wall_now = now_, .random = random});
  ONCED_CHECK(opened.ok());
  memory_ = *std::move(opened);
  store_ = std::make_unique<FaultyStore>(*memory_);
}

void GroupTest::MakeGroup(std::uint64_t seed) {
  group_.reset();
  random_ = std::make_unique<SeededRandom>(seed);
  group_ = std::make_unique<ShardGroup>(*store_, *random_, waiter_count_, telemetry_);
}

void GroupTest::Restart(absl::Duration downtime) {
  group_.reset();
  now_ += downtime;
  OpenStore();
  now_ = std::max(now_, store_->clock_mark());
  MakeGroup(/*seed=*/2);
}

Call GroupTest::Submit(const std::string& key, Operation operation, absl::Time deadline) {
  Call call = std::make_shared<Fate>();
  calls_.push_back(call);
  call->id = {calls_.size()};
  Request request{.key = {name_space_, key},
                  .operation = std::move(operation),
                  .policy = &policy_,
                  .deadline = deadline,
                  .answer =
                      [call](Answer answer) {
                        call->answer = std::move(answer);
                        ++call->answers;
                      },
                  .id = call->id,
                  .shard = {static_cast<std::uint32_t>(key.size() % 4)},
                  .queued_at = now_};
  drain_.requests.push_back(std::move(request));
  return call;
}

Call GroupTest::Reserve(const ReserveArgs& args) {
  return Submit(args.key,
                ReserveOp{.fingerprint = args.fingerprint,
                          .request_id = args.request_id,
                          .owner = args.owner,
                          .lease_ttl = args.lease,
                          .wait_timeout = args.wait},
                args.deadline);
}
Call GroupTest::Commit(const Token& token, const std::string& body, const std::string& key) {
  return Submit(key, CommitOp{.token = token, .result = StoredResult(ResultWith(body))});
}
Call GroupTest::Release(const Token& token, const std::string& key) {
  return Submit(key, ReleaseOp{token});
}
Call GroupTest::Extend(const Token& token, absl::Duration lease, const std::string& key) {
  return Submit(key, ExtendOp{.token = token, .lease_ttl = lease});
}
Call GroupTest::Inspect(const std::string& key) { return Submit(key, InspectOp{}); }

void GroupTest::Execute() {
  // Ignored: a store that fails here fails the units of work too.
  (void)store_->RaiseClockMark(now_ + absl::Seconds(1));
  group_->Execute(std::exchange(drain_, {}), now_);
  EXPECT_GT(group_->NextTimer(), now_) << "a busy loop";
}

void GroupTest::ExecuteDraining() {
  drain_.draining = true;
  Execute();
}

Token GroupTest::Hold(ReserveArgs args) {
  const Call call = Reserve(args);
  Execute();
  ONCED_CHECK(Got<Fresh>(call));
  return As<Fresh>(call).token;
}

Call GroupTest::Park(const std::string& request_id, absl::Duration wait) {
  Call call = Reserve({.request_id = request_id, .wait = wait});
  Execute();
  EXPECT_TRUE(IsParked(call));
  return call;
}

Inspected GroupTest::Look(const std::string& key) {
  const Call call = Inspect(key);
  Execute();
  ONCED_CHECK(Got<Inspected>(call));
  return As<Inspected>(call);
}

}  // namespace onced::shard_test
