// Values made of a fuzzer's bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace onced::fuzz {

// Takes bytes off the front. Once there are none, everything is zero and empty, so
// that an input that is cut means the same up to there.
class Draw {
 public:
  explicit Draw(absl::string_view bytes) : rest_(bytes) {}

  bool AtEnd() const { return rest_.empty(); }
  absl::string_view Rest() const { return rest_; }

  template <typename Integer = std::uint64_t>
  Integer Int() {
    std::uint64_t value = 0;
    const absl::string_view bytes = View(sizeof(Integer));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes[i])) << 8 * i;
    }
    return static_cast<Integer>(value);
  }
  // Less than `bound`, which is at most 256: of one byte.
  std::size_t Below(std::size_t bound) { return Int<std::uint8_t>() % bound; }
  bool OneIn(std::size_t n) { return Below(n) == 0; }

  absl::string_view View(std::size_t size) {
    const absl::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  // Its length stands before it.
  std::string String(std::size_t size_max) {
    return std::string(View(std::min<std::size_t>(Int<std::uint16_t>(), size_max)));
  }
  absl::Duration Duration() { return absl::Microseconds(Int<std::int64_t>()); }

 private:
  absl::string_view rest_;
};

}  // namespace onced::fuzz
