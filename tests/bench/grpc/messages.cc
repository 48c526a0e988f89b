#include "tests/bench/grpc/messages.h"

namespace onced::bench {
namespace {

namespace v1 = idempotency::v1;

constexpr char kNamespace[] = "bench";

Outcome JudgeReplay(const Expected& expected, const v1::Replay& replay) {
  return {.as_expected = expected.body == nullptr || replay.result().body() == *expected.body};
}

}  // namespace

std::vector<Expected> ExpectedOf(const std::vector<Step>& steps) {
  std::vector<Expected> all;
  all.reserve(steps.size());
  for (const Step& step : steps) all.push_back({step.expect, step.body});
  return all;
}

void Fill(const Step& step, v1::ReserveRequest& request) {
  request.set_namespace_(kNamespace);
  request.set_key(step.key);
  request.set_fingerprint(step.fingerprint);
  request.set_request_id(step.request_id);
}

void Fill(const Step& step, v1::CommitRequest& request) {
  request.set_namespace_(kNamespace);
  request.set_key(step.key);
  request.set_token(step.token);
  request.mutable_result()->set_status_code(200);
  request.mutable_result()->set_body(*step.body);
}

void Fill(const std::vector<Step>& steps,
          google::protobuf::RepeatedPtrField<v1::Operation>& operations) {
  const int count = static_cast<int>(steps.size());
  while (operations.size() > count) operations.RemoveLast();
  while (operations.size() < count) operations.Add();
  for (int i = 0; i < count; ++i) {
    const Step& step = steps[static_cast<std::size_t>(i)];
    if (step.op == Op::kReserve) {
      Fill(step, *operations[i].mutable_reserve());
    } else {
      Fill(step, *operations[i].mutable_commit());
    }
  }
}

Outcome Judge(const Expected& expected, const v1::ReserveResponse& response) {
  const v1::Outcome verdict = response.outcome();
  const std::string& token = response.reservation().token();
  switch (expected.expect) {
    case Expect::kFresh:
      return {verdict == v1::OUTCOME_FRESH && !token.empty(), token};
    case Expect::kReplayed:
      if (verdict != v1::OUTCOME_REPLAYED) return {};
      return JudgeReplay(expected, response.replay());
    case Expect::kConflictOrReplayed:
      return {verdict == v1::OUTCOME_CONFLICT || verdict == v1::OUTCOME_REPLAYED, ""};
    case Expect::kCommitted:
      return {};
    case Expect::kAny:
      return {verdict != v1::OUTCOME_UNSPECIFIED, token};
  }
  return {};
}

Outcome Judge(const Expected& expected, const v1::CommitResponse& response) {
  return {expected.expect == Expect::kCommitted && response.has_commit_time() &&
              !response.already_committed() && !response.body_omitted(),
          ""};
}

std::vector<Outcome> Judge(const std::vector<Expected>& expected,
                           const google::protobuf::RepeatedPtrField<v1::BatchItem>& items) {
  std::vector<Outcome> outcomes(expected.size());
  if (static_cast<std::size_t>(items.size()) != expected.size()) return outcomes;
  for (int i = 0; i < items.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (items[i].has_reserve()) outcomes[at] = Judge(expected[at], items[i].reserve());
    if (items[i].has_commit()) outcomes[at] = Judge(expected[at], items[i].commit());
  }
  return outcomes;
}

}  // namespace onced::bench
