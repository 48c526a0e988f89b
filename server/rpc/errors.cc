#include "server/rpc/errors.h"

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "idempotency/admin/v1/admin.pb.h"
#include "idempotency/v1/idempotency.pb.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;
namespace admin_v1 = idempotency::admin::v1;

// What RetryInfo asks for: long enough for a queue to empty or a pod to restart.
enum class Retry { kNever, kAtOnce, kSoon, kAfterRestart };

// Of the API, or of the admin service alone. Clients switch on its name.
class Reason {
 public:
  constexpr Reason(v1::ErrorReason reason) : value_(reason) {}                      // NOLINT
  constexpr Reason(admin_v1::ErrorReason reason) : value_(reason), admin_(true) {}  // NOLINT
  const std::string& FullName() const {
    return admin_ ? admin_v1::ErrorReason_Name(static_cast<admin_v1::ErrorReason>(value_))
                  : v1::ErrorReason_Name(static_cast<v1::ErrorReason>(value_));
  }

 private:
  int value_;
  bool admin_ = false;
};

struct Mapping {
  grpc::StatusCode code;
  Reason reason;
  Retry retry;
  const char* message;
};

// Who may not use a namespace isn't told whether there is one.
constexpr char kNamespaceNotAllowed[] =
    "namespace: not one that this caller may do this in, or that this server is configured for";
constexpr char kUnauthenticated[] =
    "this server wants to know who calls: send a client certificate or a bearer token that it "
    "accepts";

// No default: a new Refusal does not compile until it has a row here.
constexpr Mapping MappingOf(Refusal refusal) {
  using enum grpc::StatusCode;
  switch (refusal) {
    case Refusal::kSuperseded:
      return {ABORTED, v1::ERROR_REASON_SUPERSEDED, Retry::kNever,
              "the token is not that of the key's last holder"};
    case Refusal::kRestored:
      return {
          ABORTED, v1::ERROR_REASON_RESTORED, Retry::kNever,
          "the token is from another store, or from before this one was restored from a backup"};
    case Refusal::kCommittedDifferently:
      return {FAILED_PRECONDITION, v1::ERROR_REASON_COMMITTED_DIFFERENTLY, Retry::kNever,
              "the key was committed with another result, which stands"};
    case Refusal::kAlreadyCommitted:
      return {FAILED_PRECONDITION, v1::ERROR_REASON_ALREADY_COMMITTED, Retry::kNever,
              "the key's result is committed, and stands"};
    case Refusal::kNotReserved:
      return {NOT_FOUND, v1::ERROR_REASON_NOT_RESERVED, Retry::kNever,
              "there is no reservation of this key, perhaps not any more"};
    case Refusal::kFenceMismatch:
      return {ABORTED, admin_v1::ERROR_REASON_FENCE_MISMATCH, Retry::kNever,
              "the record isn't the one with that fence: look at it again"};
    case Refusal::kHeld:
      return {FAILED_PRECONDITION, admin_v1::ERROR_REASON_HELD, Retry::kNever,
              "the lease is running, and its holder may be at work: wait, or force it"};
    case Refusal::kQueueFull:
      return {RESOURCE_EXHAUSTED, v1::ERROR_REASON_QUEUE_FULL, Retry::kSoon,
              "too many calls are queued; nothing was done"};
    case Refusal::kDiskFull:
      return {RESOURCE_EXHAUSTED, v1::ERROR_REASON_DISK_FULL, Retry::kAfterRestart,
              "the disk is nearly full: nothing new is granted; nothing was done"};
    case Refusal::kDraining:
      return {UNAVAILABLE, v1::ERROR_REASON_DRAINING, Retry::kAfterRestart,
              "the server is shutting down; nothing was done"};
    case Refusal::kStoreFailed:
      return {UNAVAILABLE, v1::ERROR_REASON_STORE_FAILED, Retry::kAfterRestart,
              "the store has failed, or can't read this key's record; nothing was done"};
    case Refusal::kDeadlinePassed:
      return {DEADLINE_EXCEEDED, v1::ERROR_REASON_DEADLINE_PASSED, Retry::kNever,
              "the deadline passed before the call was executed; nothing was done"};
    case Refusal::kCancelled:
      return {CANCELLED, v1::ERROR_REASON_CANCELLED, Retry::kNever,
              "the caller cancelled before the call was executed; nothing was done"};
    case Refusal::kNamespaceNotAllowed:
      return {PERMISSION_DENIED, v1::ERROR_REASON_NAMESPACE_NOT_ALLOWED, Retry::kNever,
              kNamespaceNotAllowed};
    case Refusal::kReplyTooLarge:
      return {RESOURCE_EXHAUSTED, v1::ERROR_REASON_REPLY_TOO_LARGE, Retry::kAtOnce,
              "the answer does not fit into the batch's reply; ask for this key by itself"};
    case Refusal::kMemoryFull:
      return {RESOURCE_EXHAUSTED, v1::ERROR_REASON_MEMORY_FULL, Retry::kSoon,
              "requests and answers in flight take all the memory there is for them; "
              "nothing was done"};
    case Refusal::kQuotaExceeded:
      return {RESOURCE_EXHAUSTED, v1::ERROR_REASON_QUOTA_EXCEEDED, Retry::kSoon,
              "the namespace has used up its quota; nothing was done"};
    case Refusal::kOutcomeUnknown:
      return {UNAVAILABLE, v1::ERROR_REASON_OUTCOME_UNKNOWN, Retry::kAfterRestart,
              "the store failed while writing: the change may or may not have survived; "
              "send the call again with the same request_id or token"};
  }
  __builtin_unreachable();
}

