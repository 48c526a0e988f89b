#include "server/ledger/decide.h"

#include <algorithm>

namespace onced {
namespace {

constexpr absl::Duration kRetryDelayMax = absl::Seconds(1);

// One decision in the making: what was found, and how it looks now.
struct Judge {
  const std::optional<Record>& found;
  const View& view;
  const Policy& policy;
  const Mint& mint;
  const State state = StateOf(found, view);

  Decision operator()(const ReserveOp& op) const {
    switch (state) {
      case State::kAbsent:
        return Grant(op, {}, 1);
      case State::kPending:
        if (op.fingerprint != found->fingerprint) return Answer(Mismatch{HolderNow()});
        if (IsRepeat(op)) return Answer(GrantAgain());
        if (op.wait_timeout > absl::ZeroDuration()) return Answer(Parked{});
        return Answer(Conflict{HolderNow(), RetryDelay()});
      case State::kLapsed:
        if (op.fingerprint != found->fingerprint) return Answer(Mismatch{HolderNow()});
        if (OnLapseOf(*found, view.epoch) == OnLapse::kHold) return Answer(Unresolved{HolderNow()});
        return TakeOver(op);
      case State::kCommitted:
        if (op.fingerprint != found->fingerprint) return Answer(Mismatch{HolderNow()});
        return Answer(Replayed{committed().result, committed().commit_time, committed().expire_time,
                               found->fence, found->trace});
    }
    __builtin_unreachable();
  }

  Decision operator()(const CommitOp& op) const {
    if (state == State::kAbsent) return Answer(Refused{Refusal::kNotReserved, {}, {}});
    if (!IsHolder(op.token)) return Refuse(Stranger(op.token));
    if (state != State::kCommitted) return StoreResult(op.result, op.retention_ttl, op.trace);
    if (!SameResult(*op.result, *committed().result)) return Refuse(Refusal::kCommittedDifferently);
    return Answer(CommitAnswer(committed(), /*already=*/true));
  }

  Decision operator()(const ReleaseOp& op) const {
    if (state == State::kAbsent) return Answer(ReleaseDone{.released = false});
    if (!IsHolder(op.token)) return Refuse(Stranger(op.token));
    if (state == State::kCommitted) return Refuse(Refusal::kAlreadyCommitted);
    return {Erase{}, ReleaseDone{.released = true}};
  }

  Decision operator()(const ExtendOp& op) const {
    if (state == State::kAbsent) return Answer(Refused{Refusal::kNotReserved, {}, {}});
    if (!IsHolder(op.token)) return Refuse(Stranger(op.token));
    if (state == State::kCommitted) return Refuse(Refusal::kAlreadyCommitted);
    Record next = *found;
    auto& lease = std::get<Pending>(next.phase);
    lease.lease_expire_time = std::max(LeaseEnd(pending(), view.outages), view.now + op.lease_ttl);
    if (op.checkpoint.has_value()) lease.checkpoint = *op.checkpoint;
    const absl::Time end = lease.lease_expire_time;
    return {Write{std::move(next)}, ExtendDone{end}};
  }

  Decision operator()(const InspectOp&) const {
    if (state == State::kAbsent) return Answer(Inspected{});
    const absl::Time expires = ExpireTime(*found, view);
    return Answer(Inspected{.state = state,
                            .record = WithoutSecrets(*found),
                            .lease_expire_time = LeaseEndNow(),
                            .expire_time = expires == absl::InfiniteFuture()
                                               ? std::nullopt
                                               : std::optional<absl::Time>(expires)});
  }

  // Without a token: what the operator saw is named by its fence.
  Decision operator()(const ResolveOp& op) const {
    if (state == State::kAbsent) return Answer(Refused{Refusal::kNotReserved, {}, {}});
    if (op.fence != found->fence) return Refuse(Refusal::kFenceMismatch);
    if (state == State::kCommitted) return ResolveAgain(op);
    if (IsHeldFrom(op.force)) return Refuse(Refusal::kHeld);
    if (!op.commit.has_value()) return {Erase{}, ResolveDone{}};
    Decision decision = StoreResult(op.commit->result, op.commit->retention_ttl, TraceRef());
    decision.reply = ResolveDone{std::get<CommitDone>(decision.reply)};
    return decision;
  }

  // A committed record, too: the key is then as if it had never been used.
  Decision operator()(const EvictOp& op) const {
    if (state == State::kAbsent) return Answer(EvictDone{});
    if (op.fence != found->fence) return Refuse(Refusal::kFenceMismatch);
    if (IsHeldFrom(op.force)) return Refuse(Refusal::kHeld);
    return {Erase{}, EvictDone{.evicted = state}};
  }

 private:
  const Pending& pending() const { return std::get<Pending>(found->phase); }
  const Committed& committed() const { return std::get<Committed>(found->phase); }

