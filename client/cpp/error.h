// What a failed call says beyond its code and message: the google.rpc details
// of its status.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/support/status.h"

namespace onced::client {

// The domain of the reasons in the API's ErrorReason.
inline constexpr char kDomain[] = "onced";

// One field of the request that the server refused, with the reason.
struct FieldViolation {
  std::string field;
  std::string description;
};

struct ErrorDetails {
  absl::StatusCode code = absl::StatusCode::kOk;  // Numbered like gRPC's.
  std::string message;

  // From google.rpc.ErrorInfo. Empty if the error isn't the service's own, but
  // the transport's or a proxy's.
  std::string reason;  // A name of ErrorReason without its prefix: "SUPERSEDED".
  std::string domain;
  std::map<std::string, std::string> metadata;  // Such as state and fence.

  // From google.rpc.RetryInfo.
  std::optional<absl::Duration> retry_delay;
  // From google.rpc.BadRequest.
  std::vector<FieldViolation> violations;

  // Whether the call may have been executed all the same. Sending it again with
  // the same request_id or token is then safe, and the only way to know.
  bool OutcomeUnknown() const;
};

// The same code and message, with the details kept for DetailsOf().
absl::Status ToAbslStatus(const grpc::Status& status);

// Details that are missing or damaged leave their fields empty.
ErrorDetails DetailsOf(const absl::Status& status);

// A status that DetailsOf() reads back: for fakes, and for errors of a caller's
// own. `details.code` is not OK.
absl::Status ToAbslStatus(const ErrorDetails& details);

// What a server of a caller's own answers with: code, message, and the details, if there are any.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace onced::client
