#include "server/rpc/page_token.h"

#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"

namespace onced {
namespace {

//   8 bytes list | u32 shard, little-endian | the key
constexpr std::size_t kListBytes = 8;
constexpr std::size_t kShardBytes = 4;
constexpr char kVersion = 1;

// Lengths stand before what has any, so that no two lists give the same bytes.
std::string DigestOf(absl::string_view method, const StoreIdentity& identity,
                     const ListFilter& filter) {
  std::string text(1, kVersion);
  const auto add = [&text](absl::string_view part) {
    absl::StrAppend(&text, part.size(), ":", part);
  };
  add(method);
  add({reinterpret_cast<const char*>(identity.hash_seed.data()), identity.hash_seed.size()});
  absl::StrAppend(&text, identity.epoch.value, ",", identity.shards, ",");
  add(filter.name_space);
  add(filter.key_prefix);
  for (const State state : filter.states) absl::StrAppend(&text, static_cast<int>(state), ";");
  return Sha256(text).substr(0, kListBytes);
}

}  // namespace

PageTokens::PageTokens(absl::string_view method, const StoreIdentity& identity,
                       const ListFilter& filter)
    : shards_(identity.shards), list_(DigestOf(method, identity, filter)) {}

std::string PageTokens::ToText(const ListPosition& position) const {
  std::string bytes = list_;
  for (std::size_t i = 0; i < kShardBytes; ++i) {
    bytes.push_back(static_cast<char>(position.shard >> (8 * i) & 0xff));
  }
  return absl::WebSafeBase64Escape(bytes + position.after);
}

std::optional<ListPosition> PageTokens::FromText(absl::string_view text) const {
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(text, &bytes)) return std::nullopt;
  if (bytes.size() < kListBytes + kShardBytes) return std::nullopt;
  if (bytes.compare(0, kListBytes, list_) != 0) return std::nullopt;
  ListPosition position{.shard = 0, .after = bytes.substr(kListBytes + kShardBytes)};
  for (std::size_t i = 0; i < kShardBytes; ++i) {
    position.shard |= std::uint32_t{static_cast<unsigned char>(bytes[kListBytes + i])} << (8 * i);
  }
  if (position.shard >= shards_ || position.after.size() > limits::kKeyBytesMax) {
    return std::nullopt;
  }
  // The same bytes can be written in more ways: with spaces, or padded.
  if (ToText(position) != text) return std::nullopt;
  return position;
}

}  // namespace onced
