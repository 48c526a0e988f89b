// Tests the charge without a server: against the fake, which is one in memory. Any test framework
// will do; this has none.
#include "charge.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "onced/client/fake_server.h"
#include "onced/client/fingerprint.h"

namespace oc = onced::client;

namespace {

constexpr char kCharges[] = "charge_test.txt";

// How often the provider was asked for money since this was last called.
int ChargesMade() {
  std::ifstream charges(kCharges);
  int lines = 0;
  for (std::string line; std::getline(charges, line);) ++lines;
  std::remove(kCharges);
  return lines;
}

void Expect(const char* what, const Answer& answer, const Answer& wanted, int charges) {
  const int made = ChargesMade();
  if (answer == wanted && made == charges) return;
  std::cerr << what << ": " << answer.status << " " << answer.text << ", and " << made
            << " charges, not " << charges << "\n";
  std::exit(EXIT_FAILURE);
}

void ARetryIsAnsweredAsTheFirst() {
  oc::FakeServer fake;
  const oc::Client client = fake.client();
  Expect("first", ChargeOnce(client, kCharges, "order-1", "1999"), {201, "charged 1999"}, 1);
  Expect("again", ChargeOnce(client, kCharges, "order-1", "1999"), {201, "charged 1999 (replayed)"},
         0);
}

void ALostAnswerChargesNothingTwice() {
  oc::FakeServer fake;
  const oc::Client client = fake.client();
  fake.LoseAnswers(1, oc::Rpc::kReserve);  // Granted, but nobody hears of it.
  fake.LoseAnswers(1, oc::Rpc::kCommit);
  Expect("lost", ChargeOnce(client, kCharges, "order-1", "1999"), {201, "charged 1999"}, 1);
}

void WithoutTheServiceNothingIsCharged() {
  oc::FakeServer fake;
  const oc::Client client = fake.client();
  fake.Stop();
  const Answer answer = ChargeOnce(client, kCharges, "order-1", "1999");
  Expect("stopped", {answer.status, ""}, {503, ""}, 0);
  fake.Start();
  Expect("started", ChargeOnce(client, kCharges, "order-1", "1999"), {201, "charged 1999"}, 1);
}

void AHolderThatVanishedIsNoReasonToChargeAgain() {
  oc::FakeServer fake;
  const oc::Client client = fake.client();
  // A process that reserved the order, and died at work.
  const auto vanished = client.Reserve(
      {"shop", "order-1"}, {.fingerprint = oc::RequestFingerprint("POST", "/charges", "1999"),
                            .lease_ttl = absl::Seconds(30)});
  fake.Advance(absl::Seconds(30));
  Expect("taken over", ChargeOnce(client, kCharges, "order-1", "1999"),
         {500, "nobody knows whether it was charged"}, 0);
}

}  // namespace

int main() {
  ChargesMade();  // Of an earlier run: removed.
  ARetryIsAnsweredAsTheFirst();
  ALostAnswerChargesNothingTwice();
  WithoutTheServiceNothingIsCharged();
  AHolderThatVanishedIsNoReasonToChargeAgain();
  std::cout << "all as it should be\n";
}
