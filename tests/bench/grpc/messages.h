// Steps as messages of the API, and answers as outcomes.
#pragma once

#include <string>
#include <vector>

#include "idempotency/v1/idempotency.pb.h"
#include "tests/bench/driver.h"

namespace onced::bench {

// What is to be known of a step when its answer comes.
struct Expected {
  Expect expect = Expect::kAny;
  const std::string* body = nullptr;
};
std::vector<Expected> ExpectedOf(const std::vector<Step>& steps);

void Fill(const Step& step, idempotency::v1::ReserveRequest& request);
void Fill(const Step& step, idempotency::v1::CommitRequest& request);
// Reuses the operations that are there.
void Fill(const std::vector<Step>& steps,
          google::protobuf::RepeatedPtrField<idempotency::v1::Operation>& operations);

Outcome Judge(const Expected& expected, const idempotency::v1::ReserveResponse& response);
Outcome Judge(const Expected& expected, const idempotency::v1::CommitResponse& response);
// As not expected where an item is missing.
std::vector<Outcome> Judge(
    const std::vector<Expected>& expected,
    const google::protobuf::RepeatedPtrField<idempotency::v1::BatchItem>& items);

}  // namespace onced::bench
