#include "server/rpc/namespace_pages.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/rpc/admin_translate.h"
#include "server/rpc/errors.h"
#include "server/rpc/page_token.h"

namespace onced {
namespace {

namespace admin_v1 = idempotency::admin::v1;

// Evictions that are in the shards' queues at a time: there is room left for holders.
constexpr std::size_t kAtOnceMax = 100;

google::rpc::Status StoreFailed() { return ErrorOf(Refused{Refusal::kStoreFailed}); }

// The answers to some evictions.
class Evictions {
 public:
  explicit Evictions(std::size_t expected) : missing_(expected) {}

  void Answered(const Reply& reply) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    Count(reply);
    if (--missing_ == 0) all_.NotifyAll();
  }
  // Adds them up. The error that stands for more than one record.
  std::optional<Refused> AwaitAll(admin_v1::EvictNamespaceResponse& to)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    while (missing_ > 0) all_.Wait(mutex_);
    to.set_evicted(to.evicted() + evicted_);
    to.set_skipped_held(to.skipped_held() + held_);
    to.set_skipped_changed(to.skipped_changed() + changed_);
    return failure_;
  }

 private:
  void Count(const Reply& reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (const auto* done = std::get_if<EvictDone>(&reply)) {
      if (done->evicted != State::kAbsent) ++evicted_;  // Else it went by itself.
      return;
    }
    const auto& refused = std::get<Refused>(reply);
    if (refused.reason == Refusal::kHeld) {
      ++held_;
    } else if (refused.reason == Refusal::kFenceMismatch) {
      ++changed_;
    } else {
      // That nobody knows what was done says more than that nothing was.
      const bool unknown = failure_.has_value() && failure_->reason == Refusal::kOutcomeUnknown;
      if (!unknown) failure_ = Refused{refused.reason};
    }
  }

  Mutex mutex_;
  CondVar all_;
  std::size_t missing_ ABSL_GUARDED_BY(mutex_);
  std::int64_t evicted_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t held_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t changed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<Refused> failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

SoloWorker::Taken NamespacePages::TryRun(const std::function<void()>& job) {
  SoloWorker::Taken taken = SoloWorker::Taken::kBusy;
  for (SoloWorker& worker : workers_) {
    taken = worker.TryRun(job);
    if (taken != SoloWorker::Taken::kBusy) break;
  }
  return taken;
}

void NamespacePages::Stop() {
  for (SoloWorker& worker : workers_) worker.Stop();
}

std::variant<NamespacePages::Page, google::rpc::Status> NamespacePages::Read(
    absl::string_view method, const PageRequest& request) {
  const PageTokens tokens(method, store_.identity(), request.filter);
  std::optional<ListPosition> from = ListPosition{};
  if (!request.page_token.empty()) from = tokens.FromText(request.page_token);
  if (!from.has_value()) {
    return ErrorOf(Violation{"page_token",
                             "is not of this list: everything but page_size must be "
                             "as it was for the page before, and the store, too"});
  }
  const absl::StatusOr<absl::Time> now = clock_.Now();
  if (!now.ok()) return StoreFailed();
  auto listed = ListRecords(
      store_, request.filter, *from,
      {.found_max = request.page_size, .records_max = kRecordsMax, .bytes_max = kBytesMax},
      View{*now, store_.identity().epoch, store_.outages()});
  if (!listed.ok()) return StoreFailed();
  const std::string next = listed->next.has_value() ? tokens.ToText(*listed->next) : "";
  return Page{*std::move(listed), *now, tokens.ToText(*from), next};
}

std::variant<admin_v1::ListResponse, google::rpc::Status> NamespacePages::List(
    const PageRequest& request) {
  auto page = Read("List", request);
  if (auto* error = std::get_if<google::rpc::Status>(&page)) return std::move(*error);
  const Page& read = std::get<Page>(page);
  admin_v1::ListResponse response = ListResponseOf(read.listed, read.now);
  response.set_next_page_token(read.next_page_token);
  return response;
}

NamespacePages::Evicted NamespacePages::Evict(const PageRequest& request) {
  static const Policy kAnyPolicy;  // An eviction goes by none.
  auto page = Read("EvictNamespace", request);
  if (auto* error = std::get_if<google::rpc::Status>(&page)) return {{}, std::move(*error)};
  const Page& read = std::get<Page>(page);
  const std::vector<ListPage::Found>& found = read.listed.found;
  admin_v1::EvictNamespaceResponse response;
  response.set_next_page_token(read.next_page_token);
  response.set_skipped_unreadable(static_cast<std::int64_t>(read.listed.unreadable.size()));
  for (std::size_t first = 0; first < found.size(); first += kAtOnceMax) {
    const std::size_t count = std::min(kAtOnceMax, found.size() - first);
    Evictions evictions(count);
    std::vector<Request> requests;
    for (std::size_t i = first; i < first + count; ++i) {
      requests.push_back(
          {.key = {request.filter.name_space, found[i].key},
           .operation = EvictOp{.fence = found[i].seen.record->fence, .force = request.force},
           .policy = &kAnyPolicy,
           .answer = [&evictions](const Answer& answer) { evictions.Answered(answer.reply); }});
    }
    shards_.Submit(std::move(requests));
    if (const auto failure = evictions.AwaitAll(response)) {
      response.set_next_page_token(read.page_token);
      return {response, ErrorOf(*failure)};
    }
  }
  return {response, std::nullopt};
}

}  // namespace onced
