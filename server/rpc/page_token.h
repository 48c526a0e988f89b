// Where a list goes on, as its caller keeps it.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "server/shard/listing.h"

namespace onced {

// Binds positions to one list: of one method, store and filter. A token of another one
// is no position in this: it would leave records out without a word.
//
// Threads: constant after construction.
class PageTokens {
 public:
  PageTokens(absl::string_view method, const StoreIdentity& identity, const ListFilter& filter);

  // In letters, digits, '-' and '_'.
  std::string ToText(const ListPosition& position) const;
  // nullopt for what ToText() of the same list can't have written.
  std::optional<ListPosition> FromText(absl::string_view text) const;

 private:
  const std::uint32_t shards_;
  const std::string list_;  // Which it is: a digest.
};

}  // namespace onced
