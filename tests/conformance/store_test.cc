// What every store promises.
#include "server/storage/store.h"

#include <functional>
#include <ostream>
#include <set>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/backends.h"
#include "tests/conformance/store_calls.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

constexpr std::uint32_t kShards = 4;
const Place kPlace{{0}, {"ns", "key"}};
const Place kNeighbour{{0}, {"ns", "key2"}};
const Place kElsewhere{{3}, {"ns", "key"}};

struct Row {
  const char* name;
  std::unique_ptr<Backend> (*make)();
};
void PrintTo(const Row& row, std::ostream* os) { *os << row.name; }

class StoreConformance : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override { Reopen(TestStart()); }
  void Reopen(absl::Time wall_now, absl::Duration restart_grace = absl::Seconds(15)) {
    const absl::Status opened =
        backend_->Open({.shards = kShards, .wall_now = wall_now, .restart_grace = restart_grace});
    ASSERT_TRUE(opened.ok()) << opened;
  }
  Store& store() { return backend_->store(); }

  void Put(const Place& place, const Record& record) {
    const absl::Status put = PutRecord(store(), place, record);
    ASSERT_TRUE(put.ok()) << put;
  }
  std::optional<Record> Find(const Place& place) {
    const auto found = FindRecord(store(), place);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or(std::nullopt);
  }

  const std::unique_ptr<Backend> backend_ = GetParam().make();
};

// ---- Units of work ----

TEST_P(StoreConformance, FindsNothingInANewStore) {
  EXPECT_EQ(Find(kPlace), std::nullopt);
  EXPECT_EQ(store().EstimateKeys(), 0U);
}

TEST_P(StoreConformance, FindsWhatWasPut) {
  for (const Record& record :
       {MinimalPending(), FullPending(), MinimalCommitted("body"), FullCommitted()}) {
    Put(kPlace, record);
    EXPECT_EQ(Find(kPlace), record);
  }
  EXPECT_GT(store().EstimateKeys(), 0U);
}

TEST_P(StoreConformance, KeepsPlacesApart) {
  Put(kPlace, MinimalCommitted("place"));
  Put(kNeighbour, MinimalCommitted("neighbour"));
  Put(kElsewhere, MinimalCommitted("elsewhere"));
  Put({{0}, {"ns.key", ""}}, MinimalCommitted("namespace"));
  EXPECT_EQ(Find(kPlace), MinimalCommitted("place"));
  EXPECT_EQ(Find(kNeighbour), MinimalCommitted("neighbour"));
  EXPECT_EQ(Find(kElsewhere), MinimalCommitted("elsewhere"));
  EXPECT_EQ(Find({{0}, {"ns.key", ""}}), MinimalCommitted("namespace"));
  EXPECT_EQ(Find({{1}, kPlace.key}), std::nullopt);
}

TEST_P(StoreConformance, ReadsItsOwnChangesWithinAUnit) {
  const absl::Status durable = RunUnit(store(), {kPlace, kNeighbour}, [](UnitOfWork& work) {
    work.Put({0}, MinimalPending());
    EXPECT_EQ(work.Find({0}), MinimalPending());
    work.Put({0}, MinimalCommitted("last"));
    work.Put({1}, MinimalPending());
    work.Erase({1});
    EXPECT_EQ(work.Find({1}), std::nullopt);
  });
  ASSERT_TRUE(durable.ok()) << durable;
  EXPECT_EQ(Find(kPlace), MinimalCommitted("last"));
  EXPECT_EQ(Find(kNeighbour), std::nullopt);
}

TEST_P(StoreConformance, WritesSeveralShardsInOneUnit) {
  std::vector<Place> places;
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    places.push_back({{shard}, {"ns", absl::StrCat("key of shard ", shard)}});
  }
  const absl::Status durable = RunUnit(store(), places, [&](UnitOfWork& work) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      work.Put({i}, MinimalCommitted(absl::StrCat("shard ", i)));
    }
  });
  ASSERT_TRUE(durable.ok()) << durable;
  Reopen(TestStart());
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(Find(places[i]), MinimalCommitted(absl::StrCat("shard ", i)));
  }
}

