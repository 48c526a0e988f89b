#include "tests/fault/model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onced::fault {
namespace {

using Phase = Known::Phase;

Known Emptied(const Known& known) {
  Known absent;
  absent.now = known.now;
  absent.max_fence = known.max_fence;
  return absent;
}

void Add(std::optional<Known> known, std::vector<Known>& next) {
  if (known.has_value()) next.push_back(*std::move(known));
}

}  // namespace

Model::Model(const std::vector<Event>& events, const std::vector<Life>& lives, const Rule& rule)
    : events_(events), lives_(lives), rule_(rule) {
  interned_[""] = 0;
  for (const Event& event : events) {
    for (const std::string* text : {&event.call->token, &event.call->answer.token,
                                    &event.call->checkpoint, &event.call->answer.checkpoint}) {
      interned_.emplace(*text, static_cast<std::int32_t>(interned_.size()));
    }
  }
}

std::int32_t Model::Intern(const std::string& text) const { return interned_.at(text); }

std::vector<Known> Model::Execute(const Known& known, std::size_t index) const {
  const Event& event = events_[index];
  std::vector<Known> next;
  if (!Judged(*event.call)) {
    Unanswered(known, index, next);
    return next;
  }
  switch (event.call->op) {
    case Op::kReserve:
      Reserve(known, index, next);
      break;
    case Op::kCommit:
      Commit(known, index, next);
      break;
    case Op::kRelease:
      Release(known, event, next);
      break;
    case Op::kExtend:
      Extend(known, event, next);
      break;
    case Op::kInspect:
      Inspect(known, event, next);
      break;
  }
  return next;
}

bool Model::RestartedSinceGrant(const Known& known, const Event& event) const {
  return std::any_of(lives_.begin(), lives_.end(), [&](const Life& life) {
    return CallAt(known.grant).sent < life.up && life.up < event.end;
  });
}

// ---- The state at the time of a call ----

// The earliest time is as good as any later one: what must be over by then may
// raise it, and nothing is asked of it later but not to be too late.
Model::Maybe Model::At(Known known, const When& when, std::int64_t at_least) {
  known.now = std::max({known.now, when.lo, at_least});
  if (known.now > when.hi) return std::nullopt;
  return known;
}

Model::Maybe Model::Absent(const Known& known, const When& when) const {
  std::int64_t from = 0;
  if (known.phase == Phase::kCommitted) from = known.expire_time;
  if (known.phase == Phase::kReserved) {
    if (rule_.hold) return std::nullopt;
    from = std::max(known.told_end, known.stored_end + rule_.lapsed_retention);
  }
  const Maybe then = At(known, when, from);
  return then.has_value() ? Maybe(Emptied(*then)) : std::nullopt;
}

Model::Maybe Model::Reserved(const Known& known, const Event& event) const {
  if (known.phase != Phase::kReserved) return std::nullopt;
  const Maybe then = At(known, event.when);
  const bool sure = known.end_known && !RestartedSinceGrant(known, event);
  if (then.has_value() && !rule_.hold && sure &&
      then->now >= known.stored_end + rule_.lapsed_retention) {
    return std::nullopt;
  }
  return then;
}

Model::Maybe Model::Running(const Known& known, const Event& event) const {
  const Maybe then = Reserved(known, event);
  if (!then.has_value() || then->now < known.told_end) return then;
  const bool may_be_longer = !known.end_known || RestartedSinceGrant(known, event);
  return may_be_longer ? then : std::nullopt;
}

Model::Maybe Model::Lapsed(const Known& known, const Event& event) const {
  const Maybe then = Reserved(known, event);
  return then.has_value() ? At(*then, event.when, known.told_end) : std::nullopt;
}

Model::Maybe Model::Committed(const Known& known, const When& when) const {
  if (known.phase != Phase::kCommitted) return std::nullopt;
  const Maybe then = At(known, when);
  if (then.has_value() && known.times_known && then->now >= known.expire_time) return std::nullopt;
  return then;
}

