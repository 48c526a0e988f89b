#include "tests/integration/raw_call.h"

#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <vector>

#include "tests/integration/process.h"

namespace onced::integration {
namespace {

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

}  // namespace

RawReply RawCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                 const std::string& message) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  const grpc::ByteBuffer request = BufferOf(message);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, method, {}, &request, &response,
                 [&](grpc::Status status) { done.set_value(std::move(status)); });
  const grpc::Status status = done.get_future().get();
  return {status, status.ok() ? BytesOf(response) : ""};
}

// Threads: one; each step waits for its own event.
class RawStream::State {
 public:
  State(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
        const std::string& message)
      : stub_(channel) {
    context_.set_deadline(std::chrono::system_clock::now() + kPatience);
    stream_ = stub_.PrepareCall(&context_, method, &queue_);
    stream_->StartCall(this);
    Next();
    stream_->Write(BufferOf(message), this);
    Next();
  }
  ~State() {
    context_.TryCancel();
    grpc::Status status;
    stream_->Finish(&status, this);
    Next();
    queue_.Shutdown();
  }

  std::string Read() {
    grpc::ByteBuffer buffer;
    stream_->Read(&buffer, this);
    if (!Next()) throw std::runtime_error("the stream has ended");
    return BytesOf(buffer);
  }

 private:
  bool Next() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
};

RawStream::RawStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     const std::string& message)
    : state_(std::make_unique<State>(channel, method, message)) {}
RawStream::~RawStream() = default;
std::string RawStream::Read() { return state_->Read(); }

std::string Field(int number, const std::string& value) {
  std::string field(1, static_cast<char>(number << 3 | 2));
  std::size_t size = value.size();
  for (; size >= 0x80; size >>= 7) field.push_back(static_cast<char>(size | 0x80));
  field.push_back(static_cast<char>(size));
  return field + value;
}

std::string MethodOfApi(const std::string& name) {
  return "/idempotency.v1.IdempotencyService/" + name;
}

}  // namespace onced::integration
