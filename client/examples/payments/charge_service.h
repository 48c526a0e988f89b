// The service's one method.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "books.h"
#include "onced/client/client.h"
#include "onced/client/idempotent_method.h"
#include "payments.grpc.pb.h"

namespace payments {

struct ServiceOptions {
  // How soon another server may take over if this one dies. One that lives and takes longer
  // keeps what it has: its lease is extended.
  absl::Duration lease = absl::Seconds(30);
  // ---- To see what happens if something goes wrong: ----
  // Called just before a payment is charged, and just after it: where a crash is worst.
  std::function<void()> before_charge = [] {};
  std::function<void()> after_charge = [] {};
  // Whether, after that, nothing is heard of what became of it, as of a provider that doesn't
  // answer.
  std::function<bool()> loses_answer = [] { return false; };
};

// Threads: any.
class ChargeService final : public v1::Payments::Service {
 public:
  // `books` must outlive it.
  static absl::StatusOr<std::unique_ptr<ChargeService>> Create(const onced::client::Client& onced,
                                                               Books& books,
                                                               const ServiceOptions& options);

  grpc::Status Charge(grpc::ServerContext* context, const v1::ChargeRequest* request,
                      v1::ChargeResponse* response) override;

 private:
  ChargeService(onced::client::IdempotentMethod charge, Books& books, ServiceOptions options)
      : charge_(std::move(charge)), books_(books), options_(std::move(options)) {}

  grpc::Status ChargeOnce(const v1::ChargeRequest& request, v1::ChargeResponse& response,
                          const onced::client::WorkContext& work);

  const onced::client::IdempotentMethod charge_;
  Books& books_;
  const ServiceOptions options_;
};

}  // namespace payments
