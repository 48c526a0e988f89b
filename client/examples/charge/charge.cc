// Charges an order once, however often it is asked to:
//
//   charge SERVER ORDER CENTS
//
// A charge is a line in the file charges.txt here, which stands for a payment provider.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <type_traits>
#include <variant>

#include "onced/client/client.h"
#include "onced/client/fingerprint.h"
#include "onced/client/run_once.h"

namespace oc = onced::client;

namespace {

// The work. `context.fence()` goes along, for whoever keeps the books.
absl::StatusOr<oc::Result> Charge(const std::string& order, const std::string& cents,
                                  oc::WorkContext& context) {
  if (context.takeover()) {
    // An earlier run ended without a word: ask the provider about it first. This one can't be
    // asked, so that nobody knows: not done again, and not released.
    return absl::UnknownError("an earlier run may have charged it");
  }
  std::ofstream charges("charges.txt", std::ios::app);
  charges << order << " " << cents << " fence " << context.fence() << "\n";
  if (!charges.flush()) return absl::UnknownError("the charge may have been made");
  return oc::Result{.status_code = 201, .body = "charged " + cents};
}

// What an HTTP service would answer with.
struct Answer {
  int status;
  std::string text;

  explicit Answer(const oc::Done& done) : status(done.result.status_code), text(done.result.body) {}
  explicit Answer(const oc::Replayed& replayed)
      : status(replayed.result.status_code), text(replayed.result.body + " (replayed)") {}
  explicit Answer(const oc::NotCommitted& lost)
      : status(lost.result.status_code), text(lost.result.body) {}
  explicit Answer(const oc::Conflict&) : status(409), text("somebody is on it") {}
  explicit Answer(const oc::Mismatch&)
      : status(422), text("this order was asked for differently before") {}
  explicit Answer(const oc::NothingDone&) : status(503), text("nothing happened: try again") {}
  explicit Answer(const oc::Unresolved&) : status(409), text("an operator has to look at it") {}
  explicit Answer(const oc::Undecided&)
      : status(500), text("nobody knows whether it was charged") {}
  explicit Answer(const oc::Unprotected&) : status(500), text("not reached: fail_open isn't set") {}
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: charge SERVER ORDER CENTS\n";
    return EXIT_FAILURE;
  }
  const std::string order = argv[2];
  const std::string cents = argv[3];

  const oc::Client client = oc::Client::Connect(argv[1]);
  oc::RunOptions options{.classifier = oc::ByHttpStatus,
                         .owner = "charge",
                         .lease_ttl = absl::Seconds(30),
                         .wait_timeout = absl::Seconds(5)};
  const absl::StatusOr<oc::RunOutcome> outcome =
      oc::RunOnce(client, {"shop", order}, oc::RequestFingerprint("POST", "/charges", cents),
                  options, [&](oc::WorkContext& context) { return Charge(order, cents, context); });
  if (!outcome.ok()) {
    std::cerr << "not charged: " << outcome.status() << "\n";
    return EXIT_FAILURE;
  }
  const Answer answer = std::visit([](const auto& came) { return Answer(came); }, *outcome);
  std::cout << answer.status << " " << answer.text << "\n";
  return answer.status < 300 ? EXIT_SUCCESS : EXIT_FAILURE;
}
