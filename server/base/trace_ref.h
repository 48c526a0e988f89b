// Names a span of somebody's trace.
#pragma once

#include <array>
#include <cstdint>

namespace onced {

// As W3C Trace Context has them: 16 and 8 bytes, neither of them all zero. Default: none.
struct TraceRef {
  std::array<std::uint8_t, 16> trace_id{};
  std::array<std::uint8_t, 8> span_id{};

  bool empty() const { return *this == TraceRef{}; }
  bool operator==(const TraceRef&) const = default;
};

}  // namespace onced
