#include "server/shard/shard_group.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "server/ledger/call_status.h"

namespace onced {
namespace {

// A wait ends so long before the caller's own deadline that the answer still
// gets through.
constexpr absl::Duration kDeadlineMargin = absl::Milliseconds(100);

Refused Because(Refusal reason) { return {reason, std::nullopt, std::nullopt}; }

// An answer that is decided.
struct Decided {
  Answerer answerer;
  Answer answer;
  UnitOfWork::Slot slot;
  ConcurrencySlot concurrency;

  void Send() {
    concurrency.Release();  // First: who was answered may ask again.
    std::move(answerer)(std::move(answer));
  }
};

// Those that have to do with a write that isn't durable yet, this drain's or an earlier
// one's: had it failed, nobody would know what is so.
void SendWhenDurable(std::vector<Decided>& all, const absl::Status& durable) {
  for (Decided& one : all) {
    if (!durable.ok()) one.answer.reply = Because(Refusal::kOutcomeUnknown);
    one.Send();
  }
}

}  // namespace

// One call of Execute(), in the order that section 4 of docs/protocol.md gives:
//   1. calls whose callers have gone are dropped, before anything is decided;
//   2. the records that anything below may need are read at once;
//   3. the requests are judged in their order, on the records as found;
//   4. leases that ended hand their keys on, or end the waits;
//   5. waits that are over are judged a last time;
//   6. what has nothing to do with what is written here, or still being written, is
//      answered at once: writing may have to wait for room;
//   7. one batch is written; when it is durable, the rest is answered.
class ShardGroup::Round {
 public:
  Round(ShardGroup& group, Drain drain, absl::Time now)
      : group_(group),
        waiters_(group.waiters_),
        now_(now),
        view_(group.view_),
        low_on_space_(group.store_.LowOnSpace()),
        drain_(std::move(drain)) {}

  void Run() {
    DropCancelled();
    if (drain_.draining) EndAllWaits();
    auto work = std::make_unique<UnitOfWork>();
    NameKeys(*work);
    auto undurable = std::make_unique<std::vector<Decided>>();
    std::vector<Decided>& waiting = *undurable;  // Filled by the body, owned by what runs after it.
    group_.store_.Run(
        std::move(work),
        [&](UnitOfWork& loaded) {
          work_ = &loaded;
          Judge();
          AnswerSettled(waiting);
        },
        [undurable = std::move(undurable), failed = group_.failed_](const absl::Status& durable) {
          if (!durable.ok()) failed->store(true);
          SendWhenDurable(*undurable, durable);
        });
  }

 private:
  // ---- 1 ----
  void DropCancelled() {
    const absl::flat_hash_set<RequestId> gone(drain_.cancelled.begin(), drain_.cancelled.end());
    if (gone.empty()) return;
    for (const RequestId id : drain_.cancelled) {
      if (auto waiter = waiters_.Take(id)) AnswerNow(std::move(*waiter), Refusal::kCancelled);
    }
    std::erase_if(drain_.requests, [&](Request& request) {
      // Commit, Extend and Release do good whether or not anybody listens.
      if (Settles(request) || !gone.contains(request.id)) return false;
      std::move(request.answer)({Because(Refusal::kCancelled), now_, {}});
      return true;
    });
  }
  void EndAllWaits() {
    for (const RequestId id : waiters_.All()) {
      AnswerNow(*waiters_.Take(id), Refusal::kDraining);
    }
  }
  // Only for what was not judged: it depends on no record.
  void AnswerNow(Waiter waiter, Refusal reason) {
    std::move(waiter.request.answer)({Because(reason), now_, now_ - waiter.parked_at});
  }

  // ---- 2 ----
  void NameKeys(UnitOfWork& work) {
    slots_.reserve(drain_.requests.size());
    decided_.reserve(drain_.requests.size());
    work.Reserve(drain_.requests.size());
    for (const Request& request : drain_.requests) {
      slots_.push_back(work.Want(request.shard, request.key));
    }
    for (const RecordKey& key : waiters_.Lapsed(now_)) {
      lapsed_.push_back({key, work.Want(ShardOfWaiters(key), key)});
    }
    for (const RequestId id : waiters_.Over(now_)) {
      const Request& request = waiters_.Find(id)->request;
      over_.push_back({id, work.Want(request.shard, request.key)});
    }
  }
  ShardId ShardOfWaiters(const RecordKey& key) const {
    return waiters_.Find(waiters_.Of(key).front())->request.shard;
  }

  void Judge() {
    for (std::size_t i = 0; i < drain_.requests.size(); ++i) {
      JudgeRequest(std::move(drain_.requests[i]), slots_[i]);
    }
    for (const auto& [key, slot] : lapsed_) Wake(key, slot);
    for (const auto& [id, slot] : over_) {
      if (auto waiter = waiters_.Take(id)) JudgeLastTime(std::move(*waiter), slot);
    }
  }

