#include "tests/fault/invariants.h"

#include <algorithm>
#include <map>
#include <set>

namespace onced::fault {
namespace {

bool SaysAbsent(const Call& call) {
  return call.answer.state == State::kAbsent || call.answer.said == Said::kNothingToRelease ||
         call.answer.said == Said::kNotReserved;
}
bool SaysLapsed(const Call& call) {
  return call.answer.state == State::kLapsed || call.answer.said == Said::kUnresolved;
}
// It worked, with the token that it gave or was given.
bool Succeeded(const Call& call) {
  const Said said = call.answer.said;
  return said == Said::kFresh || said == Said::kCommitted || said == Said::kReleased ||
         said == Said::kExtended;
}
const std::string& TokenOf(const Call& call) {
  return call.op == Op::kReserve ? call.answer.token : call.token;
}

// All that is known of one grant.
struct Grant {
  std::string token;
  std::int64_t fence = 0;
  const Call* first = nullptr;  // The answer that told of it first.
  std::set<std::string> request_ids;
  std::vector<const Event*> leases;  // What told of its end: grants and extensions.
  std::vector<const Call*> ends;     // Commits and releases that worked, or may have.
};

class Invariants {
 public:
  explicit Invariants(const std::vector<Event>& events) : events_(events) {}

  std::vector<std::string> Run() {
    CollectGrants();
    CheckFences();
    CheckCommits();
    CheckReplays();
    for (const auto& [token, grant] : grants_) {
      CheckLease(grant);
      CheckTakenOver(grant);
      CheckReleased(grant);
    }
    return std::move(broken_);
  }

 private:
  void Broken(const std::string& what, const Call& a, const Call& b) {
    broken_.push_back(what + "\n    " + Describe(a) + "\n    " + Describe(b));
  }

  void CollectGrants() {
    for (const Event& event : events_) {
      const Call& call = *event.call;
      if (call.answer.said == Said::kFresh) AddFresh(event);
    }
    for (const Event& event : events_) {
      const Call& call = *event.call;
      const auto grant = call.op == Op::kReserve ? grants_.end() : grants_.find(call.token);
      if (grant == grants_.end()) continue;
      if (call.answer.said == Said::kExtended) grant->second.leases.push_back(&event);
      const bool ends = call.op == Op::kCommit || call.op == Op::kRelease;
      const bool has_ended = MayBeDone(call) || call.answer.said == Said::kCommitted ||
                             call.answer.said == Said::kReleased ||
                             call.answer.said == Said::kCommittedDifferently ||
                             call.answer.said == Said::kAlreadyCommitted;
      if (ends && has_ended) grant->second.ends.push_back(&call);
    }
  }
  void AddFresh(const Event& event) {
    const Call& call = *event.call;
    Grant& grant = grants_[call.answer.token];
    if (grant.first == nullptr) {
      grant.token = call.answer.token;
      grant.fence = call.answer.fence;
      grant.first = &call;
      const auto [other, is_new] = by_fence_.emplace(grant.fence, &call);
      if (!is_new) Broken("one fence for two tokens", *other->second, call);
    }
    if (grant.fence != call.answer.fence) Broken("one token with two fences", *grant.first, call);
    grant.request_ids.insert(call.request_id);
    if (grant.request_ids.size() > 1) Broken("one token for two executions", *grant.first, call);
    if (Before(call, *grant.first)) grant.first = &call;
    grant.leases.push_back(&event);
  }

  // ---- Fences only grow ----

  void CheckFences() {
    // By the end, since only what was answered before a call was sent came before it.
    std::vector<const Call*> by_answer;
    for (const Event& event : events_) {
      const Answer& answer = event.call->answer;
      if (answer.fence != 0) by_answer.push_back(event.call);
      if (answer.previous_fence > 0 && answer.previous_fence >= answer.fence) {
        Broken("the fence before is not lower", *event.call, *event.call);
      }
    }
    std::sort(by_answer.begin(), by_answer.end(),
              [](const Call* a, const Call* b) { return a->answered < b->answered; });
    const Call* highest = nullptr;
    std::size_t next = 0;
    for (const Event& event : events_) {
      const Call& call = *event.call;
      for (; next < by_answer.size() && by_answer[next]->answered < call.sent; ++next) {
        const bool higher =
            highest == nullptr || by_answer[next]->answer.fence > highest->answer.fence;
        if (higher) highest = by_answer[next];
      }
      if (highest != nullptr && call.answer.fence != 0 &&
          call.answer.fence < highest->answer.fence) {
        Broken("a fence went back", *highest, call);
      }
    }
  }

  // ---- Commits last until their retention ends ----

  struct Proof {
    const Call* call = nullptr;
    std::int64_t fence = 0;  // 0: not known.
    std::string result;      // Empty: not known.
  };

