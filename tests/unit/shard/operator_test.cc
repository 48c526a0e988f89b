// What an operator settles, and who hears of it.
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "tests/unit/shard/group_fixture.h"

namespace onced::shard_test {
namespace {

class Operator : public GroupTest {
 protected:
  Call Resolve(const std::string& body, bool force = false, const std::string& key = "key") {
    const Fence fence = Look(key).record->fence;
    return Submit(
        key, ResolveOp{.fence = fence,
                       .force = force,
                       .commit = ResolveOp::Settlement{.result = StoredResult(ResultWith(body)),
                                                       .retention_ttl = std::nullopt}});
  }
  Call ResolveReleased(bool force = false, const std::string& key = "key") {
    return Submit(key, ResolveOp{.fence = Look(key).record->fence, .force = force, .commit = {}});
  }
  Call Evict(bool force = false, const std::string& key = "key") {
    return Submit(key, EvictOp{.fence = Look(key).record->fence, .force = force});
  }
};

TEST_F(Operator, ACommitWakesAllWithReplayed) {
  const Token token = Hold();
  const Call first = Park("1");
  const Call second = Park("2");
  const Call resolve = Resolve("settled", /*force=*/true);
  Execute();
  ASSERT_TRUE(Got<ResolveDone>(resolve));
  ASSERT_TRUE(As<ResolveDone>(resolve).committed.has_value());
  for (const Call& waiter : {first, second}) {
    ASSERT_TRUE(Got<Replayed>(waiter));
    EXPECT_EQ(*As<Replayed>(waiter).result, ResultWith("settled"));
  }
  const Call same = Commit(token, "settled");
  const Call other = Commit(token, "done");
  Execute();
  ASSERT_TRUE(Got<CommitDone>(same));
  EXPECT_TRUE(As<CommitDone>(same).already_committed);
  EXPECT_TRUE(GotRefusal(other, Refusal::kCommittedDifferently));
}

TEST_F(Operator, AReleaseGrantsTheLongestWaiterAlone) {
  const Token token = Hold();
  const Fence before = Look().record->fence;
  const Call first = Park("1");
  const Call second = Park("2");
  const Call resolve = ResolveReleased(/*force=*/true);
  Execute();
  ASSERT_TRUE(Got<ResolveDone>(resolve));
  ASSERT_TRUE(Got<Fresh>(first));
  EXPECT_GT(As<Fresh>(first).fence, before);
  EXPECT_FALSE(As<Fresh>(first).previous.has_value());  // The operator says: nothing happened.
  EXPECT_TRUE(IsParked(second));
  const Call late = Commit(token);
  Execute();
  EXPECT_TRUE(GotRefusal(late, Refusal::kSuperseded));
}

TEST_F(Operator, AnEvictionGrantsTheLongestWaiterAlone) {
  Hold();
  const Fence before = Look().record->fence;
  const Call first = Park("1");
  const Call second = Park("2");
  const Call evict = Evict(/*force=*/true);
  Execute();
  ASSERT_TRUE(Got<EvictDone>(evict));
  EXPECT_EQ(As<EvictDone>(evict).evicted, State::kPending);
  ASSERT_TRUE(Got<Fresh>(first));
  EXPECT_GT(As<Fresh>(first).fence, before);
  EXPECT_TRUE(IsParked(second));
}

TEST_F(Operator, ARefusalWakesNobody) {
  Hold();
  const Call waiter = Park("1");
  const Call held[] = {Resolve("x"), ResolveReleased(), Evict()};
  Execute();
  for (const Call& call : held) EXPECT_TRUE(GotRefusal(call, Refusal::kHeld));
  EXPECT_TRUE(IsParked(waiter));
}

TEST_F(Operator, SettlesWhatIsHeldAfterALapse) {
  policy_.on_lapse = OnLapse::kHold;
  const Token token = Hold();
  Advance(absl::Seconds(10));
  const Call unresolved = Reserve({.request_id = "2"});
  Execute();
  ASSERT_TRUE(Got<Unresolved>(unresolved));
  const Call resolve = ResolveReleased();
  const Call next = Reserve({.request_id = "3"});
  const Call late = Commit(token);
  Execute();
  EXPECT_TRUE(Got<ResolveDone>(resolve));
  ASSERT_TRUE(Got<Fresh>(next));
  EXPECT_GT(As<Fresh>(next).fence, As<Unresolved>(unresolved).holder.fence);
  EXPECT_TRUE(GotRefusal(late, Refusal::kSuperseded));
}

TEST_F(Operator, AfterAReleaseTheHolderHearsThatNothingIsReserved) {
  const Token token = Hold();
  const Call resolve = ResolveReleased(/*force=*/true);
  const Call late = Commit(token);
  Execute();
  EXPECT_TRUE(Got<ResolveDone>(resolve));
  EXPECT_TRUE(GotRefusal(late, Refusal::kNotReserved));
}

TEST_F(Operator, FencesGrowAcrossEvictionsAndRestarts) {
  Hold();
  Fence last = Look().record->fence;
  for (int i = 0; i < 4; ++i) {
    const Call evict = Evict(/*force=*/true);
    Execute();
    ASSERT_TRUE(Got<EvictDone>(evict));
    if (i % 2 == 1) Restart(absl::ZeroDuration());
    const Call next = Reserve({.request_id = std::to_string(i)});
    Execute();
    ASSERT_TRUE(Got<Fresh>(next));
    EXPECT_GT(As<Fresh>(next).fence, last);
    last = As<Fresh>(next).fence;
  }
}

TEST_F(Operator, WorksWhileDrainingAndWithALowDisk) {
  Hold({.key = "a", .request_id = "a"});
  Hold({.key = "b", .request_id = "b"});
  store_->SetLowOnSpace(true);
  const Call resolve = Resolve("settled", /*force=*/true, "a");
  const Call evict = Evict(/*force=*/true, "b");
  ExecuteDraining();
  EXPECT_TRUE(Got<ResolveDone>(resolve));
  EXPECT_TRUE(Got<EvictDone>(evict));
}

TEST_F(Operator, IsToldOnlyWhatIsDurable) {
  Hold();
  const Call evict = Evict(/*force=*/true);
  store_->FailWrite(1, FaultyStore::Landing::kIsLost);
  Execute();
  EXPECT_TRUE(GotRefusal(evict, Refusal::kOutcomeUnknown));
}

TEST_F(Operator, HasTheQueueRoomOfWhatSettles) {
  EXPECT_TRUE(Settles(Request{.operation = ResolveOp{}}));
  EXPECT_TRUE(Settles(Request{.operation = EvictOp{}}));
}

}  // namespace
}  // namespace onced::shard_test
