#include "server/storage/codec/backup_label.h"

#include "server/storage/codec/wire.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {
namespace {

void Read(absl::string_view bytes) {
  const absl::StatusOr<BackupLabel> label = DecodeBackupLabel(bytes);
  if (label.ok()) return Demand(EncodeBackupLabel(*label) == bytes, "another label");
  Demand(absl::IsDataLoss(label.status()) || absl::IsFailedPrecondition(label.status()),
         "refused as something else");
}

}  // namespace

void BackupLabelCodec(absl::string_view bytes) {
  Read(bytes);
  WireWriter sealed;
  sealed.Fixed(bytes.data(), bytes.size());
  Read(std::move(sealed).Seal());
}

}  // namespace onced::fuzz
