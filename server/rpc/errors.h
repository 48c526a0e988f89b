// The one place that turns refusals into gRPC errors: section 5 of docs/protocol.md.
#pragma once

#include <grpcpp/support/status.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/rpc/status.pb.h"
#include "server/ledger/operation.h"

namespace onced {

inline constexpr char kErrorDomain[] = "onced";

// One field of a request that can't be accepted, and what would be.
struct Violation {
  std::string field;
  std::string description;
};

// The google.rpc.Status of a refusal, with ErrorInfo and, where the caller may
// try again, RetryInfo.
google::rpc::Status ErrorOf(const Refused& refused);
// The same, of a refusal that ends after `retry_delay`.
google::rpc::Status ErrorOf(Refusal refusal, absl::Duration retry_delay);
// INVALID_ARGUMENT with one BadRequest violation a field; `violations` isn't empty. There are
// `left_out` others.
google::rpc::Status ErrorOf(const std::vector<Violation>& violations, std::size_t left_out = 0);
google::rpc::Status ErrorOf(const Violation& violation);
// Of a call whose sender isn't known: the same whatever it lacks.
google::rpc::Status Unauthenticated();

// Why the admin service refuses, or fails.
enum class AdminRefusal : std::uint8_t {
  kBackupNotConfigured,
  kBackupRunning,
  kBackupDirUnfit,
  kBackupNoSpace,
  kBackupDamaged,
  kBackupFailed,
  kDraining,
  kUnauthenticated,
  kNotAllowed,
  kNamespaceNotAllowed,
  kBusy
};
// Of a backup that did not come about.
AdminRefusal RefusalOfBackup(const absl::Status& failure);
// `detail` is what is wrong in particular; may be empty.
google::rpc::Status ErrorOf(AdminRefusal refusal, absl::string_view detail = "");

// The same error as a gRPC status: the whole google.rpc.Status travels in it.
grpc::Status ToGrpc(const google::rpc::Status& error);

// The reason in an error's ErrorInfo.
std::string ReasonOf(const google::rpc::Status& error);
// All reasons there are, as they stand in ErrorInfo.
std::vector<std::string> AllReasons();

}  // namespace onced
