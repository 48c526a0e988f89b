#include "client/cpp/run_once.h"

#include <memory>
#include <utility>

#include "client/cpp/client_core.h"
#include "client/cpp/lease_keeper.h"
#include "client/cpp/reservation_state.h"
#include "client/cpp/reserving.h"
#include "client/cpp/settle.h"

namespace onced::client {
namespace {

absl::Status Check(const RunOptions& options, const Work& work) {
  const auto missing = [](const char* what) { return absl::InvalidArgumentError(what); };
  if (work == nullptr) return missing("there is no work");
  if (options.classifier == nullptr) return missing("classifier is not set");
  if (options.fail_open.has_value() && options.fail_open->report == nullptr) {
    return missing("fail_open.report is not set");
  }
  if (options.settle_timeout <= absl::ZeroDuration())
    return missing("settle_timeout is not positive");
  if (options.keep_max < absl::ZeroDuration()) return missing("keep_max is negative");
  return absl::OkStatus();
}

NotCommitted::Reason ReasonOf(Fate fate) {
  switch (fate) {
    case Fate::kUnknown:
      return NotCommitted::Reason::kUnknown;
    case Fate::kSuperseded:
      return NotCommitted::Reason::kSuperseded;
    case Fate::kCommittedDifferently:
    case Fate::kAlreadyCommitted:
      return NotCommitted::Reason::kCommittedDifferently;
    case Fate::kGone:
      return NotCommitted::Reason::kGone;
    case Fate::kRefused:
      return NotCommitted::Reason::kRefused;
  }
  return NotCommitted::Reason::kUnknown;
}

// What the work came to: it returned, or it threw.
struct Ended {
  absl::StatusOr<Result> outcome = absl::UnknownError("the work threw an exception");
  std::exception_ptr exception;
};

}  // namespace

// One RunOnce().
class Run {
 public:
  Run(const Client& client, const Key& key, const std::string& fingerprint,
      const RunOptions& options, const Work& work)
      : core_(client.core()),
        key_(key),
        options_(options),
        work_(work),
        reserving_(client, key, fingerprint, options) {}

  absl::StatusOr<RunOutcome> operator()() {
    if (absl::Status end = CallersEnd(); !end.ok()) return end;
    absl::StatusOr<ReserveOutcome> reserved = reserving_.Wait();
    if (!reserved.ok()) return WithoutService(reserved.status());
    if (Fresh* fresh = std::get_if<Fresh>(&*reserved)) return OnFresh(fresh->reservation);
    if (auto* replayed = std::get_if<Replayed>(&*reserved)) return std::move(*replayed);
    if (auto* mismatch = std::get_if<Mismatch>(&*reserved)) return std::move(*mismatch);
    if (auto* unresolved = std::get_if<Unresolved>(&*reserved)) return std::move(*unresolved);
    return std::get<Conflict>(*std::move(reserved));
  }

 private:
  // ---- Before the work ----

  absl::Status CallersEnd() const { return core_.CallersEnd(options_.call); }

  absl::StatusOr<RunOutcome> WithoutService(const absl::Status& error) {
    // Where another was seen at work, doing it too is no risk but a certainty.
    if (!options_.fail_open.has_value() || !OutOfReach(core_, error) || reserving_.held() ||
        !CallersEnd().ok()) {
      return error;
    }
    core_.unprotected_runs.fetch_add(1, std::memory_order_relaxed);
    options_.fail_open->report(key_, error);
    WorkContext context(nullptr, nullptr, std::nullopt);
    Ended ended = DoWork(context);
    return Unprotected{.outcome = std::move(ended.outcome),
                       .exception = std::move(ended.exception),
                       .error = error};
  }

  // Whether the grant is still good for starting on it: one that took long to be answered may
  // be old.
  absl::Status Confirm(Reservation& reservation) const {
    if (absl::Status end = CallersEnd(); !end.ok()) return end;
    // Of a default lease that may have been granted to an earlier Reserve nobody here knows how
    // long it was.
    const bool rest =
        !options_.lease_ttl.has_value() && (reserving_.held() || reservation.state_->repeated);
    if (!rest && reservation.lease_left() >= reservation.lease() * 2 / 3) return absl::OkStatus();
    return Renew(reservation);
  }

  // That it was extended says nothing of now, if the answer took long: the lease may be over, and
  // another at work.
  absl::Status Renew(Reservation& reservation) const {
    constexpr int kAttemptsMax = 2;
    for (int attempt = 1; attempt <= kAttemptsMax; ++attempt) {
      const absl::Status extended =
          reservation.Extend({.lease_ttl = options_.lease_ttl}, options_.call);
      if (!extended.ok()) return extended;
      if (absl::Status end = CallersEnd(); !end.ok()) return end;
      if (reservation.lease_left() >= reservation.lease() / 3) return absl::OkStatus();
    }
    return absl::UnavailableError("the lease is shorter than the way to the service");
  }

