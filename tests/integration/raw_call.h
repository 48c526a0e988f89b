// Calls whose bytes are made by hand: what no generated client would send.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

namespace onced::integration {

struct RawReply {
  grpc::Status status;
  std::string bytes;
};

// `method` is a full one: "/package.Service/Method".
RawReply RawCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                 const std::string& message);

// A call with a stream of answers, to which one message is sent.
class RawStream {
 public:
  RawStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
            const std::string& message);
  ~RawStream();  // Cancels it.

  // The next answer; throws at the end of the stream.
  std::string Read();

 private:
  class State;
  const std::unique_ptr<State> state_;
};

// A field of type string, bytes or message on the wire. Fields that come later
// in a message win.
std::string Field(int number, const std::string& value);

std::string MethodOfApi(const std::string& name);

}  // namespace onced::integration
