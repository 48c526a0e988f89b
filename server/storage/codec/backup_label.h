// What a backup says of itself, and its stored form.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/storage/store.h"

namespace onced {

// Kept by the backup engine beside the list of the backup's files. Integers are
// little-endian, the time is i64 microseconds since 1970:
//
//   8 bytes "oncedbk1" | i64 cut_time | u64 store | u32 epoch | u32 shards
//   | u32 crc32c of all the above
//
// A later form has another digit at the eighth place. `store` tells one store
// from others: it is that of its WATERMARK, and a restore keeps it.
struct BackupLabel {
  absl::Time cut_time;
  std::uint64_t store = 0;
  Epoch epoch;
  std::uint32_t shards = 0;
  bool operator==(const BackupLabel&) const = default;
};

std::string EncodeBackupLabel(const BackupLabel& label);
// DATA_LOSS for anything that EncodeBackupLabel() could not have written, but
// FAILED_PRECONDITION for what a newer version did write.
absl::StatusOr<BackupLabel> DecodeBackupLabel(absl::string_view bytes);

}  // namespace onced