// No default here either.
constexpr Mapping MappingOf(AdminRefusal refusal) {
  using enum grpc::StatusCode;
  switch (refusal) {
    case AdminRefusal::kBackupNotConfigured:
      return {FAILED_PRECONDITION, admin_v1::ERROR_REASON_BACKUP_NOT_CONFIGURED, Retry::kNever,
              "backup_dir is not set: start the server with --backup-dir"};
    case AdminRefusal::kBackupRunning:
      return {ABORTED, admin_v1::ERROR_REASON_BACKUP_RUNNING, Retry::kNever,
              "another backup is being made: wait for that"};
    case AdminRefusal::kBackupDirUnfit:
      return {FAILED_PRECONDITION, admin_v1::ERROR_REASON_BACKUP_DIR_UNFIT, Retry::kNever,
              "the backup directory can't be used"};
    case AdminRefusal::kBackupNoSpace:
      return {RESOURCE_EXHAUSTED, admin_v1::ERROR_REASON_BACKUP_NO_SPACE, Retry::kAfterRestart,
              "there is too little space for a backup"};
    case AdminRefusal::kBackupDamaged:
      return {DATA_LOSS, admin_v1::ERROR_REASON_BACKUP_DAMAGED, Retry::kNever,
              "the backup is damaged"};
    case AdminRefusal::kBackupFailed:
      return {UNAVAILABLE, admin_v1::ERROR_REASON_BACKUP_FAILED, Retry::kAfterRestart,
              "the backup failed"};
    case AdminRefusal::kDraining:
      return {UNAVAILABLE, admin_v1::ERROR_REASON_DRAINING, Retry::kAfterRestart,
              "the server is shutting down"};
    case AdminRefusal::kUnauthenticated:
      return {UNAUTHENTICATED, admin_v1::ERROR_REASON_UNAUTHENTICATED, Retry::kNever,
              kUnauthenticated};
    case AdminRefusal::kNotAllowed:
      return {PERMISSION_DENIED, admin_v1::ERROR_REASON_NOT_ALLOWED, Retry::kNever,
              "this is about the whole server, and needs the right admin on every namespace"};
    case AdminRefusal::kNamespaceNotAllowed:
      return {PERMISSION_DENIED, admin_v1::ERROR_REASON_NAMESPACE_NOT_ALLOWED, Retry::kNever,
              kNamespaceNotAllowed};
    case AdminRefusal::kBusy:
      return {RESOURCE_EXHAUSTED, admin_v1::ERROR_REASON_BUSY, Retry::kSoon,
              "other lists are being read; nothing was done"};
  }
  __builtin_unreachable();
}

// Seconds; jitter is the caller's business.
constexpr double RetryDelaySeconds(Retry retry) {
  switch (retry) {
    case Retry::kNever:
    case Retry::kAtOnce:
      return 0;
    case Retry::kSoon:
      return 0.1;
    case Retry::kAfterRestart:
      return 1;
  }
  __builtin_unreachable();
}

std::string WithoutPrefix(const std::string& name) {
  return name.substr(sizeof("ERROR_REASON_") - 1);
}

const char* NameOf(State state) {
  switch (state) {
    case State::kAbsent:
      return "ABSENT";
    case State::kPending:
      return "PENDING";
    case State::kLapsed:
      return "LAPSED";
    case State::kCommitted:
      return "COMMITTED";
  }
  __builtin_unreachable();
}

google::rpc::Status NewError(grpc::StatusCode code, std::string message,
                             const google::rpc::ErrorInfo& info) {
  google::rpc::Status error;
  error.set_code(code);
  error.set_message(std::move(message));
  error.add_details()->PackFrom(info);
  return error;
}

void AddRetryInfo(double seconds, google::rpc::Status& error) {
  google::rpc::RetryInfo info;
  info.mutable_retry_delay()->set_seconds(static_cast<std::int64_t>(seconds));
  info.mutable_retry_delay()->set_nanos(
      static_cast<std::int32_t>((seconds - static_cast<std::int64_t>(seconds)) * 1e9));
  error.add_details()->PackFrom(info);
}

