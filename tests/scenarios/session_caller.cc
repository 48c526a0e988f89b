#include "tests/scenarios/session_caller.h"

#include <chrono>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/process.h"

namespace onced::scenarios {
namespace {

namespace v1 = idempotency::v1;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

const FieldDescriptor* FieldOf(const Message& message, const std::string& method) {
  return message.GetDescriptor()->FindFieldByName(absl::AsciiStrToLower(method));
}

grpc::Status BadAnswer(const Message& answer) {
  return {grpc::StatusCode::INTERNAL, absl::StrCat("what answer is this: ", answer.DebugString())};
}

}  // namespace

SessionCaller::~SessionCaller() {
  if (stream_ == nullptr) return;
  context_->TryCancel();
  (void)Close();  // Ignored: nobody asks how it ended.
}

bool SessionCaller::Has(const std::string& method) {
  return FieldOf(v1::Operation(), method) != nullptr;
}

std::string SessionCaller::PathOf(const std::string& method) {
  return absl::StrCat("operations[0].", absl::AsciiStrToLower(method), ".");
}

void SessionCaller::Open() {
  context_ = std::make_unique<grpc::ClientContext>();
  // All calls of a scenario share it.
  context_->set_deadline(std::chrono::system_clock::now() + 10 * integration::kPatience);
  stream_ = stub_->Session(context_.get());
}

grpc::Status SessionCaller::Close() {
  v1::SessionResponse left;
  while (stream_->Read(&left)) continue;
  const grpc::Status status = stream_->Finish();
  stream_.reset();
  return status;
}

grpc::Status SessionCaller::Call(const std::string& method, const Message& request,
                                 Message& response) {
  if (stream_ == nullptr) Open();
  v1::SessionRequest message;
  message.set_id(++last_id_);
  v1::Operation& operation = *message.add_operations();
  operation.GetReflection()
      ->MutableMessage(&operation, FieldOf(operation, method))
      ->CopyFrom(request);
  v1::SessionResponse answer;
  if (!stream_->Write(message) || !stream_->Read(&answer)) return Close();
  if (answer.id() != last_id_ || answer.items_size() != 1) return BadAnswer(answer);
  const v1::BatchItem& item = answer.items(0);
  if (item.has_error()) {
    return {static_cast<grpc::StatusCode>(item.error().code()), item.error().message(),
            item.error().SerializeAsString()};
  }
  const FieldDescriptor* field = FieldOf(item, method);
  if (!item.GetReflection()->HasField(item, field)) return BadAnswer(answer);
  response.CopyFrom(item.GetReflection()->GetMessage(item, field));
  return grpc::Status::OK;
}

}  // namespace onced::scenarios
