// Between protobuf's durations, which the API has, and Abseil's.
#pragma once

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"

namespace onced::client {

// The longest that protobuf's Duration may hold, in either direction.
inline constexpr absl::Duration kMaxProtoDuration = absl::Seconds(315'576'000'000);

// Cut to nanoseconds. `duration` is within kMaxProtoDuration.
inline google::protobuf::Duration ToProto(absl::Duration duration) {
  google::protobuf::Duration proto;
  proto.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &duration));
  proto.set_nanos(static_cast<int>(duration / absl::Nanoseconds(1)));
  return proto;
}

inline absl::Duration FromProto(const google::protobuf::Duration& proto) {
  return absl::Seconds(proto.seconds()) + absl::Nanoseconds(proto.nanos());
}

}  // namespace onced::client
