#include "tests/integration/error.h"

#include "google/rpc/error_details.pb.h"

namespace onced::integration {
namespace {

absl::Duration ToDuration(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

void Add(const google::rpc::BadRequest& bad, Error& error) {
  for (const auto& violation : bad.field_violations()) {
    std::string& text = error.violations[violation.field()];
    text += (text.empty() ? "" : " & ") + violation.description();
  }
}

}  // namespace

Error ErrorOf(const google::rpc::Status& status) {
  Error error{.code = status.code(), .message = status.message(), .details = status.details_size()};
  google::rpc::ErrorInfo info;
  google::rpc::BadRequest bad;
  google::rpc::RetryInfo retry;
  for (const auto& detail : status.details()) {
    if (detail.UnpackTo(&info)) {
      error.reason = info.reason();
      error.domain = info.domain();
      error.metadata = {info.metadata().begin(), info.metadata().end()};
    }
    if (detail.UnpackTo(&bad)) Add(bad, error);
    if (detail.UnpackTo(&retry)) error.retry_delay = ToDuration(retry.retry_delay());
  }
  return error;
}

Error ErrorOf(const grpc::Status& status) {
  google::rpc::Status details;
  const bool parsed = details.ParseFromString(status.error_details());
  Error error = parsed ? ErrorOf(details) : Error{};
  // What all clients see wins; where both are there they must not differ.
  if (parsed && details.code() != 0 && details.code() != status.error_code()) error.reason = "";
  error.code = status.error_code();
  error.message = status.error_message();
  return error;
}

void PrintTo(const Error& error, std::ostream* os) {
  *os << "code " << error.code << " " << error.reason << ": " << error.message;
  for (const auto& [name, value] : error.metadata) *os << "\n  " << name << " = " << value;
  for (const auto& [field, text] : error.violations) *os << "\n  " << field << ": " << text;
  if (error.retry_delay) *os << "\n  retry after " << absl::FormatDuration(*error.retry_delay);
}

}  // namespace onced::integration
