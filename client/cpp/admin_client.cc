#include "client/cpp/admin_client.h"

#include "client/cpp/call.h"

namespace onced::client {

std::unique_ptr<AdminStub> NewAdminStub(const std::string& target, const ConnectOptions& options) {
  return admin_v1::AdminService::NewStub(NewChannel(target, options));
}

AdminClient AdminClient::Connect(const std::string& target, const ConnectOptions& options) {
  return AdminClient(NewAdminStub(target, options));
}

absl::StatusOr<admin_v1::ListResponse> AdminClient::List(const admin_v1::ListRequest& request,
                                                         const CallOptions& options) {
  return Call(*stub_, &AdminStub::List, request, options);
}

absl::StatusOr<admin_v1::ResolveResponse> AdminClient::Resolve(
    const admin_v1::ResolveRequest& request, const CallOptions& options) {
  return Call(*stub_, &AdminStub::Resolve, request, options);
}

absl::StatusOr<admin_v1::EvictResponse> AdminClient::Evict(const admin_v1::EvictRequest& request,
                                                           const CallOptions& options) {
  return Call(*stub_, &AdminStub::Evict, request, options);
}

absl::StatusOr<admin_v1::EvictNamespaceResponse> AdminClient::EvictNamespace(
    const admin_v1::EvictNamespaceRequest& request, const CallOptions& options) {
  return Call(*stub_, &AdminStub::EvictNamespace, request, options);
}

absl::StatusOr<admin_v1::StatusResponse> AdminClient::Status(const admin_v1::StatusRequest& request,
                                                             const CallOptions& options) {
  return Call(*stub_, &AdminStub::Status, request, options);
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
