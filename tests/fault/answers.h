// From the API's messages to what a history keeps of them.
#pragma once

#include "absl/status/statusor.h"
#include "idempotency/v1/idempotency.pb.h"
#include "tests/fault/history.h"

namespace onced::fault {

namespace v1 = ::idempotency::v1;

// `client` is left to the caller.
Call CallOf(const v1::ReserveRequest& request);
Call CallOf(const v1::CommitRequest& request);
Call CallOf(const v1::ReleaseRequest& request);
Call CallOf(const v1::ExtendRequest& request);
Call CallOf(const v1::InspectRequest& request);
Call CallOf(const v1::Operation& operation);

Answer AnswerOf(const v1::ReserveResponse& response);
Answer AnswerOf(const v1::CommitResponse& response);
Answer AnswerOf(const v1::ReleaseResponse& response);
Answer AnswerOf(const v1::ExtendResponse& response);
Answer AnswerOf(const v1::InspectResponse& response);
Answer AnswerOf(const v1::BatchItem& item);
Answer AnswerOf(const absl::Status& error);

template <typename Response>
Answer AnswerOf(const absl::StatusOr<Response>& response) {
  return response.ok() ? AnswerOf(*response) : AnswerOf(response.status());
}

std::string DigestOf(const v1::Result& result);

}  // namespace onced::fault
