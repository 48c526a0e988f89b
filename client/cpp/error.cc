#include "client/cpp/error.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "client/cpp/duration.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace onced::client {
namespace {

// The payload of an absl::Status under which the details travel.
constexpr char kPayload[] = "type.googleapis.com/google.rpc.Status";

// Ours wins over one that a proxy added.
void ReadErrorInfo(const google::rpc::ErrorInfo& info, ErrorDetails& details) {
  if (details.domain == kDomain) return;
  details.reason = info.reason();
  details.domain = info.domain();
  details.metadata = {info.metadata().begin(), info.metadata().end()};
}

void ReadDetail(const google::protobuf::Any& any, ErrorDetails& details) {
  google::rpc::ErrorInfo info;
  google::rpc::RetryInfo retry;
  google::rpc::BadRequest bad;
  if (any.UnpackTo(&info)) {
    ReadErrorInfo(info, details);
  } else if (any.UnpackTo(&retry)) {
    details.retry_delay = FromProto(retry.retry_delay());
  } else if (any.UnpackTo(&bad)) {
    for (const auto& violation : bad.field_violations()) {
      details.violations.push_back({violation.field(), violation.description()});
    }
  }
}

// Code and message are the status's own. This message could not hold every text of theirs: one
// that isn't UTF-8 may have come from whoever stands between.
google::rpc::Status ToRpcStatus(const ErrorDetails& details) {
  google::rpc::Status proto;
  if (!details.reason.empty() || !details.domain.empty() || !details.metadata.empty()) {
    google::rpc::ErrorInfo info;
    info.set_reason(details.reason);
    info.set_domain(details.domain);
    info.mutable_metadata()->insert(details.metadata.begin(), details.metadata.end());
    proto.add_details()->PackFrom(info);
  }
  if (details.retry_delay.has_value()) {
    google::rpc::RetryInfo retry;
    *retry.mutable_retry_delay() = ToProto(*details.retry_delay);
    proto.add_details()->PackFrom(retry);
  }
  if (!details.violations.empty()) {
    google::rpc::BadRequest bad;
    for (const FieldViolation& violation : details.violations) {
      auto* added = bad.add_field_violations();
      added->set_field(violation.field);
      added->set_description(violation.description);
    }
    proto.add_details()->PackFrom(bad);
  }
  return proto;
}

}  // namespace

bool ErrorDetails::OutcomeUnknown() const {
  if (domain == kDomain) return reason == "OUTCOME_UNKNOWN";
  switch (code) {
    case absl::StatusCode::kOk:
    // A proxy's refusals, from before the call reached the service.
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnimplemented:
      return false;
    default:
      return true;
  }
}

absl::Status ToAbslStatus(const grpc::Status& status) {
  absl::Status converted(static_cast<absl::StatusCode>(status.error_code()),
                         status.error_message());
  if (!converted.ok() && !status.error_details().empty()) {
    converted.SetPayload(kPayload, absl::Cord(status.error_details()));
  }
  return converted;
}

absl::Status ToAbslStatus(const ErrorDetails& details) {
  absl::Status status(details.code, details.message);
  status.SetPayload(kPayload, absl::Cord(ToRpcStatus(details).SerializeAsString()));
  return status;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  const auto code = static_cast<grpc::StatusCode>(status.code());
  const std::string message(status.message());
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  google::rpc::Status proto;
  if (!payload.has_value() || !proto.ParseFromString(std::string(*payload))) {
    return {code, message};
  }
  // Some clients take the code and the message from here, too.
  proto.set_code(code);
  if (std::all_of(message.begin(), message.end(), absl::ascii_isascii)) proto.set_message(message);
  return {code, message, proto.SerializeAsString()};
}

ErrorDetails DetailsOf(const absl::Status& status) {
  ErrorDetails details{.code = status.code(), .message = std::string(status.message())};
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  google::rpc::Status proto;
  if (!payload.has_value() || !proto.ParseFromString(std::string(*payload))) return details;
  for (const auto& any : proto.details()) ReadDetail(any, details);
  return details;
}

}  // namespace onced::client
