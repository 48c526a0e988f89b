#include "server/rpc/admin_service.h"

#include <memory>
#include <utility>
#include <vector>

#include "server/rpc/errors.h"
#include "server/rpc/proto_time.h"
#include "server/rpc/wire.h"

namespace onced {
namespace {

// Whether its message is one. If not, the call has been answered.
template <typename Message>
bool Takes(UnaryCall& call) {
  Message message;
  const auto violation = Parse(call.request(), message);
  if (violation.has_value()) call.Reply(ToGrpc(ErrorOf(*violation)));
  return !violation.has_value();
}

}  // namespace

AdminService::AdminService(Options options, const Authenticator& authenticator,
                           BelievedClock& clock, Telemetry& telemetry)
    : options_(std::move(options)),
      authenticator_(authenticator),
      clock_(clock),
      telemetry_(telemetry),
      methods_(MakeMethods()) {}

AdminService::~AdminService() { Stop(); }

std::array<UnaryCall::Method, 2> AdminService::MakeMethods() {
  const auto beginner = [this](void (AdminService::*begin)(UnaryCall&)) {
    return [this, begin](UnaryCall& call) -> std::unique_ptr<UnaryCall::Work> {
      (this->*begin)(call);
      return nullptr;
    };
  };
  const auto counter = [this](absl::string_view method) {
    return telemetry_.OfRpc(
        {.service = admin_v1::AdminService::service_full_name(), .method = method});
  };
  return {
      UnaryCall::Method{.request = [this](auto... arguments) { RequestBackup(arguments...); },
                        .begin = beginner(&AdminService::BeginBackup),
                        .telemetry = counter("Backup")},
      UnaryCall::Method{.request = [this](auto... arguments) { RequestAcceptClock(arguments...); },
                        .begin = beginner(&AdminService::BeginAcceptClock),
                        .telemetry = counter("AcceptClock")}};
}

void AdminService::Accept(CallQueue& queue) {
  for (const UnaryCall::Method& method : methods_) UnaryCall::Await(method, queue);
}

std::optional<Caller> AdminService::TakeCaller(UnaryCall& call) const {
  auto caller = authenticator_.Identify(call.context());
  if (const auto* stranger = std::get_if<google::rpc::Status>(&caller)) {
    call.Reply(ToGrpc(*stranger));
    return std::nullopt;
  }
  if (!std::get<Caller>(caller).MayEverywhere(Right::kAdmin)) {
    call.Reply(ToGrpc(ErrorOf(AdminRefusal::kNotAllowed)));
    return std::nullopt;
  }
  return std::get<Caller>(std::move(caller));
}

void AdminService::BeginBackup(UnaryCall& call) {
  if (!TakeCaller(call).has_value()) return;
  if (!Takes<admin_v1::BackupRequest>(call)) return;
  const auto refuse = [&call](AdminRefusal refusal) { call.Reply(ToGrpc(ErrorOf(refusal))); };
  if (!options_.make_backup) return refuse(AdminRefusal::kBackupNotConfigured);
  // The call stays until the reply, also if the caller is gone.
  const SoloWorker::Taken taken = worker_.TryRun([this, &call] {
    const absl::StatusOr<BackupReport> report = MakeBackup();
    if (report.ok()) return call.Reply(Serialize(BackupResponseOf(*report)));
    call.Reply(ToGrpc(ErrorOf(RefusalOfBackup(report.status()), report.status().message())));
  });
  switch (taken) {
    case SoloWorker::Taken::kYes:
      break;
    case SoloWorker::Taken::kBusy:
      return refuse(AdminRefusal::kBackupRunning);
    case SoloWorker::Taken::kStopping:
      return refuse(AdminRefusal::kDraining);
  }
}

absl::StatusOr<BackupReport> AdminService::MakeBackup() {
  const absl::Time cut_time = clock_.Now();  // Before the first byte is copied.
  absl::StatusOr<BackupReport> report = options_.make_backup(cut_time);
  const absl::Duration duration = clock_.Now() - cut_time;
  if (report.ok()) {
    telemetry_.BackupMade(*report, duration);
  } else {
    telemetry_.BackupFailed(report.status().message(), duration);
  }
  return report;
}

void AdminService::BeginAcceptClock(UnaryCall& call) {
  if (!TakeCaller(call).has_value()) return;
  if (!Takes<admin_v1::AcceptClockRequest>(call)) return;
  const absl::Duration step = clock_.Accept();
  if (step != absl::ZeroDuration()) telemetry_.ClockAccepted(step);
  call.Reply(Serialize(AcceptClockResponseOf(step, clock_.Now())));
}

void AdminService::RequestStop() {
  worker_.RequestStop();
  if (options_.stop_backup) options_.stop_backup();
}

void AdminService::Stop() {
  RequestStop();
  worker_.Stop();
}

admin_v1::BackupResponse BackupResponseOf(const BackupReport& report) {
  admin_v1::BackupResponse response;
  response.set_backup_id(report.id);
  Set(*response.mutable_cut_time(), report.cut_time);
  response.set_size_bytes(static_cast<std::int64_t>(report.size_bytes));
  response.set_file_count(static_cast<std::int64_t>(report.file_count));
  return response;
}

admin_v1::AcceptClockResponse AcceptClockResponseOf(absl::Duration step, absl::Time now) {
  admin_v1::AcceptClockResponse response;
  Set(*response.mutable_step(), step);
  Set(*response.mutable_server_time(), now);
  return response;
}

}  // namespace onced