Model::Maybe Model::Told(const Known& known, const Event& event) const {
  const Answer& answer = event.call->answer;
  const bool running = answer.state == State::kPending;
  Maybe then;
  if (answer.state == State::kPending) then = Running(known, event);
  if (answer.state == State::kLapsed) then = Lapsed(known, event);
  if (answer.state == State::kCommitted) then = Committed(known, event.when);
  if (answer.state == State::kUnsaid) {
    then = known.phase == Phase::kCommitted ? Committed(known, event.when) : Reserved(known, event);
  }
  if (!then.has_value()) return std::nullopt;
  if (!TellFence(*then, answer.fence) || !TellOwner(*then, answer.owner)) return std::nullopt;
  if (!TellLease(*then, event, answer.lease_end, running)) return std::nullopt;
  return then;
}

// ---- What an answer tells ----

bool Model::TellFence(Known& known, std::int64_t fence) {
  if (fence == 0 || known.fence == fence) return true;
  if (known.fence != 0 || fence <= known.max_fence) return false;
  known.fence = known.max_fence = fence;
  return true;
}

bool Model::TellOwner(const Known& known, const std::string& owner) const {
  return owner.empty() || owner == CallAt(known.grant).owner;
}

// A lease that ran out while the server was down ends later than stored, as long as the
// grace lasts; never earlier than anybody was told.
bool Model::TellLease(Known& known, const Event& event, std::int64_t end, bool running) const {
  if (end == 0) return true;
  if (end < known.stored_end) return false;
  if (running ? known.now >= end || end < known.told_end : known.now < end) return false;
  const bool may_be_grace = known.now >= known.stored_end && RestartedSinceGrant(known, event);
  if (end > known.stored_end && !may_be_grace) {
    if (known.end_known) return false;
    known.stored_end = end;
    known.end_known = true;
  }
  if (end == known.stored_end && !may_be_grace) known.end_known = true;
  known.told_end = std::max(known.told_end, end);
  return true;
}

bool Model::TellCommit(Known& known, const Event& event) const {
  const Answer& answer = event.call->answer;
  const Call& commit = CallAt(known.commit);
  if (!answer.result.empty() && answer.result != commit.result) return false;
  if (answer.commit_time == 0) return true;
  if (known.times_known) {
    return answer.commit_time == known.commit_time && answer.expire_time == known.expire_time;
  }
  const When& when = events_[static_cast<std::size_t>(known.commit)].when;
  if (answer.commit_time < known.commit_time || answer.commit_time > when.hi) return false;
  if (commit.ttl != 0 && answer.expire_time != answer.commit_time + commit.ttl) return false;
  known.commit_time = answer.commit_time;
  known.expire_time = answer.expire_time;
  known.times_known = true;
  known.now = std::max(known.now, known.commit_time);
  return known.now <= event.when.hi && known.now < known.expire_time;
}

// ---- Operations ----

bool Model::Holds(const Known& known, const Call& call) const {
  return known.token != 0 && known.token == Intern(call.token);
}
bool Model::SameFingerprint(const Known& known, const Call& call) const {
  return CallAt(known.grant).fingerprint == call.fingerprint;
}
bool Model::SameRequest(const Known& known, const Call& call) const {
  return !call.request_id.empty() && CallAt(known.grant).request_id == call.request_id;
}

// A new grant, as this Reserve was told or, if it wasn't answered, as it must be.
// `known` has the attempt, the checkpoint and the previous fence that it takes over.
Model::Maybe Model::Grant(Known known, std::size_t index) const {
  const Call& call = *events_[index].call;
  const Answer& answer = call.answer;
  known.phase = Phase::kReserved;
  known.grant = static_cast<std::int32_t>(index);
  known.attempt += 1;
  known.stored_end = known.told_end = known.now + call.ttl;
  known.token = 0;
  known.fence = 0;
  known.end_known = Judged(call);
  if (!Judged(call)) return known;
  if (answer.fence <= known.max_fence || answer.attempt != known.attempt) return std::nullopt;
  if (call.ttl != 0 && answer.lease_end != known.stored_end) return std::nullopt;
  known.token = Intern(answer.token);
  known.fence = known.max_fence = answer.fence;
  known.stored_end = known.told_end = answer.lease_end;
  return known;
}

