// Every state x operation x match of token, fingerprint, request_id and result x wait, against
// section 3 of docs/protocol.md, written down here a second time and in another form: a list of
// rules of which the first that matches holds.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/ledger/decide.h"
#include "tests/unit/ledger/ledger_builders.h"

namespace onced::ledger_test {
namespace {

// ---- The combinations ----

enum class Found { kAbsent, kPending, kLapsed, kHeld, kCommitted };
enum class Verb {
  kReserve,
  kCommit,
  kRelease,
  kExtend,
  kInspect,
  kResolve,  // As committed.
  kResolveRelease,
  kEvict
};
constexpr Verb kVerbs[] = {Verb::kReserve, Verb::kCommit,  Verb::kRelease,        Verb::kExtend,
                           Verb::kInspect, Verb::kResolve, Verb::kResolveRelease, Verb::kEvict};

// What is stored, and as what it counts.
struct Stored {
  const char* name;
  std::optional<Record> record;
  Found counts_as;
};

Record BeforeRestore(Record record) {
  record.token.epoch = kOldEpoch;
  return record;
}

const absl::Duration kLive = absl::Minutes(5);
const absl::Duration kOver = -absl::Minutes(5);

const Stored kStored[] = {
    {"absent", std::nullopt, Found::kAbsent},
    {"pending", PendingRecord(kLive), Found::kPending},
    {"pending_hold", HeldRecord(kLive), Found::kPending},
    {"lapsed_regrant", PendingRecord(kOver), Found::kLapsed},
    {"lapsed_hold", HeldRecord(kOver), Found::kHeld},
    {"committed", CommittedRecord(kLive), Found::kCommitted},
    {"expired_committed", CommittedRecord(kOver), Found::kAbsent},
    {"expired_lapsed", PendingRecord(kOver - absl::Hours(1)), Found::kAbsent},
    {"long_held", HeldRecord(kOver - absl::Hours(9999)), Found::kHeld},
    {"restored_pending", BeforeRestore(PendingRecord(kLive)), Found::kHeld},
    {"restored_lapsed", BeforeRestore(PendingRecord(kOver)), Found::kHeld},
    {"restored_long_lapsed", BeforeRestore(PendingRecord(kOver - absl::Hours(9))), Found::kHeld},
    {"restored_committed", BeforeRestore(CommittedRecord(kLive)), Found::kCommitted},
    {"restored_expired", BeforeRestore(CommittedRecord(kOver)), Found::kAbsent},
};

// Two texts of the record and of the request: equal or not, empty or not.
struct Texts {
  const char* name;
  std::string in_record;
  std::string in_request;
};
const Texts kTexts[] = {{"same", "s3cret-a", "s3cret-a"},  {"other", "s3cret-a", "s3cret-b"},
                        {"prefix", "s3cret-a", "s3cret-"}, {"none", "", ""},
                        {"only_record", "s3cret-a", ""},   {"only_request", "", "s3cret-a"}};

enum class Match { kSame, kOther, kOldEpoch, kSameBitsOtherEpoch, kGarbage };
constexpr Match kMatches[] = {Match::kSame, Match::kOther, Match::kOldEpoch,
                              Match::kSameBitsOtherEpoch, Match::kGarbage};

Token TokenOf(Match match, const std::optional<Record>& record) {
  const Token holders = record.has_value() ? record->token : kHolders;
  switch (match) {
    case Match::kSame:
      return holders;
    case Match::kOther:
      return kStrangers;
    case Match::kOldEpoch:
      return kRestoreds;
    case Match::kSameBitsOtherEpoch:
      return {.epoch = {holders.epoch.value + 1}, .bits = holders.bits};
    case Match::kGarbage:
      return kGarbage;
  }
  __builtin_unreachable();
}

struct Combination {
  Stored stored;
  Verb verb = Verb::kReserve;
  Texts fingerprint = kTexts[0];
  Texts request_id = kTexts[0];
  bool waits = false;
  Match match = Match::kSame;
  bool same_result = true;
  bool same_fence = true;
  bool force = false;
  OnLapse policy_now = OnLapse::kRegrant;

