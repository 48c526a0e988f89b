// Messages to and from the bytes of the wire.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <optional>
#include <string>

#include "server/rpc/errors.h"
#include "server/rpc/wire_shape.h"

namespace onced {

// Parses `bytes` into `message`. nullopt: done. Else what is wrong with them,
// as INVALID_ARGUMENT: the generated code alone would answer UNIMPLEMENTED,
// without a word, to a string that isn't UTF-8.
std::optional<Violation> Parse(const grpc::ByteBuffer& bytes, google::protobuf::Message& message);

// The same, of a request with repeated messages in it: of these, `shape` says how many are
// looked at at all. A message of too many fields is refused before it is parsed.
std::optional<Violation> Parse(const grpc::ByteBuffer& bytes, const WireShape& shape,
                               google::protobuf::Message& message);
template <typename Message>
std::optional<Violation> ParseBounded(const grpc::ByteBuffer& bytes, Message& message) {
  static const WireShape kShape(*Message::descriptor());
  return Parse(bytes, kShape, message);
}

// The same, of a request that is little more than a name: of more bytes than that it is
// refused before they are looked at.
inline constexpr std::size_t kNameRequestBytesMax = 4'096;
std::optional<Violation> ParseName(const grpc::ByteBuffer& bytes,
                                   google::protobuf::Message& message);
// The same, of a request that has more to say, but carries nothing large.
inline constexpr std::size_t kSmallRequestBytesMax = 65'536;
std::optional<Violation> ParseSmall(const grpc::ByteBuffer& bytes,
                                    google::protobuf::Message& message);
// INVALID_ARGUMENT, without our details: of services that are not of our making.
grpc::Status NotARequest(const Violation& violation);

grpc::ByteBuffer Serialize(const google::protobuf::Message& message);

}  // namespace onced
