// What reflection and health are asked: a few bytes with a name in them.
#include <google/protobuf/descriptor.h>

#include "grpc/health/v1/health.pb.h"
#include "idempotency/v1/idempotency.pb.h"
#include "server/rpc/reflection.h"
#include "server/rpc/wire.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {

void NameRequests(absl::string_view bytes) {
  static const Reflection reflection({"idempotency.v1.IdempotencyService", "grpc.health.v1.Health"},
                                     *google::protobuf::DescriptorPool::generated_pool());
  static const bool linked = idempotency::v1::ReserveRequest::descriptor() != nullptr;
  Demand(linked, "nothing to tell of");
  const grpc::Slice slice(bytes.data(), bytes.size());
  const grpc::ByteBuffer buffer(&slice, 1);

  reflection_v1::ServerReflectionRequest request;
  const auto violation = ParseName(buffer, request);
  if (bytes.size() > kNameRequestBytesMax) Demand(violation.has_value(), "parsed what is too long");
  if (violation.has_value()) {
    Demand(NotARequest(*violation).error_code() == grpc::INVALID_ARGUMENT, "refused otherwise");
  } else {
    const auto response = reflection.Answer(request);
    Demand(response.message_response_case() !=
               reflection_v1::ServerReflectionResponse::MESSAGE_RESPONSE_NOT_SET,
           "no answer");
    reflection_v1::ServerReflectionResponse again;
    Demand(again.ParseFromString(response.SerializeAsString()), "an answer that nobody can read");
  }
  grpc::health::v1::HealthCheckRequest health;
  // Ignored: that it comes to an end is all that is asked.
  (void)ParseName(buffer, health);
}

}  // namespace onced::fuzz
