// How far the store was durable, written beside RocksDB's own files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/storage/store.h"

namespace rocksdb {
class Env;
class RandomRWFile;
}  // namespace rocksdb

namespace onced {

// RocksDB opens a store whose log was deleted, or cut at the end of an entry,
// without a word: as a smaller one. The watermark tells.
struct WatermarkValue {
  std::uint64_t sequence = 0;  // RocksDB's number of the last write known to be durable.
  std::uint64_t store = 0;     // Of one store, and of no other.
  bool operator==(const WatermarkValue&) const = default;
};
std::uint64_t WatermarkStoreId(const StoreIdentity& identity);

// The file WATERMARK: two slots, written in turn and in place, so that a crash
// while one is written leaves the other, and a full disk does not matter.
//
//   offset 0 and 4096:  8 bytes "oncedwm1" | u64 turn | u64 sequence | u64 store
//                       | u32 crc32c of all the above
//
// The slot with the larger turn counts.
//
// Threads: one at a time.
class Watermark {
 public:
  // nullopt if there is no such file. DATA_LOSS if there is one without a slot
  // that can be read.
  static absl::StatusOr<std::optional<WatermarkValue>> Read(rocksdb::Env& env,
                                                            const std::string& directory);
  // Makes the file where it is missing, and makes the directory's entry durable.
  static absl::StatusOr<std::unique_ptr<Watermark>> Open(rocksdb::Env& env,
                                                         const std::string& directory);
  ~Watermark();

  // Durable when it returns. What `value` speaks of must be durable already.
  absl::Status Write(const WatermarkValue& value);

 private:
  Watermark(std::unique_ptr<rocksdb::RandomRWFile> file, std::uint64_t turn);

  std::unique_ptr<rocksdb::RandomRWFile> file_;
  std::uint64_t turn_;  // Of the last slot written.
};

}  // namespace onced
