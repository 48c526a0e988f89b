// A Session, from the client's side.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tests/integration/api.h"

namespace onced::integration {

v1::Operation OperationOf(v1::ReserveRequest request);
v1::Operation OperationOf(v1::CommitRequest request);
v1::Operation OperationOf(v1::ReleaseRequest request);
v1::Operation OperationOf(v1::ExtendRequest request);
v1::Operation OperationOf(v1::InspectRequest request);

// Threads: one that sends, and one that reads.
class SessionStream {
 public:
  explicit SessionStream(Api& api, std::chrono::system_clock::time_point deadline = Soon());
  ~SessionStream();  // Cancels it, if it hasn't ended.

  // False: it has ended.
  bool Send(std::uint64_t id, const std::vector<v1::Operation>& operations);
  template <typename Request>
  bool Send(std::uint64_t id, const Request& request) {
    return Send(id, std::vector<v1::Operation>{OperationOf(request)});
  }
  // The next answer; nullopt at the end.
  std::optional<v1::SessionResponse> TryRead();
  // The next answer; the test fails if there is none.
  v1::SessionResponse Read();
  // As many answers, by id.
  std::map<std::uint64_t, v1::SessionResponse> Read(int count);
  void HalfClose() { stream_->WritesDone(); }
  void Cancel() { context_.TryCancel(); }
  // How it ended; the test fails if there was an answer left.
  grpc::Status Finish();

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::SessionRequest, v1::SessionResponse>> stream_;
  bool finished_ = false;
};

}  // namespace onced::integration