void Model::Fresh(const Known& known, std::size_t index, std::vector<Known>& next) const {
  const Event& event = events_[index];
  const Call& call = *event.call;
  const Answer& answer = call.answer;
  if (const Maybe then = Absent(known, event.when);
      then.has_value() && answer.previous_fence == 0) {
    Add(Grant(*then, index), next);
  }
  if (known.phase != Phase::kReserved || !SameFingerprint(known, call)) return;
  if (Maybe then = Lapsed(known, event); then.has_value() && !rule_.hold) {
    const bool as_told = answer.previous_fence != 0 && TellFence(*then, answer.previous_fence) &&
                         TellOwner(*then, answer.previous_owner) &&
                         then->checkpoint == Intern(answer.checkpoint);
    then->previous_fence = answer.previous_fence;
    if (as_told) Add(Grant(*then, index), next);
  }
  if (Maybe then = Running(known, event); then.has_value() && SameRequest(known, call)) {
    if (then->token == 0) then->token = Intern(answer.token);
    if (then->previous_fence == -1) then->previous_fence = answer.previous_fence;
    const bool as_told = then->token == Intern(answer.token) && then->attempt == answer.attempt &&
                         TellFence(*then, answer.fence) &&
                         then->previous_fence == answer.previous_fence &&
                         TellLease(*then, event, answer.lease_end, /*running=*/true);
    if (as_told) Add(then, next);
  }
}

void Model::Reserve(const Known& known, std::size_t index, std::vector<Known>& next) const {
  const Event& event = events_[index];
  const Call& call = *event.call;
  const Said said = call.answer.said;
  if (said == Said::kFresh) return Fresh(known, index, next);
  if (known.phase == Phase::kAbsent) return;
  if (SameFingerprint(known, call) == (said == Said::kMismatch)) return;
  Maybe then = Told(known, event);
  if (!then.has_value()) return;
  switch (said) {
    case Said::kMismatch:
      return Add(then, next);
    case Said::kConflict:
      if (call.answer.state == State::kPending && !SameRequest(known, call)) Add(then, next);
      return;
    case Said::kUnresolved:
      if (call.answer.state == State::kLapsed && rule_.hold) Add(then, next);
      return;
    case Said::kReplayed:
      if (then->phase == Phase::kCommitted && TellCommit(*then, event)) Add(then, next);
      return;
    default:
      return;
  }
}

void Model::Commit(const Known& known, std::size_t index, std::vector<Known>& next) const {
  const Event& event = events_[index];
  const Call& call = *event.call;
  const Answer& answer = call.answer;
  switch (answer.said) {
    case Said::kCommitted:
      if (!Holds(known, call)) return;
      if (answer.already) {
        Maybe then = Committed(known, event.when);
        const bool same = then.has_value() && CallAt(then->commit).result == call.result;
        if (same && TellCommit(*then, event)) Add(then, next);
        return;
      }
      if (Maybe then = answer.late ? Lapsed(known, event) : Running(known, event)) {
        if (call.ttl != 0 && answer.expire_time != answer.commit_time + call.ttl) return;
        then->phase = Phase::kCommitted;
        then->commit = static_cast<std::int32_t>(index);
        then->commit_time = answer.commit_time;
        then->expire_time = answer.expire_time;
        then->times_known = true;
        then->late = answer.late ? 1 : 0;
        Add(then, next);
      }
      return;
    case Said::kSuperseded:
      if (known.phase != Phase::kAbsent && !Holds(known, call)) Add(Told(known, event), next);
      return;
    case Said::kCommittedDifferently:
      if (known.phase == Phase::kCommitted && Holds(known, call) &&
          CallAt(known.commit).result != call.result) {
        Add(Told(known, event), next);
      }
      return;
    case Said::kNotReserved:
      return Add(Absent(known, event.when), next);
    default:
      return;
  }
}

void Model::Release(const Known& known, const Event& event, std::vector<Known>& next) const {
  const Call& call = *event.call;
  switch (call.answer.said) {
    case Said::kReleased:
      if (const Maybe then = Reserved(known, event); then.has_value() && Holds(known, call)) {
        next.push_back(Emptied(*then));
      }
      return;
    case Said::kNothingToRelease:
      return Add(Absent(known, event.when), next);
    case Said::kSuperseded:
      if (known.phase != Phase::kAbsent && !Holds(known, call)) Add(Told(known, event), next);
      return;
    case Said::kAlreadyCommitted:
      if (known.phase == Phase::kCommitted && Holds(known, call)) Add(Told(known, event), next);
      return;
    default:
      return;
  }
}

