#include <algorithm>
#include <cstring>

#include "server/storage/codec/restored_meta.h"
#include "server/storage/codec/wire.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {
namespace {

// Some from the input, then some more: a random that is zero for ever would make
// an epoch that must not be, for ever.
class DrawnRandom final : public Random {
 public:
  explicit DrawnRandom(absl::string_view bytes) : draw_(bytes) {}
  void Fill(void* out, std::size_t size) override {
    auto* bytes = static_cast<std::uint8_t*>(out);
    for (std::size_t i = 0; i < size; ++i) {
      bytes[i] = draw_.AtEnd() ? ++next_ : draw_.Int<std::uint8_t>();
    }
  }

 private:
  fuzz::Draw draw_;
  std::uint8_t next_ = 0;
};

}  // namespace

void Restore(absl::string_view bytes) {
  Draw draw(bytes);
  StoreMeta meta;
  meta.identity.shards = static_cast<std::uint32_t>(1 + draw.Below(8));
  meta.identity.epoch.value = std::max(draw.Int<std::uint32_t>(), 1U);
  meta.clock_mark = TimeFromStored(draw.Int<std::int64_t>());
  const std::size_t outages = draw.Below(4);
  for (std::size_t i = 0; i < outages; ++i) {
    Outage& outage = meta.outages.emplace_back();
    outage.down_since = TimeFromStored(draw.Int<std::int64_t>());
    outage.serving_since = TimeFromStored(draw.Int<std::int64_t>());
    outage.grace_until = TimeFromStored(draw.Int<std::int64_t>());
  }
  for (std::uint32_t i = 0; i < meta.identity.shards; ++i) {
    meta.fences.push_back({draw.Int<std::int64_t>()});
  }
  const RestoreTerms terms{.cut_time = TimeFromStored(draw.Int<std::int64_t>()),
                           .wall_now = TimeFromStored(draw.Int<std::int64_t>()),
                           .fence_floor = draw.Int<std::int64_t>()};
  DrawnRandom random(draw.Rest());

  const absl::StatusOr<StoreMeta> restored = RestoredMeta(meta, terms, random);
  if (!restored.ok()) return;
  Demand(terms.fence_floor >= 0 && terms.fence_floor <= limits::kFenceFloorMax, "no such floor");
  Demand(restored->identity.epoch != meta.identity.epoch, "old tokens live");
  Demand(restored->identity.epoch != Epoch{}, "the epoch of nobody's tokens");
  Demand(restored->clock_mark >= meta.clock_mark, "the mark went back");
  for (std::size_t i = 0; i < meta.fences.size(); ++i) {
    Demand(restored->fences[i] >= meta.fences[i], "fences went back");
    Demand(restored->fences[i].value >= terms.fence_floor, "below the operator's floor");
    Demand(restored->fences[i].value >= StoredTime(terms.wall_now), "below the wall clock");
  }
}

}  // namespace onced::fuzz
