#include "server/rpc/page_token.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/ledger/policy.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {
namespace {

constexpr std::size_t kListBytes = 8;  // What names the list: a fuzzer can't guess it.

void Read(const PageTokens& tokens, std::uint32_t shards, absl::string_view text) {
  const auto position = tokens.FromText(text);
  if (!position.has_value()) return;
  Demand(position->shard < shards, "no such shard");
  Demand(position->after.size() <= limits::kKeyBytesMax, "no such key");
  Demand(tokens.ToText(*position) == text, "nobody has written that");
}

}  // namespace

void PageToken(absl::string_view bytes) {
  Draw draw(bytes);
  const StoreIdentity store{.shards = static_cast<std::uint32_t>(1 + draw.Below(256))};
  const ListFilter filter{.name_space = draw.String(64), .key_prefix = draw.String(64)};
  ListFilter other = filter;
  other.key_prefix += "x";
  const PageTokens tokens("List", store, filter);
  const PageTokens others("List", store, other);

  Read(tokens, store.shards, draw.Rest());
  std::string list;
  Demand(absl::WebSafeBase64Unescape(tokens.ToText({}), &list), "can't be read");
  list.resize(kListBytes);
  std::string text = absl::WebSafeBase64Escape(absl::StrCat(list, draw.Rest()));
  Read(tokens, store.shards, text);
  Read(tokens, store.shards, text.substr(0, text.size() - 1));
  Read(tokens, store.shards, absl::StrCat(text, draw.Rest().substr(0, 2)));

  ListPosition position{.shard =
                            static_cast<std::uint32_t>(draw.Int<std::uint8_t>() % store.shards)};
  position.after = draw.String(limits::kKeyBytesMax);
  const std::string written = tokens.ToText(position);
  Demand(tokens.FromText(written) == position, "another position");
  Demand(!others.FromText(written).has_value(), "a position in another list");
}

}  // namespace onced::fuzz
