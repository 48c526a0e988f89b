// From the bytes of a call to what a shard would be given, or to the error.
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "idempotency/v1/idempotency.pb.h"
#include "server/base/bytes.h"
#include "server/ledger/decide.h"
#include "server/rpc/batch_run.h"
#include "server/rpc/errors.h"
#include "server/rpc/translate.h"
#include "server/rpc/validate.h"
#include "server/rpc/wire.h"
#include "server/storage/codec/record_codec.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/targets.h"
#include "tests/support/test_records.h"

namespace onced::fuzz {
namespace {

namespace v1 = idempotency::v1;

// "strict" has a policy of its own, "closed-" and all others are as without a file.
const PolicyTable& Policies() {
  static const PolicyTable policies(
      {{"strict",
        {.lease = {absl::Seconds(1), absl::Minutes(1), absl::Seconds(5)},
         .wait = {absl::ZeroDuration(), absl::Seconds(2), absl::Seconds(1)},
         .body_bytes_max = 16}}},
      Policy{});
  return policies;
}
// Nothing is allowed that isn't listed.
const PolicyTable& ClosedPolicies() {
  static const PolicyTable policies({{"strict", Policy{}}}, std::nullopt);
  return policies;
}

// In slices as a network might have cut it.
grpc::ByteBuffer BufferOf(absl::string_view bytes, std::size_t slice_bytes) {
  std::vector<grpc::Slice> slices;
  for (std::size_t at = 0; at < bytes.size() || at == 0; at += slice_bytes) {
    const absl::string_view part = bytes.substr(at, slice_bytes);
    slices.emplace_back(part.data(), part.size());
  }
  return {slices.data(), slices.size()};
}

bool HasControlCharacter(const std::string& key) {
  for (std::size_t i = 0; i < key.size(); ++i) {
    const auto byte = static_cast<unsigned char>(key[i]);
    if (byte < 0x20 || byte == 0x7f) return true;
    if (byte == 0xc2 && static_cast<unsigned char>(key[i + 1]) < 0xa0) return true;
  }
  return false;
}

// ---- Section 5 of docs/protocol.md ----

void CheckDuration(absl::Duration duration, const DurationBounds& bounds) {
  Demand(duration >= bounds.min && duration <= bounds.max, "a duration out of bounds");
  Demand(duration == absl::Trunc(duration, absl::Microseconds(1)), "less than a microsecond");
}

void CheckOperation(const ReserveOp& op, const Policy& policy) {
  Demand(op.fingerprint.size() <= 128 && op.owner.size() <= 128, "too long");
  Demand(op.request_id.size() <= 64, "too long a request_id");
  CheckDuration(op.lease_ttl, policy.lease);
  CheckDuration(op.wait_timeout, policy.wait);
}
void CheckOperation(const CommitOp& op, const Policy& policy) {
  const Result& result = *op.result;
  std::size_t bytes = 0;
  for (const Header& header : result.headers) bytes += header.name.size() + header.value.size();
  Demand(result.headers.size() <= 64 && bytes <= 16 << 10, "too many headers");
  Demand(static_cast<std::int64_t>(result.body.size()) <= policy.body_bytes_max, "a large body");
  Demand(result.body_sha256.size() == 32 && result.body_size >= 0, "no digest");
  if (result.body_omitted) return Demand(result.body.empty(), "a body that was omitted");
  Demand(result.body_size == static_cast<std::int64_t>(result.body.size()), "another size");
  Demand(result.body_sha256 == Sha256(result.body), "another digest");
}
void CheckOperation(const ReleaseOp&, const Policy&) {}
void CheckOperation(const ExtendOp& op, const Policy& policy) {
  CheckDuration(op.lease_ttl, policy.lease);
  if (op.checkpoint.has_value()) Demand(op.checkpoint->size() <= 64 << 10, "a large checkpoint");
}
void CheckOperation(const InspectOp&, const Policy&) {}
void CheckOperation(const ResolveOp&, const Policy&) { Demand(false, "an operator's"); }
void CheckOperation(const EvictOp&, const Policy&) { Demand(false, "an operator's"); }

void CheckRequest(const Request& request) {
  const std::string& name_space = request.key.name_space;
  Demand(!name_space.empty() && name_space.size() <= 64, "the namespace's length");
  Demand(name_space.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789._-") == std::string::npos,
         "the namespace's characters");
  Demand(std::string("._-").find(name_space[0]) == std::string::npos, "the namespace's first");
  const std::string& key = request.key.key;
  Demand(!key.empty() && key.size() <= 256 && !HasControlCharacter(key), "the key");
  Demand(DecodeKey(EncodeKey(request.key)).value() == request.key, "can't be stored");
  Demand(request.policy != nullptr, "without a policy");
  std::visit([&](const auto& op) { CheckOperation(op, *request.policy); }, request.operation);
}

// ---- What comes of it ----

Token TokenOf(const Operation& operation) {
  if (const auto* commit = std::get_if<CommitOp>(&operation)) return commit->token;
  if (const auto* release = std::get_if<ReleaseOp>(&operation)) return release->token;
  if (const auto* extend = std::get_if<ExtendOp>(&operation)) return extend->token;
  return {};
}

void CheckResponse(const Reply& reply) {
  const Answer answer{.reply = reply, .server_time = TestStart(), .waited = absl::ZeroDuration()};
  if (const auto* refused = std::get_if<Refused>(&reply)) {
    return Demand(!ReasonOf(ErrorOf(*refused)).empty(), "refused without a reason");
  }
  if (std::holds_alternative<Parked>(reply)) return;
  BatchOutcome outcome{.include_result = true, .answer = answer};
  const auto kind = [&] {
    if (std::holds_alternative<CommitDone>(reply)) return v1::Operation::kCommit;
    if (std::holds_alternative<ReleaseDone>(reply)) return v1::Operation::kRelease;
    if (std::holds_alternative<ExtendDone>(reply)) return v1::Operation::kExtend;
    if (std::holds_alternative<Inspected>(reply)) return v1::Operation::kInspect;
    return v1::Operation::kReserve;
  };
  outcome.kind = kind();
  const v1::BatchResponse response = BatchResponseOf({outcome});
  v1::BatchResponse again;
  Demand(again.ParseFromString(response.SerializeAsString()), "an answer that nobody can read");
  Demand(google::protobuf::util::MessageDifferencer::Equals(again, response), "another answer");
}

// Any record that is there may be asked for anything that is in order, and what
// becomes of it can be stored and told.
void Execute(const Request& request) {
  static const Record kRecords[] = {FullPending(), MinimalPending(), FullCommitted(),
                                    MinimalCommitted("body")};
  const Mint mint{.token = {.epoch = {1}, .bits = {1}}, .fence = {2'000'000'000'000'000}};
  for (std::size_t i = 0; i <= std::size(kRecords); ++i) {
    std::optional<Record> found;
    if (i < std::size(kRecords)) {
      found = kRecords[i];
      // The holder itself, as far as a token is given.
      if (TokenOf(request.operation) != Token{}) found->token = TokenOf(request.operation);
    }
    for (const absl::Duration later : {absl::Seconds(1), absl::Hours(10)}) {
      const View view{.now = TestStart() + later,
                      .epoch = found.has_value() ? found->token.epoch : Epoch{1}};
      const Decision decision = Decide(found, request.operation, view, *request.policy, mint);
      if (const auto* write = std::get_if<Write>(&decision.change)) {
        Demand(DecodeRecord(EncodeRecord(write->record)).value() == write->record,
               "stored as something else");
      }
      CheckResponse(decision.reply);
    }
  }
}

void CheckError(const google::rpc::Status& error) {
  constexpr std::size_t kItemBytes = 2'048;  // What a batch has room for: server/rpc/batch.cc.
  Demand(error.code() == grpc::INVALID_ARGUMENT || error.code() == grpc::PERMISSION_DENIED,
         "refused as something else");
  Demand(!ReasonOf(error).empty() && !error.message().empty(), "refused without a reason");
  Demand(error.ByteSizeLong() < kItemBytes, "an error that is too long for a batch");
  google::rpc::Status again;
  Demand(again.ParseFromString(error.SerializeAsString()), "an error that nobody can read");
}

void Check(const Checked& checked) {
  if (const auto* error = std::get_if<google::rpc::Status>(&checked)) return CheckError(*error);
  const auto& request = std::get<Request>(checked);
  CheckRequest(request);
  Execute(request);
}

template <typename Message>
void Handle(const grpc::ByteBuffer& bytes, const Validator& validator) {
  Message message;
  if (const auto violation = Parse(bytes, message)) return CheckError(ErrorOf(*violation));
  Check(validator.Check(message));
}

template <typename Message>
void HandleAll(const grpc::ByteBuffer& bytes, const Validator& validator,
               Validator::Waiting waiting) {
  Message message;
  if (const auto violation = Parse(bytes, message)) return CheckError(ErrorOf(*violation));
  if (const auto error = BatchRun::CheckSize(message.operations())) return CheckError(*error);
  Demand(message.operations_size() >= 1 && message.operations_size() <= 1024, "so many at once");
  for (int i = 0; i < message.operations_size(); ++i) {
    const Checked checked = validator.Check(message.operations(i), i, waiting);
    Check(checked);
    const auto* request = std::get_if<Request>(&checked);
    if (request == nullptr || waiting == Validator::Waiting::kAllowed) continue;
    Demand(!MayWait(*request), "a batch that waits");
  }
}

}  // namespace

void Requests(absl::string_view bytes) {
  Draw draw(bytes);
  const std::size_t method = draw.Below(7);
  static const Caller caller = Caller::Anyone();
  const Validator validator(draw.OneIn(8) ? ClosedPolicies() : Policies(), caller);
  const std::size_t slice_bytes = 1 + draw.Int<std::uint8_t>() * std::size_t{16};
  const grpc::ByteBuffer message = BufferOf(draw.Rest(), slice_bytes);
  switch (method) {
    case 0:
      return Handle<v1::ReserveRequest>(message, validator);
    case 1:
      return Handle<v1::CommitRequest>(message, validator);
    case 2:
      return Handle<v1::ReleaseRequest>(message, validator);
    case 3:
      return Handle<v1::ExtendRequest>(message, validator);
    case 4:
      return Handle<v1::InspectRequest>(message, validator);
    case 5:
      return HandleAll<v1::BatchRequest>(message, validator, Validator::Waiting::kRefused);
    default:
      return HandleAll<v1::SessionRequest>(message, validator, Validator::Waiting::kAllowed);
  }
}

}  // namespace onced::fuzz
