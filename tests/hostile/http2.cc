#include "tests/hostile/http2.h"

#include <algorithm>

namespace onced::hostile {
namespace {

constexpr std::size_t kFrameBytesMax = 16'384;

std::string BigEndian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text.push_back(static_cast<char>(value >> 8 * i));
  return text;
}

// An integer with a prefix of `bits`, whose first byte has `first` above them.
std::string HpackInt(std::uint8_t first, int bits, std::size_t value) {
  const std::size_t full = (1U << bits) - 1;
  if (value < full) return std::string(1, static_cast<char>(first | value));
  std::string text(1, static_cast<char>(first | full));
  for (value -= full; value >= 0x80; value >>= 7) text.push_back(static_cast<char>(value | 0x80));
  text.push_back(static_cast<char>(value));
  return text;
}

std::string HpackString(const std::string& text) { return HpackInt(0, 7, text.size()) + text; }

}  // namespace

std::string Preface() { return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"; }

std::string Frame(FrameType type, std::uint8_t flags, std::uint32_t stream,
                  const std::string& payload) {
  return BigEndian(payload.size(), 3) + static_cast<char>(type) + static_cast<char>(flags) +
         BigEndian(stream, 4) + payload;
}

std::string Settings(const SettingList& settings) {
  std::string payload;
  for (const auto& [id, value] : settings) payload += BigEndian(id, 2) + BigEndian(value, 4);
  return Frame(FrameType::kSettings, 0, 0, payload);
}

std::string WindowUpdate(std::uint32_t stream, std::uint32_t increment) {
  return Frame(FrameType::kWindowUpdate, 0, stream, BigEndian(increment, 4));
}

std::string RstStream(std::uint32_t stream) {
  constexpr std::uint32_t kCancel = 8;
  return Frame(FrameType::kRstStream, 0, stream, BigEndian(kCancel, 4));
}

std::string Ping(std::uint8_t flags) {
  return Frame(FrameType::kPing, flags, 0, std::string(8, 'p'));
}

std::string HeaderField(const std::string& name, const std::string& value) {
  return std::string(1, '\x10') + HpackString(name) + HpackString(value);
}

std::string IndexedField(const std::string& name, const std::string& value) {
  return std::string(1, '\x40') + HpackString(name) + HpackString(value);
}

std::string NewestField() {
  constexpr std::size_t kFirstDynamic = 62;
  return HpackInt(0x80, 7, kFirstDynamic);
}

std::string CallFields(const std::string& method) {
  return HeaderField(":method", "POST") + HeaderField(":scheme", "http") +
         HeaderField(":path", "/idempotency.v1.IdempotencyService/" + method) +
         HeaderField(":authority", "onced") + HeaderField("te", "trailers") +
         HeaderField("content-type", "application/grpc");
}

std::string Call(std::uint32_t stream, const std::string& method, const std::string& more_fields) {
  return Frame(FrameType::kHeaders, kEndHeaders, stream, CallFields(method) + more_fields);
}

std::string MessagePrefix(char flag, std::uint32_t size) {
  return std::string(1, flag) + BigEndian(size, 4);
}

std::string Message(std::uint32_t stream, const std::string& bytes, char flag,
                    std::uint8_t frame_flags) {
  const std::string all = MessagePrefix(flag, static_cast<std::uint32_t>(bytes.size())) + bytes;
  std::string frames;
  for (std::size_t at = 0; at < all.size(); at += kFrameBytesMax) {
    const bool last = at + kFrameBytesMax >= all.size();
    frames +=
        Frame(FrameType::kData, last ? frame_flags : 0, stream, all.substr(at, kFrameBytesMax));
  }
  return frames;
}

}  // namespace onced::hostile
