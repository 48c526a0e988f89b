// What every store promises of Scan().
#include <algorithm>
#include <atomic>
#include <ostream>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/backends.h"
#include "tests/conformance/store_calls.h"
#include "tests/support/faulty_store.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Keys = std::vector<std::string>;

struct Row {
  const char* name;
  std::unique_ptr<Backend> (*make)();
};
void PrintTo(const Row& row, std::ostream* os) { *os << row.name; }

class Scan : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override { Open(); }
  void Open() {
    const absl::Status opened = backend_->Open({.shards = 4, .wall_now = TestStart()});
    ASSERT_TRUE(opened.ok()) << opened;
  }
  Store& store() { return backend_->store(); }

  void Put(const std::string& name_space, const std::string& key, std::uint32_t shard = 0,
           const Record& record = MinimalPending()) {
    const absl::Status put = PutRecord(store(), {{shard}, {name_space, key}}, record);
    ASSERT_TRUE(put.ok()) << put;
  }
  void Erase(const std::string& key) {
    const absl::Status erased = EraseRecord(store(), {{0}, {"ns", key}});
    ASSERT_TRUE(erased.ok()) << erased;
  }

  static ScanRange Of(const std::string& name_space, const std::string& prefix = "",
                      const std::string& after = "", std::size_t records = 1'000) {
    return {.shard = {0},
            .name_space = name_space,
            .key_prefix = prefix,
            .after = after,
            .records_max = records,
            .bytes_max = std::size_t{1} << 20};
  }
  Scanned Look(const ScanRange& range, Keys& keys) {
    const auto scanned = store().Scan(range, [&](const std::string& key, const auto& record) {
      EXPECT_TRUE(record.ok()) << key << record.status();
      keys.push_back(key);
      return true;
    });
    EXPECT_TRUE(scanned.ok()) << scanned.status();
    return scanned.value_or(Scanned{});
  }
  // All pages of one range, and how many there were.
  Keys LookAtAll(ScanRange range, int* pages = nullptr) {
    Keys keys;
    for (int page = 1; page < 100'000; ++page) {
      const Scanned scanned = Look(range, keys);
      if (pages != nullptr) *pages = page;
      if (!scanned.after.has_value()) return keys;
      EXPECT_GT(*scanned.after, range.after);
      range.after = *scanned.after;
    }
    ADD_FAILURE() << "no end";
    return keys;
  }

  const std::unique_ptr<Backend> backend_ = GetParam().make();
};

TEST_P(Scan, FindsNothingInANewStore) { EXPECT_THAT(LookAtAll(Of("ns")), IsEmpty()); }

TEST_P(Scan, TellsOfANamespaceAloneInTheOrderOfItsKeys) {
  for (const char* key : {"b", "a", "ab", "\xc3\xa9", "B"}) Put("ns", key);
  for (const char* other : {"n", "ns.", "ns0", "nsa", "nr", "nt"}) Put(other, "a");
  Put("ns", "elsewhere", 1);
  EXPECT_THAT(LookAtAll(Of("ns")), ElementsAre("B", "a", "ab", "b", "\xc3\xa9"));
}

TEST_P(Scan, TellsTheRecords) {
  Put("ns", "a", 0, FullPending());
  Put("ns", "b", 0, FullCommitted());
  std::vector<Record> records;
  const auto scanned = store().Scan(Of("ns"), [&](const std::string&, const auto& record) {
    records.push_back(*record);
    return true;
  });
  ASSERT_TRUE(scanned.ok());
  EXPECT_EQ(scanned->records, 2U);
  EXPECT_GT(scanned->bytes, 100U);
  EXPECT_THAT(records, ElementsAre(FullPending(), FullCommitted()));
}

