// Lists a namespace, or evicts all that is in it, a page at a time.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "google/rpc/status.pb.h"
#include "idempotency/admin/v1/admin.pb.h"
#include "server/base/solo_worker.h"
#include "server/rpc/admin_validate.h"
#include "server/shard/marked_clock.h"
#include "server/shard/shard_set.h"

namespace onced {

// Operation: reads beside the shards' threads, and evicts through them.
// Threads:   any; pages are made on threads of its own, kPagesMax at a time.
// Lifetime:  what the constructor takes outlives it.
// Promise:   a job that was taken is run, also when stopping.
// Limits:    of a page: kRecordsMax, kBytesMax. Others are refused meanwhile.
class NamespacePages {
 public:
  static constexpr std::size_t kPagesMax = 2;
  static constexpr std::size_t kRecordsMax = 10'000;
  static constexpr std::size_t kBytesMax = std::size_t{16} << 20;

  NamespacePages(ShardSet& shards, Store& store, const Clock& clock)
      : shards_(shards), store_(store), clock_(clock, store) {}

  // Runs `job`, in which the two below may be called, soon and on another thread.
  SoloWorker::Taken TryRun(const std::function<void()>& job);
  // Returns once none runs; takes no more.
  void Stop();

  // ---- These take their time ----
  std::variant<idempotency::admin::v1::ListResponse, google::rpc::Status> List(
      const PageRequest& request);
  // What became of a page, which an error may have cut short.
  struct Evicted {
    // What was done, whatever the error; where it was cut short, `next_page_token` is its own.
    idempotency::admin::v1::EvictNamespaceResponse response;
    std::optional<google::rpc::Status> error;
  };
  Evicted Evict(const PageRequest& request);

 private:
  struct Page {
    ListPage listed;
    absl::Time now;
    std::string page_token;  // Its own, also of the first.
    std::string next_page_token;
  };
  std::variant<Page, google::rpc::Status> Read(absl::string_view method,
                                               const PageRequest& request);

  // Constant after construction.
  ShardSet& shards_;
  Store& store_;
  MarkedClock clock_;  // Any thread.

  std::array<SoloWorker, kPagesMax> workers_;  // Last: their jobs use what is above.
};

}  // namespace onced