void Model::Extend(const Known& known, const Event& event, std::vector<Known>& next) const {
  const Call& call = *event.call;
  const Answer& answer = call.answer;
  if (answer.said == Said::kNotReserved) return Add(Absent(known, event.when), next);
  if (answer.said != Said::kExtended) return Release(known, event, next);
  Maybe then = Reserved(known, event);
  if (!then.has_value() || !Holds(known, call) || answer.lease_end < known.told_end) return;
  // It ends at now + ttl, or where it ended if that is later.
  const std::int64_t latest = answer.lease_end - call.ttl;
  const bool moved =
      known.end_known && answer.lease_end > known.stored_end && !RestartedSinceGrant(known, event);
  then = At(*then, {event.when.lo, std::min(event.when.hi, latest)}, moved ? latest : 0);
  if (!then.has_value()) return;
  then->stored_end = then->told_end = answer.lease_end;
  then->end_known = true;
  if (call.has_checkpoint) then->checkpoint = Intern(call.checkpoint);
  Add(then, next);
}

void Model::Inspect(const Known& known, const Event& event, std::vector<Known>& next) const {
  const Answer& answer = event.call->answer;
  if (answer.state == State::kAbsent) return Add(Absent(known, event.when), next);
  if (known.phase == Phase::kAbsent) return;
  Maybe then = Told(known, event);
  if (!then.has_value() || (answer.attempt != 0 && answer.attempt != then->attempt)) return;
  if (then->phase == Phase::kCommitted) {
    if (then->late == -1) then->late = answer.late ? 1 : 0;
    if (then->late == (answer.late ? 1 : 0) && TellCommit(*then, event)) Add(then, next);
    return;
  }
  if (then->previous_fence == -1) then->previous_fence = answer.previous_fence;
  const bool as_told = then->previous_fence == answer.previous_fence &&
                       then->checkpoint == Intern(answer.checkpoint);
  if (as_told) Add(then, next);
}

// As it may have had effect. That it had none is not a step.
void Model::Unanswered(const Known& known, std::size_t index, std::vector<Known>& next) const {
  const Event& event = events_[index];
  const Call& call = *event.call;
  if (call.op == Op::kReserve) {
    if (const Maybe then = Absent(known, event.when)) Add(Grant(*then, index), next);
    if (known.phase != Phase::kReserved || rule_.hold || !SameFingerprint(known, call)) return;
    if (Maybe then = Lapsed(known, event)) {
      then->previous_fence = then->fence == 0 ? -1 : then->fence;
      Add(Grant(*then, index), next);
    }
    return;
  }
  Maybe then = Reserved(known, event);
  if (!then.has_value() || !Holds(known, call)) return;
  if (call.op == Op::kCommit) {
    then->phase = Phase::kCommitted;
    then->commit = static_cast<std::int32_t>(index);
    then->commit_time = then->now;
    then->expire_time = then->now + call.ttl;
    Add(then, next);
  } else if (call.op == Op::kRelease) {
    next.push_back(Emptied(*then));
  } else if (call.op == Op::kExtend) {
    then->stored_end = std::max(then->stored_end, then->now + call.ttl);
    then->told_end = std::max(then->told_end, then->stored_end);
    then->end_known = false;
    if (call.has_checkpoint) then->checkpoint = Intern(call.checkpoint);
    Add(then, next);
  }
}

std::string Model::Describe(const Known& known) const {
  const char* const phases[] = {"ABSENT", "reserved", "COMMITTED"};
  std::string text = absl::StrCat(phases[static_cast<int>(known.phase)], ", time at least ",
                                  known.now, ", highest fence ", known.max_fence);
  if (known.phase == Phase::kAbsent) return text;
  absl::StrAppend(&text, ", by #", CallAt(known.grant).id, ", fence ", known.fence, ", attempt ",
                  known.attempt, ", lease to ", known.stored_end,
                  known.end_known ? "" : " or later", ", told ", known.told_end);
  if (known.phase == Phase::kCommitted) {
    absl::StrAppend(&text, ", committed by #", CallAt(known.commit).id, ", until ",
                    known.expire_time, known.times_known ? "" : " or later");
  }
  return text;
}

}  // namespace onced::fault