  std::string Name() const {
    return absl::StrCat(stored.name, " verb=", static_cast<int>(verb), " fp=", fingerprint.name,
                        " request_id=", request_id.name, " waits=", waits,
                        " token=", static_cast<int>(match), " same_result=", same_result,
                        " same_fence=", same_fence, " force=", force,
                        " policy=", static_cast<int>(policy_now));
  }
  bool SameFingerprint() const { return fingerprint.in_record == fingerprint.in_request; }
  bool Repeats() const {
    return !request_id.in_request.empty() && request_id.in_record == request_id.in_request;
  }
  // From before a restore, as far as one can see: of an epoch, but not of this one.
  bool DeadToken() const {
    const Epoch epoch = token().epoch;
    return epoch.value != 0 && epoch != kEpoch;
  }
  // A dead token is the holder's of what was committed before the restore, and of nothing else.
  bool HolderToken() const {
    return match == Match::kSame && (!DeadToken() || stored.counts_as == Found::kCommitted);
  }
  Token token() const { return TokenOf(match, stored.record); }

  bool ByOperator() const {
    return verb == Verb::kResolve || verb == Verb::kResolveRelease || verb == Verb::kEvict;
  }
  Fence fence() const {
    const std::int64_t found = stored.record.has_value() ? stored.record->fence.value : 30;
    return {same_fence ? found : found + 1};
  }