  void CheckCommits() {
    std::map<std::int64_t, Proof> proofs;  // By the commit's time: the first of each.
    for (const Event& event : events_) {
      const Call& call = *event.call;
      Proof proof{.call = &call, .fence = call.answer.fence, .result = call.answer.result};
      if (call.answer.said == Said::kCommitted) {
        proof.result = call.result;
        const auto grant = grants_.find(call.token);
        if (grant != grants_.end()) proof.fence = grant->second.fence;
      }
      if (!Judged(call) || call.answer.commit_time == 0) continue;
      Proof& first = proofs[call.answer.commit_time];
      if (first.call == nullptr || call.answered < first.call->answered) first = proof;
    }
    for (const auto& [time, proof] : proofs) {
      for (const Event& event : events_) CheckCommit(proof, event);
    }
  }
  void CheckCommit(const Proof& proof, const Event& event) {
    const Call& call = *event.call;
    const Answer& answer = call.answer;
    const Answer& committed = proof.call->answer;
    if (&call == proof.call || !Judged(call)) return;
    const bool same = answer.commit_time == committed.commit_time;
    if (same && answer.expire_time != committed.expire_time) {
      Broken("a commit's retention changed", *proof.call, call);
    }
    if (same && !answer.result.empty() && !proof.result.empty() && answer.result != proof.result) {
      Broken("other bytes are replayed than were committed", *proof.call, call);
    }
    if (TimeOf(call) >= committed.expire_time && same) {
      Broken("a result is replayed past its retention", *proof.call, call);
    }
    if (!Before(*proof.call, call) || event.when.hi >= committed.expire_time || same) return;
    if (SaysAbsent(call)) return Broken("an acknowledged commit is lost", *proof.call, call);
    const bool undone = answer.said == Said::kFresh || answer.said == Said::kConflict ||
                        answer.said == Said::kReleased || answer.said == Said::kExtended ||
                        answer.said == Said::kUnresolved || answer.state == State::kPending ||
                        answer.state == State::kLapsed || answer.commit_time != 0;
    if (undone || (answer.fence != 0 && proof.fence != 0 && answer.fence != proof.fence)) {
      Broken("an acknowledged commit is undone", *proof.call, call);
    }
  }

  void CheckReplays() {
    std::multimap<std::string, const Call*> commits;
    for (const Event& event : events_) {
      if (event.call->op == Op::kCommit) commits.emplace(event.call->result, event.call);
    }
    for (const Event& event : events_) {
      const Call& call = *event.call;
      if (call.answer.result.empty()) continue;
      const auto [begin, end] = commits.equal_range(call.answer.result);
      const bool was_sent = std::any_of(
          begin, end, [&](const auto& commit) { return commit.second->sent < call.answered; });
      if (!was_sent) Broken("what is replayed was never committed", call, call);
    }
  }

  // ---- What a holder was told goes on ----

  // Whether a commit or a release may have ended the grant by the time of `call`.
  static bool MayHaveEnded(const Grant& grant, const Call& call) {
    return std::any_of(grant.ends.begin(), grant.ends.end(),
                       [&](const Call* end) { return end == &call || end->sent < call.answered; });
  }
  void CheckLease(const Grant& grant) {
    for (const Event& event : events_) {
      const Call& call = *event.call;
      if (!Judged(call) || MayHaveEnded(grant, call)) continue;
      for (const Event* lease : grant.leases) {
        if (Before(*lease->call, call) && event.when.hi < lease->call->answer.lease_end) {
          CheckWhileHeld(grant, *lease->call, call);
          break;
        }
      }
    }
  }
  void CheckWhileHeld(const Grant& grant, const Call& lease, const Call& call) {
    const Answer& answer = call.answer;
    if (answer.said == Said::kFresh && answer.token != grant.token) {
      return Broken("two live grants", lease, call);
    }
    if (SaysAbsent(call)) return Broken("an acknowledged grant is lost", lease, call);
    if (SaysLapsed(call)) return Broken("a lease lapsed before its acknowledged end", lease, call);
    if (answer.fence != 0 && answer.fence != grant.fence) {
      return Broken("another than the holder is seen while a lease runs", lease, call);
    }
    if (call.op != Op::kReserve && call.token == grant.token && answer.said == Said::kSuperseded) {
      return Broken("the holder is superseded while its lease runs", lease, call);
    }
    const bool own = call.op == Op::kReserve && !call.request_id.empty() &&
                     grant.request_ids.contains(call.request_id);
    if (own && answer.said == Said::kConflict) {
      Broken("the holder did not regain its grant by its request_id", lease, call);
    }
  }

  // A token is dead once a higher fence was seen.
  void CheckTakenOver(const Grant& grant) {
    for (const Event& event : events_) {
      const Call& call = *event.call;
      if (!Succeeded(call) || TokenOf(call) != grant.token) continue;
      for (const Event& other : events_) {
        if (other.call->answer.fence > grant.fence && Before(*other.call, call)) {
          Broken("a superseded token succeeded", *other.call, call);
          break;
        }
      }
    }
  }

  void CheckReleased(const Grant& grant) {
    const auto release = std::find_if(grant.ends.begin(), grant.ends.end(), [](const Call* end) {
      return end->answer.said == Said::kReleased;
    });
    if (release == grant.ends.end()) return;
    for (const Event& event : events_) {
      const Call& call = *event.call;
      if (&call == *release || !Before(**release, call)) continue;
      if (Succeeded(call) && TokenOf(call) == grant.token) {
        Broken("a released token succeeded", **release, call);
      } else if (call.answer.fence == grant.fence) {
        Broken("a released grant came back", **release, call);
      }
    }
  }

  const std::vector<Event>& events_;
  std::map<std::string, Grant> grants_;
  std::map<std::int64_t, const Call*> by_fence_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> CheckInvariants(const std::vector<Event>& events) {
  return Invariants(events).Run();
}

}  // namespace onced::fault
