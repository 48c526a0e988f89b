// HTTP/2 as bytes (RFC 9113, RFC 7541): whatever no library would send.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace onced::hostile {

enum class FrameType : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kRstStream = 3,
  kSettings = 4,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};
inline constexpr std::uint8_t kEndStream = 1;  // Of DATA and HEADERS.
inline constexpr std::uint8_t kAck = 1;        // Of SETTINGS and PING.
inline constexpr std::uint8_t kEndHeaders = 4;

// What a client's connection begins with.
std::string Preface();
std::string Frame(FrameType type, std::uint8_t flags, std::uint32_t stream,
                  const std::string& payload);
using SettingList = std::vector<std::pair<std::uint16_t, std::uint32_t>>;
inline constexpr std::uint16_t kHeaderTableSize = 1;
inline constexpr std::uint16_t kInitialWindowSize = 4;
std::string Settings(const SettingList& settings = {});
std::string WindowUpdate(std::uint32_t stream, std::uint32_t increment);
std::string RstStream(std::uint32_t stream);
std::string Ping(std::uint8_t flags = 0);

// A header block's fields: never indexed, never compressed.
std::string HeaderField(const std::string& name, const std::string& value);
// One that goes into the dynamic table, and one that is taken from there: the newest.
std::string IndexedField(const std::string& name, const std::string& value);
std::string NewestField();
// Of a call of this method: what HTTP/2 and gRPC want.
std::string CallFields(const std::string& method);

// HEADERS in one frame, which ends the block.
std::string Call(std::uint32_t stream, const std::string& method,
                 const std::string& more_fields = "");
// DATA with this message, whole. `flag` is 1 for a compressed one.
std::string Message(std::uint32_t stream, const std::string& bytes, char flag = 0,
                    std::uint8_t frame_flags = kEndStream);
// What stands before a message: its flag, and how long it says it is.
std::string MessagePrefix(char flag, std::uint32_t size);

}  // namespace onced::hostile
