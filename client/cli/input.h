// What a command reads: files, and the standard input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>

#include "absl/status/statusor.h"

namespace onced::cli {

// Bytes that were read.
struct Blob {
  std::string bytes;       // Empty if `too_large`.
  std::int64_t size = 0;   // Of all that was read.
  std::string sha256;      // Of all that was read.
  bool too_large = false;  // There was more than was to be kept.
};

// What of an input that is too large is of use: its size and digest, for which it is read
// to its end; or nothing.
enum class Beyond { kMeasured, kOfNoUse };

// Limits: keeps at most `keep_max` bytes in memory, whatever the size of what is
// read. All of it is measured, unless that is of no use: then no more is read, and an
// input without an end, too, has one.
class Input {
 public:
  explicit Input(std::istream& standard) : standard_(standard) {}

  // `path` "-" is the standard input, which can be read once. A UsageError() for
  // what can't be read to its end: a body cut short would be replayed for ever.
  absl::StatusOr<Blob> Read(const std::string& path, std::size_t keep_max,
                            Beyond beyond = Beyond::kMeasured);
  static Blob FromText(const std::string& text, std::size_t keep_max);

 private:
  std::istream& standard_;
  bool standard_taken_ = false;
};

}  // namespace onced::cli
