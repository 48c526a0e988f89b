#include "tests/sim/checker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace onced::sim {
namespace {

constexpr const char* kOpNames[] = {"Reserve", "Commit",  "Release", "Extend",
                                    "Inspect", "Resolve", "Evict"};
constexpr const char* kSaidNames[] = {"nothing",
                                      "OUTCOME_UNKNOWN",
                                      "an error",
                                      "FRESH",
                                      "REPLAYED",
                                      "CONFLICT",
                                      "MISMATCH",
                                      "UNRESOLVED",
                                      "committed",
                                      "released",
                                      "nothing to release",
                                      "extended",
                                      "inspected",
                                      "evicted",
                                      "nothing to evict",
                                      "SUPERSEDED",
                                      "COMMITTED_DIFFERENTLY",
                                      "ALREADY_COMMITTED",
                                      "FENCE_MISMATCH",
                                      "HELD",
                                      "NOT_RESERVED"};
constexpr const char* kSeenNames[] = {"unsaid", "ABSENT", "PENDING", "LAPSED", "COMMITTED"};

bool Judged(const Call& call) {
  return call.said != Said::kNothing && call.said != Said::kUnknown && call.said != Said::kNotDone;
}
// Done for sure, for all we know not, or perhaps.
bool MayBeDone(const Call& call) {
  return call.said == Said::kNothing || call.said == Said::kUnknown;
}
bool Ends(const Call& call) {
  return call.said == Said::kCommitted || call.said == Said::kReleased ||
         call.said == Said::kEvicted;
}
// An operator's, who names a fence and has no token.
bool NamesFence(const Call& call) { return call.op == Op::kResolve || call.op == Op::kEvict; }
// It worked, with the token that it gave or was given.
bool Succeeded(const Call& call) {
  return call.said == Said::kFresh || call.said == Said::kExtended || Ends(call);
}

// `a` was judged before `b`, whatever happened in between.
bool Before(const Call& a, const Call& b) {
  return a.answered < b.sent || (Judged(a) && Judged(b) && a.server_time < b.server_time);
}

// All that is known of one grant.
struct Grant {
  std::string token;
  std::int64_t fence = 0;
  std::string request_id;
  const Call* first = nullptr;      // The first answer that told of it.
  std::vector<const Call*> leases;  // What gave or lengthened its lease.
  std::vector<const Call*> ends;    // Commits and releases that worked or may have.
  const Call* committed = nullptr;  // The first answer from which it is sure, own or a replay.
};

// `call` gave it, or was about it.
bool IsOf(const Grant& grant, const Call& call) {
  if (NamesFence(call)) return call.named_fence == grant.fence;
  return (call.op == Op::kReserve ? call.granted_token : call.token) == grant.token;
}

// The history of one key.
class KeyChecker {
 public:
  KeyChecker(std::string key, const KeyRules& rules, std::vector<const Call*> calls,
             std::vector<std::string>& broken)
      : key_(std::move(key)), rules_(rules), calls_(std::move(calls)), broken_(broken) {}

  void Run() {
    CollectGrants();
    for (const Call* call : calls_) {
      if (!Judged(*call)) continue;
      CheckReplay(*call);
      for (const Grant& grant : grants_) CheckAgainst(grant, *call);
    }
    for (const Grant& older : grants_) {
      for (const Grant& newer : grants_) CheckTwo(older, newer);
    }
    CheckOrder();
  }

 private:
  void Broken(absl::string_view rule, const Call& a, const Call& b) {
    broken_.push_back(absl::StrCat(key_, ": ", rule, "\n    ", Describe(a), "\n    ", Describe(b)));
  }

  // ---- What happened ----

