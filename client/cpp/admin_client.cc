#include "client/cpp/admin_client.h"

#include "client/cpp/call.h"

namespace onced::client {

std::unique_ptr<AdminStub> NewAdminStub(const std::string& target, const ConnectOptions& options) {
  return admin_v1::AdminService::NewStub(NewChannel(target, options));
}

AdminClient AdminClient::Connect(const std::string& target, const ConnectOptions& options) {
  return AdminClient(NewAdminStub(target, options));
}

absl::StatusOr<admin_v1::BackupResponse> AdminClient::Backup(const admin_v1::BackupRequest& request,
                                                             const CallOptions& options) {
  return Call(*stub_, &AdminStub::Backup, request, options);
}

absl::StatusOr<admin_v1::AcceptClockResponse> AdminClient::AcceptClock(
    const admin_v1::AcceptClockRequest& request, const CallOptions& options) {
  return Call(*stub_, &AdminStub::AcceptClock, request, options);
}

}  // namespace onced::client
