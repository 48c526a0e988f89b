#include "server/storage/rocksdb/log_walk.h"

#include <algorithm>
#include <memory>

#include "absl/strings/string_view.h"
#include "rocksdb/env.h"
#include "server/storage/codec/crc32c.h"
#include "server/storage/codec/wire.h"
#include "server/storage/rocksdb/rocks_status.h"

namespace onced {
namespace {

// An entry is one part or several, each within one block:
//
//   u32 masked crc32c of what follows the length | u16 length | u8 type | data
//
// The data of its parts together begin with the u64 number of the first write
// and the u32 number of writes.
constexpr std::size_t kBlock = 32'768;
constexpr std::size_t kTypeAt = 6;
constexpr std::size_t kHeader = 7;
constexpr std::size_t kEntryHead = 12;
constexpr std::uint32_t kMaskDelta = 0xa282ead8;

enum PartType : char { kZero = 0, kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

std::uint32_t Mask(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + kMaskDelta; }

class Walk {
 public:
  // Takes the next block. False: the log ends here.
  bool Take(absl::string_view block) {
    while (block.size() >= kHeader) {
      WireReader header(block);
      const auto checksum = header.Int<std::uint32_t>();
      const std::size_t length = header.Int<std::uint16_t>();
      const char type = block[kTypeAt];
      if (type == kZero && length == 0) {
        open_ = first_ = false;
        return true;
      }
      if (block.size() < kHeader + length) return false;
      if (checksum != Mask(Crc32c(block.substr(kTypeAt, 1 + length)))) return false;
      Part(static_cast<PartType>(type), block.substr(kHeader, length));
      block.remove_prefix(kHeader + length);
      first_ = false;
    }
    return true;
  }
  LogContent content;

 private:
  void Part(PartType type, absl::string_view data) {
    if (type == kWhole || type == kFirst) {
      head_.clear();
      at_beginning_ = first_;
      open_ = true;
    }
    if (!open_) return;  // What it goes on with isn't there.
    const std::size_t wanted = kEntryHead - std::min(kEntryHead, head_.size());
    head_.append(data.data(), std::min(wanted, data.size()));
    if (type == kWhole || type == kLast) End();
  }
  void End() {
    WireReader in(head_);
    const auto first = in.Int<std::uint64_t>();
    const auto count = in.Int<std::uint32_t>();
    open_ = false;
    if (!in.ok()) return;
    if (at_beginning_) content.begins = true;
    if (count == 0) return;
    std::vector<WriteRun>& runs = content.runs;
    if (runs.empty() || runs.back().last + 1 != first) runs.push_back({.first = first});
    runs.back().last = first + count - 1;
  }

  bool first_ = true;  // Nothing was before the next part.
  bool open_ = false;  // An entry has begun.
  bool at_beginning_ = false;
  std::string head_;
};

}  // namespace

absl::StatusOr<LogContent> WalkLog(rocksdb::Env& env, const std::string& path) {
  std::unique_ptr<rocksdb::SequentialFile> file;
  rocksdb::Status status = env.NewSequentialFile(path, &file, rocksdb::EnvOptions());
  Walk walk;
  std::string buffer(kBlock, '\0');
  for (bool more = true; status.ok() && more;) {
    rocksdb::Slice block;
    status = file->Read(buffer.size(), &block, buffer.data());
    more = status.ok() && walk.Take({block.data(), block.size()}) && block.size() == kBlock;
  }
  if (!status.ok()) return FromRocks("looking at a log", status);
  return std::move(walk.content);
}

}  // namespace onced