  Grant* FindGrant(const std::string& token) {
    for (Grant& grant : grants_) {
      if (grant.token == token) return &grant;
    }
    return nullptr;
  }
  void CollectGrants() {
    for (const Call* call : calls_) {
      if (call->said == Said::kFresh) AddFresh(*call);
    }
    for (const Call* call : calls_) {
      if (NamesFence(*call) && MayEnd(*call)) by_operator_.push_back(call);
      Grant* grant = GrantOf(*call);
      if (grant == nullptr) continue;
      if (call->said == Said::kExtended) grant->leases.push_back(call);
      if (MayEnd(*call)) grant->ends.push_back(call);
    }
    for (Grant& grant : grants_) grant.committed = FirstProofOfCommit(grant);
  }
  Grant* GrantOf(const Call& call) {
    if (call.op == Op::kReserve) return nullptr;
    if (!NamesFence(call)) return FindGrant(call.token);
    for (Grant& grant : grants_) {
      if (grant.fence == call.named_fence) return &grant;
    }
    return nullptr;
  }
  static bool MayEnd(const Call& call) {
    const bool settles = call.op == Op::kCommit || call.op == Op::kRelease || NamesFence(call);
    return settles && (Ends(call) || MayBeDone(call));
  }
  void AddFresh(const Call& call) {
    Grant* grant = FindGrant(call.granted_token);
    if (grant == nullptr) {
      grants_.push_back({call.granted_token, call.fence.value_or(0), call.request_id, &call});
      grant = &grants_.back();
    }
    if (grant->fence != call.fence) Broken("one token has two fences", *grant->first, call);
    const bool same_caller =
        &call == grant->first || (!call.request_id.empty() && call.request_id == grant->request_id);
    if (!same_caller) Broken("two callers were given one token", *grant->first, call);
    if (Before(call, *grant->first)) grant->first = &call;
    grant->leases.push_back(&call);
  }
  const Call* FirstProofOfCommit(const Grant& grant) const {
    const Call* proof = nullptr;
    for (const Call* call : calls_) {
      const bool own = call->said == Said::kCommitted && IsOf(grant, *call);
      const bool replay = call->said == Said::kReplayed && call->fence == grant.fence;
      if ((own || replay) && (proof == nullptr || Before(*call, *proof))) proof = call;
    }
    return proof;
  }

  // ---- What `call` was told must go with `grant` ----

  // Nobody can have ended the grant by the time of `call`.
  static bool NotEndedBefore(const Grant& grant, const Call& call) {
    return std::all_of(grant.ends.begin(), grant.ends.end(),
                       [&](const Call* end) { return ComesBefore(call, *end); });
  }
  static bool ComesBefore(const Call& call, const Call& end) {
    return call.answered < end.sent || (Judged(end) && Before(call, end));
  }
  // Nor can an operator have, who may settle a grant that nobody was told of: this one, or
  // one after it.
  bool NoOperatorBefore(std::int64_t fence_min, const Call& call) const {
    return std::all_of(by_operator_.begin(), by_operator_.end(), [&](const Call* end) {
      return end->named_fence < fence_min || ComesBefore(call, *end);
    });
  }
  // What was committed goes before its time by this alone.
  bool NotEvictedBefore(std::int64_t fence, const Call& call) const {
    return std::all_of(by_operator_.begin(), by_operator_.end(), [&](const Call* end) {
      return end->op != Op::kEvict || end->named_fence != fence || ComesBefore(call, *end);
    });
  }
  // The grant is older than `call`, and `call` was judged within its lease.
  bool MustHold(const Grant& grant, const Call& call) const {
    return Within(grant.leases, call, absl::ZeroDuration()) && NotEndedBefore(grant, call);
  }
  static bool Within(const std::vector<const Call*>& leases, const Call& call,
                     absl::Duration longer) {
    return std::any_of(leases.begin(), leases.end(), [&](const Call* lease) {
      return Before(*lease, call) && call.server_time < lease->lease_end + longer;
    });
  }
  // Whether the key is still reserved, lapsed or not, by this grant or by one after it.
  bool MustBeThere(const Grant& grant, const Call& call) const {
    for (const Grant& other : grants_) {
      if (other.fence >= grant.fence && !NotEndedBefore(other, call)) return false;
    }
    if (!NoOperatorBefore(grant.fence, call)) return false;
    if (rules_.hold) return Before(*grant.first, call);
    return Within(grant.leases, call, rules_.lapsed_retention);
  }
  static bool SaysAbsent(const Call& call) {
    return call.seen == Seen::kAbsent || call.said == Said::kNothingToRelease ||
           call.said == Said::kNotReserved || call.said == Said::kNothingToEvict;
  }

