// From a message that anybody may have sent to a request that the shards can
// execute, or to the error that names what is wrong with it.
#pragma once

#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "google/rpc/status.pb.h"
#include "idempotency/v1/idempotency.pb.h"
#include "server/ledger/policy.h"
#include "server/rpc/caller.h"
#include "server/shard/request.h"

namespace onced {

// Either a request that lacks only its deadline and its answer, or an error.
using Checked = std::variant<Request, google::rpc::Status>;

// Of one call: whoever sent it may use some namespaces and not others.
//
// Threads:  constant after construction.
// Lifetime: `caller` must outlive it, `policies` also every request that it returns.
// Promise:  whether the caller may use a namespace is decided as soon as that is seen to be
//           the name of one, and a refusal says neither whether there is such a
//           namespace nor anything of what it holds.
class Validator {
 public:
  Validator(const PolicyTable& policies, const Caller& caller)
      : policies_(policies), caller_(caller) {}

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
  template <typename Message, typename Take>
  Checked CheckWith(Right right, const Message& message, absl::string_view path, Take take) const;

  const PolicyTable& policies_;
  const Caller& caller_;
};

}  // namespace onced
