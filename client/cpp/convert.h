// Between the API's messages and the values of types.h.
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/client.h"
#include "client/cpp/types.h"
#include "google/protobuf/timestamp.pb.h"
#include "idempotency/v1/idempotency.pb.h"

namespace onced::client {

namespace v1 = ::idempotency::v1;

absl::Time ToTime(const google::protobuf::Timestamp& proto);

Result FromProto(v1::Result proto);
Holder FromProto(const v1::Holder& proto);
Previous FromProto(const v1::Previous& proto);
Committed FromProto(const v1::CommitResponse& proto);
Record FromProto(v1::InspectResponse proto);

// What goes into a Commit, which must not fail for its size: of a body that no policy
// takes only size and digest are sent, of headers beyond the bounds as much as tells the
// server that some are left out, of their names what is UTF-8.
v1::Result ToProto(const Result& result);

}  // namespace onced::client