  void CheckAgainst(const Grant& grant, const Call& call) {
    if (MustBeThere(grant, call) && SaysAbsent(call)) {
      Broken("an acknowledged grant is lost", *grant.first, call);
    }
    if (MustHold(grant, call)) CheckWhileHeld(grant, call);
    if (NamesFence(call)) CheckForce(grant, call);
    if (grant.committed != nullptr) CheckWithCommit(grant, *grant.committed, call);
    for (const Call* end : grant.ends) {
      const bool deleted = end->said == Said::kReleased || end->said == Said::kEvicted;
      if (deleted && Before(*end, call)) CheckAfterRelease(grant, *end, call);
    }
  }

  void CheckWhileHeld(const Grant& grant, const Call& call) {
    if (call.fence.has_value() && call.fence != grant.fence) {
      Broken("another than the holder is seen while a lease runs", *grant.first, call);
    }
    if (call.seen == Seen::kLapsed || call.said == Said::kUnresolved) {
      Broken("a lease lapsed before its acknowledged end", *grant.first, call);
    }
    const bool own_id =
        call.op == Op::kReserve && !grant.request_id.empty() && call.request_id == grant.request_id;
    if (own_id && call.said == Said::kConflict) {
      Broken("the holder did not regain its grant by its request_id", *grant.first, call);
    }
    if (call.op != Op::kReserve && call.token == grant.token && call.said == Said::kSuperseded) {
      Broken("the holder is superseded while its lease runs", *grant.first, call);
    }
  }

  void CheckForce(const Grant& grant, const Call& call) {
    if (!Ends(call) || call.force || !IsOf(grant, call)) return;
    const bool first = std::all_of(grant.ends.begin(), grant.ends.end(), [&](const Call* end) {
      return end == &call || ComesBefore(call, *end);
    });
    if (first && Within(grant.leases, call, absl::ZeroDuration())) {
      Broken("a running lease was settled without force", *grant.first, call);
    }
  }

  // `proof` told that the grant was committed.
  void CheckWithCommit(const Grant& grant, const Call& proof, const Call& call) {
    if (&call == &proof) return;
    const bool ours = call.fence == grant.fence && call.said == Said::kReplayed;
    const bool again = call.said == Said::kCommitted && IsOf(grant, call);
    if ((ours || again) &&
        (call.commit_time != proof.commit_time || call.expire_time != proof.expire_time)) {
      Broken("a commit changed its times", proof, call);
    }
    if (ours && proof.said == Said::kReplayed && call.replayed != proof.replayed) {
      Broken("two replays of one commit differ", proof, call);
    }
    if (ours && call.server_time >= proof.expire_time) {
      Broken("a result is replayed past its retention", proof, call);
    }
    if (!Before(proof, call) || call.server_time >= proof.expire_time) return;
    if (!NotEvictedBefore(grant.fence, call)) return;
    if (SaysAbsent(call)) Broken("an acknowledged commit is lost", proof, call);
    const bool undone = call.said == Said::kFresh || call.said == Said::kReleased ||
                        call.said == Said::kHeld || call.said == Said::kExtended ||
                        call.said == Said::kConflict || call.said == Said::kUnresolved ||
                        call.seen == Seen::kPending || call.seen == Seen::kLapsed;
    if (undone) Broken("an acknowledged commit is undone", proof, call);
    if (call.fence.has_value() && call.fence != grant.fence) {
      Broken("another than the committed grant is seen", proof, call);
    }
  }

  void CheckAfterRelease(const Grant& grant, const Call& release, const Call& call) {
    if (call.fence == grant.fence && call.seen != Seen::kUnsaid) {
      Broken("a released grant came back", release, call);
    }
    if (&call != &release && Succeeded(call) && IsOf(grant, call)) {
      Broken("a released token succeeded", release, call);
    }
  }

  // ---- Replays ----

  void CheckReplay(const Call& call) {
    if (call.said != Said::kReplayed) return;
    const Call* sent = nullptr;
    for (const Call* commit : calls_) {
      const bool may_have = commit->said == Said::kCommitted || MayBeDone(*commit);
      if (!may_have || commit->sent > call.answered) continue;
      if (FenceCommittedBy(*commit) != call.fence) continue;
      sent = commit;
      if (commit->result == call.replayed) return;
    }
    if (sent != nullptr) return Broken("other bytes are replayed than were committed", *sent, call);
    broken_.push_back(
        absl::StrCat(key_, ": what is replayed was never committed\n    ", Describe(call)));
  }

