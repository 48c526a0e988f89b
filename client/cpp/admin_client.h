// The calls of the admin service, as functions.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "client/cpp/raw_client.h"
#include "idempotency/admin/v1/admin.grpc.pb.h"
#include "idempotency/admin/v1/admin.pb.h"

namespace onced::client {

namespace admin_v1 = ::idempotency::admin::v1;

// What the client calls: a connection, or a test's mock.
using AdminStub = admin_v1::AdminService::StubInterface;

// As NewStub(), for the server's `admin_listen`.
std::unique_ptr<AdminStub> NewAdminStub(const std::string& target,
                                        const ConnectOptions& options = {});

// As RawClient, for operators.
class AdminClient {
 public:
  explicit AdminClient(std::unique_ptr<AdminStub> stub) : stub_(std::move(stub)) {}

  // As NewAdminStub().
  static AdminClient Connect(const std::string& target, const ConnectOptions& options = {});

  // One page.
  absl::StatusOr<admin_v1::ListResponse> List(const admin_v1::ListRequest& request,
                                              const CallOptions& options = {});
  absl::StatusOr<admin_v1::ResolveResponse> Resolve(const admin_v1::ResolveRequest& request,
                                                    const CallOptions& options = {});
  absl::StatusOr<admin_v1::EvictResponse> Evict(const admin_v1::EvictRequest& request,
                                                const CallOptions& options = {});
  // One page.
  absl::StatusOr<admin_v1::EvictNamespaceResponse> EvictNamespace(
      const admin_v1::EvictNamespaceRequest& request, const CallOptions& options = {});
  absl::StatusOr<admin_v1::StatusResponse> Status(const admin_v1::StatusRequest& request,
                                                  const CallOptions& options = {});
  absl::StatusOr<admin_v1::BackupResponse> Backup(const admin_v1::BackupRequest& request,
                                                  const CallOptions& options = {});
  absl::StatusOr<admin_v1::AcceptClockResponse> AcceptClock(
      const admin_v1::AcceptClockRequest& request, const CallOptions& options = {});

 private:
  std::unique_ptr<AdminStub> stub_;
};

}  // namespace onced::client
