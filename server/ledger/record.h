// What is known of one key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "server/base/trace_ref.h"
#include "server/ledger/policy.h"
#include "server/ledger/token.h"

namespace onced {

struct RecordKey {
  std::string name_space;
  std::string key;
  bool operator==(const RecordKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const RecordKey& k) {
    return H::combine(std::move(h), k.name_space, k.key);
  }
};

// Section 1 of docs/protocol.md. Only kPending and kCommitted are stored; the
// others follow from the clock.
enum class State : std::uint8_t { kAbsent, kPending, kLapsed, kCommitted };

// A header as the caller gave it. The value may be any bytes.
struct Header {
  std::string name;
  std::string value;
  bool operator==(const Header&) const = default;
};

// What is replayed. `body` is empty if it was omitted; size and digest are
// those of the whole body all the same.
struct Result {
  std::int32_t status_code = 0;
  std::vector<Header> headers;
  bool headers_omitted = false;
  std::string body;
  std::int64_t body_size = 0;
  std::string body_sha256;  // 32 raw bytes.
  bool body_omitted = false;
  bool operator==(const Result&) const = default;
};

// The same by the protocol: status, headers in order, size and digest.
bool SameResult(const Result& a, const Result& b);

// A Result that nobody changes any more, held by value.
class StoredResult {
 public:
  StoredResult() : result_(std::make_shared<const Result>()) {}
  explicit StoredResult(Result result)
      : result_(std::make_shared<const Result>(std::move(result))) {}
  const Result& operator*() const { return *result_; }
  const Result* operator->() const { return result_.get(); }
  friend bool operator==(const StoredResult& a, const StoredResult& b) { return *a == *b; }

 private:
  // Shared: one stored result, of up to 3 MiB, is in every reply that replays it.
  std::shared_ptr<const Result> result_;
};

// The holder whose lapsed reservation was taken over.
struct Previous {
  Fence fence;
  std::string owner;
  absl::Time lapse_time;
  bool operator==(const Previous&) const = default;
};

// Reserved, not committed. What the policy said at the grant is copied here,
// so that a change of policy never reaches back.
struct Pending {
  std::string request_id;  // As secret as the token. Empty: none was given.
  absl::Time lease_expire_time;
  OnLapse on_lapse = OnLapse::kRegrant;
  absl::Duration lapsed_retention;
  DurationBounds retention;
  std::optional<Previous> previous;
  // The last one saved for this key, by this holder or by one before it.
  std::string checkpoint;
  bool operator==(const Pending&) const = default;
};

struct Committed {
  absl::Time commit_time;
  absl::Time expire_time;
  bool late = false;
  StoredResult result;
  bool operator==(const Committed&) const = default;
};

// The last grant for a key, and what came of it.
struct Record {
  Token token;
  Fence fence;
  std::uint32_t attempt = 1;
  std::string owner;
  std::string fingerprint;
  absl::Time reserve_time;
  std::variant<Pending, Committed> phase;
  // Of the Commit, or else of the Reserve that was granted; empty if neither was traced.
  TraceRef trace;
  bool operator==(const Record&) const = default;
};

// The durable clock mark runs ahead of the time that decisions are made by, by so
// much at most: what a start resumes at may be that much later than it was.
inline constexpr absl::Duration kMarkLeadMax = absl::Seconds(1);

// A time that the server was down. Leases that ran out meanwhile are given until
// `grace_until`, so that an outage is not a mass takeover.
struct Outage {
  absl::Time down_since = absl::InfiniteFuture();
  absl::Time serving_since = absl::InfinitePast();
  absl::Time grace_until = absl::InfinitePast();
  bool operator==(const Outage&) const = default;
};

// Those that may still matter, the oldest first: what lapsed in an earlier one has
// its grace from that, whatever came after.
using Outages = std::vector<Outage>;
// Of more, the shortest is forgotten: what ran out in it has then lapsed sooner, by
// its length at most. No lease that has ended ever comes back by that.
inline constexpr std::size_t kOutagesMax = 256;

// With the outage that ends at `now`. `last_used` is a time that the server is
// sure to have seen before it went down.
Outages EndOutage(Outages earlier, absl::Time last_used, absl::Time now,
                  absl::Duration restart_grace);

// What a record has to be seen with.
struct View {
  absl::Time now;
  Epoch epoch;
  Outages outages;
};

// When the lease runs out, the outages' grace included: a grace that was cut short
// by the next outage is given anew.
absl::Time LeaseEnd(const Pending& pending, const Outages& outages);
// What becomes of it then: a reservation from before a restore is held, since
// nobody knows what happened after the backup.
OnLapse OnLapseOf(const Record& record, Epoch epoch);
// From when on the record counts as absent; InfiniteFuture for one that never does.
absl::Time ExpireTime(const Record& record, const View& view);
State StateOf(const std::optional<Record>& record, const View& view);

}  // namespace onced
