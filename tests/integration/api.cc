#include "tests/integration/api.h"

#include <google/protobuf/util/message_differencer.h>

#include "tests/integration/process.h"

namespace onced::integration {
namespace {

template <typename Response, typename Request>
using Method = grpc::Status (Api::Stub::*)(grpc::ClientContext*, const Request&, Response*);

template <typename Response, typename Request>
Reply<Response> Call(Api::Stub& stub, Method<Response, Request> method, const Request& request) {
  grpc::ClientContext context;
  context.set_deadline(Soon());
  context.set_wait_for_ready(false);
  Reply<Response> reply;
  reply.status = (stub.*method)(&context, request, &reply.response);
  return reply;
}

}  // namespace

std::chrono::system_clock::time_point Soon() {
  return std::chrono::system_clock::now() + kPatience;
}

Api::Api(std::shared_ptr<grpc::Channel> channel)
    : channel_(std::move(channel)), stub_(v1::IdempotencyService::NewStub(channel_)) {}

Reply<v1::ReserveResponse> Api::Reserve(const v1::ReserveRequest& request) {
  return Call(*stub_, &Stub::Reserve, request);
}
Reply<v1::CommitResponse> Api::Commit(const v1::CommitRequest& request) {
  return Call(*stub_, &Stub::Commit, request);
}
Reply<v1::ReleaseResponse> Api::Release(const v1::ReleaseRequest& request) {
  return Call(*stub_, &Stub::Release, request);
}
Reply<v1::ExtendResponse> Api::Extend(const v1::ExtendRequest& request) {
  return Call(*stub_, &Stub::Extend, request);
}
Reply<v1::InspectResponse> Api::Inspect(const v1::InspectRequest& request) {
  return Call(*stub_, &Stub::Inspect, request);
}
Reply<v1::BatchResponse> Api::Batch(const v1::BatchRequest& request) {
  return Call(*stub_, &Stub::Batch, request);
}

v1::ReserveResponse Api::Reserve(const std::string& key, const ReserveChange& change) {
  v1::ReserveRequest request = ReserveOf(key);
  if (change) change(request);
  return Reserve(request).value();
}

v1::Reservation Api::Grant(const std::string& key, const ReserveChange& change) {
  const v1::ReserveResponse response = Reserve(key, change);
  EXPECT_EQ(response.outcome(), v1::OUTCOME_FRESH) << response.ShortDebugString();
  EXPECT_TRUE(response.has_reservation()) << response.ShortDebugString();
  return response.reservation();
}

v1::CommitResponse Api::Commit(const std::string& key, const std::string& token,
                               const v1::Result& result) {
  return Commit(CommitOf(key, token, result)).value();
}

bool Api::Release(const std::string& key, const std::string& token) {
  return Release(ReleaseOf(key, token)).value().released();
}

absl::Time Api::Extend(const std::string& key, const std::string& token, absl::Duration lease) {
  v1::ExtendRequest request = ExtendOf(key, token);
  *request.mutable_lease_ttl() = ToProto(lease);
  return ToTime(Extend(request).value().lease_expire_time());
}

v1::Record Api::Inspect(const std::string& key, bool include_result) {
  v1::InspectRequest request = InspectOf(key);
  request.set_include_result(include_result);
  return Inspect(request).value().record();
}

void Api::AwaitState(const std::string& key, v1::State state) {
  Await(v1::State_Name(state), [&] { return Inspect(key).state() == state; });
}

v1::ReserveRequest ReserveOf(const std::string& key) {
  v1::ReserveRequest request;
  request.set_namespace_(kNamespace);
  request.set_key(key);
  return request;
}

v1::CommitRequest CommitOf(const std::string& key, const std::string& token,
                           const v1::Result& result) {
  v1::CommitRequest request;
  request.set_namespace_(kNamespace);
  request.set_key(key);
  request.set_token(token);
  *request.mutable_result() = result;
  return request;
}

v1::ReleaseRequest ReleaseOf(const std::string& key, const std::string& token) {
  v1::ReleaseRequest request;
  request.set_namespace_(kNamespace);
  request.set_key(key);
  request.set_token(token);
  return request;
}

v1::ExtendRequest ExtendOf(const std::string& key, const std::string& token) {
  v1::ExtendRequest request;
  request.set_namespace_(kNamespace);
  request.set_key(key);
  request.set_token(token);
  return request;
}

v1::InspectRequest InspectOf(const std::string& key) {
  v1::InspectRequest request;
  request.set_namespace_(kNamespace);
  request.set_key(key);
  return request;
}

Api::ReserveChange WithLease(absl::Duration lease) {
  return [lease](v1::ReserveRequest& request) { *request.mutable_lease_ttl() = ToProto(lease); };
}
Api::ReserveChange WithWait(absl::Duration wait) {
  return [wait](v1::ReserveRequest& request) { *request.mutable_wait_timeout() = ToProto(wait); };
}
Api::ReserveChange WithFingerprint(const std::string& fingerprint) {
  return [fingerprint](v1::ReserveRequest& request) { request.set_fingerprint(fingerprint); };
}

v1::Result AwkwardResult() {
  v1::Result result;
  result.set_status_code(-7);
  const auto add = [&](const std::string& name, const std::string& value) {
    v1::Header& header = *result.add_headers();
    header.set_name(name);
    header.set_value(value);
  };
  add("x-second", "2");
  add("x-first", std::string("\xff\xfe\0\x80", 4));
  add("x-second", "1");
  add("X-Second", "");
  add("", "no name");
  add("x-second", "2");
  std::string body;
  for (int i = 0; i < 1024; ++i) body.push_back(static_cast<char>(i % 256));
  result.set_body(body);
  return result;
}

v1::Result ResultOf(int status_code, const std::string& body) {
  v1::Result result;
  result.set_status_code(status_code);
  result.set_body(body);
  return result;
}

absl::Time ToTime(const google::protobuf::Timestamp& timestamp) {
  return absl::FromUnixSeconds(timestamp.seconds()) + absl::Nanoseconds(timestamp.nanos());
}

absl::Duration ToDuration(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

google::protobuf::Duration ToProto(absl::Duration duration) {
  google::protobuf::Duration to;
  to.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &duration));
  to.set_nanos(static_cast<std::int32_t>(absl::ToInt64Nanoseconds(duration)));
  return to;
}

testing::AssertionResult Same(const google::protobuf::Message& got,
                              const google::protobuf::Message& want) {
  std::string difference;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  if (differencer.Compare(want, got)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << difference;
}

}  // namespace onced::integration
