// What a user's own method answers with, as it is stored, and as it follows from what came of a
// call.
#pragma once

#include "absl/status/statusor.h"
#include "client/cpp/run_once.h"
#include "client/cpp/types.h"
#include "grpcpp/support/status.h"

namespace google::protobuf {
class Message;
}

namespace onced::client {

// The status in code and headers, the response of an OK in the body. An error: the response
// is too large to be serialized at all.
absl::StatusOr<Result> StoredOf(const grpc::Status& status,
                                const google::protobuf::Message& response);

// The stored status, with `response` as it was; DATA_LOSS if that isn't known any more.
grpc::Status Replay(const Result& result, google::protobuf::Message& response);

// The answers to a call whose handler wasn't run.
grpc::Status AnswerTo(const Conflict& conflict);
grpc::Status AnswerTo(const Mismatch& mismatch);
grpc::Status AnswerTo(const Unresolved& unresolved);

// The same for an error of RunOnce(). `callers_end`: the error is of the caller's own making, who
// has cancelled or whose deadline has passed.
grpc::Status AnswerTo(const absl::Status& error, bool callers_end);

}  // namespace onced::client
