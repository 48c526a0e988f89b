// RunOnce() over a scripted service.
#pragma once

#include <string>

#include "client/cpp/run_once.h"
#include "gtest/gtest.h"
#include "tests/unit/client/scripted_stub.h"

namespace onced::client {

inline const Key kKey{"shop", "order-1"};
inline const absl::Duration kThird = ScriptedService::kLease / 3;

inline const char* NameOf(const absl::StatusOr<RunOutcome>& outcome) {
  constexpr const char* kNames[] = {"Done",      "Replayed",     "Conflict",
                                    "Mismatch",  "Unresolved",   "NothingDone",
                                    "Undecided", "NotCommitted", "Unprotected"};
  return outcome.ok() ? kNames[outcome->index()] : "error";
}

inline Classifier Always(Verdict verdict) {
  return [verdict](const auto&) { return verdict; };
}

class RunOnceTest : public testing::Test {
 protected:
  RunOnceTest() { options_.classifier = CommitResults; }

  absl::StatusOr<RunOutcome> Run(const Work& work) {
    return RunOnce(client_, kKey, "fp", options_, [&](WorkContext& context) {
      ++runs_;
      return work(context);
    });
  }
  absl::StatusOr<RunOutcome> Run() {
    return Run([](WorkContext&) { return Result{.status_code = 201, .body = "done"}; });
  }
  template <typename T>
  T Is(absl::StatusOr<RunOutcome> outcome) {
    EXPECT_TRUE(outcome.ok() && std::holds_alternative<T>(*outcome))
        << NameOf(outcome) << " " << outcome.status();
    if (!outcome.ok() || !std::holds_alternative<T>(*outcome)) return T{};
    return std::get<T>(*std::move(outcome));
  }
  v1::ReserveResponse TakeoverAnswer() const {
    v1::ReserveResponse takeover = service_.FreshAnswer();
    takeover.mutable_reservation()->set_attempt(3);
    takeover.mutable_reservation()->mutable_previous()->set_fence(6);
    takeover.mutable_reservation()->mutable_previous()->set_checkpoint("charged");
    return takeover;
  }
  // How often each was called: to settle the key.
  std::string Settled() const {
    return "commit " + std::to_string(service_.commit.calls()) + " release " +
           std::to_string(service_.release.calls());
  }

  ScriptedService service_;
  Client client_ = service_.client();
  RunOptions options_;
  int runs_ = 0;
};

}  // namespace onced::client
