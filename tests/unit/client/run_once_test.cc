#include "client/cpp/run_once.h"

#include <set>
#include <stdexcept>

#include "client/cpp/settle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/fake_server.h"
#include "tests/unit/client/scripted_stub.h"

namespace onced::client {
namespace {

using testing::Each;
using testing::Ge;
using testing::IsEmpty;
using testing::SizeIs;

const Key kKey{"shop", "order-1"};
const absl::Duration kThird = ScriptedService::kLease / 3;

const char* NameOf(const absl::StatusOr<RunOutcome>& outcome) {
  constexpr const char* kNames[] = {"Done",      "Replayed",     "Conflict",
                                    "Mismatch",  "Unresolved",   "NothingDone",
                                    "Undecided", "NotCommitted", "Unprotected"};
  return outcome.ok() ? kNames[outcome->index()] : "error";
}

Classifier Always(Verdict verdict) {
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

// ---- What is run, and what isn't ----

TEST_F(RunOnceTest, DoesTheWorkAndCommitsItsResult) {
  options_.owner = "me";
  options_.lease_ttl = absl::Seconds(40);
  options_.retention_ttl = absl::Hours(48);
  const Done done = Is<Done>(Run());
  EXPECT_EQ(done.result.body, "done");
  EXPECT_EQ(done.executed.fence, 7);
  EXPECT_EQ(done.executed.attempt, 1);
  EXPECT_FALSE(done.executed.takeover);
  EXPECT_EQ(runs_, 1);
  const v1::ReserveRequest reserve = service_.reserve.requests().at(0);
  EXPECT_EQ(reserve.namespace_(), "shop");
  EXPECT_EQ(reserve.key(), "order-1");
  EXPECT_EQ(reserve.fingerprint(), "fp");
  EXPECT_EQ(reserve.owner(), "me");
  EXPECT_EQ(reserve.lease_ttl().seconds(), 40);
  EXPECT_FALSE(reserve.has_wait_timeout());
  const v1::CommitRequest commit = service_.commit.requests().at(0);
  EXPECT_EQ(commit.token(), "token-7");
  EXPECT_EQ(commit.result().status_code(), 201);
  EXPECT_EQ(commit.result().body(), "done");
  EXPECT_EQ(commit.retention_ttl().seconds(), 48 * 3600);
  EXPECT_EQ(Settled(), "commit 1 release 0");
}

TEST_F(RunOnceTest, RunsNothingOnAnyOtherVerdict) {
  const struct {
    int outcome;
    const char* want;
  } kRows[] = {
      {v1::OUTCOME_REPLAYED, "Replayed"},    {v1::OUTCOME_CONFLICT, "Conflict"},
      {v1::OUTCOME_MISMATCH, "Mismatch"},    {v1::OUTCOME_UNRESOLVED, "Unresolved"},
      {v1::OUTCOME_UNSPECIFIED, "Conflict"}, {42, "Conflict"},
  };
  for (const auto& row : kRows) {
    service_.ThenVerdict(static_cast<v1::Outcome>(row.outcome));
    EXPECT_STREQ(NameOf(Run()), row.want) << row.outcome;
  }
  EXPECT_EQ(runs_, 0);
  EXPECT_EQ(Settled(), "commit 0 release 0");
}

TEST_F(RunOnceTest, ReplaysWhatIsStored) {
  service_.ThenVerdict(v1::OUTCOME_REPLAYED);
  const auto outcome = Run();
  ASSERT_TRUE(outcome.ok());
  ASSERT_NE(ResultOf(*outcome), nullptr);
  EXPECT_EQ(ResultOf(*outcome)->body, "stored");
}

TEST_F(RunOnceTest, RefusesOptionsThatLackWhatIsRequired) {
  const auto refused = [this] {
    return Run().status().code() == absl::StatusCode::kInvalidArgument;
  };
  options_.classifier = nullptr;
  EXPECT_TRUE(refused());
  options_.classifier = CommitResults;
  options_.fail_open = FailOpen{};
  EXPECT_TRUE(refused());
  options_.fail_open.reset();
  options_.settle_timeout = absl::ZeroDuration();
  EXPECT_TRUE(refused());
  options_.settle_timeout = absl::Seconds(1);
  options_.keep_max = -absl::Seconds(1);
  EXPECT_TRUE(refused());
  EXPECT_EQ(RunOnce(client_, kKey, "", {.classifier = CommitResults}, nullptr).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(service_.reserve.calls(), 0u);
}

// ---- What becomes of the key: outcome x classifier x answer ----

enum class Came { kResult, kError, kException };
enum class Answers {
  kYes,
  kTwiceBroken,           // Then yes.
  kTwiceTimedOut,         // Then yes.
  kTwiceFull,             // Then yes.
  kTwiceUnknown,          // Then yes.
  kTwiceNoSuchCall,       // By a proxy; then yes.
  kTwiceInvalidToOthers,  // Likewise.
  kNever,
  kSuperseded,
  kRestored,
  kCommittedDifferently,
  kNotReserved,
  kInvalid,
  kUnimplemented,
};

struct Row {
  const char* name;
  Came came;
  Verdict verdict;
  Answers answers;
  const char* want;
  int commits;   // -1: many.
  int releases;  // Likewise.
};

constexpr auto kCommit = Verdict::kCommit;
constexpr auto kRelease = Verdict::kRelease;
constexpr auto kUnknown = Verdict::kUnknown;

const Row kRows[] = {
    {"result_commit", Came::kResult, kCommit, Answers::kYes, "Done", 1, 0},
    {"result_release", Came::kResult, kRelease, Answers::kYes, "NothingDone OK", 0, 1},
    {"result_unknown", Came::kResult, kUnknown, Answers::kYes, "Undecided", 0, 0},
    {"error_commit", Came::kError, kCommit, Answers::kYes, "Undecided", 0, 0},
    {"error_release", Came::kError, kRelease, Answers::kYes, "NothingDone OK", 0, 1},
    {"error_unknown", Came::kError, kUnknown, Answers::kYes, "Undecided", 0, 0},
    {"exception_commit", Came::kException, kCommit, Answers::kYes, "Undecided", 0, 0},
    {"exception_release", Came::kException, kRelease, Answers::kYes, "NothingDone OK", 0, 1},
    {"exception_unknown", Came::kException, kUnknown, Answers::kYes, "Undecided", 0, 0},

    {"commit_broken", Came::kResult, kCommit, Answers::kTwiceBroken, "Done", 3, 0},
    {"commit_timed_out", Came::kResult, kCommit, Answers::kTwiceTimedOut, "Done", 3, 0},
    {"commit_full", Came::kResult, kCommit, Answers::kTwiceFull, "Done", 3, 0},
    {"commit_unknown", Came::kResult, kCommit, Answers::kTwiceUnknown, "Done", 3, 0},
    {"commit_no_such_call", Came::kResult, kCommit, Answers::kTwiceNoSuchCall, "Done", 3, 0},
    {"commit_invalid_to_others", Came::kResult, kCommit, Answers::kTwiceInvalidToOthers, "Done", 3,
     0},
    {"commit_never", Came::kResult, kCommit, Answers::kNever, "NotCommitted unknown", -1, 0},
    {"commit_superseded", Came::kResult, kCommit, Answers::kSuperseded, "NotCommitted superseded",
     1, 0},
    {"commit_restored", Came::kResult, kCommit, Answers::kRestored, "NotCommitted superseded", 1,
     0},
    {"commit_differs", Came::kResult, kCommit, Answers::kCommittedDifferently,
     "NotCommitted differently", 1, 0},
    {"commit_gone", Came::kResult, kCommit, Answers::kNotReserved, "NotCommitted gone", 1, 0},
    {"commit_invalid", Came::kResult, kCommit, Answers::kInvalid, "NotCommitted refused", 1, 0},
    {"commit_unimplemented", Came::kResult, kCommit, Answers::kUnimplemented,
     "NotCommitted refused", 1, 0},

    {"release_broken", Came::kResult, kRelease, Answers::kTwiceBroken, "NothingDone OK", 0, 3},
    {"release_unknown", Came::kError, kRelease, Answers::kTwiceUnknown, "NothingDone OK", 0, 3},
    {"release_no_such_call", Came::kError, kRelease, Answers::kTwiceNoSuchCall, "NothingDone OK", 0,
     3},
    {"release_never", Came::kError, kRelease, Answers::kNever, "NothingDone UNAVAILABLE", 0, -1},
    {"release_superseded", Came::kResult, kRelease, Answers::kSuperseded, "NothingDone ABORTED", 0,
     1},
};

template <typename Script>
void Answer(Script& script, Answers answers) {
  using Code = absl::StatusCode;
  switch (answers) {
    case Answers::kYes:
      return;
    case Answers::kTwiceBroken:
      script.ThenFail(Broken(), 2);
      return;
    case Answers::kTwiceTimedOut:
      script.ThenFail({grpc::StatusCode::DEADLINE_EXCEEDED, "timed out"}, 2);
      return;
    case Answers::kTwiceFull:
      script.ThenFail(ServiceError(Code::kResourceExhausted, "QUEUE_FULL"), 2);
      return;
    case Answers::kTwiceUnknown:
      script.ThenFail(ServiceError(Code::kUnavailable, "OUTCOME_UNKNOWN"), 2);
      return;
    case Answers::kTwiceNoSuchCall:
      script.ThenFail({grpc::StatusCode::UNIMPLEMENTED, "Received http2 header with status: 404"},
                      2);
      return;
    case Answers::kTwiceInvalidToOthers: {
      const absl::Status others = ToAbslStatus(
          ErrorDetails{.code = Code::kInvalidArgument, .reason = "X", .domain = "proxy"});
      const std::string details(*others.GetPayload("type.googleapis.com/google.rpc.Status"));
      script.ThenFail({grpc::StatusCode::INVALID_ARGUMENT, "no", details}, 2);
      return;
    }
    case Answers::kNever:
      script.OtherwiseFail(Broken());
      return;
    case Answers::kSuperseded:
      script.OtherwiseFail(ServiceError(Code::kAborted, "SUPERSEDED"));
      return;
    case Answers::kRestored:
      script.OtherwiseFail(ServiceError(Code::kAborted, "RESTORED"));
      return;
    case Answers::kCommittedDifferently:
      script.OtherwiseFail(ServiceError(Code::kFailedPrecondition, "COMMITTED_DIFFERENTLY"));
      return;
    case Answers::kNotReserved:
      script.OtherwiseFail(ServiceError(Code::kNotFound, "NOT_RESERVED"));
      return;
    case Answers::kInvalid:
      script.OtherwiseFail(ServiceError(Code::kInvalidArgument, "INVALID_FIELD"));
      return;
    case Answers::kUnimplemented:
      script.OtherwiseFail(ServiceError(Code::kUnimplemented, "NOT_HERE"));
      return;
  }
}

std::string Told(const absl::StatusOr<RunOutcome>& outcome) {
  std::string told = NameOf(outcome);
  if (!outcome.ok()) return told;
  if (const auto* nothing = std::get_if<NothingDone>(&*outcome)) {
    told += " " + absl::StatusCodeToString(nothing->released.code());
  }
  if (const auto* lost = std::get_if<NotCommitted>(&*outcome)) {
    constexpr const char* kReasons[] = {" unknown", " superseded", " differently", " gone",
                                        " refused"};
    told += kReasons[static_cast<int>(lost->reason)];
  }
  return told;
}

class SettleTable : public testing::TestWithParam<Row> {};

TEST_P(SettleTable, IsAsItSays) {
  const Row& row = GetParam();
  ScriptedService service;
  service.uniform = 0.5;
  Answer(service.commit, row.answers);
  Answer(service.release, row.answers);
  RunOptions options{.classifier = Always(row.verdict)};
  if (row.came == Came::kException) {
    options.exception_classifier = [&](const auto&) { return row.verdict; };
  }
  const absl::Time start = service.clock.Now();
  const auto outcome =
      RunOnce(service.client(), kKey, "fp", options, [&](WorkContext&) -> absl::StatusOr<Result> {
        if (row.came == Came::kException) throw std::runtime_error("it broke");
        if (row.came == Came::kError) return absl::AbortedError("it failed");
        return Result{.body = "done"};
      });
  EXPECT_EQ(Told(outcome), row.want);
  const auto called = [](int want) { return want < 0 ? Ge(10) : testing::Matcher<int>(want); };
  EXPECT_THAT(static_cast<int>(service.commit.calls()), called(row.commits));
  EXPECT_THAT(static_cast<int>(service.release.calls()), called(row.releases));
  EXPECT_LE(service.clock.Now() - start, options.settle_timeout);
  // What is repeated is the same.
  for (const auto& commit : service.commit.requests()) {
    EXPECT_EQ(commit.token(), "token-7");
    EXPECT_EQ(commit.result().body(), "done");
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, SettleTable, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_F(RunOnceTest, HandsOutWhatTheWorkReturnedThoughItIsNotStored) {
  service_.commit.OtherwiseFail(ServiceError(absl::StatusCode::kAborted, "SUPERSEDED"));
  const auto outcome = Run();
  ASSERT_TRUE(outcome.ok());
  ASSERT_NE(ResultOf(*outcome), nullptr);
  EXPECT_EQ(ResultOf(*outcome)->body, "done");
  EXPECT_EQ(DetailsOf(std::get<NotCommitted>(*outcome).error).reason, "SUPERSEDED");
}

TEST_F(RunOnceTest, AnExceptionIsUnknownAndHandedOut) {
  options_.classifier = Always(Verdict::kRelease);  // Isn't asked.
  const Undecided undecided = Is<Undecided>(
      Run([](WorkContext&) -> absl::StatusOr<Result> { throw std::runtime_error("it broke"); }));
  EXPECT_FALSE(undecided.outcome.ok());
  EXPECT_THROW(std::rethrow_exception(undecided.exception), std::runtime_error);
  EXPECT_EQ(Settled(), "commit 0 release 0");
}

TEST_F(RunOnceTest, AClassifierThatThrowsHasDecidedNothing) {
  options_.classifier = [](const auto&) -> Verdict { throw std::runtime_error("no idea"); };
  const Undecided undecided = Is<Undecided>(Run());
  EXPECT_EQ(undecided.outcome->body, "done");
  EXPECT_EQ(Settled(), "commit 0 release 0");
}

// ---- The caller's own end ----

TEST_F(RunOnceTest, ACancelledCallerStillCommits) {
  std::stop_source stop;
  options_.call.stop = stop.get_token();
  service_.commit.ThenFail(Broken(), 6);
  Is<Done>(Run([&](WorkContext&) {
    stop.request_stop();
    return Result{};
  }));
  EXPECT_EQ(Settled(), "commit 7 release 0");
}

TEST_F(RunOnceTest, ACallerPastItsDeadlineStillCommits) {
  options_.call.deadline = service_.clock.WallNow() + absl::Seconds(3);
  Is<Done>(Run([&](WorkContext&) {
    service_.clock.Advance(absl::Seconds(4));
    return Result{};
  }));
  EXPECT_THAT(service_.commit.deadlines(), Each(Ge(service_.clock.WallNow() + absl::Seconds(5))));
}

TEST_F(RunOnceTest, GivesBackAGrantThatCameTooLate) {
  std::stop_source stop;
  options_.call.stop = stop.get_token();
  service_.reserve.Then([&](const auto&, auto& response) {
    stop.request_stop();
    response = service_.FreshAnswer();
    return grpc::Status::OK;
  });
  EXPECT_EQ(Run().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(Settled(), "commit 0 release 1");
  options_.call = {.deadline = service_.clock.WallNow() + absl::Seconds(3)};
  service_.reserve.Then([&](const auto&, auto& response) {
    service_.clock.Advance(absl::Seconds(4));
    response = service_.FreshAnswer();
    return grpc::Status::OK;
  });
  EXPECT_EQ(Run().status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Settled(), "commit 0 release 2");
  EXPECT_EQ(runs_, 0);
}

// ---- What a release would forget: that the run before may have had its effect ----

TEST_F(RunOnceTest, GivesBackNoTakeover) {
  std::stop_source stop;
  options_.call.stop = stop.get_token();
  service_.reserve.Then([&](const auto&, auto& response) {
    stop.request_stop();
    response = TakeoverAnswer();
    return grpc::Status::OK;
  });
  EXPECT_EQ(Run().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(Settled(), "commit 0 release 0");
  EXPECT_EQ(runs_, 0);
}

TEST_F(RunOnceTest, ReleasesNoTakeover) {
  options_.classifier = Always(Verdict::kRelease);
  service_.ThenVerdict(TakeoverAnswer());
  const NothingDone done = Is<NothingDone>(Run());
  EXPECT_TRUE(done.executed.takeover);
  EXPECT_EQ(done.released.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Settled(), "commit 0 release 0");
}

TEST_F(RunOnceTest, SendsNothingForACallerThatHasStopped) {
  std::stop_source stop;
  stop.request_stop();
  options_.call.stop = stop.get_token();
  EXPECT_EQ(Run().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(service_.reserve.calls(), 0u);
}

TEST_F(RunOnceTest, SendsNothingForACallerPastItsDeadline) {
  for (const absl::Time deadline :
       {service_.clock.WallNow(), absl::UnixEpoch() - absl::Seconds(1), absl::InfinitePast()}) {
    options_.call.deadline = deadline;
    EXPECT_EQ(Run().status().code(), absl::StatusCode::kDeadlineExceeded) << deadline;
  }
  EXPECT_EQ(service_.reserve.calls(), 0u);
  EXPECT_EQ(runs_, 0);
}

// ---- Waiting ----

TEST_F(RunOnceTest, WaitsLongerThanOneCallMay) {
  options_.wait_timeout = absl::Seconds(100);
  for (int i = 0; i < 3; ++i) {
    service_.reserve.Then([this](const v1::ReserveRequest& request, auto& response) {
      service_.clock.Advance(FromProto(request.wait_timeout()) / 2);
      response = service_.VerdictOf(v1::OUTCOME_CONFLICT);
      return grpc::Status::OK;
    });
  }
  Is<Done>(Run());
  const auto sent = service_.reserve.requests();
  ASSERT_THAT(sent, SizeIs(4));
  EXPECT_EQ(sent[0].wait_timeout().seconds(), 60);                  // At 0 s.
  EXPECT_EQ(FromProto(sent[1].wait_timeout()), absl::Seconds(60));  // At 30.5 s.
  EXPECT_EQ(FromProto(sent[2].wait_timeout()), absl::Seconds(39));  // At 61 s.
  EXPECT_EQ(FromProto(sent[3].wait_timeout()), absl::Seconds(19));  // At 81 s.
  // One execution, as often as it asks.
  for (const auto& request : sent) EXPECT_EQ(request.request_id(), sent[0].request_id());
}

TEST_F(RunOnceTest, GivesUpWaitingAtItsTime) {
  options_.wait_timeout = absl::Seconds(10);
  service_.reserve.Otherwise([this](const auto&, auto& response) {
    response = service_.VerdictOf(v1::OUTCOME_CONFLICT);
    return grpc::Status::OK;
  });
  const absl::Time start = service_.clock.Now();
  EXPECT_EQ(Is<Conflict>(Run()).holder.owner, "another");
  EXPECT_LE(service_.clock.Now() - start, absl::Seconds(10));
  EXPECT_EQ(service_.reserve.calls(), 20u);
  EXPECT_EQ(runs_, 0);
}

TEST_F(RunOnceTest, GivesUpWaitingAtTheCallersDeadline) {
  options_.wait_timeout = absl::Seconds(10);
  options_.call.deadline = service_.clock.WallNow() + absl::Seconds(2);
  service_.reserve.Otherwise([this](const auto&, auto& response) {
    response = service_.VerdictOf(v1::OUTCOME_CONFLICT);
    return grpc::Status::OK;
  });
  Is<Conflict>(Run());
  EXPECT_EQ(service_.reserve.calls(), 4u);
}

TEST_F(RunOnceTest, StopsWaitingWhenTheCallerStops) {
  std::stop_source stop;
  options_.call.stop = stop.get_token();
  options_.wait_timeout = absl::Seconds(10);
  service_.reserve.Otherwise([&](const auto&, auto& response) {
    stop.request_stop();
    response = service_.VerdictOf(v1::OUTCOME_CONFLICT);
    return grpc::Status::OK;
  });
  EXPECT_EQ(Run().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(service_.reserve.calls(), 1u);
}

TEST_F(RunOnceTest, DoesNotWaitUnlessAsked) {
  service_.ThenVerdict(v1::OUTCOME_CONFLICT);
  Is<Conflict>(Run());
  options_.wait_timeout = absl::ZeroDuration();
  service_.ThenVerdict(v1::OUTCOME_CONFLICT);
  Is<Conflict>(Run());
  EXPECT_EQ(service_.reserve.calls(), 2u);
  EXPECT_EQ(FromProto(service_.reserve.requests()[1].wait_timeout()), absl::ZeroDuration());
}

// ---- Without the service ----

TEST_F(RunOnceTest, FailsClosed) {
  service_.reserve.OtherwiseFail(Broken());
  EXPECT_EQ(Run().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(runs_, 0);
  EXPECT_EQ(client_.stats().unprotected_runs, 0);
}

TEST_F(RunOnceTest, FailsOpenOnlyIfToldToAndReportsIt) {
  std::vector<std::string> reports;
  options_.fail_open = FailOpen{[&](const Key& key, const absl::Status& error) {
    EXPECT_EQ(runs_, 0) << "told before it runs";
    reports.push_back(key.name + ": " + std::string(error.message()));
  }};
  service_.reserve.OtherwiseFail(Broken());
  const Unprotected run = Is<Unprotected>(Run([](WorkContext& context) {
    EXPECT_TRUE(context.unprotected());
    EXPECT_EQ(context.fence(), 0);
    EXPECT_EQ(context.attempt(), 0);
    EXPECT_FALSE(context.takeover());
    EXPECT_FALSE(context.lost().stop_requested());
    EXPECT_EQ(context.lease_left(), absl::InfiniteDuration());
    EXPECT_EQ(context.SaveCheckpoint("x").code(), absl::StatusCode::kFailedPrecondition);
    return Result{.body = "done"};
  }));
  EXPECT_EQ(run.outcome->body, "done");
  EXPECT_EQ(run.error.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(reports, testing::ElementsAre("order-1: connection refused"));
  EXPECT_EQ(client_.stats().unprotected_runs, 1);
  EXPECT_EQ(Settled(), "commit 0 release 0");
}

TEST_F(RunOnceTest, FailsOpenOnlyWhereTheServiceIsOutOfReach) {
  options_.fail_open = FailOpen{[](const auto&, const auto&) {}};
  for (int code = 1; code <= 16; ++code) {
    runs_ = 0;
    service_.reserve.OtherwiseFail(grpc::Status(static_cast<grpc::StatusCode>(code), "no"));
    const auto outcome = Run();
    const bool open =
        code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::DEADLINE_EXCEEDED;
    EXPECT_STREQ(NameOf(outcome), open ? "Unprotected" : "error") << code;
    EXPECT_EQ(runs_, open ? 1 : 0) << code;
  }
}

TEST_F(RunOnceTest, FailsClosedWhereTheCallerGaveUp) {
  options_.fail_open = FailOpen{[](const auto&, const auto&) {}};
  options_.call.deadline = service_.clock.WallNow() + absl::Seconds(1);
  service_.reserve.Otherwise([&](const auto&, auto&) {
    service_.clock.Advance(absl::Seconds(1));
    return grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "timed out");
  });
  EXPECT_STREQ(NameOf(Run()), "error");
  EXPECT_EQ(runs_, 0);
}

TEST_F(RunOnceTest, FailsClosedWhereAnotherWasSeenAtWork) {
  options_.fail_open = FailOpen{[](const auto&, const auto&) {}};
  options_.wait_timeout = absl::Seconds(10);
  service_.ThenVerdict(v1::OUTCOME_CONFLICT);
  service_.reserve.OtherwiseFail(Broken());
  EXPECT_EQ(Run().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(runs_, 0);
}

// ---- Takeovers ----

TEST_F(RunOnceTest, TellsATakeoverFromAFirstRun) {
  service_.ThenVerdict(TakeoverAnswer());
  const Done done = Is<Done>(Run([](WorkContext& context) {
    EXPECT_TRUE(context.takeover());
    EXPECT_EQ(context.previous()->fence, 6);
    EXPECT_EQ(context.previous()->checkpoint, "charged");
    EXPECT_EQ(context.fence(), 7);
    EXPECT_EQ(context.attempt(), 3);
    return Result{};
  }));
  EXPECT_TRUE(done.executed.takeover);
  EXPECT_EQ(done.executed.attempt, 3);
  Is<Done>(Run([](WorkContext& context) {
    EXPECT_FALSE(context.takeover());
    EXPECT_FALSE(context.previous().has_value());
    EXPECT_FALSE(context.unprotected());
    return Result{};
  }));
}

TEST_F(RunOnceTest, SavesCheckpoints) {
  options_.lease_ttl = absl::Seconds(45);
  Is<Done>(Run([](WorkContext& context) {
    EXPECT_TRUE(context.SaveCheckpoint("charged").ok());
    return Result{};
  }));
  const auto sent = service_.extend.requests();
  // The keeper extends beside it, and has none.
  int saved = 0;
  for (const auto& request : sent) {
    if (request.checkpoint() == "charged") ++saved;
    EXPECT_EQ(request.lease_ttl().seconds(), 45);
  }
  EXPECT_EQ(saved, 1);
}

// ---- The lease ----

TEST_F(RunOnceTest, ExtendsTheLeaseAtAThirdOfIt) {
  Is<Done>(Run([this](WorkContext& context) {
    service_.clock.Advance(kThird - absl::Milliseconds(1));
    for (std::size_t times = 1; times <= 10; ++times) {
      EXPECT_EQ(service_.extend.calls(), times - 1);
      service_.clock.Advance(absl::Milliseconds(1));
      service_.extend.AwaitCalls(times);
      // Until it has heard the answer, and sleeps again.
      while (context.lease_left() < ScriptedService::kLease) std::this_thread::yield();
      (void)service_.clock.AwaitSleeper();
      service_.clock.Advance(kThird - absl::Milliseconds(1));
    }
    return Result{};
  }));
  const auto sent = service_.extend.requests();
  EXPECT_THAT(sent, SizeIs(10));
  for (const auto& request : sent) {
    EXPECT_EQ(request.token(), "token-7");
    EXPECT_FALSE(request.has_lease_ttl());
    EXPECT_FALSE(request.has_checkpoint());
  }
}

TEST_F(RunOnceTest, ExtendsByTheLeaseThatWasAskedFor) {
  options_.lease_ttl = ScriptedService::kLease;
  Is<Done>(Run([this](WorkContext&) {
    service_.clock.Advance(kThird);
    service_.extend.AwaitCalls(1);
    return Result{};
  }));
  EXPECT_EQ(FromProto(service_.extend.requests()[0].lease_ttl()), ScriptedService::kLease);
}

TEST_F(RunOnceTest, GoesOnExtendingWhereThatFails) {
  service_.extend.ThenFail(Broken(), 1)
      .ThenFail({grpc::StatusCode::DEADLINE_EXCEEDED, "timed out"})
      .ThenFail(ServiceError(absl::StatusCode::kResourceExhausted, "QUEUE_FULL"));
  Is<Done>(Run([this](WorkContext& context) {
    service_.clock.Advance(kThird);
    service_.extend.AwaitCalls(4);
    while (context.lease_left() < ScriptedService::kLease) std::this_thread::yield();
    EXPECT_FALSE(context.lost().stop_requested());
    return Result{};
  }));
}

TEST_F(RunOnceTest, ExtendsEvenWhatHasRunOut) {
  service_.extend.Then([this](const auto&, auto&) {
    service_.clock.Advance(2 * ScriptedService::kLease);
    return grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "timed out");
  });
  Is<Done>(Run([this](WorkContext& context) {
    service_.clock.Advance(kThird);
    service_.extend.AwaitCalls(2);
    while (context.lease_left() < ScriptedService::kLease) std::this_thread::yield();
    return Result{};
  }));
}

TEST_F(RunOnceTest, TellsTheWorkThatTheKeyIsLost) {
  const struct {
    absl::StatusCode code;
    const char* reason;
  } kLost[] = {{absl::StatusCode::kAborted, "SUPERSEDED"},
               {absl::StatusCode::kAborted, "RESTORED"},
               {absl::StatusCode::kNotFound, "NOT_RESERVED"},
               {absl::StatusCode::kFailedPrecondition, "ALREADY_COMMITTED"}};
  for (const auto& row : kLost) {
    ScriptedService service;
    service.extend.OtherwiseFail(ServiceError(row.code, row.reason));
    const auto outcome = RunOnce(
        service.client(), kKey, "", options_, [&](WorkContext& context) -> absl::StatusOr<Result> {
          EXPECT_FALSE(context.lost().stop_requested());
          std::mutex mutex;
          std::condition_variable_any told;
          std::unique_lock lock(mutex);
          service.clock.Advance(kThird);
          // Ends when a stop is requested, and not before.
          EXPECT_FALSE(told.wait(lock, context.lost(), [] { return false; }));
          service.clock.Advance(10 * ScriptedService::kLease);
          return absl::AbortedError("stopped");
        });
    EXPECT_STREQ(NameOf(outcome), "Undecided") << row.reason;
    EXPECT_EQ(service.extend.calls(), 1u) << row.reason;
  }
}

TEST_F(RunOnceTest, ExtendsUntilTheCommitIsAnswered) {
  service_.commit.Then([this](const auto&, auto&) {
    service_.clock.Advance(kThird);
    service_.extend.AwaitCalls(1);
    return grpc::Status::OK;
  });
  Is<Done>(Run());
  service_.clock.Advance(10 * ScriptedService::kLease);
  EXPECT_EQ(service_.extend.calls(), 1u);
}

TEST_F(RunOnceTest, LetsAnUndecidedKeyLapse) {
  options_.classifier = Always(Verdict::kUnknown);
  Is<Undecided>(Run());
  service_.clock.Advance(10 * ScriptedService::kLease);
  EXPECT_EQ(service_.extend.calls(), 0u);
}

TEST_F(RunOnceTest, StopsExtendingAtItsBound) {
  options_.keep_max = kThird * 3 / 2;
  Is<Done>(Run([this](WorkContext& context) {
    service_.clock.Advance(kThird);
    service_.extend.AwaitCalls(1);
    while (context.lease_left() < ScriptedService::kLease) std::this_thread::yield();
    service_.clock.Advance(10 * ScriptedService::kLease);
    EXPECT_LT(context.lease_left(), absl::ZeroDuration());
    return Result{};
  }));
  EXPECT_EQ(service_.extend.calls(), 1u);
}

// An answer that was long on its way, as after a wait, says little of what is left.
TEST_F(RunOnceTest, AsksWhetherAnOldGrantIsStillGood) {
  const auto late = [this](const auto&, auto& response) {
    response = service_.FreshAnswer();
    service_.clock.Advance(kThird + absl::Milliseconds(1));
    return grpc::Status::OK;
  };
  service_.reserve.Then(late);
  Is<Done>(Run([](WorkContext& context) {
    EXPECT_EQ(context.lease_left(), ScriptedService::kLease);
    return Result{};
  }));
  EXPECT_EQ(service_.extend.calls(), 1u);
  service_.reserve.Then(late);
  service_.extend.ThenFail(ServiceError(absl::StatusCode::kAborted, "SUPERSEDED"));
  EXPECT_EQ(DetailsOf(Run().status()).reason, "SUPERSEDED");
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(Settled(), "commit 1 release 1");
}

// A Reserve that is answered anew, its first answer lost, tells what is left of the lease.
TEST_F(RunOnceTest, KeepsAFullLeaseWhereLittleWasLeftOfIt) {
  enum class Granted { kAtOnce, kAskedTwice, kAfterAConflict };
  const std::optional<absl::Duration> kDefault;
  const absl::Duration kFull = ScriptedService::kLease;
  const absl::Duration kStep = absl::Milliseconds(1);
  const struct {
    const char* name;
    Granted granted;
    std::optional<absl::Duration> asked;
    absl::Duration left;
    std::size_t extended;  // Before the work starts.
  } kGrants[] = {
      {"asked_for, full", Granted::kAskedTwice, kFull, kFull, 0},
      {"asked_for, young", Granted::kAskedTwice, kFull, 2 * kThird + kStep, 0},
      {"asked_for, old", Granted::kAskedTwice, kFull, 2 * kThird - kStep, 1},
      {"asked_for, nearly_over", Granted::kAskedTwice, kFull, absl::Milliseconds(100), 1},
      {"asked_for, over", Granted::kAskedTwice, kFull, -absl::Milliseconds(100), 1},
      // How long it was isn't known.
      {"default, nearly_over", Granted::kAskedTwice, kDefault, absl::Milliseconds(100), 1},
      {"default, full", Granted::kAskedTwice, kDefault, kFull, 1},
      {"default, waited_for", Granted::kAfterAConflict, kDefault, absl::Milliseconds(100), 1},
      {"default, at_once", Granted::kAtOnce, kDefault, kFull, 0},
  };
  for (const auto& row : kGrants) {
    SCOPED_TRACE(row.name);
    ScriptedService service;
    if (row.granted == Granted::kAskedTwice) service.reserve.ThenFail(Broken());
    if (row.granted == Granted::kAfterAConflict) service.ThenVerdict(v1::OUTCOME_CONFLICT);
    service.reserve.Then([&](const auto&, auto& response) {
      response = service.FreshAnswer();
      *response.mutable_reservation()->mutable_lease_expire_time() =
          ToProtoTime(service.clock.Now() + row.left);
      return grpc::Status::OK;
    });
    options_.lease_ttl = row.asked;
    options_.wait_timeout = absl::Seconds(10);
    Is<Done>(RunOnce(service.client(), kKey, "fp", options_, [&](WorkContext& context) {
      const absl::Duration left = row.extended > 0 ? kFull : row.left;
      EXPECT_EQ(service.extend.calls(), row.extended);
      EXPECT_EQ(context.lease_left(), left);
      EXPECT_EQ(service.clock.AwaitSleeper(), service.clock.Now() + left - 2 * kThird);
      for (int i = 0; i < 3; ++i) {
        service.clock.Advance(service.clock.AwaitSleeper() - service.clock.Now());
        EXPECT_EQ(service.clock.AwaitSleeper(), service.clock.Now() + kThird);
        EXPECT_EQ(context.lease_left(), kFull);
      }
      return Result{};
    }));
    EXPECT_EQ(service.extend.calls(), row.extended + 3);
  }
}

TEST_F(RunOnceTest, DoesNoWorkOnALeaseThatNothingExtends) {
  service_.threads = false;
  const absl::Status status = Run().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(runs_, 0);
  EXPECT_EQ(Settled(), "commit 0 release 1");
}

// ---- Over the wire ----

TEST(RunOnceOverTheWire, SendsTheTraceContext) {
  FakeServer server;
  server.reserve.response = ScriptedService().FreshAnswer();
  RunOptions options{.classifier = CommitResults,
                     .call = {.traceparent = "00-1-2-01", .tracestate = "vendor=1"}};
  const auto outcome = RunOnce(Client::Connect(server.target()), kKey, "fp", options,
                               [](WorkContext&) { return Result{}; });
  EXPECT_STREQ(NameOf(outcome), "Done");
  EXPECT_EQ(server.reserve.traceparent, "00-1-2-01");
  EXPECT_EQ(server.commit.traceparent, "00-1-2-01");
  EXPECT_EQ(server.commit.tracestate, "vendor=1");
}

// ---- Classifiers ----

TEST(Classifier, ByHttpStatus) {
  const struct {
    int status;
    Verdict want;
  } kStatuses[] = {
      {0, kUnknown},   {100, kUnknown}, {199, kUnknown}, {200, kCommit},  {201, kCommit},
      {299, kCommit},  {300, kUnknown}, {304, kUnknown}, {400, kCommit},  {401, kRelease},
      {402, kCommit},  {403, kRelease}, {404, kCommit},  {407, kRelease}, {408, kUnknown},
      {409, kUnknown}, {422, kCommit},  {425, kUnknown}, {429, kRelease}, {499, kCommit},
      {500, kUnknown}, {502, kUnknown}, {503, kUnknown}, {504, kUnknown}, {600, kUnknown},
  };
  for (const auto& row : kStatuses) {
    EXPECT_EQ(ByHttpStatus(Result{.status_code = row.status}), row.want) << row.status;
  }
  EXPECT_EQ(ByHttpStatus(absl::AbortedError("x")), kUnknown);
}

TEST(Classifier, ReleaseIfLooksInside) {
  const Classifier classifier =
      ReleaseIf([](const Result& result) { return result.body == "success: false"; }, ByHttpStatus);
  EXPECT_EQ(classifier(Result{.status_code = 200, .body = "success: false"}), kRelease);
  EXPECT_EQ(classifier(Result{.status_code = 200, .body = "success: true"}), kCommit);
  EXPECT_EQ(classifier(Result{.status_code = 500, .body = ""}), kUnknown);
  EXPECT_EQ(classifier(absl::AbortedError("x")), kUnknown);
}

TEST(Classifier, CommitResults) {
  EXPECT_EQ(CommitResults(Result{.status_code = 500}), kCommit);
  EXPECT_EQ(CommitResults(absl::AbortedError("x")), kUnknown);
}

}  // namespace
}  // namespace onced::client
