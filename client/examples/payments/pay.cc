// Pays, however bad the network is:
//
//   pay --to=127.0.0.1:6000 --payment=order-1 --cents=1999
//
// Run it again, and it says the same. It exits with 0 once the payment is charged.
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "payer.h"

ABSL_FLAG(std::string, to, "127.0.0.1:6000", "the payment server");
ABSL_FLAG(std::string, payment, "",
          "the payment's id: one that was used before is the same payment");
ABSL_FLAG(std::int64_t, cents, 0, "how much");
ABSL_FLAG(std::string, currency, "EUR", "of what");
ABSL_FLAG(absl::Duration, timeout, absl::Seconds(5), "how long to wait for an answer");

namespace {

std::string Text(const grpc::Status& status) {
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  return absl::StatusCodeToString(code) + " (" + status.error_message() + ")";
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("pays, however bad the network is");
  absl::ParseCommandLine(argc, argv);
  payments::v1::ChargeRequest payment;
  payment.set_payment_id(absl::GetFlag(FLAGS_payment));
  payment.set_cents(absl::GetFlag(FLAGS_cents));
  payment.set_currency(absl::GetFlag(FLAGS_currency));

  const payments::Payer payer(
      grpc::CreateChannel(absl::GetFlag(FLAGS_to), grpc::InsecureChannelCredentials()),
      {.attempt_timeout = absl::GetFlag(FLAGS_timeout),
       .on_retry = [](const grpc::Status& failure, absl::Duration pause) {
         std::cerr << Text(failure) << ": again in " << absl::Trunc(pause, absl::Milliseconds(1))
                   << "\n";
       }});
  payments::Receipt receipt;
  const grpc::Status status = payer.Pay(payment, receipt);
  if (!status.ok()) {
    std::cerr << Text(status) << "\n";
    return EXIT_FAILURE;
  }
  std::cout << receipt.charge.charge_id() << " " << receipt.charge.cents() << " "
            << receipt.charge.currency() << (receipt.replayed ? " (replayed)" : "") << "\n";
  return EXIT_SUCCESS;
}
