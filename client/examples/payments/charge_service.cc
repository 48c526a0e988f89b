#include "charge_service.h"

#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

namespace oc = onced::client;

namespace payments {
namespace {

// What is wrong with a request for whatever reason it comes: it needs no key, and none is taken.
grpc::Status Check(const grpc::ServerContext& context, const v1::ChargeRequest& request) {
  // Fences grow for a key. So a payment has one, or those in the books could not be compared.
  const auto key = context.client_metadata().find(oc::kKeyMetadata);
  const bool has_key = key != context.client_metadata().end() &&
                       std::string(key->second.data(), key->second.size()) == request.payment_id();
  if (!has_key) return {grpc::INVALID_ARGUMENT, "the idempotency-key is not the payment's id"};
  if (request.cents() <= 0) return {grpc::INVALID_ARGUMENT, "cents are not more than 0"};
  if (request.currency().empty()) return {grpc::INVALID_ARGUMENT, "there is no currency"};
  return grpc::Status::OK;
}

oc::MethodOptions MethodOptionsOf(const ServiceOptions& options) {
  return {
      .name_space = "payments",
      // All callers are one shop's here. Where there are several it is who has authenticated, by
      // `context.auth_context()`: else whoever guesses a key hears another's answer.
      .scope = [](const grpc::ServerContextBase&) { return "shop"; },
      // OK is kept and replayed. ABORTED and UNAVAILABLE, which is all that ChargeOnce() returns
      // beside it, leave the key to lapse.
      .classifier = oc::ByGrpcStatus,
      .owner = "payments " + std::to_string(getpid()),
      .lease_ttl = options.lease,
      // For the answer of another call for the same payment, rather than to be sent away.
      .wait_timeout = absl::Seconds(5),
  };
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChargeService>> ChargeService::Create(
    const oc::Client& onced, Books& books, const ServiceOptions& options) {
  absl::StatusOr<oc::IdempotentMethod> charge =
      oc::IdempotentMethod::Create(onced, "/payments.v1.Payments/Charge",
                                   *v1::ChargeRequest::descriptor(), MethodOptionsOf(options));
  if (!charge.ok()) return charge.status();
  return std::unique_ptr<ChargeService>(new ChargeService(*std::move(charge), books, options));
}

grpc::Status ChargeService::Charge(grpc::ServerContext* context, const v1::ChargeRequest* request,
                                   v1::ChargeResponse* response) {
  if (grpc::Status wrong = Check(*context, *request); !wrong.ok()) return wrong;
  return charge_.Run(*context, *request, *response,
                     [&](oc::WorkContext& work) { return ChargeOnce(*request, *response, work); });
}

grpc::Status ChargeService::ChargeOnce(const v1::ChargeRequest& request,
                                       v1::ChargeResponse& response, const oc::WorkContext& work) {
  options_.before_charge();
  std::optional<std::string> charge;
  try {
    charge = books_.Charge({request.payment_id(), request.cents(), request.currency()},
                           {.fence = work.fence(), .takeover = work.takeover()});
  } catch (const SqlError& error) {
    // It may have been charged or not: whoever takes over finds out.
    return {grpc::UNAVAILABLE, error.what()};
  }
  options_.after_charge();
  if (options_.loses_answer()) return {grpc::UNAVAILABLE, "it may have been charged or not"};
  // The caller asks again, and hears what the other run has come to.
  if (!charge.has_value()) return {grpc::ABORTED, "another run has this payment"};
  response.set_charge_id(*charge);
  response.set_cents(request.cents());
  response.set_currency(request.currency());
  return grpc::Status::OK;
}

}  // namespace payments
