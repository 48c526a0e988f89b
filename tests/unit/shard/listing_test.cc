// Pages over all shards of a store in memory.
#include "server/shard/listing.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/storage/memory/memory_store.h"
#include "server/storage/store_wrapper.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"
#include "tests/unit/shard/seeded_random.h"

namespace onced::shard_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr std::uint32_t kShards = 4;
const ListBounds kWide{.found_max = 1'000, .records_max = 10'000, .bytes_max = 1 << 20};

// A shard of which a block is damaged, or a store that has failed.
class BrokenStore final : public StoreWrapper {
 public:
  BrokenStore(Store& real, ShardId broken, absl::Status failure)
      : StoreWrapper(real), broken_(broken), failure_(std::move(failure)) {}
  absl::StatusOr<Scanned> Scan(const ScanRange& range, ScanVisitor visit) const override {
    if (range.shard == broken_) return failure_;
    return StoreWrapper::Scan(range, visit);
  }

 private:
  const ShardId broken_;
  const absl::Status failure_;
};

class Listing : public testing::Test {
 protected:
  Listing() {
    auto opened =
        MemoryStore::Open(disk_, {.shards = kShards, .wall_now = TestStart(), .random = random_});
    store_ = *std::move(opened);
    view_ = {TestStart() + absl::Seconds(1), store_->identity().epoch, store_->outages()};
  }
  void Put(std::uint32_t shard, const std::string& key, Record record,
           const std::string& name_space = "ns") {
    record.token.epoch = view_.epoch;
    auto work = std::make_unique<UnitOfWork>();
    const auto slot = work->Want({shard}, {name_space, key});
    store_->Run(
        std::move(work), [&](UnitOfWork& loaded) { loaded.Put(slot, record); },
        [](const absl::Status&) {});  // Ignored: a store in memory doesn't fail.
  }
  ListPage List(const ListFilter& filter, const ListBounds& bounds = kWide,
                const ListPosition& from = {}) {
    auto page = ListRecords(*store_, filter, from, bounds, view_);
    EXPECT_TRUE(page.ok()) << page.status();
    return page.value_or(ListPage{});
  }
  static std::vector<std::string> Keys(const ListPage& page) {
    std::vector<std::string> keys;
    for (const auto& found : page.found) keys.push_back(found.key);
    return keys;
  }

  static Record Pending(absl::Duration rest, OnLapse on_lapse = OnLapse::kRegrant) {
    Record record = MinimalPending();
    auto& pending = std::get<onced::Pending>(record.phase);
    pending.lease_expire_time = TestStart() + absl::Seconds(1) + rest;
    pending.on_lapse = on_lapse;
    pending.lapsed_retention = absl::Hours(1);
    return record;
  }
  static Record Committed(absl::Duration rest) {
    Record record = MinimalCommitted("body");
    std::get<onced::Committed>(record.phase).expire_time = TestStart() + absl::Seconds(1) + rest;
    return record;
  }

  SeededRandom random_{1};
  MemoryDisk disk_;
  std::unique_ptr<MemoryStore> store_;
  View view_;
};

TEST_F(Listing, JudgesTheStatesByTheView) {
  Put(0, "pending", Pending(absl::Seconds(1)));
  Put(1, "lapsed", Pending(absl::ZeroDuration()));
  Put(1, "held", Pending(-absl::Hours(99), OnLapse::kHold));
  Put(2, "gone", Pending(-absl::Hours(1)));
  Put(2, "committed", Committed(absl::Seconds(1)));
  Put(3, "expired", Committed(absl::ZeroDuration()));
  Put(3, "elsewhere", Committed(absl::Seconds(1)), "other");
  EXPECT_THAT(Keys(List({.name_space = "ns"})),
              ElementsAre("pending", "held", "lapsed", "committed"));
  const auto of = [&](std::vector<State> states) {
    return Keys(List({.name_space = "ns", .key_prefix = "", .states = std::move(states)}));
  };
  EXPECT_THAT(of({State::kPending}), ElementsAre("pending"));
  EXPECT_THAT(of({State::kLapsed}), ElementsAre("held", "lapsed"));
  EXPECT_THAT(of({State::kCommitted, State::kPending}), ElementsAre("pending", "committed"));
  EXPECT_THAT(of({State::kAbsent}), IsEmpty());
}

TEST_F(Listing, ShowsARecordAsInspectDoes) {
  Put(0, "key", FullPending());
  const ListPage page = List({.name_space = "ns"});
  ASSERT_THAT(page.found, SizeIs(1));
  const Record& record = *page.found[0].seen.record;
  EXPECT_EQ(record.token, Token{});
  EXPECT_EQ(std::get<onced::Pending>(record.phase).request_id, "");
  EXPECT_EQ(record.fence, FullPending().fence);
  EXPECT_EQ(record.owner, FullPending().owner);
}

