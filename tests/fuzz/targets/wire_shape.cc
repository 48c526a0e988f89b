#include "server/rpc/wire_shape.h"

#include <google/protobuf/message.h>
#include <google/protobuf/util/message_differencer.h>

#include <memory>
#include <string>

#include "idempotency/v1/idempotency.pb.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {
namespace {

namespace v1 = idempotency::v1;
using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;
using Verdict = WireShape::Verdict;

// A message that a library has written is never refused for its fields.
void LookAtWritten(const WireShape& shape, Message& message) {
  message.DiscardUnknownFields();
  const std::string written = message.SerializeAsString();
  const Verdict verdict = shape.Look(written);
  Demand(verdict == Verdict::kFine || verdict == Verdict::kExcess, "refused what is in order");
  const std::string kept = shape.WithoutExcess(written);
  Demand((kept == written) == (verdict == Verdict::kFine), "left out too much, or nothing");
}

template <typename Request>
void LookAt(absl::string_view bytes) {
  static const WireShape& shape = *new WireShape(*Request::descriptor());
  const Verdict verdict = shape.Look(bytes);
  Request request;
  const bool parsed = request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (verdict == Verdict::kFine || verdict == Verdict::kExcess) {
    const std::string kept = shape.WithoutExcess(bytes);
    Demand(kept.size() <= bytes.size(), "longer than before");
    Demand(shape.Look(kept) == Verdict::kFine, "still too much");
    Request rest;
    const bool rest_parsed = rest.ParseFromString(kept);
    Demand(rest_parsed || !parsed, "what is left can't be parsed");
    if (parsed && verdict == Verdict::kFine) {
      Demand(MessageDifferencer::Equals(rest, request), "another message");
    }
  }
  if (parsed) LookAtWritten(shape, request);
}

}  // namespace

void WireShapes(absl::string_view bytes) {
  LookAt<v1::BatchRequest>(bytes);
  LookAt<v1::CommitRequest>(bytes);
  LookAt<v1::ReserveRequest>(bytes);
  LookAt<v1::SessionRequest>(bytes);
}

}  // namespace onced::fuzz