  // nullopt: it is no commit, or nobody was told of the grant.
  std::optional<std::int64_t> FenceCommittedBy(const Call& call) {
    if (call.op == Op::kResolve && !call.result.empty()) return call.named_fence;
    const Grant* grant = call.op == Op::kCommit ? FindGrant(call.token) : nullptr;
    return grant == nullptr ? std::nullopt : std::optional(grant->fence);
  }

  // ---- Two grants ----

  void CheckTwo(const Grant& older, const Grant& newer) {
    if (&older == &newer) return;
    if (older.fence == newer.fence) Broken("one fence for two tokens", *older.first, *newer.first);
    if (older.fence > newer.fence && Before(*older.first, *newer.first) &&
        GrantedAfter(*older.first, newer)) {
      Broken("a fence went back", *older.first, *newer.first);
    }
    if (older.fence > newer.fence) return;
    // From here on, `newer` was granted after `older`.
    if (rules_.hold && older.ends.empty() && older.committed == nullptr) {
      Broken("a held grant was taken over", *older.first, *newer.first);
    }
    if (!EndedBy(older, *newer.first)) Broken("two live grants", *older.first, *newer.first);
    for (const Call* call : calls_) {
      if (Judged(*call) && Succeeded(*call) && IsOf(older, *call) && Before(*newer.first, *call)) {
        Broken("a superseded token succeeded", *newer.first, *call);
      }
    }
  }
  // No call for `newer` had been sent when `call` was answered.
  bool GrantedAfter(const Call& call, const Grant& newer) const {
    return std::all_of(newer.leases.begin(), newer.leases.end(), [&](const Call* lease) {
      return lease->op != Op::kReserve || call.answered < lease->sent;
    });
  }
  // Whether the grant can have come to an end by the time of `next`.
  bool EndedBy(const Grant& grant, const Call& next) const {
    if (grant.committed != nullptr) {
      return next.server_time >= grant.committed->expire_time ||
             !NotEvictedBefore(grant.fence, next);
    }
    for (const Call* end : grant.ends) {
      if (end->sent < next.answered && !(Judged(*end) && Before(next, *end))) return true;
    }
    return std::all_of(grant.leases.begin(), grant.leases.end(),
                       [&](const Call* lease) { return next.server_time >= lease->lease_end; });
  }

  // ---- What only grows ----

  void CheckOrder() {
    for (const Call* a : calls_) {
      if (!Judged(*a)) continue;
      for (const Call* b : calls_) {
        if (!Judged(*b) || !Before(*a, *b)) continue;
        if (a->fence.has_value() && b->fence.has_value() && *a->fence > *b->fence) {
          Broken("an older grant is seen again", *a, *b);
        }
        if (SaysAbsent(*a)) CheckGone(*a, *b);
        CheckSight(*a, *b);
      }
      if (a->said == Said::kFenceMismatch && a->fence == a->named_fence) {
        Broken("the fence was the record's", *a, *a);
      }
      if (a->previous_fence.has_value() && *a->previous_fence >= a->fence.value_or(0)) {
        Broken("the previous fence is not lower", *a, *a);
      }
    }
  }
  // A grant that was there before `absent` is not there after it.
  void CheckGone(const Call& absent, const Call& call) {
    if (!call.fence.has_value()) return;
    for (const Call* earlier : calls_) {
      if (Judged(*earlier) && earlier->fence == call.fence && Before(*earlier, absent)) {
        return Broken("what was gone came back", absent, call);
      }
    }
  }

