// What an error carries, taken apart.
#pragma once

#include <grpcpp/grpcpp.h>

#include <map>
#include <optional>
#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "google/rpc/status.pb.h"

namespace onced::integration {

struct Error {
  int code = 0;  // A grpc::StatusCode.
  std::string message;
  // Of ErrorInfo; empty if there is none.
  std::string reason;
  std::string domain;
  std::map<std::string, std::string> metadata;
  // Of BadRequest: descriptions by field; of a field with several, joined by " & ".
  std::map<std::string, std::string> violations;
  std::optional<absl::Duration> retry_delay;  // Of RetryInfo.
  int details = 0;                            // How many there are, of any kind.
};

Error ErrorOf(const google::rpc::Status& status);
// Of a call; without details where its trailers have none.
Error ErrorOf(const grpc::Status& status);

void PrintTo(const Error& error, std::ostream* os);

}  // namespace onced::integration
