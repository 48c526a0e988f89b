#include "server/storage/rocksdb/reclaim_filter.h"

#include <limits>

#include "absl/status/statusor.h"
#include "server/storage/codec/record_codec.h"
#include "server/storage/codec/wire.h"

namespace onced {
namespace {

constexpr std::int64_t kNothingYet = std::numeric_limits<std::int64_t>::min();

}  // namespace

ReclaimFilter::ReclaimFilter(absl::Duration grace) : grace_(grace), expired_by_us_(kNothingYet) {}

void ReclaimFilter::Start(Epoch epoch, const Outages& outages) {
  view_.epoch = epoch;
  view_.outages = outages;
}

void ReclaimFilter::AdvanceTo(absl::Time clock_mark) {
  expired_by_us_.store(StoredTime(clock_mark - grace_), std::memory_order_release);
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

}  // namespace onced
