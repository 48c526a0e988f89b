#include "shipping.h"

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace oc = onced::client;

namespace {

// How many steps are known to be done: the checkpoint of whoever had the job before.
int StepsDone(const oc::WorkContext& context) {
  int done = 0;
  if (context.takeover() && absl::SimpleAtoi(context.previous()->checkpoint, &done)) return done;
  return 0;
}

}  // namespace

absl::StatusOr<oc::Result> Ship(Carrier& carrier, const std::string& job_id,
                                const std::string& payload, oc::WorkContext& context) {
  // Before anything happens: what can be seen to be impossible, and what is down now.
  if (payload.empty()) return oc::Result{.status_code = kDead, .body = "no address"};
  if (payload == "nowhere") return absl::FailedPreconditionError("no carrier goes there today");
  // Of a takeover, the step after the checkpoint is in doubt: its holder vanished before, in or
  // after it. Those behind it were not begun, for none is before the one before it is saved.
  auto unless = context.takeover() ? Carrier::Unless::kDone : Carrier::Unless::kNever;
  for (int step = StepsDone(context); step < kSteps; ++step) {
    if (context.lost().stop_requested()) return absl::UnknownError("another has taken over");
    if (payload == "explosive" && step == 1) std::_Exit(1);  // A bug that ends the process.
    const absl::Status ordered = carrier.Order(job_id, step, context.fence(), unless);
    if (!ordered.ok()) return absl::UnknownError(ordered.message());
    unless = Carrier::Unless::kNever;
    // Not saved: to go on would leave two steps in doubt, of which the next run asks for one.
    const absl::Status saved = context.SaveCheckpoint(absl::StrCat(step + 1));
    if (!saved.ok()) return absl::UnknownError(saved.message());
  }
  return oc::Result{.status_code = kShipped, .body = "shipped to " + payload};
}

bool IsNothingDone(const absl::Status& error) { return absl::IsFailedPrecondition(error); }
