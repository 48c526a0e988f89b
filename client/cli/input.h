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

// Limits: keeps at most `keep_max` bytes in memory, whatever the size of what is
// read; all of it is measured.
class Input {
 public:
  explicit Input(std::istream& standard) : standard_(standard) {}

  // `path` "-" is the standard input, which can be read once. A UsageError() for
  // what can't be read to its end: a body cut short would be replayed for ever.
  absl::StatusOr<Blob> Read(const std::string& path, std::size_t keep_max);
  static Blob FromText(const std::string& text, std::size_t keep_max);

 private:
  std::istream& standard_;
  bool standard_taken_ = false;
};

}  // namespace onced::cli
