#include "server/rpc/validate.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/rpc/errors.h"
#include "server/rpc/fields.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;

Token CheckToken(const std::string& token, Findings& findings) {
  findings.CheckLength("token", token, 1, limits::kTokenBytesMax);
  return Token::FromText(token);
}

}  // namespace

// What all operations have in common: who may use the namespace is decided
// first, and says nothing about keys; then `take` looks at the rest.
template <typename Message, typename Take>
Checked Validator::CheckWith(Right right, const Message& message, absl::string_view path,
                             Take take) const {
  Findings findings(path);
  CheckNamespace(message.namespace_(), findings);
  const bool named = findings.empty();
  const bool allowed = named && caller_.May(right, message.namespace_());
  const Policy* policy = allowed ? policies_.Find(message.namespace_()) : nullptr;
  if (named && policy == nullptr) {
    return ErrorOf(Refused{Refusal::kNamespaceNotAllowed});
  }
  static const Policy kAnyPolicy;  // Its namespace is wrong: the rest is still checked.
  CheckKey(message.key(), findings);
  Request request{.key = {message.namespace_(), message.key()},
                  .operation = take(policy == nullptr ? kAnyPolicy : *policy, findings),
                  .policy = policy};
  if (!findings.empty()) return findings.Error();
  return request;
}

Checked Validator::Check(const v1::ReserveRequest& request, absl::string_view path) const {
  return CheckWith(
      Right::kUse, request, path, [&](const Policy& policy, Findings& findings) -> Operation {
        findings.CheckLength("fingerprint", request.fingerprint(), 0, limits::kFingerprintBytesMax);
        findings.CheckLength("request_id", request.request_id(), 0, limits::kRequestIdBytesMax);
        findings.CheckLength("owner", request.owner(), 0, limits::kOwnerBytesMax);
        return ReserveOp{
            .fingerprint = request.fingerprint(),
            .request_id = request.request_id(),
            .owner = request.owner(),
            .lease_ttl = CheckDuration("lease_ttl", request.has_lease_ttl(), request.lease_ttl(),
                                       policy.lease, findings),
            .wait_timeout = CheckDuration("wait_timeout", request.has_wait_timeout(),
                                          request.wait_timeout(), policy.wait, findings)};
      });
}

Checked Validator::Check(const v1::CommitRequest& request, absl::string_view path) const {
  return CheckWith(Right::kUse, request, path,
                   [&](const Policy& policy, Findings& findings) -> Operation {
                     const Token token = CheckToken(request.token(), findings);
                     Result result = TakeResult("result.", request.result(), policy, findings);
                     std::optional<absl::Duration> retention;
                     if (request.has_retention_ttl())
                       retention = RetentionOf(request.retention_ttl());
                     return CommitOp{token, StoredResult(std::move(result)), retention};
                   });
}

Checked Validator::Check(const v1::ReleaseRequest& request, absl::string_view path) const {
  return CheckWith(Right::kUse, request, path, [&](const Policy&, Findings& findings) -> Operation {
    return ReleaseOp{CheckToken(request.token(), findings)};
  });
}

Checked Validator::Check(const v1::ExtendRequest& request, absl::string_view path) const {
  return CheckWith(
      Right::kUse, request, path, [&](const Policy& policy, Findings& findings) -> Operation {
        findings.CheckLength("checkpoint", request.checkpoint(), 0, limits::kCheckpointBytesMax);
        ExtendOp extend{.token = CheckToken(request.token(), findings),
                        .lease_ttl = CheckDuration("lease_ttl", request.has_lease_ttl(),
                                                   request.lease_ttl(), policy.lease, findings)};
        if (request.has_checkpoint()) extend.checkpoint = request.checkpoint();
        return extend;
      });
}

Checked Validator::Check(const v1::InspectRequest& request, absl::string_view path) const {
  return CheckWith(Right::kInspect, request, path,
                   [](const Policy&, Findings&) -> Operation { return InspectOp{}; });
}

namespace {

// Of a Reserve that must not wait, whatever its namespace's default.
Checked CheckWithoutWait(const Validator& validator, const v1::ReserveRequest& reserve,
                         const std::string& path) {
  const auto& wait = reserve.wait_timeout();
  if (wait.seconds() > 0 || wait.nanos() > 0) {
    return ErrorOf(
        Violation{absl::StrCat(path, "wait_timeout"), "must be zero: a batch does not wait"});
  }
  Checked checked = validator.Check(reserve, path);
  if (auto* request = std::get_if<Request>(&checked)) {
    std::get<ReserveOp>(request->operation).wait_timeout = absl::ZeroDuration();
  }
  return checked;
}

}  // namespace

Checked Validator::Check(const v1::Operation& operation, int index, Waiting waiting) const {
  const std::string path = absl::StrCat("operations[", index, "].");
  switch (operation.operation_case()) {
    case v1::Operation::kReserve:
      if (waiting == Waiting::kAllowed)
        return Check(operation.reserve(), absl::StrCat(path, "reserve."));
      return CheckWithoutWait(*this, operation.reserve(), absl::StrCat(path, "reserve."));
    case v1::Operation::kCommit:
      return Check(operation.commit(), absl::StrCat(path, "commit."));
    case v1::Operation::kRelease:
      return Check(operation.release(), absl::StrCat(path, "release."));
    case v1::Operation::kExtend:
      return Check(operation.extend(), absl::StrCat(path, "extend."));
    case v1::Operation::kInspect:
      return Check(operation.inspect(), absl::StrCat(path, "inspect."));
    case v1::Operation::OPERATION_NOT_SET:
      return ErrorOf(
          Violation{absl::StrCat("operations[", index, "]"), "must be one of the operations"});
  }
  __builtin_unreachable();
}

}  // namespace onced
