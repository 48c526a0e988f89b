// Histories of one key, written by hand.
#pragma once

#include <cstdint>
#include <string>

#include "tests/fault/history.h"

namespace onced::fault {

constexpr std::int64_t Seconds(double seconds) {
  return static_cast<std::int64_t>(seconds * 1'000'000);
}
inline constexpr std::int64_t kLease = Seconds(10);
inline constexpr std::int64_t kRetention = Seconds(100);

// ---- Calls ----

// `name` is the request_id and the owner.
inline Call Reserve(const std::string& name, const std::string& fingerprint = "fp") {
  return {.op = Op::kReserve,
          .request_id = name,
          .fingerprint = fingerprint,
          .owner = name,
          .ttl = kLease};
}
inline Call Commit(const std::string& token, const std::string& result = "200") {
  return {.op = Op::kCommit, .token = token, .result = result, .ttl = kRetention};
}
inline Call Release(const std::string& token) { return {.op = Op::kRelease, .token = token}; }
inline Call Extend(const std::string& token, std::int64_t ttl) {
  return {.op = Op::kExtend, .token = token, .ttl = ttl};
}
inline Call Save(const std::string& token, std::int64_t ttl, const std::string& checkpoint) {
  return {.op = Op::kExtend,
          .token = token,
          .checkpoint = checkpoint,
          .has_checkpoint = true,
          .ttl = ttl};
}
inline Call Inspect() { return {.op = Op::kInspect}; }

// ---- Answers; `at` is the server's time in seconds ----

inline Answer Ok(Said said) { return {.status = Status::kOk, .said = said}; }
inline Answer Unknown() { return {.status = Status::kUnknown}; }
inline Answer NothingDone() { return {.status = Status::kFail, .reason = "DRAINING"}; }

inline Answer Fresh(double at, const std::string& token, std::int64_t fence) {
  Answer answer = Ok(Said::kFresh);
  answer.token = token;
  answer.fence = fence;
  answer.attempt = 1;
  answer.server_time = Seconds(at);
  answer.lease_end = Seconds(at) + kLease;
  return answer;
}
// Told later of a lease that began `since`.
inline Answer Again(double at, double since, const std::string& token, std::int64_t fence) {
  Answer answer = Fresh(since, token, fence);
  answer.server_time = Seconds(at);
  return answer;
}
inline Answer TakenOver(double at, const std::string& token, std::int64_t fence,
                        std::int64_t previous_fence, const std::string& previous_owner,
                        std::int64_t attempt = 2) {
  Answer answer = Fresh(at, token, fence);
  answer.attempt = attempt;
  answer.previous_fence = previous_fence;
  answer.previous_owner = previous_owner;
  return answer;
}
inline Answer Replayed(double at, std::int64_t fence, double commit_time,
                       const std::string& result = "200") {
  Answer answer = Ok(Said::kReplayed);
  answer.state = State::kCommitted;
  answer.fence = fence;
  answer.result = result;
  answer.server_time = Seconds(at);
  answer.commit_time = Seconds(commit_time);
  answer.expire_time = Seconds(commit_time) + kRetention;
  return answer;
}
inline Answer Held(Said said, State state, double at, std::int64_t fence, const std::string& owner,
                   double lease_end) {
  Answer answer = Ok(said);
  answer.state = state;
  answer.fence = fence;
  answer.owner = owner;
  answer.server_time = Seconds(at);
  answer.lease_end = Seconds(lease_end);
  return answer;
}
inline Answer Conflict(double at, std::int64_t fence, const std::string& owner, double lease_end) {
  return Held(Said::kConflict, State::kPending, at, fence, owner, lease_end);
}
inline Answer Unresolved(double at, std::int64_t fence, const std::string& owner,
                         double lease_end) {
  return Held(Said::kUnresolved, State::kLapsed, at, fence, owner, lease_end);
}
inline Answer Mismatch(double at, std::int64_t fence, const std::string& owner, double lease_end) {
  return Held(Said::kMismatch, State::kPending, at, fence, owner, lease_end);
}
inline Answer SeenAbsent(double at) {
  Answer answer = Ok(Said::kSeen);
  answer.state = State::kAbsent;
  answer.server_time = Seconds(at);
  return answer;
}
inline Answer Seen(State state, double at, std::int64_t fence, const std::string& owner,
                   double lease_end, std::int64_t attempt = 1) {
  Answer answer = Held(Said::kSeen, state, at, fence, owner, lease_end);
  answer.attempt = attempt;
  return answer;
}
inline Answer SeenCommitted(double at, std::int64_t fence, const std::string& owner,
                            double commit_time, const std::string& result = "200") {
  Answer answer = Replayed(at, fence, commit_time, result);
  answer.said = Said::kSeen;
  answer.owner = owner;
  return answer;
}
inline Answer Done(double at) {
  Answer answer = Ok(Said::kCommitted);
  answer.commit_time = Seconds(at);
  answer.expire_time = Seconds(at) + kRetention;
  return answer;
}
inline Answer DoneLate(double at) {
  Answer answer = Done(at);
  answer.late = true;
  return answer;
}
inline Answer DoneBefore(double at) {
  Answer answer = Done(at);
  answer.already = true;
  return answer;
}
inline Answer Released() { return Ok(Said::kReleased); }
inline Answer NothingToRelease() { return Ok(Said::kNothingToRelease); }
inline Answer Extended(double lease_end) {
  Answer answer = Ok(Said::kExtended);
  answer.lease_end = Seconds(lease_end);
  return answer;
}
inline Answer Superseded(std::int64_t fence, State state = State::kPending) {
  Answer answer = Ok(Said::kSuperseded);
  answer.state = state;
  answer.fence = fence;
  return answer;
}
inline Answer Refusal(Said said, std::int64_t fence) {
  Answer answer = Ok(said);
  answer.state = State::kCommitted;
  answer.fence = fence;
  return answer;
}
inline Answer NotReserved() { return Ok(Said::kNotReserved); }

inline Answer WithCheckpoint(Answer answer, const std::string& checkpoint) {
  answer.checkpoint = checkpoint;
  return answer;
}

// ---- A history ----

class Script {
 public:
  explicit Script(std::string key = "regrant/k") : key_(std::move(key)) {
    recording_.lives.push_back({.up = next_++});
  }
  // One call after the other.
  Script& Do(Call call, Answer answer) {
    const std::uint64_t id = Sent(std::move(call));
    return Answered(id, std::move(answer));
  }
  // Calls that overlap with others: numbered from 0, with those of Do().
  std::uint64_t Sent(Call call) {
    call.id = recording_.calls.size();
    call.sent = next_++;
    call.key = key_;
    recording_.calls.push_back(std::move(call));
    return recording_.calls.back().id;
  }
  Script& Send(Call call) {
    Sent(std::move(call));
    return *this;
  }
  Script& Answered(std::uint64_t id, Answer answer) {
    recording_.calls[id].answered = next_++;
    recording_.calls[id].answer = std::move(answer);
    return *this;
  }
  Script& Stop() {
    recording_.lives.back().down = next_++;
    return *this;
  }
  Script& Start() {
    recording_.lives.push_back({.up = next_++});
    return *this;
  }
  Script& Restart() { return Stop().Start(); }
  const Recording& recording() const { return recording_; }

 private:
  const std::string key_;
  Position next_ = 1;
  Recording recording_;
};

}  // namespace onced::fault
