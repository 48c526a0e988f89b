// Merging, tickets, and who is told what when, of the thread that writes.
#include "server/storage/rocksdb/committer.h"

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rocksdb/db.h"
#include "server/base/check.h"
#include "tests/conformance/failing_env.h"
#include "tests/conformance/store_calls.h"
#include "tests/conformance/temp_dir.h"

namespace onced {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

class CommitterTest : public testing::Test {
 protected:
  CommitterTest() {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.env = &env_;
    rocksdb::DB* opened = nullptr;
    ONCED_CHECK(rocksdb::DB::Open(options, temp_.File("db"), &opened).ok());
    db_.reset(opened);
    committer_ =
        std::make_unique<Committer>(*db_, *db_->DefaultColumnFamily(), /*sync=*/true,
                                    [this](absl::Status status) { return ++written_, status; });
  }
  ~CommitterTest() override { env_.ReleaseSyncs(); }

  static Committer::Changes Puts(const std::string& key, const std::string& value) {
    Committer::Changes changes;
    ONCED_CHECK(changes.records.Put(key, value).ok());
    return changes;
  }
  static Committer::Changes Meta(const std::string& key, const std::string& value) {
    Committer::Changes changes;
    changes.meta.emplace_back(key, value);
    return changes;
  }
  Ticket Add(int who) { return committer_->Add(Puts(absl::StrCat(who), "value"), told_.As(who)); }
  std::string Get(const std::string& key) {
    std::string value;
    return db_->Get({}, key, &value).ok() ? value : "none";
  }

