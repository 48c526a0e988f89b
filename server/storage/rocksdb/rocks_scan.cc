// RocksStore::Scan().
#include <memory>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/iterator.h"
#include "rocksdb/options.h"
#include "server/base/check.h"
#include "server/storage/codec/record_codec.h"
#include "server/storage/rocksdb/rocks_database.h"
#include "server/storage/rocksdb/rocks_slice.h"
#include "server/storage/rocksdb/rocks_status.h"
#include "server/storage/rocksdb/rocks_store.h"

namespace onced {
namespace {

// Released and rewritten records leave their traces until a compaction: an iterator would
// skip millions of them without a word. This many it skips at a time, and then says
// where it is.
constexpr std::uint64_t kSkippedMax = 1'000;

// One walk through a range.
class Walk {
 public:
  Walk(rocksdb::DB& db, rocksdb::ColumnFamilyHandle& family, const ScanRange& range)
      : db_(db), family_(family), range_(range), end_(ScanEnd(range)), end_slice_(end_) {
    options_.fill_cache = false;
    options_.iterate_upper_bound = &end_slice_;
    options_.max_skippable_internal_keys = kSkippedMax;
  }

  absl::StatusOr<Scanned> Run(Store::ScanVisitor visit) {
    std::string from = ScanBegin(range_);
    for (;;) {
      const std::unique_ptr<rocksdb::Iterator> at(db_.NewIterator(options_, &family_));
      for (at->Seek(from); at->Valid(); at->Next()) {
        if (!Take(*at, visit)) return scanned_;
      }
      scanned_.after.reset();
      if (at->status().ok()) return scanned_;
      if (!at->status().IsIncomplete()) return FromRocks("reading a shard", at->status());
      const absl::StatusOr<bool> passed = Skip(*at, from);
      if (!passed.ok()) return passed.status();
      if (*passed && Full()) return scanned_;
    }
  }

 private:
  bool Full() const {
    return scanned_.records >= range_.records_max || scanned_.bytes >= range_.bytes_max;
  }
  std::string KeyOf(absl::string_view stored) const {
    return std::string(stored.substr(range_.name_space.size() + 1));
  }

  // False: it is enough.
  bool Take(const rocksdb::Iterator& at, Store::ScanVisitor visit) {
    const std::string key = KeyOf(ViewOf(at.key()));
    ++scanned_.records;
    scanned_.bytes += at.key().size() + at.value().size();
    const bool more = visit(key, DecodeRecord(ViewOf(at.value())));
    if (more && !Full()) return true;
    scanned_.after = key;
    return false;
  }

  // Past what the iterator has skipped, which is no record any more: to behind the last
  // such key. False: that one is a record, and comes next. What was skipped of it was
  // written after the iterator was made, whose own version of it would have been next.
  absl::StatusOr<bool> Skip(rocksdb::Iterator& at, std::string& from) {
    std::string last;
    const rocksdb::Status told = at.GetProperty("rocksdb.iterator.internal-key", &last);
    if (!told.ok()) return FromRocks("reading a shard", told);
    scanned_.records += kSkippedMax;
    rocksdb::PinnableSlice value;
    const rocksdb::Status found = db_.Get(options_, &family_, last, &value);
    if (found.ok()) {
      from = last;
      return false;
    }
    if (!found.IsNotFound()) return FromRocks("reading a shard", found);
    scanned_.after = KeyOf(last);
    from = last + '\0';
    return true;
  }

  rocksdb::DB& db_;
  rocksdb::ColumnFamilyHandle& family_;
  const ScanRange& range_;
  const std::string end_;
  const rocksdb::Slice end_slice_;
  rocksdb::ReadOptions options_;
  Scanned scanned_;
};

}  // namespace

// RocksDB shows a write once it is synced, and not before: nothing here looks at what was
// decided and isn't written.
absl::StatusOr<Scanned> RocksStore::Scan(const ScanRange& range, ScanVisitor visit) const {
  const absl::Status usable = FailedEarlier();
  if (!usable.ok()) return usable;
  ONCED_CHECK(range.shard.value < identity_.shards);
  return Walk(*database_->db, *database_->shard_families[range.shard.value], range).Run(visit);
}

}  // namespace onced