TEST_P(Scan, GoesByPrefix) {
  for (const char* key : {"a", "ab", "ab1", "ab\xff", "ab\xff\xff", "ac", "b", "A"}) Put("ns", key);
  EXPECT_THAT(LookAtAll(Of("ns", "ab")), ElementsAre("ab", "ab1", "ab\xff", "ab\xff\xff"));
  EXPECT_THAT(LookAtAll(Of("ns", "ab\xff")), ElementsAre("ab\xff", "ab\xff\xff"));
  EXPECT_THAT(LookAtAll(Of("ns", "abc")), IsEmpty());
  EXPECT_THAT(LookAtAll(Of("ns", "ab", "a")), ElementsAre("ab", "ab1", "ab\xff", "ab\xff\xff"));
  EXPECT_THAT(LookAtAll(Of("ns", "ab", "ab1")), ElementsAre("ab\xff", "ab\xff\xff"));
  EXPECT_THAT(LookAtAll(Of("ns", "ab", "b")), IsEmpty());
}

TEST_P(Scan, PagesMakeTheWhole) {
  std::mt19937_64 random(3);
  std::set<std::string> put;
  for (int i = 0; i < 60; ++i) {
    std::string key(1 + random() % 3, 'x');
    for (char& c : key) c = static_cast<char>('a' + random() % 4);
    put.insert(key);
    Put("ns", key);
  }
  const Keys all(put.begin(), put.end());
  for (const std::size_t size : {1, 2, 7, 1'000}) {
    EXPECT_EQ(LookAtAll(Of("ns", "", "", size)), all) << "seed 3, pages of " << size;
  }
}

TEST_P(Scan, EndsAtItsBounds) {
  for (const char* key : {"a", "b", "c", "d"}) {
    Put("ns", key, 0, MinimalCommitted(std::string(1'000, 'x')));
  }
  Keys keys;
  Scanned scanned = Look(Of("ns", "", "", 2), keys);
  EXPECT_EQ(scanned.after, "b");
  EXPECT_EQ(scanned.records, 2U);
  EXPECT_THAT(keys, ElementsAre("a", "b"));
  keys.clear();
  ScanRange range = Of("ns");
  range.bytes_max = 1'500;
  scanned = Look(range, keys);
  EXPECT_EQ(scanned.after, "b");
  EXPECT_THAT(keys, ElementsAre("a", "b"));
}

TEST_P(Scan, EndsWhenTheVisitorHasEnough) {
  for (const char* key : {"a", "b", "c"}) Put("ns", key);
  Keys keys;
  const auto scanned = store().Scan(Of("ns"), [&](const std::string& key, const auto&) {
    keys.push_back(key);
    return keys.size() < 2;
  });
  ASSERT_TRUE(scanned.ok());
  EXPECT_EQ(scanned->after, "b");
  EXPECT_THAT(LookAtAll(Of("ns", "", *scanned->after)), ElementsAre("c"));
}

TEST_P(Scan, GoesOnBehindARecordThatIsGone) {
  for (const char* key : {"a", "b", "c"}) Put("ns", key);
  Erase("b");
  EXPECT_THAT(LookAtAll(Of("ns", "", "b")), ElementsAre("c"));
  EXPECT_THAT(LookAtAll(Of("ns")), ElementsAre("a", "c"));
}

TEST_P(Scan, ShowsTheLastChange) {
  Put("ns", "a", 0, MinimalPending({7}));
  Put("ns", "a", 0, MinimalPending({8}));
  std::vector<Fence> fences;
  ASSERT_TRUE(store()
                  .Scan(Of("ns"),
                        [&](const std::string&, const auto& record) {
                          fences.push_back(record->fence);
                          return true;
                        })
                  .ok());
  EXPECT_THAT(fences, ElementsAre(Fence{8}));
}

TEST_P(Scan, TellsOfADamagedRecordAndGoesOn) {
  for (const char* key : {"a", "b", "c"}) Put("ns", key);
  backend_->CloseAndDamage({{0}, {"ns", "b"}}, "junk");
  Open();
  Keys good, bad;
  const auto scanned = store().Scan(Of("ns"), [&](const std::string& key, const auto& record) {
    (record.ok() ? good : bad).push_back(key);
    EXPECT_TRUE(record.ok() || absl::IsDataLoss(record.status())) << record.status();
    return true;
  });
  ASSERT_TRUE(scanned.ok());
  EXPECT_THAT(good, ElementsAre("a", "c"));
  EXPECT_THAT(bad, ElementsAre("b"));
}

// What was released stays on the disk for a while: thousands of such records between two are
// no reason to take long, nor to find no end.
TEST_P(Scan, PassesWhatWasErasedInPieces) {
  Put("ns", "a");
  for (int i = 0; i < 40; ++i) {
    std::vector<Place> places;
    for (int j = 0; j < 100; ++j) places.push_back({{0}, {"ns", absl::StrCat("m", i * 100 + j)}});
    for (const bool erase : {false, true}) {
      ASSERT_TRUE(RunUnit(store(), places, [&](UnitOfWork& work) {
                    for (std::size_t j = 0; j < places.size(); ++j) {
                      if (erase) {
                        work.Erase({j});
                      } else {
                        work.Put({j}, MinimalPending());
                      }
                    }
                  }).ok());
    }
  }
  Put("ns", "z");
  int pages = 0;
  EXPECT_THAT(LookAtAll(Of("ns", "", "", 1'500), &pages), ElementsAre("a", "z"));
  EXPECT_LE(pages, 12);
  EXPECT_THAT(LookAtAll(Of("ns", "m")), IsEmpty());
}

// Where a store gives up skipping what was erased there may be a record that is there, and was
// rewritten after it began to look: each number of erased ones near its bound is tried.
TEST_P(Scan, ARecordThatIsRewrittenMeanwhileIsInIt) {
  for (int erased = 490; erased <= 505; ++erased) {  // Each is two traces: of 1,000 at a time.
    const std::string ns = absl::StrCat("ns", erased);
    std::vector<Place> places;
    for (int i = 0; i < erased; ++i) places.push_back({{0}, {ns, absl::StrCat("m", i)}});
    for (const bool erase : {false, true}) {
      ASSERT_TRUE(RunUnit(store(), places, [&](UnitOfWork& work) {
                    for (std::size_t i = 0; i < places.size(); ++i) {
                      if (erase) {
                        work.Erase({i});
                      } else {
                        work.Put({i}, MinimalPending());
                      }
                    }
                  }).ok());
    }
    Put(ns, "a");
    Put(ns, "z");
    Keys keys;
    const auto scanned =
        store().Scan(Of(ns, "", "", 100'000), [&](const std::string& key, const auto&) {
          keys.push_back(key);
          for (int i = 0; key == "a" && i < 3; ++i) Put(ns, "z", 0, MinimalPending({8}));
          return true;
        });
    ASSERT_TRUE(scanned.ok());
    EXPECT_THAT(keys, ElementsAre("a", "z")) << erased << " erased";
  }
}

TEST_P(Scan, GoesBesideWrites) {
  for (const char* key : {"a", "z"}) Put("ns", key);
  std::atomic<bool> over = false;
  std::thread writer([&] {
    for (int i = 0; i < 200; ++i) {
      const Place place{{0}, {"ns", absl::StrCat("m", i % 7)}};
      const absl::Status wrote = i % 3 == 0 ? EraseRecord(store(), place)
                                            : PutRecord(store(), place, MinimalPending({i + 1}));
      EXPECT_TRUE(wrote.ok()) << wrote;
    }
    over = true;
  });
  while (!over) {
    Keys keys;
    Look(Of("ns"), keys);
    ASSERT_GE(keys.size(), 2U);
    EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
    EXPECT_EQ(keys.front(), "a");
    EXPECT_EQ(keys.back(), "z");
  }
  writer.join();
}

INSTANTIATE_TEST_SUITE_P(, Scan,
                         testing::Values(Row{"memory", MakeMemoryBackend},
                                         Row{"faulty", MakeFaultyBackend},
                                         Row{"slow", MakeSlowBackend},
                                         Row{"rocksdb", MakeRocksBackend}),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace onced
