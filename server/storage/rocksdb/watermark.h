// How far the store was durable, written beside RocksDB's own files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/storage/store.h"

namespace rocksdb {
class Env;
class RandomRWFile;
}  // namespace rocksdb

namespace onced {

// One of RocksDB's files, which have numbers, and what it held at least.
struct FileMark {
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  bool operator==(const FileMark&) const = default;
};

struct ManifestMark {
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;  // crc32c of these bytes.
  bool operator==(const ManifestMark&) const = default;
};

// RocksDB opens a store whose log was deleted, or cut at the end of an entry,
// without a word: as a smaller one. So it does with a MANIFEST without its end,
// which is the list of all other files. The watermark tells.
struct WatermarkValue {
  std::uint64_t sequence = 0;  // RocksDB's number of the last write known to be durable.
  std::uint64_t store = 0;     // Of one store, and of no other.
  ManifestMark manifest;       // Number 0: not known; older versions did not say.
  // The logs that were needed, oldest first. `bytes` of the last one may be 0: the
  // store still wrote to it, and the sequence is its measure.
  std::vector<FileMark> logs;
  bool operator==(const WatermarkValue&) const = default;
};
std::uint64_t WatermarkStoreId(const StoreIdentity& identity);

// The file WATERMARK: two slots, written in turn and in place, so that a crash
// while one is written leaves the other, and a full disk does not matter.
//
//   offset 0 and 4096:  8 bytes "oncedwm2" | u64 turn | u64 sequence | u64 store
//                       | u64 manifest number | u64 its bytes | u32 their crc32c
//                       | u32 logs | as many times: u64 number | u64 bytes
//                       | u32 crc32c of all the above
//   "oncedwm1", of stores in format 1, ends after `store`, with its crc32c.
//
// The slot with the larger turn counts.
//
// Threads: one at a time.
class Watermark {
 public:
  // More could not be told apart from a slot's end: of more logs, the newest count.
  static constexpr std::size_t kLogsMax = 250;

  // nullopt if there is no such file. DATA_LOSS if there is one without a slot
  // that can be read, FAILED_PRECONDITION if a newer version wrote it.
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
