#include "server/storage/rocksdb/plain_database.h"

#include <utility>

#include "rocksdb/cache.h"
#include "server/storage/rocksdb/rocks_meta.h"
#include "server/storage/rocksdb/rocks_options.h"
#include "server/storage/rocksdb/rocks_status.h"

namespace onced {
namespace {

constexpr std::size_t kWriteBufferBytes = std::size_t{8} << 20;

absl::Status Failed(const rocksdb::Status& status) {
  return FromRocks("opening the copy of the store", status);
}

}  // namespace

absl::StatusOr<PlainDatabase> OpenPlain(rocksdb::Env& env, const std::string& directory,
                                        PlainAccess access, Limiter limiter) {
  const MemoryPlan plan = PlanMemory(0);  // The least.
  // Shared: with RocksDB, whose types ask for it.
  const std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(plan.cache_bytes);
  rocksdb::DBOptions options = MakeDbOptions(plan, cache);
  options.env = &env;
  // An assertion of Debian's build fails if a read-only database wants a thread
  // to remove files, as after VerifyChecksum().
  options.avoid_unnecessary_blocking_io = false;
  options.rate_limiter = std::move(limiter);
  std::vector<std::string> names;
  rocksdb::Status status = rocksdb::DB::ListColumnFamilies(options, directory, &names);
  if (!status.ok()) return Failed(status);
  rocksdb::ColumnFamilyOptions family = MakeFamilyOptions(kWriteBufferBytes, cache, nullptr);
  family.disable_auto_compactions = true;
  std::vector<rocksdb::ColumnFamilyDescriptor> wanted;
  wanted.reserve(names.size());
  for (const std::string& name : names) wanted.emplace_back(name, family);

  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  status = access == PlainAccess::kRead
               ? rocksdb::DB::OpenForReadOnly(options, directory, wanted, &handles, &db)
               : rocksdb::DB::Open(options, directory, wanted, &handles, &db);
  if (!status.ok()) return Failed(status);
  PlainDatabase database;
  database.db.reset(db);
  for (rocksdb::ColumnFamilyHandle* handle : handles) database.families.emplace_back(handle);
  return database;
}

absl::StatusOr<StoreMeta> ReadPlainMeta(const PlainDatabase& database) {
  auto meta = ReadRocksMeta(*database.db);
  if (!meta.ok()) return meta.status();
  if (!meta->has_value()) return absl::DataLossError("the copy holds no store");
  return **std::move(meta);
}

}  // namespace onced