  // All that can fail before the work.
  absl::StatusOr<std::unique_ptr<LeaseKeeper>> Begin(Reservation& reservation) const {
    if (absl::Status unfit = Confirm(reservation); !unfit.ok()) return unfit;
    return LeaseKeeper::Start(
        reservation,
        {.lease_ttl = options_.lease_ttl, .keep_max = options_.keep_max, .call = Traced({})});
  }

  // ---- The work, and after it ----

  absl::StatusOr<RunOutcome> OnFresh(Reservation& reservation) {
    // Until the key is settled, which may take longer than the work.
    const absl::StatusOr<std::unique_ptr<LeaseKeeper>> keeper = Begin(reservation);
    if (!keeper.ok()) {
      // Nothing was done here, surely.
      if (!IsTakeover(reservation)) (void)reservation.Release();  // Ignored: then it lapses.
      return keeper.status();
    }
    WorkContext context(&reservation, keeper->get(), options_.lease_ttl);
    const Executed executed{
        .fence = context.fence(), .attempt = context.attempt(), .takeover = context.takeover()};
    Ended ended = DoWork(context);
    switch (Classify(ended)) {
      case Verdict::kCommit:
        return Commit(reservation, executed, *std::move(ended.outcome));
      case Verdict::kRelease:
        return NothingDone{.executed = executed,
                           .outcome = std::move(ended.outcome),
                           .exception = std::move(ended.exception),
                           .released = Release(reservation, context)};
      case Verdict::kUnknown:
        break;
    }
    return Undecided{.executed = executed,
                     .outcome = std::move(ended.outcome),
                     .exception = std::move(ended.exception)};
  }

  Ended DoWork(WorkContext& context) const {
    Ended ended;
    try {
      ended.outcome = work_(context);
    } catch (...) {
      ended.exception = std::current_exception();
    }
    return ended;
  }

  Verdict Classify(const Ended& ended) const {
    Verdict verdict = Verdict::kUnknown;
    try {
      if (ended.exception == nullptr) {
        verdict = options_.classifier(ended.outcome);
      } else if (options_.exception_classifier != nullptr) {
        verdict = options_.exception_classifier(ended.exception);
      }
    } catch (...) {
      return Verdict::kUnknown;
    }
    const bool nothing_to_store = verdict == Verdict::kCommit && !ended.outcome.ok();
    return nothing_to_store ? Verdict::kUnknown : verdict;
  }

  RunOutcome Commit(Reservation& reservation, const Executed& executed, Result result) const {
    Committed committed;
    const absl::Status status =
        Settle(core_, options_.settle_timeout, [&](const CallOptions& call) {
          const absl::StatusOr<Committed> answer =
              reservation.Commit(result, {.retention_ttl = options_.retention_ttl}, Traced(call));
          if (answer.ok()) committed = *answer;
          return answer.status();
        });
    if (status.ok()) {
      return Done{.executed = executed, .result = std::move(result), .committed = committed};
    }
    return NotCommitted{.executed = executed,
                        .result = std::move(result),
                        .reason = ReasonOf(FateOf(status)),
                        .error = status,
                        .token = reservation.token()};
  }

  static bool IsTakeover(const Reservation& reservation) {
    return reservation.previous().has_value();
  }

  // Who releases a key says that nothing happened. Of a takeover nobody can say that for the run
  // before it, unless the work has looked: the next one would not be told of it, and do again what
  // that one did. It lapses instead, so that the next takes over, too.
  absl::Status Release(Reservation& reservation, const WorkContext& context) const {
    if (IsTakeover(reservation) && !context.nothing_before_) {
      return absl::FailedPreconditionError("a takeover is not released: it lapses");
    }
    return Settle(core_, options_.settle_timeout, [&](const CallOptions& call) {
      return reservation.Release(Traced(call)).status();
    });
  }

  CallOptions Traced(CallOptions call) const {
    call.traceparent = options_.call.traceparent;
    call.tracestate = options_.call.tracestate;
    return call;
  }

  ClientCore& core_;
  const Key& key_;
  const RunOptions& options_;
  const Work& work_;

  Reserving reserving_;
};

absl::StatusOr<RunOutcome> RunOnce(const Client& client, const Key& key,
                                   const std::string& fingerprint, const RunOptions& options,
                                   const Work& work) {
  if (absl::Status problem = Check(options, work); !problem.ok()) return problem;
  return Run(client, key, fingerprint, options, work)();
}

const Result* ResultOf(const RunOutcome& outcome) {
  if (const auto* done = std::get_if<Done>(&outcome)) return &done->result;
  if (const auto* replayed = std::get_if<Replayed>(&outcome)) return &replayed->result;
  if (const auto* lost = std::get_if<NotCommitted>(&outcome)) return &lost->result;
  const auto* unprotected = std::get_if<Unprotected>(&outcome);
  return unprotected != nullptr && unprotected->outcome.ok() ? &*unprotected->outcome : nullptr;
}

}  // namespace onced::client
