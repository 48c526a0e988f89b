#include "tests/integration/secured.h"

#include <openssl/sha.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/api.h"

namespace onced::integration {

namespace v1 = idempotency::v1;

void SwappedFolder::Swap(const std::map<std::string, std::string>& files) {
  namespace fs = std::filesystem;
  const std::string version = absl::StrCat("..", ++version_);
  fs::create_directory(dir_.Path(version));
  for (const auto& [name, text] : files) {
    std::ofstream(dir_.Path(absl::StrCat(version, "/", name)), std::ios::binary) << text;
    if (!fs::is_symlink(dir_.Path(name))) fs::create_symlink("..data/" + name, dir_.Path(name));
  }
  fs::create_symlink(version, dir_.Path("..data_new"));
  fs::rename(dir_.Path("..data_new"), dir_.Path("..data"));
}

std::string TokenLine(const std::string& name, const std::string& token, const std::string& rest) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest);
  const std::string hex =
      absl::BytesToHexString({reinterpret_cast<const char*>(digest), sizeof digest});
  return absl::StrCat(name, " sha256:", hex, " ", rest, "\n");
}

std::shared_ptr<grpc::Channel> ConnectSecurely(const std::string& address, const std::string& ca,
                                               const KeyPair& certificate) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(
      address, grpc::SslCredentials({ca, certificate.key, certificate.certificate}), arguments);
}

void SecureCaller::Prepare(grpc::ClientContext& context) const {
  if (!authorization_.empty()) context.AddMetadata("authorization", authorization_);
  context.set_deadline(Soon());
}

grpc::Status SecureCaller::Call(const v1::Operation& operation, Way way,
                                std::string* response) const {
  std::string ignored;
  if (response == nullptr) response = &ignored;
  switch (way) {
    case Way::kAlone:
      return CallAlone(operation, response);
    case Way::kBatch:
      return CallInBatch(operation, response);
    case Way::kSession:
      return CallInSession(operation, response);
  }
  __builtin_unreachable();
}

namespace {

// Of what breaks a rule, the server has judged it: which was allowed.
grpc::Status Judged(const grpc::Status& status) {
  const bool judged = status.error_code() == grpc::ABORTED ||
                      status.error_code() == grpc::NOT_FOUND ||
                      status.error_code() == grpc::FAILED_PRECONDITION;
  return judged ? grpc::Status::OK : status;
}

grpc::Status StatusOf(const v1::BatchItem& item) {
  if (!item.has_error()) return grpc::Status::OK;
  return Judged({static_cast<grpc::StatusCode>(item.error().code()), item.error().message(),
                 item.error().SerializeAsString()});
}

}  // namespace

grpc::Status SecureCaller::CallAlone(const v1::Operation& operation, std::string* text) const {
  grpc::ClientContext context;
  Prepare(context);
  const auto call = [&](auto method, const auto& request, auto response) {
    const grpc::Status status = Judged((*api_.*method)(&context, request, &response));
    *text = response.SerializeAsString();
    return status;
  };
  using Stub = v1::IdempotencyService::Stub;
  switch (operation.operation_case()) {
    case v1::Operation::kReserve:
      return call(&Stub::Reserve, operation.reserve(), v1::ReserveResponse());
    case v1::Operation::kCommit:
      return call(&Stub::Commit, operation.commit(), v1::CommitResponse());
    case v1::Operation::kRelease:
      return call(&Stub::Release, operation.release(), v1::ReleaseResponse());
    case v1::Operation::kExtend:
      return call(&Stub::Extend, operation.extend(), v1::ExtendResponse());
    case v1::Operation::kInspect:
      return call(&Stub::Inspect, operation.inspect(), v1::InspectResponse());
    case v1::Operation::OPERATION_NOT_SET:
      break;
  }
  return {grpc::INTERNAL, "no operation"};
}

grpc::Status SecureCaller::CallInBatch(const v1::Operation& operation, std::string* text) const {
  grpc::ClientContext context;
  Prepare(context);
  v1::BatchRequest request;
  *request.add_operations() = operation;
  v1::BatchResponse response;
  const grpc::Status status = api_->Batch(&context, request, &response);
  *text = response.SerializeAsString();
  return status.ok() ? StatusOf(response.items(0)) : status;
}

grpc::Status SecureCaller::CallInSession(const v1::Operation& operation, std::string* text) const {
  grpc::ClientContext context;
  Prepare(context);
  const auto stream = api_->Session(&context);
  v1::SessionRequest request;
  request.set_id(1);
  *request.add_operations() = operation;
  stream->Write(request);
  v1::SessionResponse response;
  const bool answered = stream->Read(&response);
  *text = response.SerializeAsString();
  stream->WritesDone();
  const grpc::Status status = stream->Finish();
  return answered ? StatusOf(response.items(0)) : status;
}

grpc::Status SecureCaller::AcceptClock() const {
  grpc::ClientContext context;
  Prepare(context);
  admin_v1::AcceptClockResponse response;
  return admin_->AcceptClock(&context, {}, &response);
}

}  // namespace onced::integration