TEST_F(Listing, WhatIsFromBeforeARestoreIsLapsedAndHeld) {
  Put(0, "key", Pending(absl::Seconds(9)));
  view_.epoch.value += 1;
  const ListPage page = List({.name_space = "ns"});
  ASSERT_THAT(page.found, SizeIs(1));
  EXPECT_EQ(page.found[0].seen.state, State::kLapsed);
  EXPECT_EQ(page.found[0].seen.expire_time, std::nullopt);
}

TEST_F(Listing, PagesMakeTheWholeWhateverTheirBounds) {
  std::vector<std::string> all;
  for (int i = 0; i < 40; ++i) {
    all.push_back(absl::StrCat("k", i));
    Put(static_cast<std::uint32_t>(i) % 3, all.back(),
        i % 4 == 0 ? Committed(absl::Seconds(1)) : Pending(absl::Seconds(1)));
  }
  for (const ListBounds& bounds : {ListBounds{1, 10'000, 1 << 20}, ListBounds{7, 10'000, 1 << 20},
                                   ListBounds{1'000, 1, 1 << 20}, ListBounds{1'000, 9, 1 << 20},
                                   ListBounds{1'000, 10'000, 1}, ListBounds{1'000, 10'000, 900}}) {
    std::vector<std::string> keys;
    ListPosition at;
    for (int pages = 0;; ++pages) {
      ASSERT_LT(pages, 100);
      const ListPage page = List({.name_space = "ns"}, bounds, at);
      ASSERT_LE(page.found.size(), bounds.found_max);
      for (const std::string& key : Keys(page)) keys.push_back(key);
      if (!page.next.has_value()) break;
      ASSERT_NE(*page.next, at);
      at = *page.next;
    }
    std::sort(keys.begin(), keys.end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(keys, all);
  }
}

TEST_F(Listing, APageMayBeEmptyAndNotTheLast) {
  for (int i = 0; i < 9; ++i) Put(0, absl::StrCat("a", i), Pending(absl::Seconds(1)));
  Put(0, "z", Committed(absl::Seconds(1)));
  const ListFilter filter{.name_space = "ns", .key_prefix = "", .states = {State::kCommitted}};
  const ListPage first = List(filter, {.found_max = 5, .records_max = 4, .bytes_max = 1 << 20});
  EXPECT_THAT(first.found, IsEmpty());
  EXPECT_EQ(first.next, (ListPosition{0, "a3"}));
  EXPECT_THAT(Keys(List(filter, kWide, *first.next)), ElementsAre("z"));
}

TEST_F(Listing, ADamagedRecordIsNamedAndTheOthersAreListed) {
  for (const char* key : {"a", "b", "c"}) Put(1, key, Pending(absl::Seconds(1)));
  disk_.Damage({1}, {"ns", "b"}, "junk");
  const ListPage page = List({.name_space = "ns", .key_prefix = "", .states = {State::kPending}});
  EXPECT_THAT(Keys(page), ElementsAre("a", "c"));
  ASSERT_THAT(page.unreadable, SizeIs(1));
  EXPECT_EQ(page.unreadable[0].key, "b");
  EXPECT_EQ(page.unreadable[0].shard, ShardId{1});
  EXPECT_NE(page.unreadable[0].what, "");
}

TEST_F(Listing, WhatIsDamagedFillsAPageToo) {
  for (int i = 0; i < 5; ++i) {
    Put(0, absl::StrCat(i), Pending(absl::Seconds(1)));
    disk_.Damage({0}, {"ns", absl::StrCat(i)}, "junk");
  }
  const ListPage page =
      List({.name_space = "ns"}, {.found_max = 3, .records_max = 100, .bytes_max = 1 << 20});
  EXPECT_THAT(page.unreadable, SizeIs(3));
  EXPECT_EQ(page.next, (ListPosition{0, "2"}));
}

TEST_F(Listing, AShardThatCantBeReadIsNamedAndTheOthersAreListed) {
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    Put(shard, absl::StrCat("k", shard), Pending(absl::Seconds(1)));
  }
  const BrokenStore broken(*store_, {1}, absl::DataLossError("a block"));
  const auto page = ListRecords(broken, {.name_space = "ns"}, {}, kWide, view_);
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(Keys(*page), UnorderedElementsAre("k0", "k2", "k3"));
  ASSERT_THAT(page->unreadable, SizeIs(1));
  EXPECT_EQ(page->unreadable[0].key, "");
  EXPECT_EQ(page->unreadable[0].what, "a block");
  EXPECT_EQ(page->next, std::nullopt);
}

TEST_F(Listing, AFailedStoreIsNoList) {
  const BrokenStore broken(*store_, {1}, absl::UnavailableError("failed"));
  EXPECT_TRUE(
      absl::IsUnavailable(ListRecords(broken, {.name_space = "ns"}, {}, kWide, view_).status()));
}

}  // namespace
}  // namespace onced::shard_test
