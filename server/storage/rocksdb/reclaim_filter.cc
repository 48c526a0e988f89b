#include "server/storage/rocksdb/reclaim_filter.h"

#include <limits>

#include "absl/status/statusor.h"
#include "server/storage/codec/record_codec.h"
#include "server/storage/codec/wire.h"

namespace onced {
namespace {

constexpr std::int64_t kNothingYet = std::numeric_limits<std::int64_t>::min();

// One compaction's.
class Filter final : public rocksdb::CompactionFilter {
 public:
  Filter(const ReclaimFilter& filter, bool paced) : filter_(filter), paced_(paced) {}

  const char* Name() const override { return filter_.Name(); }
  Decision FilterV2(int level, const rocksdb::Slice& key, ValueType value_type,
                    const rocksdb::Slice& existing_value, std::string* new_value,
                    std::string* skip_until) const override {
    if (paced_) filter_.pacer().Spend(key.size() + existing_value.size());
    return filter_.FilterV2(level, key, value_type, existing_value, new_value, skip_until);
  }

 private:
  const ReclaimFilter& filter_;
  const bool paced_;
};

class ReclaimFilterFactory final : public rocksdb::CompactionFilterFactory {
 public:
  explicit ReclaimFilterFactory(const ReclaimFilter& filter) : filter_(filter) {}

  const char* Name() const override { return "onced.ReclaimFilterFactory"; }
  std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
      const rocksdb::CompactionFilter::Context& context) override {
    return std::make_unique<Filter>(filter_, context.is_manual_compaction);
  }

 private:
  const ReclaimFilter& filter_;
};

}  // namespace

ReclaimFilter::ReclaimFilter(absl::Duration grace) : grace_(grace), expired_by_us_(kNothingYet) {}

void ReclaimFilter::Start(Epoch epoch, const Outages& outages) {
  view_.epoch = epoch;
  view_.outages = outages;
}

void ReclaimFilter::AdvanceTo(absl::Time clock_mark) {
  expired_by_us_.store(StoredTime(clock_mark - grace_), std::memory_order_release);
}

absl::Time ReclaimFilter::expired_by() const {
  return TimeFromStored(expired_by_us_.load(std::memory_order_acquire));
}

absl::Time ReclaimFilter::ExpiryIn(absl::string_view bytes) const {
  // A reservation's stored expiry is a lower bound. Few of them live long enough
  // to be written to a file, so that they are worth a closer look.
  if (!HoldsPending(bytes) || expired_by() == absl::InfinitePast()) return ExpiryOf(bytes);
  const absl::StatusOr<Record> record = DecodeRecord(bytes);
  return record.ok() ? ExpireTime(*record, view_) : absl::InfiniteFuture();
}

rocksdb::CompactionFilter::Decision ReclaimFilter::FilterV2(int /*level*/,
                                                            const rocksdb::Slice& /*key*/,
                                                            ValueType value_type,
                                                            const rocksdb::Slice& existing_value,
                                                            std::string* /*new_value*/,
                                                            std::string* /*skip_until*/) const {
  const std::int64_t expired_by_us = expired_by_us_.load(std::memory_order_acquire);
  if (expired_by_us == kNothingYet || value_type != ValueType::kValue) return Decision::kKeep;
  const absl::Time expired_by = TimeFromStored(expired_by_us);
  const absl::string_view bytes(existing_value.data(), existing_value.size());
  if (ExpiryOf(bytes) > expired_by) return Decision::kKeep;
  // The stored expiry is a lower bound: the grace of an outage or a restore may
  // have moved it. Only the whole record tells, and whether it is damaged.
  const absl::StatusOr<Record> record = DecodeRecord(bytes);
  if (!record.ok() || ExpireTime(*record, view_) > expired_by) return Decision::kKeep;
  return Decision::kRemove;
}

std::shared_ptr<rocksdb::CompactionFilterFactory> MakeReclaimFilterFactory(
    const ReclaimFilter& filter) {
  return std::make_shared<ReclaimFilterFactory>(filter);
}

}  // namespace onced
