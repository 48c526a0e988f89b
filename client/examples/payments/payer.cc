#include "payer.h"

#include <chrono>
#include <thread>
#include <utility>

#include "grpcpp/client_context.h"
#include "onced/client/error.h"
#include "onced/client/idempotent_method.h"

namespace oc = onced::client;

namespace payments {
namespace {

// Whether another attempt may hear more. ABORTED: somebody is on it. All others are answers.
bool IsWorthARetry(const grpc::Status& status) {
  return status.error_code() == grpc::UNAVAILABLE ||
         status.error_code() == grpc::DEADLINE_EXCEEDED || status.error_code() == grpc::ABORTED;
}

}  // namespace

Payer::Payer(const std::shared_ptr<grpc::Channel>& channel, PayerOptions options)
    : stub_(v1::Payments::NewStub(channel)), options_(std::move(options)) {}

grpc::Status Payer::Pay(const v1::ChargeRequest& payment, Receipt& receipt) const {
  for (int attempt = 1;; ++attempt) {
    grpc::Status status = Attempt(payment, receipt);
    if (!IsWorthARetry(status) || attempt >= options_.retry.attempts_max) return status;
    // As long as the server asked for, and a random part on top: many callers who failed together
    // don't come back together.
    const absl::Duration pause =
        oc::PauseAfter(options_.retry, attempt, oc::ToAbslStatus(status), oc::RandomFraction);
    if (options_.on_retry != nullptr) options_.on_retry(status, pause);
    std::this_thread::sleep_for(absl::ToChronoMilliseconds(pause));
  }
}

grpc::Status Payer::Attempt(const v1::ChargeRequest& payment, Receipt& receipt) const {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + options_.attempt_timeout));
  context.AddMetadata(oc::kKeyMetadata, payment.payment_id());
  grpc::Status status = stub_->Charge(&context, payment, &receipt.charge);
  receipt.replayed = context.GetServerTrailingMetadata().count(oc::kReplayedMetadata) > 0;
  return status;
}

}  // namespace payments
