// A server that answers as it is told and remembers what it was asked.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "idempotency/admin/v1/admin.grpc.pb.h"
#include "idempotency/v1/idempotency.grpc.pb.h"

namespace onced {

namespace v1 = ::idempotency::v1;
namespace admin_v1 = ::idempotency::admin::v1;

// One method of it. The test sets `status` and `response` before the call, and
// reads the rest after it.
template <typename Request, typename Response>
struct FakeMethod {
  grpc::Status status;
  Response response;
  // What the first calls are answered with instead, one each.
  std::vector<Response> first;
  std::vector<grpc::Status> first_statuses;
  std::vector<Request> requests;
  std::chrono::system_clock::duration time_left{};  // Of the last call, as it came.
  std::string traceparent;                          // Likewise; empty: none.
  std::string tracestate;
  std::string authorization;
};

// Threads: the server's own call the overrides; a mutex keeps them apart.
class FakeServer final : public v1::IdempotencyService::Service {
 public:
  explicit FakeServer(const std::string& host = "127.0.0.1") : host_(host) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(host + ":0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    builder.RegisterService(&admin_);
    server_ = builder.BuildAndStart();
  }
  ~FakeServer() override { server_->Shutdown(); }

  std::string target() const { return host_ + ":" + std::to_string(port_); }

  FakeMethod<v1::ReserveRequest, v1::ReserveResponse> reserve;
  FakeMethod<v1::CommitRequest, v1::CommitResponse> commit;
  FakeMethod<v1::ReleaseRequest, v1::ReleaseResponse> release;
  FakeMethod<v1::ExtendRequest, v1::ExtendResponse> extend;
  FakeMethod<v1::InspectRequest, v1::InspectResponse> inspect;
  FakeMethod<v1::BatchRequest, v1::BatchResponse> batch;

  FakeMethod<admin_v1::ListRequest, admin_v1::ListResponse> list;
  FakeMethod<admin_v1::ResolveRequest, admin_v1::ResolveResponse> resolve;
  FakeMethod<admin_v1::EvictRequest, admin_v1::EvictResponse> evict;
  FakeMethod<admin_v1::EvictNamespaceRequest, admin_v1::EvictNamespaceResponse> evict_namespace;
  FakeMethod<admin_v1::StatusRequest, admin_v1::StatusResponse> server_status;
  FakeMethod<admin_v1::BackupRequest, admin_v1::BackupResponse> backup;
  FakeMethod<admin_v1::AcceptClockRequest, admin_v1::AcceptClockResponse> accept_clock;

  // The next call of any method is answered with it.
  void FailWith(const grpc::Status& status) {
    reserve.status = commit.status = release.status = extend.status = inspect.status =
        batch.status = list.status = resolve.status = evict.status = evict_namespace.status =
            server_status.status = backup.status = accept_clock.status = status;
  }

 private:
  template <typename Request, typename Response>
  grpc::Status Answer(FakeMethod<Request, Response>& method, grpc::ServerContext* context,
                      const Request* request, Response* response) {
    const std::lock_guard lock(mutex_);
    method.requests.push_back(*request);
    method.time_left = context->deadline() - std::chrono::system_clock::now();
    const auto header = [&](const char* name) {
      const auto found = context->client_metadata().find(name);
      return found == context->client_metadata().end()
                 ? ""
                 : std::string(found->second.data(), found->second.size());
    };
    method.traceparent = header("traceparent");
    method.tracestate = header("tracestate");
    method.authorization = header("authorization");
    const std::size_t nth = method.requests.size() - 1;
    *response = nth < method.first.size() ? method.first[nth] : method.response;
    if (nth < method.first_statuses.size()) return method.first_statuses[nth];
    return method.status;
  }

  grpc::Status Reserve(grpc::ServerContext* context, const v1::ReserveRequest* request,
                       v1::ReserveResponse* response) override {
    return Answer(reserve, context, request, response);
  }
  grpc::Status Commit(grpc::ServerContext* context, const v1::CommitRequest* request,
                      v1::CommitResponse* response) override {
    return Answer(commit, context, request, response);
  }
  grpc::Status Release(grpc::ServerContext* context, const v1::ReleaseRequest* request,
                       v1::ReleaseResponse* response) override {
    return Answer(release, context, request, response);
  }
  grpc::Status Extend(grpc::ServerContext* context, const v1::ExtendRequest* request,
                      v1::ExtendResponse* response) override {
    return Answer(extend, context, request, response);
  }
  grpc::Status Inspect(grpc::ServerContext* context, const v1::InspectRequest* request,
                       v1::InspectResponse* response) override {
    return Answer(inspect, context, request, response);
  }
  grpc::Status Batch(grpc::ServerContext* context, const v1::BatchRequest* request,
                     v1::BatchResponse* response) override {
    return Answer(batch, context, request, response);
  }

  // On the same port, which is no matter to a client.
  class Admin final : public admin_v1::AdminService::Service {
   public:
    explicit Admin(FakeServer& server) : server_(server) {}

   private:
    grpc::Status List(grpc::ServerContext* context, const admin_v1::ListRequest* request,
                      admin_v1::ListResponse* response) override {
      return server_.Answer(server_.list, context, request, response);
    }
    grpc::Status Resolve(grpc::ServerContext* context, const admin_v1::ResolveRequest* request,
                         admin_v1::ResolveResponse* response) override {
      return server_.Answer(server_.resolve, context, request, response);
    }
    grpc::Status Evict(grpc::ServerContext* context, const admin_v1::EvictRequest* request,
                       admin_v1::EvictResponse* response) override {
      return server_.Answer(server_.evict, context, request, response);
    }
    grpc::Status EvictNamespace(grpc::ServerContext* context,
                                const admin_v1::EvictNamespaceRequest* request,
                                admin_v1::EvictNamespaceResponse* response) override {
      return server_.Answer(server_.evict_namespace, context, request, response);
    }
    grpc::Status Status(grpc::ServerContext* context, const admin_v1::StatusRequest* request,
                        admin_v1::StatusResponse* response) override {
      return server_.Answer(server_.server_status, context, request, response);
    }
    grpc::Status Backup(grpc::ServerContext* context, const admin_v1::BackupRequest* request,
                        admin_v1::BackupResponse* response) override {
      return server_.Answer(server_.backup, context, request, response);
    }
    grpc::Status AcceptClock(grpc::ServerContext* context,
                             const admin_v1::AcceptClockRequest* request,
                             admin_v1::AcceptClockResponse* response) override {
      return server_.Answer(server_.accept_clock, context, request, response);
    }

    FakeServer& server_;
  };

  const std::string host_;
  Admin admin_{*this};
  std::mutex mutex_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace onced
