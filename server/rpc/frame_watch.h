// Looks at a connection's HTTP/2 frames for what no client with manners sends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace onced {

// gRPC 1.51 takes whatever is valid, however dear it is. What is counted here is what one
// piece of a read may bring, so that a connection's turn is short, and what a header block may
// have: see docs/decisions/0027-frames-are-watched.md.
//
// Operation: follows the frames by their heads, and looks at nothing else.
// Threads:   one at a time.
// Limits:    a client with manners is far from all of them, one that has just been waited
//            for included: a piece has at most 32 KiB, of TLS 8 KiB.
class FrameWatch {
 public:
  // Of a piece: pings, settings, and what else a connection has few of; continuations of
  // headers; data without any.
  static constexpr int kOddMax = 100;
  // Of a piece: calls that are reset in the same piece as they begin, and others, of which a
  // connection has 256 at once.
  static constexpr int kResetAtOnceMax = 250;
  static constexpr int kResetMax = 512;
  static constexpr int kWindowUpdatesMax = 2'048;
  // On the wire, of fields that may have 8 KiB.
  static constexpr std::size_t kHeaderBlockBytesMax = 32 << 10;
  // In all: calls that are reset in the same piece, unless they are less than half of all.
  static constexpr std::uint64_t kResetAtOnceInAllMax = 1'000;

  // What was read next. False: the connection should end.
  bool Read(absl::string_view bytes);

 private:
  static constexpr std::size_t kHeadBytes = 9;

  bool TakeHead();
  bool IsWithinBounds() const;

  std::size_t preface_bytes_ = 24;  // That are still to come.
  std::array<std::uint8_t, kHeadBytes> head_{};
  std::size_t head_bytes_ = 0;     // That have come.
  std::size_t payload_bytes_ = 0;  // Of the frame, that are still to come.
  std::size_t header_block_bytes_ = 0;
  std::uint32_t newest_stream_ = 0;

  // Of this piece.
  std::uint32_t newest_before_ = 0;
  int odd_ = 0;
  int resets_ = 0;
  int resets_at_once_ = 0;
  int window_updates_ = 0;

  // In all.
  std::uint64_t calls_ = 0;
  std::uint64_t calls_reset_at_once_ = 0;
};

}  // namespace onced
