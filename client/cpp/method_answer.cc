#include "client/cpp/method_answer.h"

#include <string>

#include "client/cpp/error.h"
#include "client/cpp/idempotent_method.h"
#include "google/protobuf/message.h"

namespace onced::client {
namespace {

// Named as gRPC names them on the wire.
constexpr char kMessage[] = "grpc-message";
constexpr char kDetails[] = "grpc-status-details-bin";
// More would leave no room for details.
constexpr std::size_t kMessageBytesMax = 4 << 10;

// Where onced doesn't say.
constexpr absl::Duration kUnavailableDelay = absl::Seconds(1);

std::string HeaderOf(const Result& result, const char* name) {
  for (const Header& header : result.headers) {
    if (header.name == name) return header.value;
  }
  return "";
}

// Not in the middle of a character of UTF-8.
std::string Cut(const std::string& text) {
  std::size_t end = std::min(text.size(), kMessageBytesMax);
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  while (end < text.size() && end > 0 && continues(end)) --end;
  return text.substr(0, end);
}

grpc::Status Refusal(absl::StatusCode code, const char* reason, const char* message,
                     std::optional<absl::Duration> retry_delay = std::nullopt) {
  return ToGrpcStatus(ToAbslStatus(ErrorDetails{.code = code,
                                                .message = message,
                                                .reason = reason,
                                                .domain = kMethodDomain,
                                                .retry_delay = retry_delay}));
}

grpc::Status NotKept(google::protobuf::Message& response) {
  response.Clear();
  return Refusal(absl::StatusCode::kDataLoss, "IDEMPOTENCY_RESPONSE_NOT_KEPT",
                 "it was done before, but its response was not kept");
}

grpc::Status Unavailable(const absl::Status& error) {
  return Refusal(absl::StatusCode::kUnavailable, "IDEMPOTENCY_UNAVAILABLE",
                 "the key could not be reserved, and nothing was done",
                 DetailsOf(error).retry_delay.value_or(kUnavailableDelay));
}

grpc::Status Misconfigured() {
  return Refusal(absl::StatusCode::kInternal, "IDEMPOTENCY_REFUSED",
                 "the key was refused, and nothing was done");
}

}  // namespace

absl::StatusOr<Result> StoredOf(const grpc::Status& status,
                                const google::protobuf::Message& response) {
  Result result{.status_code = status.error_code()};
  if (!status.error_message().empty()) {
    result.headers.push_back({kMessage, Cut(status.error_message())});
  }
  if (!status.error_details().empty()) {
    result.headers.push_back({kDetails, status.error_details()});
  }
  if (!status.ok()) return result;
  if (response.SerializePartialToString(&result.body)) return result;
  return absl::ResourceExhaustedError("the response is too large to be serialized");
}

grpc::Status Replay(const Result& result, google::protobuf::Message& response) {
  if (result.status_code < grpc::OK || result.status_code > grpc::UNAUTHENTICATED) {
    return NotKept(response);  // Such as an HTTP status, by an operator.
  }
  if (result.status_code != grpc::OK) {
    response.Clear();
    return {static_cast<grpc::StatusCode>(result.status_code), HeaderOf(result, kMessage),
            HeaderOf(result, kDetails)};
  }
  if (result.body_omitted || !response.ParsePartialFromString(result.body)) {
    return NotKept(response);
  }
  return grpc::Status::OK;
}

grpc::Status AnswerTo(const Conflict& conflict) {
  return Refusal(absl::StatusCode::kAborted, "IDEMPOTENCY_IN_PROGRESS",
                 "an earlier call with this key is still being handled",
                 conflict.holder.retry_delay);
}

grpc::Status AnswerTo(const Mismatch&) {
  return Refusal(absl::StatusCode::kFailedPrecondition, "IDEMPOTENCY_KEY_REUSED",
                 "this key was used for another request");
}

grpc::Status AnswerTo(const Unresolved&) {
  return Refusal(
      absl::StatusCode::kAborted, "IDEMPOTENCY_UNRESOLVED",
      "nobody knows what became of an earlier call with this key: an operator settles it");
}

grpc::Status AnswerTo(const absl::Status& error, bool callers_end) {
  switch (error.code()) {
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
      if (callers_end) return ToGrpcStatus(error);
      return Unavailable(error);
    // It may be otherwise when it is asked for again.
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDataLoss:
      return Unavailable(error);
    // The service's own mistake, and not its caller's: what it sends, or who it is to onced.
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kOk:
    case absl::StatusCode::kDoNotUseReservedForFutureExpansionUseDefaultInSwitchInstead_:
      break;
  }
  return Misconfigured();
}

}  // namespace onced::client
