#include "consumer.h"

#include <iostream>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "onced/client/fingerprint.h"
#include "onced/client/run_once.h"
#include "shipping.h"

namespace oc = onced::client;

namespace {

void Log(const Entry& entry, const std::string& what) {
  std::clog << "job " << entry.job_id << " (" << entry.id << "): " << what << std::endl;
}

std::string TextOf(const absl::Status& error) {
  return absl::StrCat(absl::StatusCodeToString(error.code()), " ", error.message());
}

// What is left in the queue, is delivered again.
absl::Status Leave(const Entry& entry, const std::string& why) {
  Log(entry, why + ": left in the queue");
  return absl::OkStatus();
}

absl::StatusOr<oc::Result> Work(const Entry& entry, Carrier& carrier,
                                const ConsumerOptions& options, oc::WorkContext& context) {
  if (context.takeover()) Log(entry, absl::StrCat("taken over, attempt ", context.attempt()));
  // Those before have died of it, and who looks for the reason finds the job among the dead. How
  // far they got, the last checkpoint says: that is for a human, too.
  if (context.attempt() > options.attempts_max) {
    return oc::Result{.status_code = kDead,
                      .body = "every worker died after step " + context.previous()->checkpoint};
  }
  absl::StatusOr<oc::Result> shipped = Ship(carrier, entry.job_id, entry.payload, context);
  const bool again = entry.deliveries < options.attempts_max;
  if (shipped.ok() || !IsNothingDone(shipped.status()) || again) return shipped;
  return oc::Result{.status_code = kDead, .body = std::string(shipped.status().message())};
}

oc::Verdict Classify(const absl::StatusOr<oc::Result>& outcome) {
  if (outcome.ok()) return oc::Verdict::kCommit;  // That a job is given up is final, too.
  return IsNothingDone(outcome.status()) ? oc::Verdict::kRelease : oc::Verdict::kUnknown;
}

// The job is settled, here or elsewhere.
absl::Status Settle(const Entry& entry, JobQueue& queue, const oc::Result& result) {
  if (result.status_code != kDead) return queue.Acknowledge(entry);
  Log(entry, "given up: " + result.body);
  return queue.Bury(entry, result.body);
}

// ---- One for each outcome ----

struct Settler {
  const Entry& entry;
  JobQueue& queue;

  absl::Status operator()(const oc::Done& done) const { return Settle(entry, queue, done.result); }
  absl::Status operator()(const oc::Replayed& replayed) const {
    return Settle(entry, queue, replayed.result);
  }
  // Another is at it, perhaps on a second entry of the job. To acknowledge this one would be to
  // believe that it succeeds.
  absl::Status operator()(const oc::Conflict& conflict) const {
    return Leave(entry, conflict.holder.owner + " is at it");
  }
  // Two jobs with one ID: this one was never done, and can't be.
  absl::Status operator()(const oc::Mismatch&) const {
    Log(entry, "the ID is another job's");
    return queue.Bury(entry, "the ID is another job's");
  }
  // The namespace's policy is HOLD: an operator settles it, and adds it again if it wasn't done.
  absl::Status operator()(const oc::Unresolved&) const {
    Log(entry, "an operator has to settle it");
    return queue.Bury(entry, "its holder vanished");
  }
  absl::Status operator()(const oc::NothingDone& nothing) const {
    return Leave(entry, TextOf(nothing.outcome.status()));
  }
  // The lease lapses, and whoever takes over asks the carrier.
  absl::Status operator()(const oc::Undecided& undecided) const {
    return Leave(entry, TextOf(undecided.outcome.status()));
  }
  // It is done, and perhaps nobody will be told. Delivered again, it is replayed if it was stored,
  // else taken over by somebody who asks the carrier. But if there is no record any more, it
  // would be done anew: then this is the last who knows, and says so.
  absl::Status operator()(const oc::NotCommitted& lost) const {
    if (lost.reason != oc::NotCommitted::Reason::kGone) {
      return Leave(entry, "done, but not stored: " + TextOf(lost.error));
    }
    Log(entry, "done, and its record is gone: its duplicates would be done, too");
    return queue.Acknowledge(entry);
  }
  absl::Status operator()(const oc::Unprotected&) const {
    return Leave(entry, "not reached: fail_open isn't set");
  }
};

}  // namespace

absl::Status Handle(const Entry& entry, const oc::Client& client, JobQueue& queue, Carrier& carrier,
                    const ConsumerOptions& options) {
  if (entry.job_id.empty()) return queue.Bury(entry, "it has no job_id");
  const oc::RunOptions run{.classifier = Classify,
                           .owner = "shipper",
                           .lease_ttl = options.lease_ttl,
                           // Another delivery of the entry, which a conflict costs, counts.
                           .wait_timeout = options.wait_timeout};
  // The key is the job, not the entry; the fingerprint, what the job is.
  const absl::StatusOr<oc::RunOutcome> outcome = oc::RunOnce(
      client, {"shipping", entry.job_id}, oc::RequestFingerprint("SHIP", "", entry.payload), run,
      [&](oc::WorkContext& context) { return Work(entry, carrier, options, context); });
  if (!outcome.ok()) return Leave(entry, "not begun: " + TextOf(outcome.status()));
  return std::visit(Settler{entry, queue}, *outcome);
}
