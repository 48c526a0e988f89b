#include "charge.h"

#include <fstream>
#include <sstream>
#include <variant>

#include "onced/client/fingerprint.h"
#include "onced/client/run_once.h"

namespace oc = onced::client;

namespace {

// The work. `context.fence()` goes along, for whoever keeps the books.
absl::StatusOr<oc::Result> Charge(const std::string& file, const std::string& order,
                                  const std::string& cents, oc::WorkContext& context) {
  if (context.takeover()) {
    // An earlier run ended without a word: ask the provider about it first. This one can't be
    // asked, so that nobody knows: not done again, and not released.
    return absl::UnknownError("an earlier run may have charged it");
  }
  std::ofstream charges(file, std::ios::app);
  charges << order << " " << cents << " fence " << context.fence() << "\n";
  if (!charges.flush()) return absl::UnknownError("the charge may have been made");
  return oc::Result{.status_code = 201, .body = "charged " + cents};
}

// What it came to, in the words of HTTP.
Answer AnswerOf(const oc::Done& done) { return {done.result.status_code, done.result.body}; }
Answer AnswerOf(const oc::Replayed& replayed) {
  return {replayed.result.status_code, replayed.result.body + " (replayed)"};
}
Answer AnswerOf(const oc::NotCommitted& lost) {
  return {lost.result.status_code, lost.result.body};
}
Answer AnswerOf(const oc::Conflict&) { return {409, "somebody is on it"}; }
Answer AnswerOf(const oc::Mismatch&) {
  return {422, "this order was asked for differently before"};
}
Answer AnswerOf(const oc::NothingDone&) { return {503, "nothing happened: try again"}; }
Answer AnswerOf(const oc::Unresolved&) { return {409, "an operator has to look at it"}; }
Answer AnswerOf(const oc::Undecided&) { return {500, "nobody knows whether it was charged"}; }
Answer AnswerOf(const oc::Unprotected&) { return {500, "not reached: fail_open isn't set"}; }

}  // namespace

Answer ChargeOnce(const oc::Client& client, const std::string& charges, const std::string& order,
                  const std::string& cents) {
  oc::RunOptions options{.classifier = oc::ByHttpStatus,
                         .owner = "charge",
                         .lease_ttl = absl::Seconds(30),
                         .wait_timeout = absl::Seconds(5)};
  const absl::StatusOr<oc::RunOutcome> outcome = oc::RunOnce(
      client, {"shop", order}, oc::RequestFingerprint("POST", "/charges", cents), options,
      [&](oc::WorkContext& context) { return Charge(charges, order, cents, context); });
  if (!outcome.ok()) {  // The work was not run.
    std::ostringstream text;
    text << "not charged: " << outcome.status();
    return {503, text.str()};
  }
  return std::visit([](const auto& came) { return AnswerOf(came); }, *outcome);
}
