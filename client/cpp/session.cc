#include "client/cpp/session.h"

#include <iterator>
#include <utility>

#include "client/cpp/call.h"

namespace onced::client {

Session Session::Open(Stub& stub, const CallOptions& options) {
  std::unique_ptr<grpc::ClientContext> context = NewContext(options);
  std::unique_ptr<Stream> stream = stub.Session(context.get());
  return {std::move(context), std::move(stream)};
}

Session::~Session() {
  if (stream_ == nullptr) return;
  Cancel();
  (void)Finish();  // Ignored: nobody asks how it ended.
}

bool Session::Send(std::uint64_t id, std::vector<v1::Operation> operations) {
  v1::SessionRequest request;
  request.set_id(id);
  request.mutable_operations()->Assign(std::make_move_iterator(operations.begin()),
                                       std::make_move_iterator(operations.end()));
  return Send(request);
}

bool Session::Send(const v1::SessionRequest& request) { return stream_->Write(request); }

std::optional<v1::SessionResponse> Session::Read() {
  std::optional<v1::SessionResponse> response(std::in_place);
  if (!stream_->Read(&*response)) response.reset();
  return response;
}

void Session::WritesDone() {
  // Ignored: if it fails, so has the session, and Finish() says why.
  if (!std::exchange(writes_done_, true)) (void)stream_->WritesDone();
}

absl::Status Session::Finish() {
  WritesDone();
  while (Read().has_value()) continue;  // gRPC wants them all read.
  const grpc::Status status = stream_->Finish();
  stream_.reset();
  return ToAbslStatus(status);
}

}  // namespace onced::client