  const TempDir temp_;
  FailingEnv env_;
  Told told_;
  int written_ = 0;  // The committer's thread only; read when that is still.
  std::unique_ptr<rocksdb::DB> db_;
  std::unique_ptr<Committer> committer_;
};

TEST_F(CommitterTest, TicketsCountBatches) {
  EXPECT_TRUE(committer_->IsDurable(Ticket{}));
  env_.HoldSyncs();
  const Ticket first = Add(0);
  env_.AwaitHangingSync();
  const Ticket second = Add(1);
  EXPECT_EQ(Add(2), second);
  EXPECT_LT(first, second);
  EXPECT_FALSE(committer_->IsDurable(first));
  EXPECT_FALSE(committer_->IsDurable(second));
  env_.LetSyncs(1);
  env_.AwaitHangingSync(2);
  EXPECT_TRUE(committer_->IsDurable(first));
  EXPECT_FALSE(committer_->IsDurable(second));
  EXPECT_EQ(committer_->durable(), first);
  env_.ReleaseSyncs();
  EXPECT_THAT(told_.Await(3), ElementsAre(Told::One{0}, Told::One{1}, Told::One{2}));
  committer_.reset();
  EXPECT_EQ(written_, 2);
}

TEST_F(CommitterTest, WhenDurableOfEveryBatchThereIs) {
  const Ticket durable = Add(0);
  told_.Await(1);
  env_.HoldSyncs();
  const Ticket flying = Add(1);
  env_.AwaitHangingSync();
  const Ticket filling = Add(2);
  committer_->WhenDurable(filling, told_.As(12));
  committer_->WhenDurable(flying, told_.As(11));
  committer_->WhenDurable(flying, told_.As(21));
  committer_->WhenDurable(durable, told_.As(10));
  committer_->WhenDurable(Ticket{}, told_.As(20));
  EXPECT_THAT(told_.all(), ElementsAre(Told::One{0}, Told::One{10}, Told::One{20}));
  env_.LetSyncs(1);
  env_.AwaitHangingSync(2);
  EXPECT_THAT(told_.Await(6), ElementsAre(Told::One{0}, Told::One{10}, Told::One{20}, Told::One{1},
                                          Told::One{11}, Told::One{21}));
  env_.ReleaseSyncs();
  const auto all = told_.Await(8);
  EXPECT_EQ(all[6], Told::One{2});
  EXPECT_EQ(all[7], Told::One{12});
}

TEST_F(CommitterTest, WhenDurableOfWhatFailed) {
  const Ticket durable = Add(0);
  told_.Await(1);
  env_.HoldSyncs();
  const Ticket failed = Add(1);
  env_.AwaitHangingSync();
  committer_->WhenDurable(failed, told_.As(11));
  const Ticket after = Add(2);
  committer_->WhenDurable(after, told_.As(12));
  env_.fail_syncs = true;
  env_.ReleaseSyncs();
  told_.Await(5);
  for (const Ticket ticket : {failed, after}) committer_->WhenDurable(ticket, told_.As(9));
  const auto all = told_.Await(7);
  EXPECT_THAT(std::vector<Told::One>(all.begin() + 1, all.end()),
              ElementsAre(Told::One{1, kUnavailable}, Told::One{11, kUnavailable},
                          Told::One{2, kUnavailable}, Told::One{12, kUnavailable},
                          Told::One{9, kUnavailable}, Told::One{9, kUnavailable}));
  committer_->WhenDurable(durable, told_.As(10));
  EXPECT_EQ(told_.all().back(), Told::One{10});
}

TEST_F(CommitterTest, NothingIsWrittenAfterAFailure) {
  env_.fail_syncs = true;
  Add(0);
  told_.Await(1);
  env_.fail_syncs = false;
  const int appends = env_.appends;
  for (int i = 1; i <= 3; ++i) {
    Add(i);
    told_.Await(static_cast<std::size_t>(i) + 1);
  }
  EXPECT_THAT(told_.all(), Each(testing::Field(&Told::One::code, kUnavailable)));
  EXPECT_TRUE(absl::IsUnavailable(committer_->AddAndWait(Meta("m", "1"))));
  committer_.reset();
  EXPECT_EQ(written_, 1);
  EXPECT_EQ(env_.appends, appends);
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(Get(absl::StrCat(i)), "none");
}

TEST_F(CommitterTest, OfMetaTheLastCountsAndIsOnePut) {
  env_.HoldSyncs();
  Add(0);
  env_.AwaitHangingSync();
  const auto before = db_->GetLatestSequenceNumber();
  for (int i = 1; i <= 3; ++i) {
    Committer::Changes changes = Puts(absl::StrCat(i), "value");
    changes.meta = {{"mark", absl::StrCat("m", i)}, {"fence", absl::StrCat("f", i)}};
    committer_->Add(changes, told_.As(i));
  }
  env_.ReleaseSyncs();
  told_.Await(4);
  EXPECT_EQ(Get("mark"), "m3");
  EXPECT_EQ(Get("fence"), "f3");
  // The one that hung is counted only when it ends. Then three records, two of meta.
  EXPECT_EQ(db_->GetLatestSequenceNumber() - before, 1U + 3U + 2U);
}

TEST_F(CommitterTest, MetaAloneIsABatch) {
  EXPECT_TRUE(committer_->AddAndWait(Meta("mark", "1")).ok());
  EXPECT_EQ(Get("mark"), "1");
  EXPECT_TRUE(committer_->AddAndWait(Committer::Changes()).ok());
}

TEST_F(CommitterTest, OfRecordsTheLastCountsToo) {
  env_.HoldSyncs();
  Add(0);
  env_.AwaitHangingSync();
  for (int i = 1; i <= 3; ++i) committer_->Add(Puts("key", absl::StrCat(i)), told_.As(i));
  Committer::Changes erases;
  ONCED_CHECK(erases.records.Delete("0").ok());
  committer_->Add(erases, told_.As(4));
  env_.ReleaseSyncs();
  told_.Await(5);
  EXPECT_EQ(Get("key"), "3");
  EXPECT_EQ(Get("0"), "none");
}

// Who asks while others are being told must not overtake those who added.
TEST_F(CommitterTest, WhoAsksIsToldAfterThoseWhoAdded) {
  env_.HoldSyncs();
  Add(0);
  env_.AwaitHangingSync();
  Mutex mutex;
  CondVar changed;
  bool telling = false, asked = false;
  const Ticket ticket = committer_->Add(Puts("a", "1"), [&](const absl::Status&) {
    const MutexLock lock(mutex);
    telling = true;
    changed.NotifyAll();
    while (!asked) changed.Wait(mutex);
  });
  Add(2);
  env_.ReleaseSyncs();
  {
    const MutexLock lock(mutex);
    while (!telling) changed.Wait(mutex);
  }
  committer_->WhenDurable(ticket, told_.As(3));
  EXPECT_THAT(told_.all(), ElementsAre(Told::One{0}));
  {
    const MutexLock lock(mutex);
    asked = true;
    changed.NotifyAll();
  }
  EXPECT_THAT(told_.Await(3), ElementsAre(Told::One{0}, Told::One{2}, Told::One{3}));
}

TEST_F(CommitterTest, ManyThreadsAddAndAsk) {
  constexpr int kThreads = 4, kEach = 500;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([this, thread] {
      for (int i = 0; i < kEach; ++i) {
        const int who = 2 * (thread * kEach + i);
        committer_->WhenDurable(Add(who), told_.As(who + 1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  committer_.reset();
  std::vector<bool> heard(2 * kThreads * kEach);
  for (const Told::One& one : told_.all()) {
    EXPECT_EQ(one.code, absl::StatusCode::kOk);
    EXPECT_FALSE(heard[static_cast<std::size_t>(one.who)]) << "told twice";
    heard[static_cast<std::size_t>(one.who)] = true;
    if (one.who % 2 == 1) {
      EXPECT_TRUE(heard[static_cast<std::size_t>(one.who) - 1]);
    }
  }
  EXPECT_EQ(std::count(heard.begin(), heard.end(), true), 2 * kThreads * kEach);
  for (int i = 0; i < kThreads * kEach; ++i) EXPECT_EQ(Get(absl::StrCat(2 * i)), "value");
}

}  // namespace
}  // namespace onced
