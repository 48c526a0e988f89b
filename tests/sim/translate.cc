#include "tests/sim/translate.h"

#include <variant>

#include "absl/strings/str_cat.h"

namespace onced::sim {
namespace {

Seen SeenOf(State state) {
  switch (state) {
    case State::kAbsent:
      return Seen::kAbsent;
    case State::kPending:
      return Seen::kPending;
    case State::kLapsed:
      return Seen::kLapsed;
    case State::kCommitted:
      return Seen::kCommitted;
  }
  __builtin_unreachable();
}

Said SaidBy(Refusal reason) {
  switch (reason) {
    case Refusal::kSuperseded:
    case Refusal::kRestored:
      return Said::kSuperseded;
    case Refusal::kCommittedDifferently:
      return Said::kCommittedDifferently;
    case Refusal::kAlreadyCommitted:
      return Said::kAlreadyCommitted;
    case Refusal::kNotReserved:
      return Said::kNotReserved;
    case Refusal::kFenceMismatch:
      return Said::kFenceMismatch;
    case Refusal::kHeld:
      return Said::kHeld;
    case Refusal::kOutcomeUnknown:
      return Said::kUnknown;
    case Refusal::kQueueFull:
    case Refusal::kDiskFull:
    case Refusal::kDraining:
    case Refusal::kStoreFailed:
    case Refusal::kDeadlinePassed:
    case Refusal::kCancelled:
    case Refusal::kNamespaceNotAllowed:
    case Refusal::kReplyTooLarge:
    case Refusal::kMemoryFull:
    case Refusal::kQuotaExceeded:
      return Said::kNotDone;
  }
  __builtin_unreachable();
}

struct Asking {
  Call& call;

  void operator()(const ReserveOp& op) const {
    call.op = Op::kReserve;
    call.request_id = op.request_id;
    call.fingerprint = op.fingerprint;
  }
  void operator()(const CommitOp& op) const {
    call.op = Op::kCommit;
    call.token = op.token.ToText();
    call.result = BytesOf(*op.result);
  }
  void operator()(const ReleaseOp& op) const {
    call.op = Op::kRelease;
    call.token = op.token.ToText();
  }
  void operator()(const ExtendOp& op) const {
    call.op = Op::kExtend;
    call.token = op.token.ToText();
  }
  void operator()(const InspectOp&) const { call.op = Op::kInspect; }
  void operator()(const ResolveOp& op) const {
    call.op = Op::kResolve;
    call.named_fence = op.fence.value;
    call.force = op.force;
    if (op.commit.has_value()) call.result = BytesOf(*op.commit->result);
  }
  void operator()(const EvictOp& op) const {
    call.op = Op::kEvict;
    call.named_fence = op.fence.value;
    call.force = op.force;
  }
};

struct Answering {
  Call& call;

  void Verdict(Said said, const Holder& holder) const {
    call.said = said;
    call.seen = SeenOf(holder.state);
    call.fence = holder.fence.value;
    if (holder.lease_expire_time.has_value()) call.seen_until = *holder.lease_expire_time;
  }
  void operator()(const Fresh& fresh) const {
    call.said = Said::kFresh;
    call.seen = Seen::kPending;
    call.fence = fresh.fence.value;
    call.granted_token = fresh.token.ToText();
    call.lease_end = fresh.lease_expire_time;
    if (fresh.previous.has_value()) call.previous_fence = fresh.previous->fence.value;
  }
  void operator()(const Replayed& replayed) const {
    call.said = Said::kReplayed;
    call.seen = Seen::kCommitted;
    call.fence = replayed.fence.value;
    call.replayed = BytesOf(*replayed.result);
    call.commit_time = replayed.commit_time;
    call.expire_time = call.seen_until = replayed.expire_time;
  }
  void operator()(const Conflict& conflict) const { Verdict(Said::kConflict, conflict.holder); }
  void operator()(const Mismatch& mismatch) const { Verdict(Said::kMismatch, mismatch.holder); }
  void operator()(const Unresolved& held) const { Verdict(Said::kUnresolved, held.holder); }
  void operator()(const Parked&) const {}  // Never an answer: the call stays without one.
  void operator()(const CommitDone& done) const {
    call.said = Said::kCommitted;
    call.commit_time = done.commit_time;
    call.expire_time = done.expire_time;
  }
  void operator()(const ReleaseDone& done) const {
    call.said = done.released ? Said::kReleased : Said::kNothingToRelease;
  }
  void operator()(const ExtendDone& done) const {
    call.said = Said::kExtended;
    call.lease_end = done.lease_expire_time;
  }
  void operator()(const Inspected& inspected) const {
    call.said = Said::kInspected;
    call.seen = SeenOf(inspected.state);
    if (inspected.record.has_value()) call.fence = inspected.record->fence.value;
    const auto& until =
        inspected.state == State::kPending ? inspected.lease_expire_time : inspected.expire_time;
    if (inspected.state != State::kLapsed && until.has_value()) call.seen_until = *until;
  }
  void operator()(const ResolveDone& done) const {
    if (done.committed.has_value()) return (*this)(*done.committed);
    call.said = Said::kReleased;
  }
  void operator()(const EvictDone& done) const {
    call.said = done.evicted == State::kAbsent ? Said::kNothingToEvict : Said::kEvicted;
  }
  void operator()(const Refused& refused) const {
    call.said = SaidBy(refused.reason);
    if (refused.state.has_value()) call.seen = SeenOf(*refused.state);
    if (refused.fence.has_value()) call.fence = refused.fence->value;
  }
};

}  // namespace

std::string BytesOf(const Result& result) {
  std::string bytes = absl::StrCat(result.status_code, "|", result.body_size, "|", result.body, "|",
                                   result.body_omitted, result.headers_omitted, "|");
  for (const Header& header : result.headers) {
    absl::StrAppend(&bytes, header.name, ":", header.value, "|");
  }
  return bytes + result.body_sha256;
}

void FillAsked(const Operation& operation, Call& call) { std::visit(Asking{call}, operation); }

void FillAnswer(const Answer& answer, Call& call) {
  call.server_time = answer.server_time;
  std::visit(Answering{call}, answer.reply);
}

}  // namespace onced::sim