  std::optional<Record> record() const {
    std::optional<Record> record = stored.record;
    if (!record.has_value()) return record;
    record->fingerprint = fingerprint.in_record;
    if (auto* pending = std::get_if<Pending>(&record->phase)) {
      pending->request_id = request_id.in_record;
    }
    return record;
  }
  Operation operation() const {
    const StoredResult result(MakeResult(same_result ? "done" : "else"));
    switch (verb) {
      case Verb::kReserve:
        return ReserveOp{fingerprint.in_request, request_id.in_request, "bob", absl::Minutes(1),
                         waits ? absl::Seconds(1) : absl::ZeroDuration()};
      case Verb::kCommit:
        return CommitOp{token(), result, std::nullopt};
      case Verb::kRelease:
        return ReleaseOp{token()};
      case Verb::kExtend:
        return ExtendOp{token(), absl::Minutes(9), "checkpoint"};
      case Verb::kInspect:
        return InspectOp{};
      case Verb::kResolve:
        return ResolveOp{fence(), force, ResolveOp::Settlement{result, std::nullopt}};
      case Verb::kResolveRelease:
        return ResolveOp{fence(), force, std::nullopt};
      case Verb::kEvict:
        return EvictOp{fence(), force};
    }
    __builtin_unreachable();
  }
};

// Calls `visit` for all of them. What a verb doesn't have is not varied.
void ForEach(const std::function<void(const Combination&)>& visit) {
  for (const Stored& stored : kStored) {
    for (const OnLapse policy : {OnLapse::kRegrant, OnLapse::kHold}) {
      for (const Verb verb : kVerbs) {
        Combination c{.stored = stored, .verb = verb, .policy_now = policy};
        if (verb == Verb::kReserve) {
          for (const Texts& fingerprint : kTexts) {
            for (const Texts& request_id : kTexts) {
              for (const bool waits : {false, true}) {
                c.fingerprint = fingerprint, c.request_id = request_id, c.waits = waits;
                visit(c);
              }
            }
          }
        } else if (c.ByOperator()) {
          for (const bool same_fence : {true, false}) {
            for (const bool force : {true, false}) {
              for (const bool same_result : {true, false}) {
                c.same_fence = same_fence, c.force = force, c.same_result = same_result;
                visit(c);
              }
            }
          }
        } else {
          for (const Match match : kMatches) {
            for (const bool same_result : {true, false}) {
              c.match = match, c.same_result = same_result;
              visit(c);
            }
          }
        }
      }
    }
  }
}

Decision DecideOn(const Combination& c) {
  Policy policy = PolicyOfLater();
  policy.on_lapse = c.policy_now;
  return Decide(c.record(), c.operation(), kView, policy, kMint);
}

// ---- The oracle ----

using Test = bool (*)(const Combination&);
bool Always(const Combination&) { return true; }
bool OtherFingerprint(const Combination& c) { return !c.SameFingerprint(); }
bool Repeats(const Combination& c) { return c.Repeats(); }
bool Waits(const Combination& c) { return c.waits; }
bool DeadStranger(const Combination& c) { return !c.HolderToken() && c.DeadToken(); }
bool Stranger(const Combination& c) { return !c.HolderToken(); }
bool OtherFence(const Combination& c) { return !c.same_fence; }
bool Unforced(const Combination& c) { return !c.force; }
bool SameResultAgain(const Combination& c) { return c.same_result; }

struct Rule {
  Verb verb;
  Found found;
  Test test;
  const char* outcome;
};

// In the protocol's order; the first that matches holds.
const Rule kRules[] = {
    {Verb::kReserve, Found::kAbsent, Always, "write fresh 1"},
    {Verb::kReserve, Found::kPending, OtherFingerprint, "keep mismatch"},
    {Verb::kReserve, Found::kPending, Repeats, "keep fresh 3"},
    {Verb::kReserve, Found::kPending, Waits, "keep parked"},
    {Verb::kReserve, Found::kPending, Always, "keep conflict"},
    {Verb::kReserve, Found::kLapsed, OtherFingerprint, "keep mismatch"},
    {Verb::kReserve, Found::kLapsed, Always, "write fresh 4"},
    {Verb::kReserve, Found::kHeld, OtherFingerprint, "keep mismatch"},
    {Verb::kReserve, Found::kHeld, Always, "keep unresolved"},
    {Verb::kReserve, Found::kCommitted, OtherFingerprint, "keep mismatch"},
    {Verb::kReserve, Found::kCommitted, Always, "keep replayed"},

    {Verb::kCommit, Found::kPending, DeadStranger, "keep RESTORED"},
    {Verb::kCommit, Found::kPending, Stranger, "keep SUPERSEDED"},
    {Verb::kCommit, Found::kPending, Always, "write committed"},
    {Verb::kCommit, Found::kLapsed, DeadStranger, "keep RESTORED"},
    {Verb::kCommit, Found::kLapsed, Stranger, "keep SUPERSEDED"},
    {Verb::kCommit, Found::kLapsed, Always, "write committed late"},
    {Verb::kCommit, Found::kHeld, DeadStranger, "keep RESTORED"},
    {Verb::kCommit, Found::kHeld, Stranger, "keep SUPERSEDED"},
    {Verb::kCommit, Found::kHeld, Always, "write committed late"},
    {Verb::kCommit, Found::kCommitted, DeadStranger, "keep RESTORED"},
    {Verb::kCommit, Found::kCommitted, Stranger, "keep SUPERSEDED"},
    {Verb::kCommit, Found::kCommitted, SameResultAgain, "keep committed already"},
    {Verb::kCommit, Found::kCommitted, Always, "keep COMMITTED_DIFFERENTLY"},
    {Verb::kCommit, Found::kAbsent, Always, "keep NOT_RESERVED"},

    {Verb::kRelease, Found::kAbsent, Always, "keep released nothing"},
    {Verb::kRelease, Found::kPending, DeadStranger, "keep RESTORED"},
    {Verb::kRelease, Found::kPending, Stranger, "keep SUPERSEDED"},
    {Verb::kRelease, Found::kPending, Always, "erase released"},
    {Verb::kRelease, Found::kLapsed, DeadStranger, "keep RESTORED"},
    {Verb::kRelease, Found::kLapsed, Stranger, "keep SUPERSEDED"},
    {Verb::kRelease, Found::kLapsed, Always, "erase released"},
    {Verb::kRelease, Found::kHeld, DeadStranger, "keep RESTORED"},
    {Verb::kRelease, Found::kHeld, Stranger, "keep SUPERSEDED"},
    {Verb::kRelease, Found::kHeld, Always, "erase released"},
    {Verb::kRelease, Found::kCommitted, DeadStranger, "keep RESTORED"},
    {Verb::kRelease, Found::kCommitted, Stranger, "keep SUPERSEDED"},
    {Verb::kRelease, Found::kCommitted, Always, "keep ALREADY_COMMITTED"},

    {Verb::kExtend, Found::kAbsent, Always, "keep NOT_RESERVED"},
    {Verb::kExtend, Found::kPending, DeadStranger, "keep RESTORED"},
    {Verb::kExtend, Found::kPending, Stranger, "keep SUPERSEDED"},
    {Verb::kExtend, Found::kPending, Always, "write extended"},
    {Verb::kExtend, Found::kLapsed, DeadStranger, "keep RESTORED"},
    {Verb::kExtend, Found::kLapsed, Stranger, "keep SUPERSEDED"},
    {Verb::kExtend, Found::kLapsed, Always, "write extended"},
    {Verb::kExtend, Found::kHeld, DeadStranger, "keep RESTORED"},
    {Verb::kExtend, Found::kHeld, Stranger, "keep SUPERSEDED"},
    {Verb::kExtend, Found::kHeld, Always, "write extended"},
    {Verb::kExtend, Found::kCommitted, DeadStranger, "keep RESTORED"},
    {Verb::kExtend, Found::kCommitted, Stranger, "keep SUPERSEDED"},
    {Verb::kExtend, Found::kCommitted, Always, "keep ALREADY_COMMITTED"},

    {Verb::kInspect, Found::kAbsent, Always, "keep inspected ABSENT"},
    {Verb::kInspect, Found::kPending, Always, "keep inspected PENDING"},
    {Verb::kInspect, Found::kLapsed, Always, "keep inspected LAPSED"},
    {Verb::kInspect, Found::kHeld, Always, "keep inspected LAPSED"},
    {Verb::kInspect, Found::kCommitted, Always, "keep inspected COMMITTED"},

    {Verb::kResolve, Found::kAbsent, Always, "keep NOT_RESERVED"},
    {Verb::kResolve, Found::kPending, OtherFence, "keep FENCE_MISMATCH"},
    {Verb::kResolve, Found::kPending, Unforced, "keep HELD"},
    {Verb::kResolve, Found::kPending, Always, "write resolved committed"},
    {Verb::kResolve, Found::kLapsed, OtherFence, "keep FENCE_MISMATCH"},
    {Verb::kResolve, Found::kLapsed, Always, "write resolved committed late"},
    {Verb::kResolve, Found::kHeld, OtherFence, "keep FENCE_MISMATCH"},
    {Verb::kResolve, Found::kHeld, Always, "write resolved committed late"},
    {Verb::kResolve, Found::kCommitted, OtherFence, "keep FENCE_MISMATCH"},
    {Verb::kResolve, Found::kCommitted, SameResultAgain, "keep resolved committed already"},
    {Verb::kResolve, Found::kCommitted, Always, "keep ALREADY_COMMITTED"},

    {Verb::kResolveRelease, Found::kAbsent, Always, "keep NOT_RESERVED"},
    {Verb::kResolveRelease, Found::kPending, OtherFence, "keep FENCE_MISMATCH"},
    {Verb::kResolveRelease, Found::kPending, Unforced, "keep HELD"},
    {Verb::kResolveRelease, Found::kPending, Always, "erase resolved released"},
    {Verb::kResolveRelease, Found::kLapsed, OtherFence, "keep FENCE_MISMATCH"},
    {Verb::kResolveRelease, Found::kLapsed, Always, "erase resolved released"},
    {Verb::kResolveRelease, Found::kHeld, OtherFence, "keep FENCE_MISMATCH"},
    {Verb::kResolveRelease, Found::kHeld, Always, "erase resolved released"},
    {Verb::kResolveRelease, Found::kCommitted, OtherFence, "keep FENCE_MISMATCH"},
    {Verb::kResolveRelease, Found::kCommitted, Always, "keep ALREADY_COMMITTED"},

    {Verb::kEvict, Found::kAbsent, Always, "keep evicted ABSENT"},
    {Verb::kEvict, Found::kPending, OtherFence, "keep FENCE_MISMATCH"},
    {Verb::kEvict, Found::kPending, Unforced, "keep HELD"},
    {Verb::kEvict, Found::kPending, Always, "erase evicted PENDING"},
    {Verb::kEvict, Found::kLapsed, OtherFence, "keep FENCE_MISMATCH"},
    {Verb::kEvict, Found::kLapsed, Always, "erase evicted LAPSED"},
    {Verb::kEvict, Found::kHeld, OtherFence, "keep FENCE_MISMATCH"},
    {Verb::kEvict, Found::kHeld, Always, "erase evicted LAPSED"},
    {Verb::kEvict, Found::kCommitted, OtherFence, "keep FENCE_MISMATCH"},
    {Verb::kEvict, Found::kCommitted, Always, "erase evicted COMMITTED"},
};

std::string Expected(const Combination& c) {
  for (const Rule& rule : kRules) {
    if (rule.verb == c.verb && rule.found == c.stored.counts_as && rule.test(c)) {
      return rule.outcome;
    }
  }
  return "no rule";
}

// ---- What was decided, in the oracle's words ----

constexpr const char* kStateNames[] = {"ABSENT", "PENDING", "LAPSED", "COMMITTED"};

struct InWords {
  std::string operator()(const Fresh& r) const { return absl::StrCat("fresh ", r.attempt); }
  std::string operator()(const Replayed&) const { return "replayed"; }
  std::string operator()(const Conflict&) const { return "conflict"; }
  std::string operator()(const Mismatch&) const { return "mismatch"; }
  std::string operator()(const Unresolved&) const { return "unresolved"; }
  std::string operator()(const Parked&) const { return "parked"; }
  std::string operator()(const CommitDone& r) const {
    return absl::StrCat("committed", r.already_committed ? " already" : "", r.late ? " late" : "");
  }
  std::string operator()(const ReleaseDone& r) const {
    return r.released ? "released" : "released nothing";
  }
  std::string operator()(const ExtendDone&) const { return "extended"; }
  std::string operator()(const Inspected& r) const {
    return absl::StrCat("inspected ", kStateNames[static_cast<int>(r.state)]);
  }
  std::string operator()(const ResolveDone& r) const {
    return absl::StrCat("resolved ", r.committed.has_value() ? (*this)(*r.committed) : "released");
  }
  std::string operator()(const EvictDone& r) const {
    return absl::StrCat("evicted ", kStateNames[static_cast<int>(r.evicted)]);
  }
  std::string operator()(const Refused& r) const {
    if (r.reason == Refusal::kSuperseded) return "SUPERSEDED";
    if (r.reason == Refusal::kRestored) return "RESTORED";
    if (r.reason == Refusal::kCommittedDifferently) return "COMMITTED_DIFFERENTLY";
    if (r.reason == Refusal::kAlreadyCommitted) return "ALREADY_COMMITTED";
    if (r.reason == Refusal::kNotReserved) return "NOT_RESERVED";
    if (r.reason == Refusal::kFenceMismatch) return "FENCE_MISMATCH";
    if (r.reason == Refusal::kHeld) return "HELD";
    return "a refusal that is not the ledger's";
  }
};

std::string Words(const Decision& d) {
  const char* change = std::holds_alternative<Keep>(d.change)    ? "keep "
                       : std::holds_alternative<Write>(d.change) ? "write "
                                                                 : "erase ";
  return change + std::visit(InWords{}, d.reply);
}

// ---- The tests ----

TEST(DecideMatrix, FollowsTheOracle) {
  int seen = 0;
  ForEach([&](const Combination& c) {
    ++seen;
    const Decision got = DecideOn(c);
    EXPECT_EQ(Words(got), Expected(c)) << c.Name() << Show(got);
  });
  EXPECT_EQ(seen, 14 * 2 * (6 * 6 * 2 + 4 * 5 * 2 + 3 * 2 * 2 * 2));
}

TEST(DecideMatrix, GivesTheSameDecisionToTheSameArguments) {
  ForEach([](const Combination& c) { EXPECT_TRUE(DecideOn(c) == DecideOn(c)) << c.Name(); });
}

TEST(DecideMatrix, MintsForAGrantAndForNothingElse) {
  ForEach([](const Combination& c) {
    const Decision got = DecideOn(c);
    const auto* write = std::get_if<Write>(&got.change);
    const auto* fresh = std::get_if<Fresh>(&got.reply);
    if (write == nullptr) {
      EXPECT_FALSE(fresh != nullptr && fresh->token == kMint.token) << c.Name();
    } else if (c.verb == Verb::kReserve) {
      ASSERT_NE(fresh, nullptr) << c.Name();
      EXPECT_TRUE(write->record.token == kMint.token && fresh->token == kMint.token) << c.Name();
      EXPECT_TRUE(write->record.fence == kMint.fence && fresh->fence == kMint.fence) << c.Name();
    } else {  // Whose reservation it is never changes but by a grant.
      Record before = *c.record();
      before.phase = write->record.phase;
      EXPECT_TRUE(before == write->record) << c.Name() << Show(got);
    }
  });
}

TEST(DecideMatrix, ChangesNothingWithARefusal) {
  ForEach([](const Combination& c) {
    const Decision got = DecideOn(c);
    const auto* refused = std::get_if<Refused>(&got.reply);
    if (refused == nullptr) return;
    EXPECT_TRUE(std::holds_alternative<Keep>(got.change)) << c.Name();
    EXPECT_EQ(refused->state.has_value(), c.stored.counts_as != Found::kAbsent) << c.Name();
    EXPECT_EQ(refused->fence.has_value(), c.stored.counts_as != Found::kAbsent) << c.Name();
  });
}

TEST(DecideMatrix, PutsAnotherFingerprintFirst) {
  ForEach([](const Combination& c) {
    if (c.verb != Verb::kReserve || c.SameFingerprint()) return;
    if (c.stored.counts_as == Found::kAbsent) return;
    EXPECT_TRUE(std::holds_alternative<Mismatch>(DecideOn(c).reply)) << c.Name();
  });
}

// The text of a reply, but for what a caller may give in the clear: Inspect shows fingerprints.
std::string SecretsIn(Reply reply) {
  if (auto* inspected = std::get_if<Inspected>(&reply); inspected && inspected->record) {
    inspected->record->fingerprint.clear();
  }
  return Show(reply);
}

// A request_id is in no answer, and a token in that to its holder alone.
TEST(DecideMatrix, TellsNoSecrets) {
  ForEach([](const Combination& c) {
    const Reply reply = DecideOn(c).reply;
    const std::string text = SecretsIn(reply);
    EXPECT_FALSE(absl::StrContains(text, "s3cret")) << c.Name() << text;
    if (std::holds_alternative<Fresh>(reply) || !c.stored.record.has_value()) return;
    EXPECT_FALSE(absl::StrContains(text, c.stored.record->token.ToText())) << c.Name() << text;
  });
}

}  // namespace
}  // namespace onced::ledger_test
