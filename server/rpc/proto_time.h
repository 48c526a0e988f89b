// Times and durations as the API has them, to the microsecond.
#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace onced {

inline void Set(google::protobuf::Timestamp& to, absl::Time time) {
  const std::int64_t micros = absl::ToUnixMicros(time);
  std::int64_t seconds = micros / 1'000'000;
  std::int64_t rest = micros % 1'000'000;
  if (rest < 0) {
    --seconds;
    rest += 1'000'000;
  }
  to.set_seconds(seconds);
  to.set_nanos(static_cast<std::int32_t>(rest * 1'000));
}

inline void Set(google::protobuf::Duration& to, absl::Duration duration) {
  const std::int64_t micros = absl::ToInt64Microseconds(duration);
  to.set_seconds(micros / 1'000'000);
  to.set_nanos(static_cast<std::int32_t>(micros % 1'000'000 * 1'000));
}

}  // namespace onced