TEST_P(StoreConformance, ReadsAllKeysOfAUnit) {
  std::vector<Place> places;
  for (std::uint32_t i = 0; i < 100; ++i) {
    places.push_back({{i % kShards}, {"ns", absl::StrCat("key", i)}});
    if (i % 3 == 0) Put(places.back(), MinimalCommitted(absl::StrCat("body", i)));
  }
  const absl::Status durable = RunUnit(store(), places, [&](UnitOfWork& work) {
    for (std::uint32_t i = 0; i < places.size(); ++i) {
      ASSERT_TRUE(work.ReadStatus({i}).ok());
      ASSERT_EQ(work.Find({i}).has_value(), i % 3 == 0) << i;
      if (i % 3 == 0) {
        EXPECT_EQ(work.Find({i}), MinimalCommitted(absl::StrCat("body", i)));
      }
    }
  });
  EXPECT_TRUE(durable.ok()) << durable;
}

TEST_P(StoreConformance, ForgetsWhatWasErased) {
  Put(kPlace, MinimalPending());
  Put(kNeighbour, MinimalPending());
  ASSERT_TRUE(EraseRecord(store(), kPlace).ok());
  EXPECT_EQ(Find(kPlace), std::nullopt);
  Reopen(TestStart());
  EXPECT_EQ(Find(kPlace), std::nullopt);
  EXPECT_EQ(Find(kNeighbour), MinimalPending());
}

TEST_P(StoreConformance, ErasesWhatWasNeverThere) {
  EXPECT_TRUE(EraseRecord(store(), kPlace).ok());
}

TEST_P(StoreConformance, IsDurableAtOnceWhenNothingChanged) {
  EXPECT_TRUE(RunUnit(store(), {kPlace}, [](UnitOfWork&) {}).ok());
  EXPECT_TRUE(RunUnit(store(), {}, [](UnitOfWork&) {}).ok());
}

