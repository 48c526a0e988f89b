#include "server/storage/rocksdb/unwritten.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

RecordKey Key(std::uint64_t i) { return {"ns", absl::StrCat(i)}; }

TEST(Unwritten, FindsTheNewestChange) {
  Unwritten unwritten;
  EXPECT_EQ(unwritten.Find(Key(1)), nullptr);
  unwritten.Add(Key(1), MinimalPending(), {1});
  unwritten.Add(Key(1), MinimalCommitted("x"), {2});
  ASSERT_NE(unwritten.Find(Key(1)), nullptr);
  EXPECT_EQ(unwritten.Find(Key(1))->record, MinimalCommitted("x"));
  EXPECT_EQ(unwritten.Find(Key(1))->ticket, Ticket{2});
  unwritten.Add(Key(1), std::nullopt, {3});
  ASSERT_NE(unwritten.Find(Key(1)), nullptr);
  EXPECT_EQ(unwritten.Find(Key(1))->record, std::nullopt);
  unwritten.Forget({2});
  ASSERT_NE(unwritten.Find(Key(1)), nullptr);
  EXPECT_EQ(unwritten.Find(Key(1))->record, std::nullopt);
  unwritten.Forget({3});
  EXPECT_EQ(unwritten.Find(Key(1)), nullptr);
  EXPECT_EQ(unwritten.size(), 0U);
}

// Whatever it holds: what isn't written is found, and what is found is the newest.
TEST(Unwritten, NeverForgetsWhatIsNotWritten) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 random(seed);
  Unwritten unwritten;
  std::map<std::uint64_t, std::pair<std::int64_t, std::uint64_t>> newest;  // Fence and ticket.
  std::uint64_t filling = 1, written = 0;
  for (std::int64_t i = 1; i <= 20'000; ++i) {
    const std::uint64_t key = random() % 500;
    unwritten.Add(Key(key), MinimalPending({i}), {filling});
    newest[key] = {i, filling};
    if (random() % 20 == 0) ++filling;
    if (random() % 25 == 0)
      written = std::max(written, filling - 1 - random() % std::min<std::uint64_t>(filling, 4));
    unwritten.Forget({written});
    const std::uint64_t asked = random() % 500;
    const Unwritten::Change* found = unwritten.Find(Key(asked));
    const auto known = newest.find(asked);
    if (found == nullptr) {
      ASSERT_TRUE(known == newest.end() || known->second.second <= written);
    } else {
      ASSERT_EQ(found->record->fence.value, known->second.first);
      ASSERT_EQ(found->ticket.value, known->second.second);
    }
  }
}

// With always something in flight: by how much it is more than what is not written.
TEST(Unwritten, HoldsLittleMoreThanWhatIsNotWritten) {
  struct Phase {
    std::uint64_t batch;  // Changes in each.
    std::uint64_t batches;
  };
  Unwritten unwritten;
  std::uint64_t ticket = 0, key = 0;
  // A burst of many small ones must not be what few large ones are kept by.
  for (const Phase phase : {Phase{10'000, 6}, Phase{1, 1'000}, Phase{100, 50}, Phase{1, 1'000}}) {
    for (std::uint64_t i = 0; i < phase.batches; ++i) {
      ++ticket;
      for (std::uint64_t j = 0; j < phase.batch; ++j) {
        unwritten.Add(Key(++key), MinimalPending(), {ticket});
        unwritten.Forget({ticket < 2 ? 0 : ticket - 2});  // One in flight, and this one.
      }
      if (i < 6) continue;  // What is left of the phase before.
      ASSERT_LE(unwritten.size(), 6 * phase.batch) << phase.batch << " in each, batch " << i;
    }
  }
}

}  // namespace
}  // namespace onced
