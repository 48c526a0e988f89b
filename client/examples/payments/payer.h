// Who pays, over a network that loses calls and answers.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "grpcpp/channel.h"
#include "grpcpp/support/status.h"
#include "onced/client/retry.h"
#include "payments.grpc.pb.h"

namespace payments {

struct PayerOptions {
  // Of one attempt. One that takes longer has failed as DEADLINE_EXCEEDED: it may have charged or
  // not.
  absl::Duration attempt_timeout = absl::Seconds(5);
  // How many attempts, and how long between them.
  onced::client::RetryPolicy retry = {.attempts_max = 20};
  // Told of each attempt that is to be repeated.
  std::function<void(const grpc::Status& failure, absl::Duration pause)> on_retry = {};
};

struct Receipt {
  v1::ChargeResponse charge;
  // It was charged by an earlier attempt, or by another caller, who heard the same.
  bool replayed = false;
};

// Operation: asks until it is answered, each time with the same key, so that it doesn't matter
//            which attempt has charged the payment, or how many have tried to.
// Threads:   any. Pay() blocks.
class Payer {
 public:
  Payer(const std::shared_ptr<grpc::Channel>& channel, PayerOptions options);

  // Fills `receipt` if it returns OK. UNAVAILABLE, DEADLINE_EXCEEDED, ABORTED: of the last
  // attempt; nobody knows whether the payment is charged, and it is safe to Pay() again.
  grpc::Status Pay(const v1::ChargeRequest& payment, Receipt& receipt) const;

 private:
  grpc::Status Attempt(const v1::ChargeRequest& payment, Receipt& receipt) const;

  const std::unique_ptr<v1::Payments::Stub> stub_;
  const PayerOptions options_;
};

}  // namespace payments
