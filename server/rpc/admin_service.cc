#include "server/rpc/admin_service.h"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "server/rpc/admin_translate.h"
#include "server/rpc/call.h"
#include "server/rpc/errors.h"
#include "server/rpc/proto_time.h"
#include "server/rpc/wire.h"

namespace onced {
namespace {

// What the audit log says of a request, whether it is done or not. Nothing that isn't
// bounded: a request may be anything.
template <typename Message>
void Describe(const Message& message, AuditEntry& entry) {
  if (IsNamespace(message.namespace_())) entry.name_space = message.namespace_();
  if (message.comment().size() <= kCommentBytesMax) entry.comment = message.comment();
  entry.force = message.force();
  if constexpr (!std::is_same_v<Message, admin_v1::EvictNamespaceRequest>) {
    entry.key = message.key();
    entry.fence = message.fence();
  }
}

std::string OutcomeOf(const admin_v1::ResolveResponse& response) {
  if (response.state() != idempotency::v1::STATE_COMMITTED) return "released";
  return response.already_committed() ? "already_committed" : "committed";
}
std::string OutcomeOf(const admin_v1::EvictResponse& response) {
  return response.evicted() ? "evicted" : "nothing_to_evict";
}

void Refuse(UnaryCall& call, Audited& audit, const google::rpc::Status& error) {
  audit.Refused(error);
  call.Reply(ToGrpc(error));
}

google::rpc::Status ErrorOf(SoloWorker::Taken why, AdminRefusal busy) {
  return ErrorOf(why == SoloWorker::Taken::kBusy ? busy : AdminRefusal::kDraining);
}

// What became of a page.
void AnswerPage(UnaryCall& call,
                const std::variant<admin_v1::ListResponse, google::rpc::Status>& page) {
  if (const auto* error = std::get_if<google::rpc::Status>(&page)) {
    return call.Reply(ToGrpc(*error));
  }
  call.Reply(Serialize(std::get<admin_v1::ListResponse>(page)));
}
// An error that came when something had been done is none: it would say otherwise, and the
// caller would never hear of that. The page comes again, and if nothing is done then, fails.
void AnswerPage(UnaryCall& call, Audited& audit, NamespacePages::Evicted page) {
  admin_v1::EvictNamespaceResponse& response = page.response;
  audit.entry().counts = {{"evicted", response.evicted()},
                          {"skipped_held", response.skipped_held()},
                          {"skipped_changed", response.skipped_changed()},
                          {"skipped_unreadable", response.skipped_unreadable()}};
  if (page.error.has_value() && response.evicted() == 0) return Refuse(call, audit, *page.error);
  if (page.error.has_value()) {
    audit.Done("part_of_page");
    response.clear_skipped_held();  // What was skipped comes again, and is counted then.
    response.clear_skipped_changed();
    response.clear_skipped_unreadable();
  } else {
    audit.Done(response.next_page_token().empty() ? "last_page" : "page");
  }
  call.Reply(Serialize(response));
}

// Of as many bytes as the method may need: only Resolve carries a result.
template <typename Message>
std::optional<Violation> ParseAdmin(const grpc::ByteBuffer& bytes, Message& message) {
  if constexpr (std::is_same_v<Message, admin_v1::ResolveRequest>) {
    return ParseBounded(bytes, message);
  } else {
    return ParseSmall(bytes, message);
  }
}

}  // namespace

AdminService::AdminService(Options options, const Server& server)
    : options_(std::move(options)),
      authenticator_(server.authenticator),
      shards_(server.shards),
      store_(server.store),
      clock_(server.clock),
      telemetry_(server.telemetry),
      audit_log_(server.audit_log),
      policies_(server.policies),
      methods_(MakeMethods()),
      last_backup_(options_.last_backup),
      pages_(server.shards, server.store, server.clock) {}

AdminService::~AdminService() { Stop(); }

std::vector<UnaryCall::Method> AdminService::MakeMethods() {
  const auto method = [this](absl::string_view name, auto request,
                             void (AdminService::*begin)(UnaryCall&)) {
    return UnaryCall::Method{
        .request = [this, request](auto... arguments) { (this->*request)(arguments...); },
        .begin = [this, begin](UnaryCall& call) -> std::unique_ptr<UnaryCall::Work> {
          (this->*begin)(call);
          return nullptr;
        },
        .telemetry = telemetry_.OfRpc(
            {.service = admin_v1::AdminService::service_full_name(), .method = name})};
  };
  return {
      method("Backup", &RawAdminService::RequestBackup, &AdminService::BeginBackup),
      method("AcceptClock", &RawAdminService::RequestAcceptClock, &AdminService::BeginAcceptClock),
      method("Resolve", &RawAdminService::RequestResolve, &AdminService::BeginResolve),
      method("Evict", &RawAdminService::RequestEvict, &AdminService::BeginEvict),
      method("List", &RawAdminService::RequestList, &AdminService::BeginList),
      method("EvictNamespace", &RawAdminService::RequestEvictNamespace,
             &AdminService::BeginEvictNamespace),
      method("Status", &RawAdminService::RequestStatus, &AdminService::BeginStatus)};
}

void AdminService::Accept(CallQueue& queue) {
  for (const UnaryCall::Method& method : methods_) UnaryCall::Await(method, queue);
}

// A stranger has no line in the audit log, which knows no bound: the authenticator tells of it.
std::optional<Caller> AdminService::Identify(UnaryCall& call, Audited& audit) const {
  auto caller = authenticator_.Identify(call.context());
  if (const auto* stranger = std::get_if<google::rpc::Status>(&caller)) {
    call.Reply(ToGrpc(*stranger));
    return std::nullopt;
  }
  audit.entry().identity = std::get<Caller>(caller).name();
  return std::get<Caller>(std::move(caller));
}

std::optional<Caller> AdminService::Admit(UnaryCall& call, Audited& audit) const {
  std::optional<Caller> caller = Identify(call, audit);
  if (!caller.has_value() || caller->MaySomewhere(Right::kAdmin)) return caller;
  Refuse(call, audit, onced::ErrorOf(AdminRefusal::kNamespaceNotAllowed));
  return std::nullopt;
}

std::optional<Caller> AdminService::AdmitForServer(UnaryCall& call, Audited& audit) const {
  std::optional<Caller> caller = Identify(call, audit);
  if (!caller.has_value() || caller->MayEverywhere(Right::kAdmin)) return caller;
  Refuse(call, audit, onced::ErrorOf(AdminRefusal::kNotAllowed));
  return std::nullopt;
}

template <typename Message>
bool AdminService::Takes(UnaryCall& call, Audited& audit, Message& message) {
  const auto violation = ParseAdmin(call.request(), message);
  if (violation.has_value()) Refuse(call, audit, onced::ErrorOf(*violation));
  return !violation.has_value();
}

// ---- One record ----

template <typename Message, typename Encode>
void AdminService::Settle(UnaryCall& call, Audited audit, Encode encode) {
  const std::optional<Caller> caller = Admit(call, audit);
  Message message;
  if (!caller.has_value() || !Takes(call, audit, message)) return;
  Describe(message, audit.entry());
  Checked checked = AdminValidator(policies_, *caller).Check(message);
  if (const auto* error = std::get_if<google::rpc::Status>(&checked)) {
    return Refuse(call, audit, *error);
  }
  Request request = std::get<Request>(std::move(checked));
  request.deadline = DeadlineOf(call.context(), shards_.Now());
  if (!answers_.TryTakePlace()) {
    return Refuse(call, audit, onced::ErrorOf(onced::Refused{Refusal::kQueueFull}));
  }
  // Called by the shards' threads, and by the one that writes for all of them: to write a line
  // may take as long as who reads the log likes.
  request.answer = [this, &call, encode, audit = std::move(audit)](const Answer& answer) mutable {
    if (const auto* refused = std::get_if<onced::Refused>(&answer.reply)) {
      return answers_.Run([&call, audit, error = onced::ErrorOf(*refused)]() mutable {
        Refuse(call, audit, error);
      });
    }
    answers_.Run([&call, audit, response = encode(answer)]() mutable {
      audit.Done(OutcomeOf(response));
      call.Reply(Serialize(response));
    });
  };
  shards_.Submit(std::move(request));
}

void AdminService::BeginResolve(UnaryCall& call) {
  Settle<admin_v1::ResolveRequest>(call, Audited(audit_log_, "Resolve"), &ResolveResponseOf);
}

void AdminService::BeginEvict(UnaryCall& call) {
  Settle<admin_v1::EvictRequest>(call, Audited(audit_log_, "Evict"), &EvictResponseOf);
}

// ---- Pages ----

void AdminService::BeginList(UnaryCall& call) {
  Audited audit;
  const std::optional<Caller> caller = Admit(call, audit);
  admin_v1::ListRequest message;
  if (!caller.has_value() || !Takes(call, audit, message)) return;
  CheckedPage checked = AdminValidator(policies_, *caller).Check(message);
  if (const auto* error = std::get_if<google::rpc::Status>(&checked)) {
    return call.Reply(ToGrpc(*error));
  }
  const auto taken = pages_.TryRun([this, &call, page = std::get<PageRequest>(std::move(checked))] {
    AnswerPage(call, pages_.List(page));
  });
  if (taken != SoloWorker::Taken::kYes) call.Reply(ToGrpc(ErrorOf(taken, AdminRefusal::kBusy)));
}

void AdminService::BeginEvictNamespace(UnaryCall& call) {
  Audited audit(audit_log_, "EvictNamespace");
  const std::optional<Caller> caller = Admit(call, audit);
  admin_v1::EvictNamespaceRequest message;
  if (!caller.has_value() || !Takes(call, audit, message)) return;
  Describe(message, audit.entry());
  CheckedPage checked = AdminValidator(policies_, *caller).Check(message);
  if (const auto* error = std::get_if<google::rpc::Status>(&checked)) {
    return Refuse(call, audit, *error);
  }
  const auto taken = pages_.TryRun(
      [this, &call, audit, page = std::get<PageRequest>(std::move(checked))]() mutable {
        AnswerPage(call, audit, pages_.Evict(page));
      });
  if (taken != SoloWorker::Taken::kYes) {
    Refuse(call, audit, ErrorOf(taken, AdminRefusal::kBusy));
  }
}

// ---- The server ----

void AdminService::BeginStatus(UnaryCall& call) {
  Audited audit;
  admin_v1::StatusRequest message;
  if (!AdmitForServer(call, audit).has_value() || !Takes(call, audit, message)) return;
  admin_v1::StatusResponse response = StatusResponseOf(options_.status());
  response.set_epoch(store_.identity().epoch.value);
  response.set_shard_count(static_cast<std::int32_t>(store_.identity().shards));
  for (std::size_t i = 0; i < shards_.executor_count(); ++i) {
    response.add_executors()->set_queue_depth(static_cast<std::int64_t>(shards_.queue_depth(i)));
  }
  response.set_waiters(static_cast<std::int64_t>(shards_.waiters()));
  {
    const MutexLock lock(mutex_);
    if (last_backup_.has_value()) {
      admin_v1::BackupStatus* backup = response.mutable_last_backup();
      backup->set_backup_id(last_backup_->id);
      Set(*backup->mutable_cut_time(), last_backup_->cut_time);
      backup->set_size_bytes(static_cast<std::int64_t>(last_backup_->size_bytes));
    }
  }
  call.Reply(Serialize(response));
}

void AdminService::BeginBackup(UnaryCall& call) {
  Audited audit(audit_log_, "Backup");
  admin_v1::BackupRequest message;
  if (!AdmitForServer(call, audit).has_value() || !Takes(call, audit, message)) return;
  if (!options_.make_backup) {
    return Refuse(call, audit, onced::ErrorOf(AdminRefusal::kBackupNotConfigured));
  }
  // The call stays until the reply, also if the caller is gone.
  const SoloWorker::Taken taken = worker_.TryRun([this, &call, audit]() mutable {
    const absl::StatusOr<BackupReport> report = MakeBackup();
    if (!report.ok()) {
      return Refuse(call, audit,
                    onced::ErrorOf(RefusalOfBackup(report.status()), report.status().message()));
    }
    audit.entry().counts = {{"backup_id", report->id}};
    audit.Done("made");
    call.Reply(Serialize(BackupResponseOf(*report)));
  });
  if (taken != SoloWorker::Taken::kYes) {
    Refuse(call, audit, ErrorOf(taken, AdminRefusal::kBackupRunning));
  }
}

absl::StatusOr<BackupReport> AdminService::MakeBackup() {
  const absl::Time cut_time = clock_.Now();  // Before the first byte is copied.
  absl::StatusOr<BackupReport> report = options_.make_backup(cut_time);
  const absl::Duration duration = clock_.Now() - cut_time;
  if (report.ok()) {
    telemetry_.BackupMade(*report, duration);
    const MutexLock lock(mutex_);
    last_backup_ = *report;
  } else {
    telemetry_.BackupFailed(report.status().message(), duration);
  }
  return report;
}

void AdminService::BeginAcceptClock(UnaryCall& call) {
  Audited audit(audit_log_, "AcceptClock");
  admin_v1::AcceptClockRequest message;
  if (!AdmitForServer(call, audit).has_value() || !Takes(call, audit, message)) return;
  const absl::Duration step = clock_.Accept();
  if (step != absl::ZeroDuration()) telemetry_.ClockAccepted(step);
  audit.entry().counts = {{"step_us", absl::ToInt64Microseconds(step)}};
  audit.Done(step == absl::ZeroDuration() ? "no_step" : "accepted");
  call.Reply(Serialize(AcceptClockResponseOf(step, clock_.Now())));
}

void AdminService::RequestStop() {
  worker_.RequestStop();
  if (options_.stop_backup) options_.stop_backup();
}

void AdminService::Stop() {
  RequestStop();
  worker_.Stop();
  pages_.Stop();
}

}  // namespace onced
