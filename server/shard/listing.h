// What is stored of a namespace, page by page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/ledger/operation.h"
#include "server/ledger/record.h"
#include "server/storage/store.h"

namespace onced {

struct ListFilter {
  std::string name_space;
  std::string key_prefix;
  std::vector<State> states;  // Empty: all.
};
// Where a page begins: behind a key of a shard, in the order of shards.
struct ListPosition {
  std::uint32_t shard = 0;
  std::string after;
  bool operator==(const ListPosition&) const = default;
};
// A page ends at the first that it reaches.
struct ListBounds {
  std::size_t found_max = 0;
  std::size_t records_max = 0;  // That are looked at, for this filter or not.
  std::size_t bytes_max = 0;
};

struct ListPage {
  struct Found {
    std::string key;
    Inspected seen;  // Without its secrets.
  };
  struct Unreadable {
    ShardId shard;
    std::string key;  // Empty: the rest of the shard.
    std::string what;
  };
  std::vector<Found> found;
  std::vector<Unreadable> unreadable;
  std::optional<ListPosition> next;  // nullopt: there are no more.
};

// Beside the shards' threads, which know nothing of it: what is durable, judged by
// `view`. UNAVAILABLE if the store has failed.
// Threads: any.
absl::StatusOr<ListPage> ListRecords(const Store& store, const ListFilter& filter,
                                     const ListPosition& from, const ListBounds& bounds,
                                     const View& view);

}  // namespace onced
