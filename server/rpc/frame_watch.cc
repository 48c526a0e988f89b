#include "server/rpc/frame_watch.h"

#include <algorithm>

namespace onced {
namespace {

// RFC 9113.
enum FrameType : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kRstStream = 3,
  kWindowUpdate = 8,
  kContinuation = 9,
};
constexpr std::uint8_t kEndStream = 1;

}  // namespace

bool FrameWatch::Read(absl::string_view bytes) {
  newest_before_ = newest_stream_;
  odd_ = resets_ = resets_at_once_ = window_updates_ = 0;
  const auto skip = [&](std::size_t& rest) {
    const std::size_t n = std::min(rest, bytes.size());
    rest -= n;
    bytes.remove_prefix(n);
  };
  skip(preface_bytes_);
  while (true) {
    skip(payload_bytes_);
    if (bytes.empty()) return true;
    const std::size_t n = std::min(kHeadBytes - head_bytes_, bytes.size());
    std::copy_n(bytes.begin(), n, head_.begin() + head_bytes_);
    bytes.remove_prefix(n);
    head_bytes_ += n;
    if (head_bytes_ < kHeadBytes) return true;
    head_bytes_ = 0;
    if (!TakeHead()) return false;
  }
}

bool FrameWatch::TakeHead() {
  payload_bytes_ = std::size_t{head_[0]} << 16 | std::size_t{head_[1]} << 8 | head_[2];
  const std::uint32_t stream = (head_[5] & 0x7fU) << 24 | std::uint32_t{head_[6]} << 16 |
                               std::uint32_t{head_[7]} << 8 | head_[8];
  switch (head_[3]) {
    case kData:
      if (payload_bytes_ == 0 && (head_[4] & kEndStream) == 0) ++odd_;
      break;
    case kHeaders:
      header_block_bytes_ = payload_bytes_;
      if (stream > newest_stream_) ++calls_;
      newest_stream_ = std::max(newest_stream_, stream);
      break;
    case kContinuation:
      header_block_bytes_ += payload_bytes_;
      ++odd_;
      break;
    case kRstStream:
      if (stream > newest_before_ && stream <= newest_stream_) {
        ++resets_at_once_;
        ++calls_reset_at_once_;
      } else {
        ++resets_;
      }
      break;
    case kWindowUpdate:
      ++window_updates_;
      break;
    default:
      ++odd_;
  }
  return IsWithinBounds();
}

bool FrameWatch::IsWithinBounds() const {
  return odd_ <= kOddMax && resets_ <= kResetMax && resets_at_once_ <= kResetAtOnceMax &&
         window_updates_ <= kWindowUpdatesMax && header_block_bytes_ <= kHeaderBlockBytesMax &&
         (calls_reset_at_once_ <= kResetAtOnceInAllMax || calls_reset_at_once_ < calls_ / 2);
}

}  // namespace onced
