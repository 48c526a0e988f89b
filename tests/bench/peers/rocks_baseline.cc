#include "tests/bench/peers/rocks_baseline.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/storage/codec/record_codec.h"
#include "server/storage/rocksdb/rocks_options.h"
#include "tests/bench/peers/verdict.h"

namespace onced::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kFingerprintBytes = 32;
constexpr std::size_t kRequestIdBytes = 32;
constexpr std::size_t kValues = 1'024;

absl::Status Check(const rocksdb::Status& status) {
  return status.ok() ? absl::OkStatus() : absl::InternalError("RocksDB: " + status.ToString());
}

std::string Bytes(std::mt19937_64& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

// Encoded beforehand: this measures RocksDB alone.
std::vector<std::string> MakeValues() {
  std::mt19937_64 random(1);
  std::vector<std::string> values;
  for (std::size_t i = 0; i < kValues; ++i) {
    const absl::Time now = absl::FromUnixSeconds(1'700'000'000) + absl::Microseconds(i);
    const Policy policy;
    Record record{.fence = {absl::ToUnixMicros(now)},
                  .fingerprint = Bytes(random, kFingerprintBytes),
                  .reserve_time = now,
                  .phase = Pending{.request_id = Bytes(random, kRequestIdBytes),
                                   .lease_expire_time = now + policy.lease.preset,
                                   .lapsed_retention = policy.lapsed_retention,
                                   .retention = policy.retention}};
    for (std::uint8_t& byte : record.token.bits) byte = static_cast<std::uint8_t>(random());
    values.push_back(EncodeRecord(record));
  }
  return values;
}

// Lifetime: closed from the end to the beginning.
struct Database {
  std::unique_ptr<rocksdb::DB> db;
  std::vector<std::unique_ptr<rocksdb::ColumnFamilyHandle>> families;
};

absl::StatusOr<Database> Open(const RocksLoad& load) {
  const MemoryPlan plan = PlanMemory(load.memory_budget_bytes);
  const auto cache = rocksdb::NewLRUCache(plan.cache_bytes);
  rocksdb::Options options(
      MakeDbOptions(plan, cache),
      MakeFamilyOptions(WriteBufferBytes(plan, load.shards), cache, /*filter=*/nullptr));
  options.create_if_missing = true;
  Database database;
  rocksdb::DB* db = nullptr;
  if (const absl::Status s = Check(rocksdb::DB::Open(options, load.folder, &db)); !s.ok()) return s;
  database.db.reset(db);
  for (int i = 0; i < load.shards; ++i) {
    rocksdb::ColumnFamilyHandle* family = nullptr;
    const absl::Status s =
        Check(db->CreateColumnFamily(options, absl::StrCat("shard-", i), &family));
    if (!s.ok()) return s;
    database.families.emplace_back(family);
  }
  return database;
}

// Keys as the hash of the server spreads them: any shard, in no order.
absl::StatusOr<std::int64_t> Write(const RocksLoad& load, const Database& database,
                                   const std::vector<std::string>& values, int writer,
                                   SteadyClock::time_point end) {
  std::mt19937_64 random(writer + 1);
  rocksdb::WriteOptions how;
  how.sync = true;
  std::int64_t written = 0;
  std::string key(kKeyBytes, 'k');
  while (SteadyClock::now() < end) {
    rocksdb::WriteBatch batch;
    for (int i = 0; i < load.batch; ++i) {
      std::snprintf(key.data(), key.size(), "%016llx%013llx",
                    static_cast<unsigned long long>(random()),
                    static_cast<unsigned long long>(written + i));
      const std::size_t at = random() % database.families.size();
      const absl::Status s =
          Check(batch.Put(database.families[at].get(), EncodeKey({kNamespace, key}),
                          values[random() % values.size()]));
      if (!s.ok()) return s;
    }
    if (const absl::Status s = Check(database.db->Write(how, &batch)); !s.ok()) return s;
    written += load.batch;
  }
  return written;
}

}  // namespace

absl::StatusOr<RocksRate> MeasureRocks(const RocksLoad& load) {
  const std::vector<std::string> values = MakeValues();
  const absl::StatusOr<Database> database = Open(load);
  if (!database.ok()) return database.status();
  std::vector<absl::StatusOr<std::int64_t>> written(load.writers, std::int64_t{0});
  const SteadyClock::time_point begin = SteadyClock::now();
  std::vector<std::thread> writers;
  for (int i = 0; i < load.writers; ++i) {
    writers.emplace_back(
        [&, i] { written[i] = Write(load, *database, values, i, begin + load.duration); });
  }
  for (std::thread& writer : writers) writer.join();
  const std::chrono::duration<double> took = SteadyClock::now() - begin;
  std::int64_t sum = 0;
  for (const absl::StatusOr<std::int64_t>& each : written) {
    if (!each.ok()) return each.status();
    sum += *each;
  }
  return RocksRate{.records_per_second = static_cast<double>(sum) / took.count(),
                   .record_bytes = EncodeKey({kNamespace, std::string(kKeyBytes, 'k')}).size() +
                                   values.front().size()};
}

}  // namespace onced::bench
