#include "tests/examples/payments/staged.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <future>
#include <utility>

#include "tests/examples/payments/ledger.h"

namespace onced::examples {

using integration::FlakyProxy;
using payments::Payer;
using payments::Receipt;
using payments::v1::ChargeRequest;

namespace {

std::future<Receipt> PayMeanwhile(const std::string& address, const ChargeRequest& payment) {
  return std::async(std::launch::async, [=] { return Pay(PatientPayer(address), payment); });
}

// A file that holds a server, while this is there.
class Hold {
 public:
  explicit Hold(std::string path) : path_(std::move(path)) { std::ofstream file(path_); }
  ~Hold() { End(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  void End() const { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

}  // namespace

ChargeRequest PaymentOf(const std::string& id, std::int64_t cents) {
  ChargeRequest payment;
  payment.set_payment_id(id);
  payment.set_cents(cents);
  payment.set_currency("EUR");
  return payment;
}

Payer PatientPayer(const std::string& address) {
  return Payer(
      integration::ConnectTo(address),
      {.attempt_timeout = absl::FromChrono(integration::kPatience), .retry = {.attempts_max = 10}});
}

Receipt Pay(const Payer& payer, const ChargeRequest& payment) {
  Receipt receipt;
  const grpc::Status status = payer.Pay(payment, receipt);
  EXPECT_TRUE(status.ok()) << payment.payment_id() << ": " << status.error_message();
  return receipt;
}

void FreezeAWorker(Fleet& fleet, const ChargeRequest& payment) {
  PaymentServer& frozen = fleet.server(0);
  std::future<Receipt> first;
  const Hold hold(fleet.HoldBefore(0));
  first = PayMeanwhile(frozen.address(), payment);
  frozen.AwaitHold(hold.path());
  frozen.Freeze();
  fleet.AwaitLapse(payment.payment_id());
  const Receipt second = Pay(PatientPayer(fleet.server(1).address()), payment);
  EXPECT_FALSE(second.replayed);
  hold.End();
  frozen.Thaw();
  const Receipt late = first.get();
  EXPECT_EQ(late.charge.charge_id(), second.charge.charge_id());
  EXPECT_TRUE(late.replayed);
}

void AskWhileAWorkerIsSlow(Fleet& fleet, const ChargeRequest& payment) {
  std::future<Receipt> first;
  const Hold hold(fleet.HoldBefore(0));
  first = PayMeanwhile(fleet.server(0).address(), payment);
  fleet.server(0).AwaitHold(hold.path());
  const Payer hasty(integration::ConnectTo(fleet.server(1).address()),
                    {.attempt_timeout = absl::Seconds(1), .retry = {.attempts_max = 1}});
  Receipt none;
  const grpc::Status status = hasty.Pay(payment, none);
  EXPECT_THAT(status.error_code(),
              testing::AnyOf(grpc::ABORTED, grpc::DEADLINE_EXCEEDED, grpc::CANCELLED))
      << status.error_message();
  EXPECT_THAT(ChargesIn(fleet.books()), testing::IsEmpty());
  hold.End();
  const Receipt second = Pay(PatientPayer(fleet.server(1).address()), payment);
  EXPECT_TRUE(second.replayed);
  EXPECT_EQ(second.charge.charge_id(), first.get().charge.charge_id());
}

void KillAWorker(Fleet& fleet, const ChargeRequest& payment) {
  PaymentServer& killed = fleet.server(0);
  FlakyProxy route(1, {killed.address()});
  std::future<Receipt> paid;
  const Hold hold(fleet.HoldAfter(0));
  paid = PayMeanwhile(route.address(), payment);
  killed.AwaitHold(hold.path());
  const std::string charge = ChargesIn(fleet.books())[payment.payment_id()].at(0).id;
  route.SetServer(0, fleet.server(1).address());
  killed.Kill();
  hold.End();
  EXPECT_EQ(paid.get().charge.charge_id(), charge);
  const Receipt again = Pay(PatientPayer(fleet.server(1).address()), payment);
  EXPECT_EQ(again.charge.charge_id(), charge);
  EXPECT_TRUE(again.replayed);
  fleet.RestartServer(0);
}

}  // namespace onced::examples
