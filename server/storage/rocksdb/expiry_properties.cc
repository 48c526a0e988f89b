#include "server/storage/rocksdb/expiry_properties.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace onced {
namespace {

constexpr char kProperty[] = "onced.expiry";

class Collector final : public rocksdb::TablePropertiesCollector {
 public:
  Collector(const ReclaimFilter& filter, absl::Time kept_until)
      : filter_(filter), sample_(kept_until) {}

  const char* Name() const override { return "onced.ExpiryCollector"; }
  rocksdb::Status AddUserKey(const rocksdb::Slice& key, const rocksdb::Slice& value,
                             rocksdb::EntryType type, rocksdb::SequenceNumber /*sequence*/,
                             std::uint64_t /*file_size*/) override {
    const absl::Time useless_from = type == rocksdb::kEntryPut
                                        ? filter_.ExpiryIn({value.data(), value.size()})
                                        : absl::InfinitePast();
    sample_.Add(useless_from, key.size() + value.size());
    return rocksdb::Status::OK();
  }
  rocksdb::Status Finish(rocksdb::UserCollectedProperties* properties) override {
    (*properties)[kProperty] = sample_.Encode();
    return rocksdb::Status::OK();
  }
  rocksdb::UserCollectedProperties GetReadableProperties() const override { return {}; }

 private:
  const ReclaimFilter& filter_;
  ExpirySample sample_;
};

class CollectorFactory final : public rocksdb::TablePropertiesCollectorFactory {
 public:
  explicit CollectorFactory(const ReclaimFilter& filter) : filter_(filter) {}

  const char* Name() const override { return "onced.ExpiryCollectorFactory"; }
  // A flush, which writes level 0, doesn't filter: nothing in it was kept on
  // purpose. What a compaction writes went through the filter, whose bound was
  // this or later.
  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(Context context) override {
    const bool filtered = context.level_at_creation > 0;
    return new Collector(filter_, filtered ? filter_.expired_by() : absl::InfinitePast());
  }

 private:
  const ReclaimFilter& filter_;
};

}  // namespace

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> MakeExpiryCollectorFactory(
    const ReclaimFilter& filter) {
  return std::make_shared<CollectorFactory>(filter);
}

std::optional<ExpirySample> ExpirySampleOf(const rocksdb::TableProperties& properties) {
  const auto found = properties.user_collected_properties.find(kProperty);
  if (found == properties.user_collected_properties.end()) return std::nullopt;
  auto sample = ExpirySample::Decode(found->second);
  if (!sample.ok()) return std::nullopt;
  return *std::move(sample);
}

}  // namespace onced
