// From a message that anybody may have sent to a request that the shards can
// execute, or to the error that names what is wrong with it.
#pragma once

#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "google/rpc/status.pb.h"
#include "idempotency/v1/idempotency.pb.h"
#include "server/ledger/policy.h"
#include "server/shard/request.h"

namespace onced {

// Either a request that lacks only its deadline and its answer, or an error.
using Checked = std::variant<Request, google::rpc::Status>;

// Threads:  constant after construction.
// Lifetime: `policies` must outlive it and every request that it returns.
class Validator {
 public:
  explicit Validator(const PolicyTable& policies) : policies_(policies) {}

  // `path` stands before the field names in errors, such as "operations[3].reserve.".
  Checked Check(const idempotency::v1::ReserveRequest& request, absl::string_view path = "") const;
  Checked Check(const idempotency::v1::CommitRequest& request, absl::string_view path = "") const;
  Checked Check(const idempotency::v1::ReleaseRequest& request, absl::string_view path = "") const;
  Checked Check(const idempotency::v1::ExtendRequest& request, absl::string_view path = "") const;
  Checked Check(const idempotency::v1::InspectRequest& request, absl::string_view path = "") const;
  // Whether a Reserve among several operations may wait.
  enum class Waiting { kRefused, kAllowed };
  // One of several operations.
  Checked Check(const idempotency::v1::Operation& operation, int index, Waiting waiting) const;

 private:
  const PolicyTable& policies_;
};

}  // namespace onced
