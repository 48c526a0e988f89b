#include "server/storage/rocksdb/watermark.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rocksdb/env.h"
#include "server/storage/codec/wire.h"
#include "server/storage/rocksdb/rocks_status.h"

namespace onced {
namespace {

constexpr char kFileName[] = "WATERMARK";
// The last character is the version.
constexpr char kMagic[] = "oncedwm2";
constexpr char kMagicV1[] = "oncedwm1";
constexpr std::size_t kMagicBytes = sizeof kMagic - 1;
constexpr std::size_t kSlotBytesV1 =
    kMagicBytes + 3 * sizeof(std::uint64_t) + sizeof(std::uint32_t);
constexpr std::uint64_t kSlotStride = 4'096;  // Apart: one torn block can't hold both.
constexpr std::uint64_t kSlots = 2;

std::string PathIn(const std::string& directory) { return absl::StrCat(directory, "/", kFileName); }

struct Slot {
  std::uint64_t turn = 0;
  WatermarkValue value;
};

void Put(WireWriter& out, const FileMark& mark) {
  out.Int(mark.number);
  out.Int(mark.bytes);
}

FileMark TakeFileMark(WireReader& in) {
  FileMark mark;
  mark.number = in.Int<std::uint64_t>();
  mark.bytes = in.Int<std::uint64_t>();
  return mark;
}

std::string EncodeSlot(const Slot& slot) {
  const WatermarkValue& value = slot.value;
  const std::size_t logs = std::min(value.logs.size(), Watermark::kLogsMax);
  WireWriter out;
  out.Fixed(kMagic, kMagicBytes);
  out.Int(slot.turn);
  out.Int(value.sequence);
  out.Int(value.store);
  out.Int(value.manifest.number);
  out.Int(value.manifest.bytes);
  out.Int(value.manifest.checksum);
  out.Int(static_cast<std::uint32_t>(logs));
  for (std::size_t i = value.logs.size() - logs; i < value.logs.size(); ++i) {
    Put(out, value.logs[i]);
  }
  return std::move(out).Seal();
}

// What stands in a slot, without what is left of longer ones behind it.
absl::string_view Used(absl::string_view slot) {
  constexpr std::size_t kLogs = kMagicBytes + 5 * sizeof(std::uint64_t) + sizeof(std::uint32_t);
  if (absl::StartsWith(slot, kMagicV1)) return slot.substr(0, kSlotBytesV1);
  if (slot.size() < kLogs + sizeof(std::uint32_t)) return {};
  WireReader in(slot.substr(kLogs));
  const std::uint64_t logs = in.Int<std::uint32_t>();
  return slot.substr(0, kLogs + 2 * sizeof(std::uint32_t) + logs * 2 * sizeof(std::uint64_t));
}

std::optional<Slot> DecodeSlot(absl::string_view bytes) {
  bytes = Used(bytes);
  const bool first_version = absl::StartsWith(bytes, kMagicV1);
  if (!first_version && !absl::StartsWith(bytes, kMagic)) return std::nullopt;
  if (!Unseal(bytes)) return std::nullopt;
  WireReader in(bytes.substr(kMagicBytes));
  Slot slot;
  slot.turn = in.Int<std::uint64_t>();
  slot.value.sequence = in.Int<std::uint64_t>();
  slot.value.store = in.Int<std::uint64_t>();
  if (!first_version) {
    slot.value.manifest.number = in.Int<std::uint64_t>();
    slot.value.manifest.bytes = in.Int<std::uint64_t>();
    slot.value.manifest.checksum = in.Int<std::uint32_t>();
    slot.value.logs.resize(std::min<std::size_t>(in.Int<std::uint32_t>(), Watermark::kLogsMax));
    for (FileMark& log : slot.value.logs) log = TakeFileMark(in);
  }
  if (!in.ok()) return std::nullopt;
  return slot;
}

// Whether a slot was written by a version that knows more than this one.
bool IsNewer(absl::string_view bytes) {
  return absl::StartsWith(bytes, absl::string_view(kMagic, kMagicBytes - 1)) &&
         bytes.size() >= kMagicBytes && bytes[kMagicBytes - 1] > kMagic[kMagicBytes - 1];
}

// The slot that counts; nullopt if there is none that can be read.
absl::StatusOr<std::optional<Slot>> ReadSlots(rocksdb::Env& env, const std::string& path) {
  std::unique_ptr<rocksdb::RandomAccessFile> file;
  rocksdb::Status status = env.NewRandomAccessFile(path, &file, rocksdb::EnvOptions());
  if (!status.ok()) return FromRocks("reading the watermark", status);
  std::optional<Slot> last;
  for (std::uint64_t i = 0; i < kSlots; ++i) {
    std::array<char, kSlotStride> buffer{};
    rocksdb::Slice bytes;
    status = file->Read(i * kSlotStride, buffer.size(), &bytes, buffer.data());
    if (!status.ok()) return FromRocks("reading the watermark", status);
    if (IsNewer({bytes.data(), bytes.size()})) {
      return absl::FailedPreconditionError(
          absl::StrCat(kFileName, " was written by a newer version of onced: use that"));
    }
    const auto slot = DecodeSlot({bytes.data(), bytes.size()});
    if (slot.has_value() && (!last.has_value() || slot->turn > last->turn)) last = slot;
  }
  return last;
}

absl::Status MakeFile(rocksdb::Env& env, const std::string& directory) {
  std::unique_ptr<rocksdb::WritableFile> file;
  rocksdb::Status status = env.NewWritableFile(PathIn(directory), &file, rocksdb::EnvOptions());
  if (status.ok()) status = file->Append(std::string(kSlots * kSlotStride, '\0'));
  if (status.ok()) status = file->Fsync();
  if (status.ok()) status = file->Close();
  std::unique_ptr<rocksdb::Directory> entries;
  if (status.ok()) status = env.NewDirectory(directory, &entries);
  if (status.ok()) status = entries->Fsync();
  return FromRocks("making the watermark", status);
}

}  // namespace

std::uint64_t WatermarkStoreId(const StoreIdentity& identity) {
  std::uint64_t id = 0;
  std::memcpy(&id, identity.hash_seed.data(), sizeof id);
  return id;
}

absl::StatusOr<std::optional<WatermarkValue>> Watermark::Read(rocksdb::Env& env,
                                                              const std::string& directory) {
  const std::string path = PathIn(directory);
  const rocksdb::Status exists = env.FileExists(path);
  if (exists.IsNotFound()) return std::nullopt;
  const auto slot = ReadSlots(env, path);
  if (!slot.ok()) return slot.status();
  if (!slot->has_value()) {
    return absl::DataLossError(
        absl::StrCat(kFileName, " is damaged: neither of its slots is whole"));
  }
  return (*slot)->value;
}

absl::StatusOr<std::unique_ptr<Watermark>> Watermark::Open(rocksdb::Env& env,
                                                           const std::string& directory) {
  const std::string path = PathIn(directory);
  if (env.FileExists(path).IsNotFound()) {
    const absl::Status made = MakeFile(env, directory);
    if (!made.ok()) return made;
  }
  const auto last = ReadSlots(env, path);
  if (!last.ok()) return last.status();
  std::unique_ptr<rocksdb::RandomRWFile> file;
  const rocksdb::Status status = env.NewRandomRWFile(path, &file, rocksdb::EnvOptions());
  if (!status.ok()) return FromRocks("opening the watermark", status);
  const std::uint64_t turn = last->has_value() ? (*last)->turn : 0;
  return std::unique_ptr<Watermark>(new Watermark(std::move(file), turn));
}

Watermark::Watermark(std::unique_ptr<rocksdb::RandomRWFile> file, std::uint64_t turn)
    : file_(std::move(file)), turn_(turn) {}

Watermark::~Watermark() = default;

absl::Status Watermark::Write(const WatermarkValue& value) {
  const Slot slot{turn_ + 1, value};
  rocksdb::Status status = file_->Write(slot.turn % kSlots * kSlotStride, EncodeSlot(slot));
  if (status.ok()) status = file_->Fsync();
  if (!status.ok()) return FromRocks("writing the watermark", status);
  turn_ = slot.turn;
  return absl::OkStatus();
}

}  // namespace onced
