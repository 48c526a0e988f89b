#include "server/storage/codec/restored_meta.h"

#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/random.h"
#include "server/ledger/policy.h"
#include "server/storage/codec/wire.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

using testing::HasSubstr;

// Gives these bytes first, then 7s.
class ScriptedRandom final : public Random {
 public:
  explicit ScriptedRandom(std::vector<std::uint32_t> values) : values_(std::move(values)) {}
  void Fill(void* out, std::size_t size) override {
    ASSERT_EQ(size, sizeof(std::uint32_t));
    const std::uint32_t value = next_ < values_.size() ? values_[next_++] : 7;
    std::memcpy(out, &value, sizeof value);
  }

 private:
  const std::vector<std::uint32_t> values_;
  std::size_t next_ = 0;
};

StoreMeta Stored() {
  SystemRandom random;
  StoreMeta meta = NewMeta(2, random, TestStart());
  meta.identity.epoch = Epoch{42};
  meta.fences = {Fence{5}, Fence{std::numeric_limits<std::int64_t>::max() - 9}};
  return meta;
}

RestoreTerms Terms(absl::Duration after, std::int64_t floor = 0) {
  return {.cut_time = TestStart(), .wall_now = TestStart() + after, .fence_floor = floor};
}
std::int64_t MicrosAt(absl::Duration after) { return StoredTime(TestStart() + after); }

TEST(RestoredMeta, KeepsWhatIsNotNamed) {
  ScriptedRandom random({});
  const StoreMeta stored = Stored();
  StoreMeta restored = RestoredMeta(stored, Terms(absl::Hours(1)), random).value();
  EXPECT_EQ(restored.identity.epoch, Epoch{7});
  EXPECT_EQ(restored.clock_mark, TestStart() + absl::Hours(1));
  restored.identity.epoch = stored.identity.epoch;
  restored.clock_mark = stored.clock_mark;
  restored.fences = stored.fences;
  EXPECT_EQ(restored, stored);
}

TEST(RestoredMeta, TheEpochIsAnotherAndNotZero) {
  ScriptedRandom random({0, 42, 0, 9});
  EXPECT_EQ(RestoredMeta(Stored(), Terms(absl::Hours(1)), random)->identity.epoch, Epoch{9});
}

const struct {
  const char* name;
  absl::Duration wall_after;
  std::int64_t floor;
  std::int64_t want;  // Of a shard that had a small one.
} kFences[] = {
    {"wall_clock_with_its_lead", absl::Hours(1), 0, MicrosAt(absl::Hours(1) + kFenceLead)},
    {"a_smaller_floor", absl::Hours(1), 17, MicrosAt(absl::Hours(1) + kFenceLead)},
    {"a_larger_floor", absl::Hours(1), MicrosAt(absl::Hours(9)), MicrosAt(absl::Hours(9))},
    {"the_largest_floor", absl::Hours(1), limits::kFenceFloorMax, limits::kFenceFloorMax},
};

TEST(RestoredMeta, FencesGoOnAboveTheFloor) {
  for (const auto& row : kFences) {
    ScriptedRandom random({});
    const RestoreTerms terms = Terms(row.wall_after, row.floor);
    const StoreMeta restored = RestoredMeta(Stored(), terms, random).value();
    EXPECT_EQ(restored.fences[0], Fence{row.want}) << row.name;
    EXPECT_EQ(restored.fences[1], Stored().fences[1]) << row.name << ": it is larger";
    EXPECT_EQ(FenceFloorOf(terms).value(), Fence{row.want}) << row.name;
  }
}

TEST(RestoredMeta, AFloorOutOfBoundsIsRefused) {
  for (const std::int64_t floor :
       {std::int64_t{-1}, limits::kFenceFloorMax + 1, std::numeric_limits<std::int64_t>::max()}) {
    ScriptedRandom random({});
    const absl::Status status =
        RestoredMeta(Stored(), Terms(absl::Hours(1), floor), random).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << floor;
  }
}

const struct {
  const char* name;
  absl::Duration mark_after;  // Both after TestStart().
  absl::Duration cut_after;
  absl::Duration wall_after;
  bool refused;
  absl::Duration mark;  // The new one.
} kClocks[] = {
    {"ahead", absl::Hours(1), absl::Hours(1), absl::Hours(2), false, absl::Hours(2)},
    {"equal", absl::Hours(1), absl::Hours(1), absl::Hours(1), false, absl::Hours(1)},
    {"behind_the_mark_alone", absl::Hours(1), absl::Hours(1) - absl::Seconds(1),
     absl::Hours(1) - absl::Seconds(1), false, absl::Hours(1)},
    {"as_far_behind_as_may_be", absl::Hours(1), absl::ZeroDuration(),
     absl::Hours(1) - kMarkLeadMax - kClockLag, false, absl::Hours(1)},
    {"behind_the_mark",
     absl::Hours(1),
     absl::ZeroDuration(),
     absl::Hours(1) - kMarkLeadMax - kClockLag - absl::Microseconds(1),
     true,
     {}},
    {"behind_the_cut",
     absl::ZeroDuration(),
     absl::Hours(1),
     absl::Hours(1) - kClockLag - absl::Microseconds(1),
     true,
     {}},
};

TEST(RestoredMeta, TheWallClockIsBelievedUnlessItIsBehind) {
  for (const auto& row : kClocks) {
    ScriptedRandom random({});
    StoreMeta stored = Stored();
    stored.clock_mark = TestStart() + row.mark_after;
    const RestoreTerms terms{.cut_time = TestStart() + row.cut_after,
                             .wall_now = TestStart() + row.wall_after};
    const auto restored = RestoredMeta(stored, terms, random);
    EXPECT_EQ(absl::IsFailedPrecondition(restored.status()), row.refused) << row.name;
    if (!row.refused) {
      EXPECT_EQ(restored->clock_mark, TestStart() + row.mark) << row.name;
    }
  }
}

}  // namespace
}  // namespace onced