  static Decision Answer(Reply reply) { return {Keep{}, std::move(reply)}; }
  Decision Refuse(Refusal reason) const { return Answer(Refused{reason, state, found->fence}); }

  // A token from before a restore holds nothing that was not committed by then.
  bool IsHolder(const Token& token) const {
    return token == found->token && (state == State::kCommitted || token.epoch == view.epoch);
  }
  Refusal Stranger(const Token& token) const {
    const bool from_before_restore = token.epoch != Epoch{} && token.epoch != view.epoch;
    return from_before_restore ? Refusal::kRestored : Refusal::kSuperseded;
  }
  // Somebody may be at work: only force takes it away.
  bool IsHeldFrom(bool force) const { return state == State::kPending && !force; }
  // Of what is committed, by its holder or by an operator before: it stands.
  Decision ResolveAgain(const ResolveOp& op) const {
    if (!op.commit.has_value() || !SameResult(*op.commit->result, *committed().result)) {
      return Refuse(Refusal::kAlreadyCommitted);
    }
    return Answer(ResolveDone{CommitAnswer(committed(), /*already=*/true)});
  }
  bool IsRepeat(const ReserveOp& op) const {
    return !op.request_id.empty() && SecretsEqual(op.request_id, pending().request_id);
  }

  static Record WithoutSecrets(Record record) {
    record.token = {};
    if (auto* pending = std::get_if<Pending>(&record.phase)) pending->request_id.clear();
    return record;
  }

  std::optional<absl::Time> LeaseEndNow() const {
    if (state == State::kCommitted) return std::nullopt;
    return LeaseEnd(pending(), view.outages);
  }
  Holder HolderNow() const {
    return {state, found->owner, found->fence, found->reserve_time, LeaseEndNow(), found->trace};
  }
  absl::Duration RetryDelay() const {
    const absl::Duration rest = LeaseEnd(pending(), view.outages) - view.now;
    return std::min(rest, kRetryDelayMax) * mint.jitter;
  }

  Decision Grant(const ReserveOp& op, std::optional<Previous> previous, std::uint32_t attempt,
                 std::string checkpoint = {}) const {
    Record next{.token = mint.token,
                .fence = mint.fence,
                .attempt = attempt,
                .owner = op.owner,
                .fingerprint = op.fingerprint,
                .reserve_time = view.now,
                .phase = Pending{.request_id = op.request_id,
                                 .lease_expire_time = view.now + op.lease_ttl,
                                 .on_lapse = policy.on_lapse,
                                 .lapsed_retention = policy.lapsed_retention,
                                 .retention = policy.retention,
                                 .previous = std::move(previous),
                                 .checkpoint = std::move(checkpoint)},
                .trace = op.trace};
    Fresh reply = FreshOf(next, view.now + op.lease_ttl);
    return {Write{std::move(next)}, std::move(reply)};
  }
  Decision TakeOver(const ReserveOp& op) const {
    return Grant(op,
                 Previous{.fence = found->fence,
                          .owner = found->owner,
                          .lapse_time = LeaseEnd(pending(), view.outages)},
                 found->attempt + 1, pending().checkpoint);
  }
  Reply GrantAgain() const { return FreshOf(*found, LeaseEnd(pending(), view.outages)); }

  static Fresh FreshOf(const Record& record, absl::Time lease_end) {
    const auto& pending = std::get<Pending>(record.phase);
    return {.token = record.token,
            .fence = record.fence,
            .attempt = record.attempt,
            .lease_expire_time = lease_end,
            .previous = pending.previous,
            .checkpoint = pending.previous.has_value() ? pending.checkpoint : std::string()};
  }

  Decision StoreResult(const StoredResult& result,
                       const std::optional<absl::Duration>& retention_ttl,
                       const TraceRef& trace) const {
    const DurationBounds& bounds = pending().retention;
    const absl::Duration retention =
        std::clamp(retention_ttl.value_or(bounds.preset), bounds.min, bounds.max);
    Record next = *found;
    next.phase = Committed{.commit_time = view.now,
                           .expire_time = view.now + retention,
                           .late = state == State::kLapsed,
                           .result = result};
    if (!trace.empty()) next.trace = trace;
    Reply reply = CommitAnswer(std::get<Committed>(next.phase), /*already=*/false);
    return {Write{std::move(next)}, std::move(reply)};
  }
  static CommitDone CommitAnswer(const Committed& stored, bool already) {
    return {.commit_time = stored.commit_time,
            .expire_time = stored.expire_time,
            .already_committed = already,
            .late = stored.late,
            .body_omitted = stored.result->body_omitted,
            .headers_omitted = stored.result->headers_omitted};
  }
};

}  // namespace

Decision Decide(const std::optional<Record>& found, const Operation& operation, const View& view,
                const Policy& policy, const Mint& mint) {
  const Judge judge{found, view, policy, mint};
  return std::visit(judge, operation);
}

}  // namespace onced
