// When the records of a file expire, known without reading the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace onced {

// Points in the bytes of a file, equally far apart, each with the time from which
// on the entry there is of no use: the quantiles of the file's expiry, by bytes.
//
// Limits: at most kPointsMax points, so shares are right to about 1 / kPointsMax
//         of the file. What is smaller than that may be missing.
//
// Stored form; integers are little-endian, times i64 microseconds since 1970:
//
//   u8 version = 1 | i64 kept_until | u32 n | n times i64 useless_from, ascending |
//   u32 crc32c of all the above
class ExpirySample {
 public:
  static constexpr std::size_t kPointsMax = 128;

  // `kept_until`: what had expired by then is in the file all the same, since
  // whoever wrote it had a reason to keep it, such as damage; InfinitePast if
  // nobody looked.
  explicit ExpirySample(absl::Time kept_until) : kept_until_(kept_until) {}

  // The next entry of the file. InfinitePast: it was never of use by itself, as a
  // tombstone, and goes whenever it can.
  void Add(absl::Time useless_from, std::size_t bytes);

  // Of the file, from 0 to 1: what is of no use at `now`, but for what is kept.
  double UselessShare(absl::Time now) const;

  std::string Encode() const;
  // DATA_LOSS for what Encode() could not have written.
  static absl::StatusOr<ExpirySample> Decode(absl::string_view bytes);

 private:
  void Thin();

  absl::Time kept_until_;
  std::size_t stride_ = 16;  // Bytes between two points; doubles when they become too many.
  std::size_t since_last_ = 0;
  std::vector<absl::Time> points_;
};

}  // namespace onced
