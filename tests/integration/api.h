// Calling the API in a few words.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "idempotency/v1/idempotency.grpc.pb.h"
#include "tests/integration/error.h"

namespace onced::integration {

namespace v1 = idempotency::v1;

inline constexpr char kNamespace[] = "tests";

template <typename Response>
struct Reply {
  grpc::Status status;
  Response response;

  bool ok() const { return status.ok(); }
  // The response; the test fails if it is an error.
  const Response& value() const {
    if (!ok()) ADD_FAILURE() << "the call failed: " << testing::PrintToString(error());
    return response;
  }
  // The error; the test fails if it is none.
  Error error() const {
    if (ok()) ADD_FAILURE() << "the call succeeded: " << response.ShortDebugString();
    return ErrorOf(status);
  }
};

// Deadline of calls from which an answer is expected.
std::chrono::system_clock::time_point Soon();

// One connection. The short forms fill in namespace `kNamespace`.
// Threads: any.
class Api {
 public:
  using Stub = v1::IdempotencyService::Stub;

  explicit Api(std::shared_ptr<grpc::Channel> channel);

  Reply<v1::ReserveResponse> Reserve(const v1::ReserveRequest& request);
  Reply<v1::CommitResponse> Commit(const v1::CommitRequest& request);
  Reply<v1::ReleaseResponse> Release(const v1::ReleaseRequest& request);
  Reply<v1::ExtendResponse> Extend(const v1::ExtendRequest& request);
  Reply<v1::InspectResponse> Inspect(const v1::InspectRequest& request);
  Reply<v1::BatchResponse> Batch(const v1::BatchRequest& request);

  // ---- In short ----
  using ReserveChange = std::function<void(v1::ReserveRequest&)>;
  v1::ReserveResponse Reserve(const std::string& key, const ReserveChange& change = nullptr);
  // A grant; the test fails if it isn't one.
  v1::Reservation Grant(const std::string& key, const ReserveChange& change = nullptr);
  v1::CommitResponse Commit(const std::string& key, const std::string& token,
                            const v1::Result& result);
  bool Release(const std::string& key, const std::string& token);
  absl::Time Extend(const std::string& key, const std::string& token, absl::Duration lease);
  v1::Record Inspect(const std::string& key, bool include_result = false);
  // Waits until the key is seen in that state.
  void AwaitState(const std::string& key, v1::State state);

  Stub& stub() { return *stub_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<Stub> stub_;
};

// ---- Requests ----
v1::ReserveRequest ReserveOf(const std::string& key);
v1::CommitRequest CommitOf(const std::string& key, const std::string& token,
                           const v1::Result& result);
v1::ReleaseRequest ReleaseOf(const std::string& key, const std::string& token);
v1::ExtendRequest ExtendOf(const std::string& key, const std::string& token);
v1::InspectRequest InspectOf(const std::string& key);

// Changes to a Reserve.
Api::ReserveChange WithLease(absl::Duration lease);
Api::ReserveChange WithWait(absl::Duration wait);
Api::ReserveChange WithFingerprint(const std::string& fingerprint);

// ---- Results ----
// One with all that could be lost on the way: a binary body, duplicate headers
// in an order of their own, values that aren't UTF-8.
v1::Result AwkwardResult();
v1::Result ResultOf(int status_code, const std::string& body);

// ---- Times ----
absl::Time ToTime(const google::protobuf::Timestamp& timestamp);
absl::Duration ToDuration(const google::protobuf::Duration& duration);
google::protobuf::Duration ToProto(absl::Duration duration);

// Byte for byte; shows both messages if they differ.
testing::AssertionResult Same(const google::protobuf::Message& got,
                              const google::protobuf::Message& want);

}  // namespace onced::integration