  // ---- 3 ----
  void JudgeRequest(Request request, UnitOfWork::Slot slot) {
    const bool commits = std::holds_alternative<CommitOp>(request.operation);
    if (!commits && request.deadline <= now_) {
      return Hold(std::move(request), slot, Because(Refusal::kDeadlinePassed));
    }
    if (!work_->ReadStatus(slot).ok()) {
      group_.telemetry_.StoreFailed(work_->ReadStatus(slot).message());
      return Hold(std::move(request), slot, Because(Refusal::kStoreFailed));
    }
    if (IsReserve(request)) return JudgeReserve(std::move(request), slot);
    Decision decision = DecideOn(slot, request.operation, *request.policy);
    const bool changes = Apply(std::move(decision.change), slot);
    const RecordKey key = request.key;
    Hold(std::move(request), slot, std::move(decision.reply));
    if (changes) Wake(key, slot);
  }

  void JudgeReserve(Request request, UnitOfWork::Slot slot) {
    if (drain_.draining) return Hold(std::move(request), slot, Because(Refusal::kDraining));
    // The longest waiter comes before anyone who comes now.
    if (StateAt(slot) != State::kPending) Wake(request.key, slot);
    Decision decision = DecideOn(slot, request.operation, *request.policy);
    if (std::holds_alternative<Parked>(decision.reply)) {
      if (Park(request, slot)) return;
      std::get<ReserveOp>(request.operation).wait_timeout = absl::ZeroDuration();
      decision = DecideOn(slot, request.operation, *request.policy);
    }
    Apply(std::move(decision.change), slot);
    Hold(std::move(request), slot, std::move(decision.reply));
  }

  // False, and `request` is untouched, if there is no room or no time to wait.
  bool Park(Request& request, UnitOfWork::Slot slot) {
    const absl::Time wait_until =
        std::min(now_ + std::get<ReserveOp>(request.operation).wait_timeout,
                 request.deadline - kDeadlineMargin);
    if (wait_until <= now_) return false;
    Waiter waiter{std::move(request), now_, wait_until};
    if (waiters_.Park(waiter, LeaseEndAt(slot))) return true;
    request = std::move(waiter.request);
    return false;
  }

  // ---- 4 ----
  // Judges all who wait for the key again, the longest waiting first: a commit
  // answers them all, a release or a lapse grants one and leaves the others.
  void Wake(const RecordKey& key, UnitOfWork::Slot slot) {
    for (const RequestId id : waiters_.Of(key)) {
      const Waiter& waiting = *waiters_.Find(id);
      if (!work_->ReadStatus(slot).ok()) {
        Hold(*waiters_.Take(id), slot, Because(Refusal::kStoreFailed));
        continue;
      }
      if (waiting.request.deadline <= now_) {
        Hold(*waiters_.Take(id), slot, Because(Refusal::kDeadlinePassed));
        continue;
      }
      Decision decision = DecideOn(slot, waiting.request.operation, *waiting.request.policy);
      if (std::holds_alternative<Parked>(decision.reply)) continue;
      Apply(std::move(decision.change), slot);
      Hold(*waiters_.Take(id), slot, std::move(decision.reply));
    }
    if (waiters_.Has(key)) waiters_.SetLeaseEnd(key, LeaseEndAt(slot));
  }

  // ---- 5 ----
  void JudgeLastTime(Waiter waiter, UnitOfWork::Slot slot) {
    if (!work_->ReadStatus(slot).ok())
      return Hold(std::move(waiter), slot, Because(Refusal::kStoreFailed));
    std::get<ReserveOp>(waiter.request.operation).wait_timeout = absl::ZeroDuration();
    Decision decision = DecideOn(slot, waiter.request.operation, *waiter.request.policy);
    Apply(std::move(decision.change), slot);
    Hold(std::move(waiter), slot, std::move(decision.reply));
  }

  // ---- Common ----
  State StateAt(UnitOfWork::Slot slot) const { return StateOf(work_->Find(slot), view_); }
  // Of a key that is reserved, as every key with waiters is.
  absl::Time LeaseEndAt(UnitOfWork::Slot slot) const {
    return LeaseEnd(std::get<Pending>(work_->Find(slot)->phase), view_.outages);
  }

  Decision DecideOn(UnitOfWork::Slot slot, const Operation& operation, const Policy& policy) {
    Mint mint;
    const bool reserves = std::holds_alternative<ReserveOp>(operation);
    if (reserves) {
      mint = {.token = Token::Mint(view_.epoch, group_.random_),
              .fence = work_->NextFence(slot, now_),
              .jitter = 0.75 + group_.random_.Draw<std::uint8_t>() / 1024.0};
    }
    Decision decision = Decide(work_->Find(slot), operation, view_, policy, mint);
    const bool grants = reserves && std::holds_alternative<Write>(decision.change);
    if (grants && low_on_space_) return {Keep{}, Because(Refusal::kDiskFull)};
    return decision;
  }

