#include "server/storage/codec/backup_label.h"

#include <array>

#include "absl/strings/match.h"
#include "server/storage/codec/wire.h"

namespace onced {
namespace {

constexpr absl::string_view kMagic = "oncedbk1";
constexpr absl::string_view kMagicOfAnyVersion = "oncedbk";

}  // namespace

std::string EncodeBackupLabel(const BackupLabel& label) {
  WireWriter out;
  out.Fixed(kMagic.data(), kMagic.size());
  out.Time(label.cut_time);
  out.Int(label.store);
  out.Int(label.epoch.value);
  out.Int(label.shards);
  return std::move(out).Seal();
}

absl::StatusOr<BackupLabel> DecodeBackupLabel(absl::string_view bytes) {
  if (!Unseal(bytes) || !absl::StartsWith(bytes, kMagicOfAnyVersion)) {
    return absl::DataLossError("what the backup says of itself is damaged");
  }
  if (!absl::StartsWith(bytes, kMagic)) {
    return absl::FailedPreconditionError("the backup was made by a newer version of onced");
  }
  bytes.remove_prefix(kMagic.size());
  WireReader in(bytes);
  BackupLabel label;
  label.cut_time = in.Time();
  label.store = in.Int<std::uint64_t>();
  label.epoch.value = in.Int<std::uint32_t>();
  label.shards = in.Int<std::uint32_t>();
  in.Require(in.left() == 0);
  if (!in.ok()) return absl::DataLossError("what the backup says of itself is damaged");
  return label;
}

}  // namespace onced
