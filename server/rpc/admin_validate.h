// From an operator's message to what is to be done, or to the error that names what is
// wrong with it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>

#include "google/rpc/status.pb.h"
#include "idempotency/admin/v1/admin.pb.h"
#include "server/ledger/policy.h"
#include "server/rpc/caller.h"
#include "server/rpc/validate.h"
#include "server/shard/listing.h"

namespace onced {

// A page of a list, or of an eviction of all.
struct PageRequest {
  ListFilter filter;
  std::string page_token;
  std::size_t page_size = 0;
  bool force = false;  // Of an eviction.
};
using CheckedPage = std::variant<PageRequest, google::rpc::Status>;

// Bytes of an operator's comment.
inline constexpr std::size_t kCommentBytesMax = 256;
inline constexpr std::size_t kPageSizeMax = 1'000;
inline constexpr std::size_t kPageSizePreset = 100;
// In a filter; there are fewer.
inline constexpr int kStatesMax = 16;

// Whether `name` may be that of a namespace.
bool IsNamespace(const std::string& name);

// Threads:  constant after construction.
// Lifetime: `caller` must outlive it, `policies` also every request that it returns.
// Promise:  as Validator: a refusal for want of the right says nothing of the namespace.
class AdminValidator {
 public:
  AdminValidator(const PolicyTable& policies, const Caller& caller)
      : policies_(policies), caller_(caller) {}

  // A namespace that the configuration doesn't name (any more) may have records.
  Checked Check(const idempotency::admin::v1::ResolveRequest& request) const;
  Checked Check(const idempotency::admin::v1::EvictRequest& request) const;
  CheckedPage Check(const idempotency::admin::v1::ListRequest& request) const;
  CheckedPage Check(const idempotency::admin::v1::EvictNamespaceRequest& request) const;

 private:
  template <typename Message, typename Take>
  Checked CheckSettling(const Message& message, Take take) const;
  // The error, unless the caller may do this in the namespace; or that is none, which is told
  // to who may do this in another.
  std::optional<google::rpc::Status> Denied(const std::string& name_space) const;

  const PolicyTable& policies_;
  const Caller& caller_;
};

}  // namespace onced
