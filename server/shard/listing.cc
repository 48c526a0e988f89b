#include "server/shard/listing.h"

#include <algorithm>
#include <utility>

#include "server/ledger/decide.h"

namespace onced {
namespace {

// One page in the making.
class Listing {
 public:
  Listing(const Store& store, const ListFilter& filter, const ListBounds& bounds, const View& view)
      : store_(store), filter_(filter), bounds_(bounds), view_(view) {}

  absl::StatusOr<ListPage> Run(ListPosition at) {
    const std::uint32_t shards = store_.identity().shards;
    while (at.shard < shards && !Full()) {
      const absl::Status read = ReadShard(at);
      if (!read.ok()) return read;
    }
    if (at.shard < shards) page_.next = std::move(at);
    return std::move(page_);
  }

 private:
  // What can't be read takes as much of an answer as what can.
  bool HasAll() const { return page_.found.size() + page_.unreadable.size() >= bounds_.found_max; }
  bool Full() const {
    return HasAll() || records_ >= bounds_.records_max || bytes_ >= bounds_.bytes_max;
  }

  // Moves `at` to where it goes on.
  absl::Status ReadShard(ListPosition& at) {
    const ShardId shard{at.shard};
    const auto scanned = store_.Scan({.shard = shard,
                                      .name_space = filter_.name_space,
                                      .key_prefix = filter_.key_prefix,
                                      .after = at.after,
                                      .records_max = bounds_.records_max - records_,
                                      .bytes_max = bounds_.bytes_max - bytes_},
                                     [&](const std::string& key, const auto& record) {
                                       Look(shard, key, record);
                                       return !HasAll();
                                     });
    if (absl::IsDataLoss(scanned.status())) {
      page_.unreadable.push_back({shard, "", std::string(scanned.status().message())});
    } else if (!scanned.ok()) {
      return scanned.status();
    }
    if (scanned.ok()) {
      records_ += scanned->records;
      bytes_ += scanned->bytes;
    }
    if (scanned.ok() && scanned->after.has_value()) {
      at.after = *scanned->after;
    } else {
      at = {.shard = at.shard + 1, .after = ""};
    }
    return absl::OkStatus();
  }

  void Look(ShardId shard, const std::string& key, const absl::StatusOr<Record>& record) {
    if (!record.ok()) {
      page_.unreadable.push_back({shard, key, std::string(record.status().message())});
      return;
    }
    // As an Inspect would have it: there is one place that says what a record is.
    Decision decision = Decide(*record, InspectOp{}, view_, Policy{}, Mint{});
    auto& seen = std::get<Inspected>(decision.reply);
    if (seen.state != State::kAbsent && IsWanted(seen.state)) {
      page_.found.push_back({key, std::move(seen)});
    }
  }
  bool IsWanted(State state) const {
    return filter_.states.empty() ||
           std::find(filter_.states.begin(), filter_.states.end(), state) != filter_.states.end();
  }

  const Store& store_;
  const ListFilter& filter_;
  const ListBounds& bounds_;
  const View& view_;
  ListPage page_;
  std::size_t records_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

absl::StatusOr<ListPage> ListRecords(const Store& store, const ListFilter& filter,
                                     const ListPosition& from, const ListBounds& bounds,
                                     const View& view) {
  return Listing(store, filter, bounds, view).Run(from);
}

}  // namespace onced