TEST_P(StoreConformance, KeepsTheLargestBodyAndItsEveryByte) {
  std::string body(3 << 20, '\0');
  for (std::size_t i = 0; i < body.size(); ++i)
    body[i] = static_cast<char>(i * 2'654'435'761U >> 13);
  const Record record = MinimalCommitted(std::move(body));
  Put(kPlace, record);
  EXPECT_TRUE(Find(kPlace) == record);
  Reopen(TestStart());
  EXPECT_TRUE(Find(kPlace) == record);
}

TEST_P(StoreConformance, TakesEveryKeyThatIsValid) {
  const std::string keys[] = {
      "a",         " ",       std::string(256, 'k'), "Schl\xc3\xbcssel", "\xf0\x9f\x94\x91",
      "a/b?c=d&e", "\xc2\x80"};
  for (const std::string& key : keys) Put({{1}, {"ns", key}}, MinimalCommitted(key));
  Reopen(TestStart());
  for (const std::string& key : keys) {
    EXPECT_EQ(Find({{1}, {"ns", key}}), MinimalCommitted(key)) << key;
  }
}

TEST_P(StoreConformance, ReturnsWhatExpired) {
  Record record = MinimalCommitted("old");
  std::get<Committed>(record.phase).expire_time = TestStart() - absl::Hours(1);
  Put(kPlace, record);
  EXPECT_EQ(Find(kPlace), record);
}

// ---- Units in flight ----

// Nobody waits for anybody: each unit adds one to the body that it finds, and each
// second one only looks.
TEST_P(StoreConformance, AUnitSeesTheChangesOfThoseBeforeItAndIsToldAfterThem) {
  constexpr int kUnits = 300;
  Told told;
  for (int i = 0; i < kUnits; ++i) {
    const auto look = [i](UnitOfWork& work) {
      if (i > 0) {
        EXPECT_EQ(work.Find({0}), MinimalCommitted(absl::StrCat((i - 1) / 2)));
      }
    };
    const auto change = [i, &look](UnitOfWork& work) {
      look(work);
      work.Put({0}, MinimalCommitted(absl::StrCat(i / 2)));
    };
    StartUnit(store(), {kPlace}, i % 2 == 0 ? std::function<void(UnitOfWork&)>(change) : look,
              told.As(i));
  }
  // Of those who only looked, one that found all durable need not wait for the others who
  // did: but none is told before the change that it saw.
  std::set<int> heard;
  for (const Told::One& one : told.Await(kUnits)) {
    EXPECT_EQ(one.code, absl::StatusCode::kOk);
    EXPECT_TRUE(one.who % 2 == 0 || heard.contains(one.who - 1)) << one.who;
    EXPECT_TRUE(one.who < 2 || one.who % 2 == 1 || heard.contains(one.who - 2)) << one.who;
    EXPECT_TRUE(heard.insert(one.who).second) << "told twice";
  }
}

TEST_P(StoreConformance, WhatIsSettledIsNotInFlight) {
  Put(kNeighbour, MinimalPending());
  // Who put it is told before it counts as settled for others.
  for (bool settled = false; !settled;) {
    EXPECT_TRUE(RunUnit(store(), {kNeighbour}, [&](UnitOfWork& work) {
                  settled = work.Settled({0});
                }).ok());
  }
  Told told;
  StartUnit(
      store(), {kPlace, kNeighbour},
      [](UnitOfWork& work) {
        EXPECT_TRUE(work.Settled({0}));
        EXPECT_TRUE(work.Settled({1}));
        work.Put({0}, MinimalPending());
        EXPECT_FALSE(work.Settled({0}));
        EXPECT_TRUE(work.Settled({1}));
      },
      told.As(0));
  told.Await(1);
}

TEST_P(StoreConformance, ErasedInFlightIsAbsent) {
  Told told;
  int units = 0;
  const auto expect = [&](const std::optional<Record>& record) {
    StartUnit(
        store(), {kPlace}, [&](UnitOfWork& work) { EXPECT_EQ(work.Find({0}), record); },
        told.As(units++));
  };
  const auto change = [&](const std::function<void(UnitOfWork&)>& body) {
    StartUnit(store(), {kPlace}, body, told.As(units++));
  };
  for (int round = 0; round < 50; ++round) {
    expect(std::nullopt);
    change([](UnitOfWork& work) { work.Put({0}, MinimalPending()); });
    expect(MinimalPending());
    change([](UnitOfWork& work) { work.Erase({0}); });
    expect(std::nullopt);
    change([](UnitOfWork& work) {
      work.Put({0}, MinimalPending());
      work.Erase({0});
    });
  }
  told.Await(static_cast<std::size_t>(units));
  EXPECT_EQ(Find(kPlace), std::nullopt);
  Reopen(TestStart());
  EXPECT_EQ(Find(kPlace), std::nullopt);
}

TEST_P(StoreConformance, FencesNeverGoBackInFlightNorAfterwards) {
  constexpr int kUnits = 200;
  Told told;
  Fence last;
  for (int i = 0; i < kUnits; ++i) {
    StartUnit(
        store(), {i % 2 == 0 ? kPlace : kNeighbour},
        [&](UnitOfWork& work) {
          const Fence next = work.NextFence({0}, TestStart());
          EXPECT_GT(next, last);
          last = next;
          // Every third is gone in the same unit: it was handed out all the same.
          work.Put({0}, MinimalPending(next));
          if (i % 3 == 0) work.Erase({0});
        },
        told.As(i));
  }
  Reopen(TestStart());
  EXPECT_EQ(told.all().size(), kUnits);
  EXPECT_EQ(NextFenceOf(store(), kNeighbour, TestStart()), Fence{last.value + 1});
}

// At the latest when the store is closed.
TEST_P(StoreConformance, TellsEveryUnitOfEveryThreadOnce) {
  constexpr int kUnits = 300;
  Told told;
  std::vector<std::thread> threads;
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    threads.emplace_back([this, shard, &told] {
      for (int i = 0; i < kUnits; ++i) {
        const Place place{{shard}, {"ns", absl::StrCat("key", i % 7)}};
        const auto count = [i](UnitOfWork& work) {
          if (i >= 7) {
            EXPECT_EQ(work.Find({0}), MinimalCommitted(absl::StrCat(i - 7)));
          }
          work.Put({0}, MinimalCommitted(absl::StrCat(i)));
        };
        StartUnit(store(), {place}, count, told.As(static_cast<int>(shard) * kUnits + i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Reopen(TestStart());
  std::vector<int> last(kShards, -1);
  const std::vector<Told::One> all = told.all();
  EXPECT_EQ(all.size(), kShards * kUnits);
  for (const Told::One& one : all) {
    EXPECT_EQ(one.code, absl::StatusCode::kOk);
    int& before = last[static_cast<std::size_t>(one.who / kUnits)];
    EXPECT_EQ(one.who % kUnits, before + 1);
    before = one.who % kUnits;
  }
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(Find({{shard}, {"ns", absl::StrCat("key", (kUnits - 1) % 7)}}),
              MinimalCommitted(absl::StrCat(kUnits - 1)));
  }
}

// ---- Damage ----

TEST_P(StoreConformance, MarksADamagedRecordAndGoesOnWithTheOthers) {
  Put(kNeighbour, MinimalPending());
  backend_->CloseAndDamage(kPlace, "junk");
  Reopen(TestStart());
  const absl::Status durable = RunUnit(store(), {kPlace, kNeighbour}, [](UnitOfWork& work) {
    EXPECT_TRUE(absl::IsDataLoss(work.ReadStatus({0}))) << work.ReadStatus({0});
    EXPECT_EQ(work.Find({0}), std::nullopt);
    EXPECT_TRUE(work.ReadStatus({1}).ok());
    EXPECT_EQ(work.Find({1}), MinimalPending());
    work.Put({1}, MinimalCommitted("after"));
  });
  EXPECT_TRUE(durable.ok()) << durable;
  EXPECT_TRUE(absl::IsDataLoss(FindRecord(store(), kPlace).status()));
  EXPECT_EQ(Find(kNeighbour), MinimalCommitted("after"));
}

TEST_P(StoreConformance, DoesNotTellTheKeyOfADamagedRecord) {
  const Place secret{{0}, {"ns", "customer-4711"}};
  backend_->CloseAndDamage(secret, "junk");
  Reopen(TestStart());
  const absl::Status status = FindRecord(store(), secret).status();
  EXPECT_THAT(std::string(status.message()), testing::Not(testing::HasSubstr("4711")));
}

// ---- Fences ----

TEST_P(StoreConformance, NextFenceIsTheTimeOrMore) {
  EXPECT_EQ(NextFenceOf(store(), kPlace, TestStart()), Fence{absl::ToUnixMicros(TestStart())});
  EXPECT_GE(NextFenceOf(store(), kPlace, absl::UnixEpoch()), Fence{1});
}

TEST_P(StoreConformance, FencesOfAShardGrowForAllItsKeys) {
  const Fence high{absl::ToUnixMicros(TestStart()) + 1'000'000};
  Put(kPlace, MinimalPending(high));
  EXPECT_EQ(NextFenceOf(store(), kPlace, TestStart()), Fence{high.value + 1});
  EXPECT_EQ(NextFenceOf(store(), kNeighbour, TestStart()), Fence{high.value + 1});
  EXPECT_EQ(NextFenceOf(store(), kElsewhere, TestStart()), Fence{absl::ToUnixMicros(TestStart())});
}

TEST_P(StoreConformance, FencesSurviveTheRecordAndTheRestart) {
  const Fence high{absl::ToUnixMicros(TestStart()) + 1'000'000};
  Put(kPlace, MinimalPending(high));
  Put(kPlace, MinimalPending({5}));
  ASSERT_TRUE(EraseRecord(store(), kPlace).ok());
  EXPECT_EQ(NextFenceOf(store(), kPlace, TestStart()), Fence{high.value + 1});
  for (int i = 0; i < 2; ++i) {
    Reopen(TestStart());
    EXPECT_EQ(NextFenceOf(store(), kPlace, TestStart()), Fence{high.value + 1});
  }
}

// ---- Identity ----

TEST_P(StoreConformance, KeepsItsIdentity) {
  const StoreIdentity made = store().identity();
  EXPECT_EQ(made.shards, kShards);
  EXPECT_NE(made.epoch, Epoch{});
  Reopen(TestStart() + absl::Hours(1));
  EXPECT_TRUE(store().identity() == made);
}

TEST_P(StoreConformance, HasAnIdentityUnlikeAnyOther) {
  const std::unique_ptr<Backend> other = GetParam().make();
  ASSERT_TRUE(other->Open({.shards = kShards, .wall_now = TestStart()}).ok());
  EXPECT_NE(other->store().identity().hash_seed, store().identity().hash_seed);
}

TEST_P(StoreConformance, OpensWithTheStoredNumberOfShards) {
  ASSERT_TRUE(backend_->Open({.wall_now = TestStart()}).ok());
  EXPECT_EQ(store().identity().shards, kShards);
}

TEST_P(StoreConformance, HasSixteenShardsUnlessTold) {
  const std::unique_ptr<Backend> other = GetParam().make();
  ASSERT_TRUE(other->Open({.wall_now = TestStart()}).ok());
  EXPECT_EQ(other->store().identity().shards, 16U);
}

TEST_P(StoreConformance, RefusesAnotherNumberOfShardsAndSaysTheWayOut) {
  const absl::Status refused = backend_->Open({.shards = 5, .wall_now = TestStart()});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("4 shards"));
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("become 5"));
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("--shards 4"));
  Reopen(TestStart());
}

TEST_P(StoreConformance, RefusesAnImpossibleNumberOfShards) {
  for (const std::uint32_t shards : {0U, 1'025U}) {
    const std::unique_ptr<Backend> other = GetParam().make();
    EXPECT_TRUE(absl::IsInvalidArgument(other->Open({.shards = shards, .wall_now = TestStart()})))
        << shards;
  }
}

// ---- Time ----

TEST_P(StoreConformance, TimeStartsAtTheWallClock) { EXPECT_EQ(store().clock_mark(), TestStart()); }

TEST_P(StoreConformance, TheMarkOnlyRises) {
  const absl::Time high = TestStart() + absl::Seconds(10);
  ASSERT_TRUE(store().RaiseClockMark(high).ok());
  EXPECT_EQ(store().clock_mark(), high);
  ASSERT_TRUE(store().RaiseClockMark(high - absl::Seconds(1)).ok());
  EXPECT_EQ(store().clock_mark(), high);
}

TEST_P(StoreConformance, NeverResumesBelowTheMark) {
  const absl::Time high = TestStart() + absl::Hours(1);
  ASSERT_TRUE(store().RaiseClockMark(high).ok());
  for (const absl::Time wall : {TestStart(), TestStart() - absl::Hours(24 * 365), high}) {
    Reopen(wall);
    EXPECT_EQ(store().clock_mark(), high);
    EXPECT_EQ(store().outages().back().serving_since, high);
  }
}

TEST_P(StoreConformance, ResumesAtAWallClockAheadOfTheMark) {
  const absl::Time later = TestStart() + absl::Hours(1);
  Reopen(later);
  EXPECT_EQ(store().clock_mark(), later);
  Reopen(TestStart());  // As if the clock had gone wrong since.
  EXPECT_EQ(store().clock_mark(), later);
}

TEST_P(StoreConformance, ANewStoreHadNoOutage) { EXPECT_EQ(store().outages(), Outages{}); }

TEST_P(StoreConformance, ARestartEndsAnOutage) {
  const absl::Time mark = TestStart() + absl::Seconds(10);
  const absl::Time back = TestStart() + absl::Hours(1);
  ASSERT_TRUE(store().RaiseClockMark(mark).ok());
  Reopen(back, absl::Seconds(20));
  EXPECT_EQ(store().outages(), (Outages{{.down_since = mark - absl::Seconds(1),
                                         .serving_since = back,
                                         .grace_until = back + absl::Seconds(20)}}));
}

TEST_P(StoreConformance, RemembersEarlierOutages) {
  const absl::Time first = TestStart() + absl::Hours(1);
  const absl::Time mark = first + absl::Minutes(10);
  Reopen(first);
  const Outages earlier = store().outages();
  ASSERT_TRUE(store().RaiseClockMark(mark).ok());
  Reopen(mark + absl::Hours(1));
  ASSERT_EQ(store().outages().size(), 2);
  EXPECT_EQ(store().outages().front(), earlier.front());
  EXPECT_EQ(store().outages().back().down_since, mark - absl::Seconds(1));
}

// ---- Threads ----

TEST_P(StoreConformance, ServesEachShardFromAThreadOfItsOwn) {
  constexpr int kUnits = 50;
  std::vector<std::thread> threads;
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    threads.emplace_back([this, shard] {
      for (int i = 0; i < kUnits; ++i) {
        const Place place{{shard}, {"ns", absl::StrCat("key", i)}};
        EXPECT_TRUE(RunUnit(store(), {place}, [&](UnitOfWork& work) {
                      work.Put({0}, MinimalPending(work.NextFence({0}, TestStart())));
                    }).ok());
        EXPECT_TRUE(store().RaiseClockMark(TestStart() + absl::Seconds(i)).ok());
        EXPECT_GE(store().clock_mark(), TestStart() + absl::Seconds(i));
        store().EstimateKeys();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Reopen(TestStart());
  EXPECT_EQ(store().clock_mark(), TestStart() + absl::Seconds(kUnits - 1));
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    for (int i = 0; i < kUnits; ++i) {
      const auto record = Find({{shard}, {"ns", absl::StrCat("key", i)}});
      ASSERT_TRUE(record.has_value());
      EXPECT_EQ(record->fence, Fence{absl::ToUnixMicros(TestStart()) + i});
    }
  }
}

// A new backend adds one line.
INSTANTIATE_TEST_SUITE_P(, StoreConformance,
                         testing::Values(Row{"memory", MakeMemoryBackend},
                                         Row{"faulty", MakeFaultyBackend},
                                         Row{"slow", MakeSlowBackend},
                                         Row{"rocksdb", MakeRocksBackend}),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace onced