  // What somebody was told of another's reservation stays so, though the other one
  // was perhaps never told of it.
  void CheckSight(const Call& sight, const Call& call) {
    if (!sight.fence.has_value()) return;
    const bool same = sight.fence == call.fence;
    if (sight.seen == Seen::kCommitted && same &&
        (call.seen == Seen::kPending || call.seen == Seen::kLapsed)) {
      Broken("a commit that was seen is undone", sight, call);
    }
    if (call.server_time >= sight.seen_until) return;
    if (sight.seen == Seen::kPending && same && call.seen == Seen::kLapsed) {
      Broken("a lease lapsed before its end that was seen", sight, call);
    }
    const bool gone = SaysAbsent(call) || (call.fence.has_value() && !same);
    const bool may_go = sight.seen == Seen::kCommitted ? !NotEvictedBefore(*sight.fence, call)
                                                       : !NobodyEnded(*sight.fence, call);
    if (gone && !may_go) {
      Broken("what was seen is gone", sight, call);
    }
  }
  // By the time of `call`: who was never given the token can't have, but for an operator.
  bool NobodyEnded(std::int64_t fence, const Call& call) const {
    return NoOperatorBefore(fence, call) &&
           std::all_of(grants_.begin(), grants_.end(), [&](const Grant& grant) {
             return grant.fence != fence || NotEndedBefore(grant, call);
           });
  }

  const std::string key_;
  const KeyRules rules_;
  const std::vector<const Call*> calls_;
  std::vector<std::string>& broken_;
  std::vector<Grant> grants_;
  std::vector<const Call*> by_operator_;  // Resolves and Evicts that worked or may have.
};

// Over all keys: there is one clock, and it goes forward.
void CheckTime(const History& history, std::vector<std::string>& broken) {
  std::vector<const Call*> by_answer, by_sending;
  for (const Call& call : history) {
    if (!Judged(call)) continue;
    by_answer.push_back(&call);
    by_sending.push_back(&call);
  }
  const auto answered = [](const Call* a, const Call* b) { return a->answered < b->answered; };
  const auto sent = [](const Call* a, const Call* b) { return a->sent < b->sent; };
  std::sort(by_answer.begin(), by_answer.end(), answered);
  std::sort(by_sending.begin(), by_sending.end(), sent);
  const Call* latest = nullptr;
  std::size_t next = 0;
  for (const Call* call : by_sending) {
    for (; next < by_answer.size() && by_answer[next]->answered < call->sent; ++next) {
      if (latest == nullptr || by_answer[next]->server_time > latest->server_time) {
        latest = by_answer[next];
      }
    }
    if (latest != nullptr && call->server_time < latest->server_time) {
      broken.push_back(absl::StrCat(call->key, ": time went back\n    ", Describe(*latest),
                                    "\n    ", Describe(*call)));
    }
  }
}

}  // namespace

std::string Describe(const Call& call) {
  std::string text = absl::StrCat("#", call.sent, " ", kOpNames[static_cast<int>(call.op)]);
  const auto add = [&text](absl::string_view name, absl::string_view value) {
    if (!value.empty())
      absl::StrAppend(&text, " ", name, "=", absl::CHexEscape(value.substr(0, 16)));
  };
  const auto add_time = [&add](absl::string_view name, absl::Time time) {
    if (time != absl::Time()) add(name, absl::FormatTime("%E3S", time, absl::UTCTimeZone()));
  };
  add("request_id", call.request_id);
  add("fingerprint", call.fingerprint);
  add("token", call.token);
  add("result", call.result);
  if (NamesFence(call)) add("named", absl::StrCat(call.named_fence));
  absl::StrAppend(&text, " at ", absl::FormatTime("%M:%E6S", call.server_time, absl::UTCTimeZone()),
                  " -> ", kSaidNames[static_cast<int>(call.said)]);
  if (call.seen != Seen::kUnsaid) add("state", kSeenNames[static_cast<int>(call.seen)]);
  if (call.fence.has_value()) add("fence", absl::StrCat(*call.fence));
  add("granted", call.granted_token);
  add("replayed", call.replayed);
  add_time("lease_end", call.lease_end);
  add_time("expire_time", call.expire_time);
  return text;
}

std::vector<std::string> Check(const History& history,
                               const std::map<std::string, KeyRules>& rules) {
  std::map<std::string, std::vector<const Call*>> by_key;
  for (const Call& call : history) by_key[call.key].push_back(&call);
  std::vector<std::string> broken;
  CheckTime(history, broken);
  for (auto& [key, calls] : by_key) KeyChecker(key, rules.at(key), std::move(calls), broken).Run();
  return broken;
}

}  // namespace onced::sim
