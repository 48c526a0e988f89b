#include "server/rpc/batch.h"

#include <algorithm>
#include <optional>

#include "server/ledger/policy.h"
#include "server/rpc/errors.h"
#include "server/rpc/translate.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;

// What an item takes at most that has no result and no checkpoint in it: names
// of at most 128 bytes each, times, and an error's few violations.
constexpr std::size_t kSmallItemBytes = 2'048;

std::size_t BytesOf(const Result& result) {
  std::size_t bytes = result.body.size();
  for (const Header& header : result.headers)
    bytes += header.name.size() + header.value.size() + 16;
  return bytes;
}

v1::BatchItem ItemOf(const BatchOutcome& outcome) {
  v1::BatchItem item;
  if (const auto* error = std::get_if<google::rpc::Status>(&outcome.answer)) {
    *item.mutable_error() = *error;
    return item;
  }
  const auto& answer = std::get<Answer>(outcome.answer);
  if (const auto* refused = std::get_if<Refused>(&answer.reply)) {
    *item.mutable_error() = ErrorOf(*refused);
    return item;
  }
  switch (outcome.kind) {
    case v1::Operation::kReserve:
      *item.mutable_reserve() = ReserveResponseOf(answer);
      break;
    case v1::Operation::kCommit:
      *item.mutable_commit() = CommitResponseOf(answer);
      break;
    case v1::Operation::kRelease:
      *item.mutable_release() = ReleaseResponseOf(answer);
      break;
    case v1::Operation::kExtend:
      *item.mutable_extend() = ExtendResponseOf(answer);
      break;
    case v1::Operation::kInspect:
      *item.mutable_inspect() = InspectResponseOf(answer, outcome.include_result);
      break;
    case v1::Operation::OPERATION_NOT_SET:
      break;  // It was refused as such, above.
  }
  return item;
}

v1::BatchItem SmallItemOf(const BatchOutcome& outcome, Refusal left_out) {
  v1::BatchItem item;
  const auto* answer = std::get_if<Answer>(&outcome.answer);
  if (answer != nullptr && std::holds_alternative<Fresh>(answer->reply)) {
    item = ItemOf(outcome);
    v1::Previous& previous = *item.mutable_reserve()->mutable_reservation()->mutable_previous();
    previous.clear_checkpoint();
    previous.set_checkpoint_omitted(true);
  } else {
    *item.mutable_error() = ErrorOf(Refused{left_out});
  }
  return item;
}

}  // namespace

std::size_t LargePartBytes(const BatchOutcome& outcome) {
  const auto* answer = std::get_if<Answer>(&outcome.answer);
  if (answer == nullptr) return 0;
  if (const auto* fresh = std::get_if<Fresh>(&answer->reply)) return fresh->checkpoint.size();
  if (const auto* replayed = std::get_if<Replayed>(&answer->reply))
    return BytesOf(*replayed->result);
  const auto* inspected = std::get_if<Inspected>(&answer->reply);
  if (inspected == nullptr || !inspected->record.has_value()) return 0;
  if (const auto* pending = std::get_if<Pending>(&inspected->record->phase)) {
    return 2 * pending->checkpoint.size();  // Once more in `previous`.
  }
  const StoredResult& result = std::get<Committed>(inspected->record->phase).result;
  return outcome.include_result ? BytesOf(*result) : 0;
}

v1::BatchResponse BatchResponseOf(const std::vector<BatchOutcome>& outcomes,
                                  std::size_t large_bytes_max, Refusal left_out) {
  static_assert(limits::kBatchOperationsMax * kSmallItemBytes < limits::kMessageBytesMax);
  // Every item has its small part; the large ones share the rest, first come first served.
  std::size_t room =
      std::min(large_bytes_max, limits::kMessageBytesMax - 1 - outcomes.size() * kSmallItemBytes);
  v1::BatchResponse response;
  for (const BatchOutcome& outcome : outcomes) {
    const std::size_t large = LargePartBytes(outcome);
    const bool fits = large <= room;
    if (fits) room -= large;
    *response.add_items() = fits ? ItemOf(outcome) : SmallItemOf(outcome, left_out);
  }
  return response;
}

}  // namespace onced