  // Whether there was anything to change.
  bool Apply(Change change, UnitOfWork::Slot slot) {
    if (std::holds_alternative<Keep>(change)) return false;
    if (LapsedAt(slot)) group_.telemetry_.LapseEnded(EndOf(change, *work_->Find(slot)));
    if (auto* write = std::get_if<Write>(&change)) {
      work_->Put(slot, std::move(write->record));
    } else {
      work_->Erase(slot);
    }
    return true;
  }

  // Of every lease that ran out, whatever becomes of it, this is asked once with true.
  bool LapsedAt(UnitOfWork::Slot slot) const {
    const std::optional<Record>& found = work_->Find(slot);
    if (!found.has_value()) return false;
    const auto* pending = std::get_if<Pending>(&found->phase);
    if (pending == nullptr || pending->lease_expire_time > now_) return false;  // As nearly all.
    return StateOf(found, view_) == State::kLapsed;
  }
  static LapseEnd EndOf(const Change& change, const Record& found) {
    const auto* write = std::get_if<Write>(&change);
    if (write == nullptr) return LapseEnd::kRelease;
    if (std::holds_alternative<Committed>(write->record.phase)) return LapseEnd::kCommit;
    return write->record.fence == found.fence ? LapseEnd::kExtend : LapseEnd::kTakeover;
  }

  // ---- 6 ----
  // Moves those to `waiting` that have to wait for the disk.
  void AnswerSettled(std::vector<Decided>& waiting) {
    waiting.reserve(decided_.size());
    for (Decided& one : decided_) {
      if (work_->Settled(one.slot)) {
        one.Send();
      } else {
        waiting.push_back(std::move(one));
      }
    }
  }

  void Hold(Request request, UnitOfWork::Slot slot, Reply reply, absl::Duration waited = {}) {
    if (IsReserve(request)) CountVerdict(request, reply);
    decided_.push_back({std::move(request.answer),
                        {std::move(reply), now_, waited},
                        slot,
                        std::move(request.slot)});
  }
  void Hold(Waiter waiter, UnitOfWork::Slot slot, Reply reply) {
    const absl::Duration waited = now_ - waiter.parked_at;
    Hold(std::move(waiter.request), slot, std::move(reply), waited);
  }

  void CountVerdict(const Request& request, const Reply& reply) {
    const CallStatus verdict = CallStatusOf(reply);
    if (verdict == CallStatus::kError) return;  // It was not judged.
    group_.telemetry_.Judged(request.policy->listed_as, verdict);
    // After a restore a lease may have been cut short: it would have run on.
    if (const auto* unresolved = std::get_if<Unresolved>(&reply))
      group_.telemetry_.MetUnresolved(now_ - std::min(now_, *unresolved->holder.lease_expire_time));
  }

  ShardGroup& group_;
  Waiters& waiters_;
  const absl::Time now_;
  const View& view_;
  const bool low_on_space_;
  Drain drain_;

  std::vector<UnitOfWork::Slot> slots_;  // Of drain_.requests, one each.
  std::vector<std::pair<RecordKey, UnitOfWork::Slot>> lapsed_;
  std::vector<std::pair<RequestId, UnitOfWork::Slot>> over_;
  UnitOfWork* work_ = nullptr;  // While the store runs the body.
  std::vector<Decided> decided_;
};

ShardGroup::ShardGroup(Store& store, Random& random, WaiterCount& waiter_count,
                       Telemetry& telemetry)
    : store_(store),
      random_(random),
      telemetry_(telemetry),
      failed_(std::make_shared<std::atomic<bool>>(false)),
      waiters_(waiter_count),
      view_{absl::UnixEpoch(), store.identity().epoch, store.outages()} {}

ShardGroup::~ShardGroup() { Refuse({}, view_.now, Refusal::kDraining); }

void ShardGroup::Execute(Drain drain, absl::Time now) {
  view_.now = now;
  if (failed()) return Refuse(std::move(drain), now, Refusal::kStoreFailed);
  Round(*this, std::move(drain), now).Run();
  if (failed()) Refuse({}, now, Refusal::kStoreFailed);
}

void ShardGroup::Refuse(Drain drain, absl::Time now, Refusal reason) {
  for (Request& request : drain.requests) {
    std::move(request.answer)({Because(reason), now, {}});
  }
  for (const RequestId id : waiters_.All()) {
    Waiter waiter = *waiters_.Take(id);
    std::move(waiter.request.answer)({Because(reason), now, now - waiter.parked_at});
  }
}

}  // namespace onced
