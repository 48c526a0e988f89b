// Section 3 of docs/protocol.md, row for row and in its order: what was found, what was asked,
// and the whole decision. Times are at kNow, in epoch kEpoch.
#include "server/ledger/decide.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "tests/unit/ledger/ledger_builders.h"

namespace onced::ledger_test {
namespace {

const absl::Duration kLive = absl::Seconds(5);  // Until a lease or a retention ends.
const absl::Duration kLast = absl::Milliseconds(400);
const absl::Duration kOver = -absl::Seconds(5);
const absl::Duration kTtl = absl::Seconds(20);
const absl::Duration kWait = absl::Seconds(3);

// ---- What was found ----
const Record kPending = PendingRecord(kLive);
const Record kLapsed = PendingRecord(kOver);
const Record kHeld = HeldRecord(kOver);
const Record kCommitted = CommittedRecord(kLive);
const Record kGoneLapsed = PendingRecord(-absl::Hours(1));
const Record kGoneCommitted = CommittedRecord(kOver);
// Granted before a restore: held, whatever its lease and its policy.
const Record kRestored = With(kPending, [](Record& r) { r.token.epoch = kOldEpoch; });
const Record kRestoredCommit = With(kCommitted, [](Record& r) { r.token.epoch = kOldEpoch; });
const Record kTakenOver = With(kPending, [](Record& r) {
  PendingOf(r).previous = Previous{{20}, "zoe", kNow - absl::Minutes(2)};
  PendingOf(r).checkpoint = "half";
});
const Record kLapsedHalfway = With(kLapsed, [](Record& r) { PendingOf(r).checkpoint = "half"; });

// ---- What was asked ----
ReserveOp Reserve(std::string fingerprint, std::string request_id = "mine",
                  absl::Duration wait = absl::ZeroDuration()) {
  return {std::move(fingerprint), std::move(request_id), "bob", kTtl, wait};
}
CommitOp Commit(const Token& token, Result result = MakeResult("done"),
                std::optional<absl::Duration> retention = absl::Seconds(60)) {
  return {token, StoredResult(std::move(result)), retention};
}
ReleaseOp Release(const Token& token) { return {token}; }
ExtendOp Extend(const Token& token, absl::Duration ttl = kTtl,
                std::optional<std::string> checkpoint = std::nullopt) {
  return {token, ttl, std::move(checkpoint)};
}

ResolveOp ResolveAs(std::int64_t fence, Result result = MakeResult("done"), bool force = false,
                    std::optional<absl::Duration> retention = absl::Seconds(60)) {
  return {{fence}, force, ResolveOp::Settlement{StoredResult(std::move(result)), retention}};
}
ResolveOp ResolveReleased(std::int64_t fence, bool force = false) {
  return {{fence}, force, std::nullopt};
}
EvictOp Evict(std::int64_t fence, bool force = false) { return {{fence}, force}; }

// ---- What is decided ----
// Bob's grant, under the policy of later.
Record BobsRecord(std::uint32_t attempt) {
  const Policy policy = PolicyOfLater();
  return {.token = kMint.token,
          .fence = kMint.fence,
          .attempt = attempt,
          .owner = "bob",
          .fingerprint = "fp",
          .reserve_time = kNow,
          .phase = Pending{.request_id = "mine",
                           .lease_expire_time = kNow + kTtl,
                           .on_lapse = policy.on_lapse,
                           .lapsed_retention = policy.lapsed_retention,
                           .retention = policy.retention}};
}
Decision Grants(Record record) {
  Fresh fresh{record.token, record.fence, record.attempt, kNow + kTtl};
  fresh.previous = PendingOf(record).previous;
  fresh.checkpoint = PendingOf(record).checkpoint;
  return Writes(std::move(record), std::move(fresh));
}
// From alice, whose lease lapsed.
Decision TakesOver(std::string checkpoint = "") {
  return Grants(With(BobsRecord(4), [&](Record& r) {
    PendingOf(r).previous = Previous{{30}, "alice", kNow + kOver};
    PendingOf(r).checkpoint = std::move(checkpoint);
  }));
}
Holder Alice(State state, absl::Duration lease_rest) {
  return {state, "alice", {30}, kNow - absl::Minutes(1), kNow + lease_rest};
}
Holder AliceCommitted() {
  return {State::kCommitted, "alice", {30}, kNow - absl::Minutes(1), std::nullopt};
}
Decision Refuses(Refusal reason, State state) { return Keeps(Refused{reason, state, Fence{30}}); }

Decision Commits(Record record, bool late, absl::Duration retention = absl::Seconds(60),
                 Result result = MakeResult("done")) {
  const CommitDone done{.commit_time = kNow,
                        .expire_time = kNow + retention,
                        .late = late,
                        .body_omitted = result.body_omitted,
                        .headers_omitted = result.headers_omitted};
  record.phase = Committed{kNow, kNow + retention, late, StoredResult(std::move(result))};
  return Writes(std::move(record), done);
}
CommitDone DoneBefore() {
  return {.commit_time = kNow - absl::Seconds(30),
          .expire_time = kNow + kLive,
          .already_committed = true};
}
// By an operator: the record is as after a commit of its holder's.
Decision Resolves(Record record, bool late, absl::Duration retention = absl::Seconds(60)) {
  Decision decision = Commits(std::move(record), late, retention);
  decision.reply = ResolveDone{std::get<CommitDone>(decision.reply)};
  return decision;
}
Decision Extends(Record record, absl::Duration lease_rest) {
  PendingOf(record).lease_expire_time = kNow + lease_rest;
  return Writes(std::move(record), ExtendDone{kNow + lease_rest});
}
// Everything known, but for the secrets.
Decision Shows(State state, Record record, std::optional<absl::Time> lease,
               std::optional<absl::Time> expire) {
  record.token = {};
  if (auto* pending = std::get_if<Pending>(&record.phase)) pending->request_id.clear();
  return Keeps(Inspected{state, record, lease, expire});
}

struct Row {
  const char* name;
  std::optional<Record> found;
  Operation op;
  Decision want;
  friend void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }
};

// Of which the caller, or the server, left things out.
const Result kOmitted{.status_code = 201,
                      .headers = {{"a", "1"}},
                      .headers_omitted = true,
                      .body_size = 5'000'000,
                      .body_sha256 = std::string(32, 's'),
                      .body_omitted = true};

// clang-format off
const Row kRows[] = {
    // Reserve.
    {"reserve_absent", std::nullopt, Reserve("fp"), Grants(BobsRecord(1))},
    {"reserve_absent_waits_not", std::nullopt, Reserve("fp", "mine", kWait), Grants(BobsRecord(1))},
    {"reserve_expired_commit", kGoneCommitted, Reserve("fp"), Grants(BobsRecord(1))},
    {"reserve_expired_commit_other_fp", With(kGoneCommitted, [](Record& r) { r.fingerprint = "x"; }),
     Reserve("fp"), Grants(BobsRecord(1))},
    {"reserve_expired_lapse", kGoneLapsed, Reserve("fp"), Grants(BobsRecord(1))},
    {"reserve_expired_lapse_same_id", kGoneLapsed, Reserve("fp", "mine"), Grants(BobsRecord(1))},
    {"reserve_expired_lapse_drops_checkpoint",
     With(kGoneLapsed, [](Record& r) { PendingOf(r).checkpoint = "half"; }), Reserve("fp"),
     Grants(BobsRecord(1))},

    {"reserve_pending_other_fp", kPending, Reserve("x"),
     Keeps(Mismatch{Alice(State::kPending, kLive)})},
    {"reserve_pending_empty_fp", kPending, Reserve(""),
     Keeps(Mismatch{Alice(State::kPending, kLive)})},
    {"reserve_pending_found_empty_fp", With(kPending, [](Record& r) { r.fingerprint = ""; }),
     Reserve("fp"), Keeps(Mismatch{Alice(State::kPending, kLive)})},
    {"reserve_pending_other_fp_same_id", kPending, Reserve("x", "rid"),
     Keeps(Mismatch{Alice(State::kPending, kLive)})},
    {"reserve_pending_other_fp_waiting", kPending, Reserve("x", "mine", kWait),
     Keeps(Mismatch{Alice(State::kPending, kLive)})},
    {"reserve_pending_same_id", kPending, Reserve("fp", "rid"),
     Keeps(Fresh{kHolders, {30}, 3, kNow + kLive})},
    {"reserve_pending_same_id_waiting", kPending, Reserve("fp", "rid", kWait),
     Keeps(Fresh{kHolders, {30}, 3, kNow + kLive})},
    {"reserve_pending_same_id_taken_over", kTakenOver, Reserve("fp", "rid"),
     Keeps(Fresh{kHolders, {30}, 3, kNow + kLive, Previous{{20}, "zoe", kNow - absl::Minutes(2)},
                 "half"})},
    {"reserve_pending_waiting", kPending, Reserve("fp", "mine", kWait), Keeps(Parked{})},
    {"reserve_pending_waiting_a_tick", kPending, Reserve("fp", "mine", kTick), Keeps(Parked{})},
    {"reserve_pending", kPending, Reserve("fp"),
     Keeps(Conflict{Alice(State::kPending, kLive), absl::Milliseconds(500)})},
    {"reserve_pending_soon_over", PendingRecord(kLast), Reserve("fp"),
     Keeps(Conflict{Alice(State::kPending, kLast), absl::Milliseconds(200)})},
    {"reserve_pending_no_ids", With(kPending, [](Record& r) { PendingOf(r).request_id = ""; }),
     Reserve("fp", ""), Keeps(Conflict{Alice(State::kPending, kLive), absl::Milliseconds(500)})},

    {"reserve_lapsed_other_fp", kLapsed, Reserve("x"),
     Keeps(Mismatch{Alice(State::kLapsed, kOver)})},
    {"reserve_lapsed_regrant", kLapsed, Reserve("fp"), TakesOver()},
    {"reserve_lapsed_regrant_waits_not", kLapsed, Reserve("fp", "mine", kWait), TakesOver()},
    {"reserve_lapsed_regrant_checkpoint", kLapsedHalfway, Reserve("fp"), TakesOver("half")},
    {"reserve_lapsed_regrant_same_id", With(kLapsed, [](Record& r) { PendingOf(r).request_id = "mine"; }),
     Reserve("fp", "mine"), TakesOver()},
    {"reserve_held_other_fp", kHeld, Reserve("x"), Keeps(Mismatch{Alice(State::kLapsed, kOver)})},
    {"reserve_held", kHeld, Reserve("fp"), Keeps(Unresolved{Alice(State::kLapsed, kOver)})},
    {"reserve_held_same_id", kHeld, Reserve("fp", "rid"),
     Keeps(Unresolved{Alice(State::kLapsed, kOver)})},
    {"reserve_held_waits_not", kHeld, Reserve("fp", "mine", kWait),
     Keeps(Unresolved{Alice(State::kLapsed, kOver)})},
    {"reserve_restored", kRestored, Reserve("fp"),
     Keeps(Unresolved{Alice(State::kLapsed, kLive)})},
    {"reserve_restored_same_id", kRestored, Reserve("fp", "rid"),
     Keeps(Unresolved{Alice(State::kLapsed, kLive)})},
    {"reserve_restored_other_fp", kRestored, Reserve("x"),
     Keeps(Mismatch{Alice(State::kLapsed, kLive)})},

    {"reserve_committed_other_fp", kCommitted, Reserve("x"), Keeps(Mismatch{AliceCommitted()})},
    {"reserve_committed", kCommitted, Reserve("fp"),
     Keeps(Replayed{StoredResult(MakeResult("done")), kNow - absl::Seconds(30), kNow + kLive, {30}})},
    {"reserve_committed_waits_not", kCommitted, Reserve("fp", "mine", kWait),
     Keeps(Replayed{StoredResult(MakeResult("done")), kNow - absl::Seconds(30), kNow + kLive, {30}})},
    {"reserve_committed_before_restore", kRestoredCommit, Reserve("fp"),
     Keeps(Replayed{StoredResult(MakeResult("done")), kNow - absl::Seconds(30), kNow + kLive, {30}})},

    // Commit.
    {"commit_pending", kPending, Commit(kHolders), Commits(kPending, false)},
    {"commit_lapsed", kLapsed, Commit(kHolders), Commits(kLapsed, true)},
    {"commit_held", kHeld, Commit(kHolders), Commits(kHeld, true)},
    // A token from before a restore is dead: perhaps another was granted after the backup's cut.
    {"commit_restored_holder", kRestored, Commit(kRestored.token),
     Refuses(Refusal::kRestored, State::kLapsed)},
    {"commit_omitted_body", kPending, Commit(kHolders, kOmitted),
     Commits(kPending, false, absl::Seconds(60), kOmitted)},
    {"commit_retention_preset", kPending, Commit(kHolders, MakeResult("done"), std::nullopt),
     Commits(kPending, false, absl::Seconds(100))},
    {"commit_retention_low", kPending, Commit(kHolders, MakeResult("done"), absl::Seconds(1)),
     Commits(kPending, false, absl::Seconds(10))},
    {"commit_retention_high", kPending, Commit(kHolders, MakeResult("done"), absl::Hours(9)),
     Commits(kPending, false, absl::Seconds(1000))},
    {"commit_pending_stranger", kPending, Commit(kStrangers),
     Refuses(Refusal::kSuperseded, State::kPending)},
    {"commit_pending_garbage", kPending, Commit(kGarbage),
     Refuses(Refusal::kSuperseded, State::kPending)},
    {"commit_pending_restored", kPending, Commit(kRestoreds),
     Refuses(Refusal::kRestored, State::kPending)},
    {"commit_pending_same_bits_old_epoch", kPending, Commit(MakeToken(1, kOldEpoch)),
     Refuses(Refusal::kRestored, State::kPending)},
    {"commit_lapsed_stranger", kLapsed, Commit(kStrangers),
     Refuses(Refusal::kSuperseded, State::kLapsed)},
    {"commit_lapsed_restored", kLapsed, Commit(kRestoreds),
     Refuses(Refusal::kRestored, State::kLapsed)},
    {"commit_restored_stranger", kRestored, Commit(kStrangers),
     Refuses(Refusal::kSuperseded, State::kLapsed)},
    {"commit_committed_stranger", kCommitted, Commit(kStrangers),
     Refuses(Refusal::kSuperseded, State::kCommitted)},
    {"commit_committed_restored", kCommitted, Commit(kRestoreds),
     Refuses(Refusal::kRestored, State::kCommitted)},
    {"commit_committed_same", kCommitted, Commit(kHolders), Keeps(DoneBefore())},
    {"commit_committed_same_other_retention", kCommitted,
     Commit(kHolders, MakeResult("done"), absl::Hours(9)), Keeps(DoneBefore())},
    {"commit_committed_same_before_restore", kRestoredCommit, Commit(kRestoredCommit.token),
     Keeps(DoneBefore())},
    {"commit_committed_same_was_late", With(kCommitted, [](Record& r) { CommittedOf(r).late = true; }),
     Commit(kHolders), Keeps(With(DoneBefore(), [](CommitDone& d) { d.late = true; }))},
    {"commit_committed_same_was_omitted",
     With(kCommitted, [](Record& r) { CommittedOf(r).result = StoredResult(kOmitted); }),
     Commit(kHolders, With(kOmitted, [](Result& r) { r.headers_omitted = false; })),
     Keeps(With(DoneBefore(), [](CommitDone& d) { d.body_omitted = d.headers_omitted = true; }))},
    {"commit_committed_other_body", kCommitted, Commit(kHolders, MakeResult("else")),
     Refuses(Refusal::kCommittedDifferently, State::kCommitted)},
    {"commit_committed_other_status", kCommitted,
     Commit(kHolders, With(MakeResult("done"), [](Result& r) { r.status_code = 200; })),
     Refuses(Refusal::kCommittedDifferently, State::kCommitted)},
    {"commit_committed_other_header", kCommitted,
     Commit(kHolders, With(MakeResult("done"), [](Result& r) { r.headers[0].value = "2"; })),
     Refuses(Refusal::kCommittedDifferently, State::kCommitted)},
    {"commit_committed_other_header_order", kCommitted,
     Commit(kHolders, With(MakeResult("done"), [](Result& r) { std::swap(r.headers[1], r.headers[2]); })),
     Refuses(Refusal::kCommittedDifferently, State::kCommitted)},
    {"commit_committed_fewer_headers", kCommitted,
     Commit(kHolders, With(MakeResult("done"), [](Result& r) { r.headers.pop_back(); })),
     Refuses(Refusal::kCommittedDifferently, State::kCommitted)},
    {"commit_committed_other_size", kCommitted,
     Commit(kHolders, With(MakeResult("done"), [](Result& r) { r.body_size += 1; })),
     Refuses(Refusal::kCommittedDifferently, State::kCommitted)},
    {"commit_absent", std::nullopt, Commit(kHolders), Keeps(Refused{Refusal::kNotReserved})},
    {"commit_expired_commit", kGoneCommitted, Commit(kHolders),
     Keeps(Refused{Refusal::kNotReserved})},
    {"commit_expired_lapse", kGoneLapsed, Commit(kHolders), Keeps(Refused{Refusal::kNotReserved})},

    // Release.
    {"release_pending", kPending, Release(kHolders), Erases(ReleaseDone{true})},
    {"release_lapsed", kLapsed, Release(kHolders), Erases(ReleaseDone{true})},
    {"release_held", kHeld, Release(kHolders), Erases(ReleaseDone{true})},
    {"release_restored_holder", kRestored, Release(kRestored.token),
     Refuses(Refusal::kRestored, State::kLapsed)},
    {"release_absent", std::nullopt, Release(kHolders), Keeps(ReleaseDone{false})},
    {"release_expired_lapse", kGoneLapsed, Release(kHolders), Keeps(ReleaseDone{false})},
    {"release_expired_commit", kGoneCommitted, Release(kHolders), Keeps(ReleaseDone{false})},
    {"release_pending_stranger", kPending, Release(kStrangers),
     Refuses(Refusal::kSuperseded, State::kPending)},
    {"release_pending_garbage", kPending, Release(kGarbage),
     Refuses(Refusal::kSuperseded, State::kPending)},
    {"release_lapsed_stranger", kLapsed, Release(kStrangers),
     Refuses(Refusal::kSuperseded, State::kLapsed)},
    {"release_committed_stranger", kCommitted, Release(kStrangers),
     Refuses(Refusal::kSuperseded, State::kCommitted)},
    {"release_pending_restored", kPending, Release(kRestoreds),
     Refuses(Refusal::kRestored, State::kPending)},
    {"release_committed", kCommitted, Release(kHolders),
     Refuses(Refusal::kAlreadyCommitted, State::kCommitted)},

    // Extend.
    {"extend_pending", kPending, Extend(kHolders), Extends(kPending, kTtl)},
    {"extend_pending_delayed_duplicate", kPending, Extend(kHolders, absl::Seconds(1)),
     Extends(kPending, kLive)},
    {"extend_lapsed", kLapsed, Extend(kHolders), Extends(kLapsed, kTtl)},
    {"extend_held", kHeld, Extend(kHolders), Extends(kHeld, kTtl)},
    {"extend_checkpoint", kPending, Extend(kHolders, kTtl, "half"),
     Extends(With(kPending, [](Record& r) { PendingOf(r).checkpoint = "half"; }), kTtl)},
    {"extend_checkpoint_kept", kTakenOver, Extend(kHolders), Extends(kTakenOver, kTtl)},
    {"extend_checkpoint_replaced", kTakenOver, Extend(kHolders, kTtl, "all"),
     Extends(With(kTakenOver, [](Record& r) { PendingOf(r).checkpoint = "all"; }), kTtl)},
    {"extend_checkpoint_removed", kTakenOver, Extend(kHolders, kTtl, ""),
     Extends(With(kTakenOver, [](Record& r) { PendingOf(r).checkpoint = ""; }), kTtl)},
    {"extend_pending_stranger", kPending, Extend(kStrangers),
     Refuses(Refusal::kSuperseded, State::kPending)},
    {"extend_pending_restored", kPending, Extend(kRestoreds),
     Refuses(Refusal::kRestored, State::kPending)},
    {"extend_restored_holder", kRestored, Extend(kRestored.token),
     Refuses(Refusal::kRestored, State::kLapsed)},
    {"extend_lapsed_stranger", kLapsed, Extend(kStrangers),
     Refuses(Refusal::kSuperseded, State::kLapsed)},
    {"extend_committed_stranger", kCommitted, Extend(kStrangers),
     Refuses(Refusal::kSuperseded, State::kCommitted)},
    {"extend_committed", kCommitted, Extend(kHolders),
     Refuses(Refusal::kAlreadyCommitted, State::kCommitted)},
    {"extend_committed_restored", kCommitted, Extend(kRestoreds),
     Refuses(Refusal::kRestored, State::kCommitted)},
    {"extend_absent", std::nullopt, Extend(kHolders), Keeps(Refused{Refusal::kNotReserved})},
    {"extend_expired_lapse", kGoneLapsed, Extend(kHolders), Keeps(Refused{Refusal::kNotReserved})},
    {"extend_expired_commit", kGoneCommitted, Extend(kHolders),
     Keeps(Refused{Refusal::kNotReserved})},

    // Inspect.
    {"inspect_absent", std::nullopt, InspectOp{}, Keeps(Inspected{})},
    {"inspect_expired_commit", kGoneCommitted, InspectOp{}, Keeps(Inspected{})},
    {"inspect_expired_lapse", kGoneLapsed, InspectOp{}, Keeps(Inspected{})},
    {"inspect_pending", kPending, InspectOp{},
     Shows(State::kPending, kPending, kNow + kLive, kNow + kLive + absl::Hours(1))},
    {"inspect_pending_held", HeldRecord(kLive), InspectOp{},
     Shows(State::kPending, HeldRecord(kLive), kNow + kLive, std::nullopt)},
    {"inspect_lapsed", kLapsed, InspectOp{},
     Shows(State::kLapsed, kLapsed, kNow + kOver, kNow + kOver + absl::Hours(1))},
    {"inspect_held", kHeld, InspectOp{},
     Shows(State::kLapsed, kHeld, kNow + kOver, std::nullopt)},
    {"inspect_restored", kRestored, InspectOp{},
     Shows(State::kLapsed, kRestored, kNow + kLive, std::nullopt)},
    {"inspect_committed", kCommitted, InspectOp{},
     Shows(State::kCommitted, kCommitted, std::nullopt, kNow + kLive)},

    // Resolve.
    {"resolve_absent", std::nullopt, ResolveAs(30), Keeps(Refused{Refusal::kNotReserved})},
    {"resolve_absent_release", std::nullopt, ResolveReleased(30),
     Keeps(Refused{Refusal::kNotReserved})},
    {"resolve_expired_lapse", kGoneLapsed, ResolveAs(30), Keeps(Refused{Refusal::kNotReserved})},
    {"resolve_expired_commit", kGoneCommitted, ResolveAs(30),
     Keeps(Refused{Refusal::kNotReserved})},
    {"resolve_pending_other_fence", kPending, ResolveAs(29, MakeResult("done"), true),
     Refuses(Refusal::kFenceMismatch, State::kPending)},
    {"resolve_pending_higher_fence", kPending, ResolveReleased(31, true),
     Refuses(Refusal::kFenceMismatch, State::kPending)},
    {"resolve_pending", kPending, ResolveAs(30), Refuses(Refusal::kHeld, State::kPending)},
    {"resolve_pending_release", kPending, ResolveReleased(30),
     Refuses(Refusal::kHeld, State::kPending)},
    {"resolve_pending_forced", kPending, ResolveAs(30, MakeResult("done"), true),
     Resolves(kPending, false)},
    {"resolve_pending_release_forced", kPending, ResolveReleased(30, true), Erases(ResolveDone{})},
    {"resolve_lapsed_other_fence", kLapsed, ResolveAs(29),
     Refuses(Refusal::kFenceMismatch, State::kLapsed)},
    {"resolve_lapsed", kLapsed, ResolveAs(30), Resolves(kLapsed, true)},
    {"resolve_lapsed_forced", kLapsed, ResolveAs(30, MakeResult("done"), true),
     Resolves(kLapsed, true)},
    {"resolve_lapsed_release", kLapsed, ResolveReleased(30), Erases(ResolveDone{})},
    {"resolve_held_other_fence", kHeld, ResolveReleased(29),
     Refuses(Refusal::kFenceMismatch, State::kLapsed)},
    {"resolve_held", kHeld, ResolveAs(30), Resolves(kHeld, true)},
    {"resolve_held_release", kHeld, ResolveReleased(30), Erases(ResolveDone{})},
    {"resolve_restored", kRestored, ResolveAs(30), Resolves(kRestored, true)},
    {"resolve_restored_release", kRestored, ResolveReleased(30), Erases(ResolveDone{})},
    {"resolve_retention_preset", kHeld, ResolveAs(30, MakeResult("done"), false, std::nullopt),
     Resolves(kHeld, true, absl::Seconds(100))},
    {"resolve_retention_low", kHeld, ResolveAs(30, MakeResult("done"), false, absl::Seconds(1)),
     Resolves(kHeld, true, absl::Seconds(10))},
    {"resolve_retention_high", kHeld, ResolveAs(30, MakeResult("done"), false, absl::Hours(9)),
     Resolves(kHeld, true, absl::Seconds(1000))},
    {"resolve_committed_other_fence", kCommitted, ResolveAs(29),
     Refuses(Refusal::kFenceMismatch, State::kCommitted)},
    {"resolve_committed_same", kCommitted, ResolveAs(30), Keeps(ResolveDone{DoneBefore()})},
    {"resolve_committed_same_before_restore", kRestoredCommit, ResolveAs(30),
     Keeps(ResolveDone{DoneBefore()})},
    {"resolve_committed_otherwise", kCommitted, ResolveAs(30, MakeResult("else")),
     Refuses(Refusal::kAlreadyCommitted, State::kCommitted)},
    {"resolve_committed_otherwise_forced", kCommitted, ResolveAs(30, MakeResult("else"), true),
     Refuses(Refusal::kAlreadyCommitted, State::kCommitted)},
    {"resolve_committed_release", kCommitted, ResolveReleased(30),
     Refuses(Refusal::kAlreadyCommitted, State::kCommitted)},
    {"resolve_committed_release_forced", kCommitted, ResolveReleased(30, true),
     Refuses(Refusal::kAlreadyCommitted, State::kCommitted)},

    // Evict.
    {"evict_absent", std::nullopt, Evict(30), Keeps(EvictDone{})},
    {"evict_expired_lapse", kGoneLapsed, Evict(30), Keeps(EvictDone{})},
    {"evict_expired_commit", kGoneCommitted, Evict(29), Keeps(EvictDone{})},
    {"evict_pending_other_fence", kPending, Evict(29, true),
     Refuses(Refusal::kFenceMismatch, State::kPending)},
    {"evict_pending", kPending, Evict(30), Refuses(Refusal::kHeld, State::kPending)},
    {"evict_pending_forced", kPending, Evict(30, true), Erases(EvictDone{State::kPending})},
    {"evict_lapsed_other_fence", kLapsed, Evict(31),
     Refuses(Refusal::kFenceMismatch, State::kLapsed)},
    {"evict_lapsed", kLapsed, Evict(30), Erases(EvictDone{State::kLapsed})},
    {"evict_held", kHeld, Evict(30), Erases(EvictDone{State::kLapsed})},
    {"evict_restored", kRestored, Evict(30), Erases(EvictDone{State::kLapsed})},
    {"evict_committed_other_fence", kCommitted, Evict(29, true),
     Refuses(Refusal::kFenceMismatch, State::kCommitted)},
    {"evict_committed", kCommitted, Evict(30), Erases(EvictDone{State::kCommitted})},
    {"evict_committed_before_restore", kRestoredCommit, Evict(30),
     Erases(EvictDone{State::kCommitted})},
};
// clang-format on

class DecideTest : public testing::TestWithParam<Row> {};

TEST_P(DecideTest, FollowsTheContract) {
  const Row& row = GetParam();
  // The policy of now differs from that of the record's grant in all that the record copies.
  const Decision got = Decide(row.found, row.op, kView, PolicyOfLater(), kMint);
  EXPECT_TRUE(got == row.want) << "got:" << Show(got) << "want:" << Show(row.want);
}

INSTANTIATE_TEST_SUITE_P(Rows, DecideTest, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace

}  // namespace onced::ledger_test
