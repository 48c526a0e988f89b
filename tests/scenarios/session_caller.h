// Single calls, made as operations of a session.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "idempotency/v1/idempotency.grpc.pb.h"

namespace onced::scenarios {

// Threads: one. Each call waits for its answer.
class SessionCaller {
 public:
  explicit SessionCaller(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(idempotency::v1::IdempotencyService::NewStub(channel)) {}
  ~SessionCaller();

  // Whether a method can be called so: "Reserve" can, "Batch" can't.
  static bool Has(const std::string& method);
  // What stands before the field names in errors, which a call by itself hasn't.
  static std::string PathOf(const std::string& method);

  // Fills `response`, or says how the operation failed.
  grpc::Status Call(const std::string& method, const google::protobuf::Message& request,
                    google::protobuf::Message& response);

 private:
  using Stream =
      grpc::ClientReaderWriter<idempotency::v1::SessionRequest, idempotency::v1::SessionResponse>;

  void Open();
  grpc::Status Close();

  const std::unique_ptr<idempotency::v1::IdempotencyService::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<Stream> stream_;  // Opened by the first call, and after it ended.
  std::uint64_t last_id_ = 0;
};

}  // namespace onced::scenarios
