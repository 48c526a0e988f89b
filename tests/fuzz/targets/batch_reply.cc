// A reply stays within its bound, and every grant is in it, whatever was asked.
#include <string>
#include <vector>

#include "server/rpc/batch.h"
#include "server/rpc/errors.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/targets.h"
#include "tests/support/test_records.h"

namespace onced::fuzz {
namespace {

namespace v1 = idempotency::v1;

// As long as it may be, and in text that takes as much on the wire.
std::string Text(std::size_t size) { return std::string(size, 'x'); }

StoredResult LargeResult(Draw& draw) {
  Result result{.status_code = draw.Int<std::int32_t>()};
  std::size_t left = limits::kHeaderBytesMax;
  const std::size_t headers = draw.Below(limits::kHeadersMax + 1);
  for (std::size_t i = 0; i < headers; ++i) {
    const std::size_t size = draw.Below(2) * left / limits::kHeadersMax;
    result.headers.push_back({Text(size / 2), Text(size - size / 2)});
  }
  result.body = Text(draw.Below(256) * limits::kBodyBytesMax / 255);
  result.body_size = static_cast<std::int64_t>(result.body.size());
  result.body_sha256 = Text(32);
  return StoredResult(std::move(result));
}

Fresh LargeGrant(Draw& draw) {
  Fresh fresh{.fence = {draw.Int<std::int64_t>()}, .lease_expire_time = TestStart()};
  if (draw.OneIn(2)) return fresh;
  fresh.previous = Previous{.owner = Text(limits::kOwnerBytesMax), .lapse_time = TestStart()};
  fresh.checkpoint = Text(draw.Below(256) * limits::kCheckpointBytesMax / 255);
  return fresh;
}

Inspected LargeInspection(Draw& draw) {
  Inspected inspected{.state = State::kPending, .record = FullPending()};
  inspected.record->owner = Text(limits::kOwnerBytesMax);
  inspected.record->fingerprint = Text(limits::kFingerprintBytesMax);
  auto& pending = std::get<Pending>(inspected.record->phase);
  pending.checkpoint = Text(draw.Below(256) * limits::kCheckpointBytesMax / 255);
  if (draw.OneIn(2)) return inspected;
  inspected.state = State::kCommitted;
  inspected.record->phase = Committed{
      .commit_time = TestStart(), .expire_time = TestStart(), .result = LargeResult(draw)};
  return inspected;
}

google::rpc::Status LongError(Draw& draw) {
  std::vector<Violation> violations(1 + draw.Below(7));
  for (Violation& violation : violations) {
    violation = {"operations[1023].reserve.fingerprint", Text(90)};
  }
  return ErrorOf(violations);
}

BatchOutcome AnOutcome(Draw& draw) {
  const auto answered = [](v1::Operation::OperationCase kind, Reply reply) {
    return BatchOutcome{.kind = kind,
                        .include_result = true,
                        .answer = Answer{.reply = std::move(reply), .server_time = TestStart()}};
  };
  switch (draw.Below(6)) {
    case 0:
      return answered(v1::Operation::kReserve, LargeGrant(draw));
    case 1:
      return answered(v1::Operation::kReserve,
                      Replayed{.result = LargeResult(draw), .commit_time = TestStart()});
    case 2:
      return answered(v1::Operation::kReserve,
                      Mismatch{{.state = State::kPending, .owner = Text(limits::kOwnerBytesMax)}});
    case 3:
      return answered(v1::Operation::kInspect, LargeInspection(draw));
    case 4:
      return {.kind = v1::Operation::kReserve, .answer = LongError(draw)};
    default:
      return answered(v1::Operation::kCommit,
                      Refused{Refusal::kSuperseded, State::kCommitted, Fence{1}});
  }
}

bool IsGrant(const BatchOutcome& outcome) {
  const auto* answer = std::get_if<Answer>(&outcome.answer);
  return answer != nullptr && std::holds_alternative<Fresh>(answer->reply);
}

}  // namespace

void BatchReply(absl::string_view bytes) {
  Draw draw(bytes);
  const std::size_t large_bytes_max =
      draw.OneIn(2) ? limits::kMessageBytesMax : std::size_t{draw.Int<std::uint32_t>()};
  std::vector<BatchOutcome> outcomes;
  // The same a few times: a thousand would have to be drawn otherwise.
  while (!draw.AtEnd() && outcomes.size() < limits::kBatchOperationsMax) {
    const std::size_t times = draw.OneIn(4) ? draw.Int<std::uint16_t>() % 1024 : 1;
    const BatchOutcome outcome = AnOutcome(draw);
    for (std::size_t i = 0; i < times && outcomes.size() < limits::kBatchOperationsMax; ++i) {
      outcomes.push_back(outcome);
    }
  }
  const v1::BatchResponse response = BatchResponseOf(outcomes, large_bytes_max);
  Demand(static_cast<std::size_t>(response.items_size()) == outcomes.size(), "items are missing");
  Demand(response.ByteSizeLong() < limits::kMessageBytesMax, "more than a message");
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const v1::BatchItem& item = response.items(static_cast<int>(i));
    if (IsGrant(outcomes[i])) Demand(item.reserve().has_reservation(), "a grant got lost");
  }
}

}  // namespace onced::fuzz
