#include "client/cpp/idempotent_method.h"

namespace onced::client {

Verdict ByGrpcStatus(const grpc::Status& status, const google::protobuf::Message&) {
  switch (status.error_code()) {
    case grpc::OK:
    case grpc::INVALID_ARGUMENT:
    case grpc::NOT_FOUND:
    case grpc::ALREADY_EXISTS:
    case grpc::PERMISSION_DENIED:
    case grpc::FAILED_PRECONDITION:
    case grpc::OUT_OF_RANGE:
    case grpc::UNIMPLEMENTED:
      return Verdict::kCommit;
    // Turned away at the door, if it is the handler's own door. Of another service that it called
    // it may be the answer that was too large, after the effect.
    case grpc::UNAUTHENTICATED:
    case grpc::RESOURCE_EXHAUSTED:
    case grpc::CANCELLED:
    case grpc::UNKNOWN:
    case grpc::DEADLINE_EXCEEDED:
    case grpc::ABORTED:
    case grpc::INTERNAL:
    case grpc::UNAVAILABLE:
    case grpc::DATA_LOSS:
    case grpc::DO_NOT_USE:
      break;
  }
  return Verdict::kUnknown;
}

}  // namespace onced::client
