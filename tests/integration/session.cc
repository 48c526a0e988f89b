#include "tests/integration/session.h"

#include <utility>

namespace onced::integration {

v1::Operation OperationOf(v1::ReserveRequest request) {
  v1::Operation operation;
  *operation.mutable_reserve() = std::move(request);
  return operation;
}
v1::Operation OperationOf(v1::CommitRequest request) {
  v1::Operation operation;
  *operation.mutable_commit() = std::move(request);
  return operation;
}
v1::Operation OperationOf(v1::ReleaseRequest request) {
  v1::Operation operation;
  *operation.mutable_release() = std::move(request);
  return operation;
}
v1::Operation OperationOf(v1::ExtendRequest request) {
  v1::Operation operation;
  *operation.mutable_extend() = std::move(request);
  return operation;
}
v1::Operation OperationOf(v1::InspectRequest request) {
  v1::Operation operation;
  *operation.mutable_inspect() = std::move(request);
  return operation;
}

SessionStream::SessionStream(Api& api, std::chrono::system_clock::time_point deadline) {
  context_.set_deadline(deadline);
  stream_ = api.stub().Session(&context_);
}

SessionStream::~SessionStream() {
  if (finished_) return;
  Cancel();
  while (TryRead().has_value()) continue;
  (void)stream_->Finish();  // Ignored: the test has seen what it wanted to.
}

bool SessionStream::Send(std::uint64_t id, const std::vector<v1::Operation>& operations) {
  v1::SessionRequest request;
  request.set_id(id);
  request.mutable_operations()->Assign(operations.begin(), operations.end());
  return stream_->Write(request);
}

std::optional<v1::SessionResponse> SessionStream::TryRead() {
  v1::SessionResponse response;
  if (!stream_->Read(&response)) return std::nullopt;
  return response;
}

v1::SessionResponse SessionStream::Read() {
  auto response = TryRead();
  if (response.has_value()) return *std::move(response);
  ADD_FAILURE() << "the session has ended: " << testing::PrintToString(ErrorOf(Finish()));
  return {};
}

std::map<std::uint64_t, v1::SessionResponse> SessionStream::Read(int count) {
  std::map<std::uint64_t, v1::SessionResponse> by_id;
  for (int i = 0; i < count; ++i) {
    auto response = TryRead();
    if (!response.has_value()) {
      ADD_FAILURE() << "only " << i << " of " << count << " answers";
      return by_id;
    }
    const std::uint64_t id = response->id();
    EXPECT_TRUE(by_id.emplace(id, *std::move(response)).second) << "two answers to " << id;
  }
  return by_id;
}

grpc::Status SessionStream::Finish() {
  if (std::exchange(finished_, true)) {
    ADD_FAILURE() << "it had ended before";
    return grpc::Status(grpc::StatusCode::UNKNOWN, "ended before");
  }
  v1::SessionResponse left;
  while (stream_->Read(&left)) ADD_FAILURE() << "an answer is left: " << left.ShortDebugString();
  return stream_->Finish();
}

}  // namespace onced::integration