void AddRetryInfo(Retry retry, google::rpc::Status& error) {
  if (retry != Retry::kNever) AddRetryInfo(RetryDelaySeconds(retry), error);
}

google::rpc::ErrorInfo InfoOf(Reason reason) {
  google::rpc::ErrorInfo info;
  info.set_domain(kErrorDomain);
  info.set_reason(WithoutPrefix(reason.FullName()));
  return info;
}

google::rpc::Status NewErrorOf(const Refused& refused) {
  const Mapping mapping = MappingOf(refused.reason);
  google::rpc::ErrorInfo info = InfoOf(mapping.reason);
  if (refused.state) (*info.mutable_metadata())["state"] = NameOf(*refused.state);
  if (refused.fence) (*info.mutable_metadata())["fence"] = absl::StrCat(refused.fence->value);
  google::rpc::Status error = NewError(mapping.code, mapping.message, info);
  AddRetryInfo(mapping.retry, error);
  return error;
}

// Made once: under overload they are what most answers are.
const google::rpc::Status& PlainError(Refusal refusal) {
  static const auto kErrors = [] {
    std::vector<google::rpc::Status> errors;
    for (int i = 0; i <= static_cast<int>(Refusal::kOutcomeUnknown); ++i)
      errors.push_back(NewErrorOf(Refused{static_cast<Refusal>(i)}));
    return errors;
  }();
  return kErrors[static_cast<std::size_t>(refusal)];
}

}  // namespace

google::rpc::Status ErrorOf(const Refused& refused) {
  const bool plain = !refused.state.has_value() && !refused.fence.has_value();
  return plain ? PlainError(refused.reason) : NewErrorOf(refused);
}

google::rpc::Status ErrorOf(Refusal refusal, absl::Duration retry_delay) {
  const Mapping mapping = MappingOf(refusal);
  google::rpc::Status error = NewError(mapping.code, mapping.message, InfoOf(mapping.reason));
  AddRetryInfo(absl::ToDoubleSeconds(retry_delay), error);
  return error;
}

google::rpc::Status ErrorOf(const std::vector<Violation>& violations, std::size_t left_out) {
  google::rpc::BadRequest bad;
  for (const Violation& violation : violations) {
    auto* field = bad.add_field_violations();
    field->set_field(violation.field);
    field->set_description(violation.description);
  }
  std::string message = absl::StrCat(violations[0].field, ": ", violations[0].description);
  const std::size_t more = violations.size() - 1 + left_out;
  if (more > 0) absl::StrAppend(&message, " (and ", more, " more)");
  google::rpc::Status error = NewError(grpc::StatusCode::INVALID_ARGUMENT, std::move(message),
                                       InfoOf(v1::ERROR_REASON_INVALID_FIELD));
  error.add_details()->PackFrom(bad);
  return error;
}

google::rpc::Status ErrorOf(const Violation& violation) {
  return ErrorOf(std::vector<Violation>{violation});
}

google::rpc::Status Unauthenticated() {
  return NewError(grpc::StatusCode::UNAUTHENTICATED, kUnauthenticated,
                  InfoOf(v1::ERROR_REASON_UNAUTHENTICATED));
}

AdminRefusal RefusalOfBackup(const absl::Status& failure) {
  if (absl::IsFailedPrecondition(failure)) return AdminRefusal::kBackupDirUnfit;
  if (absl::IsResourceExhausted(failure)) return AdminRefusal::kBackupNoSpace;
  if (absl::IsDataLoss(failure)) return AdminRefusal::kBackupDamaged;
  if (absl::IsCancelled(failure)) return AdminRefusal::kDraining;
  return AdminRefusal::kBackupFailed;
}

google::rpc::Status ErrorOf(AdminRefusal refusal, absl::string_view detail) {
  const Mapping mapping = MappingOf(refusal);
  google::rpc::Status error = NewError(
      mapping.code, detail.empty() ? mapping.message : std::string(detail), InfoOf(mapping.reason));
  AddRetryInfo(mapping.retry, error);
  return error;
}

grpc::Status ToGrpc(const google::rpc::Status& error) {
  return {static_cast<grpc::StatusCode>(error.code()), error.message(), error.SerializeAsString()};
}

std::string ReasonOf(const google::rpc::Status& error) {
  google::rpc::ErrorInfo info;
  for (const auto& detail : error.details()) {
    if (detail.UnpackTo(&info)) return info.reason();
  }
  return {};
}

std::vector<std::string> AllReasons() {
  std::vector<std::string> reasons;
  const auto* all = v1::ErrorReason_descriptor();
  for (int i = 1; i < all->value_count(); ++i)
    reasons.push_back(WithoutPrefix(all->value(i)->name()));
  return reasons;
}

}  // namespace onced
