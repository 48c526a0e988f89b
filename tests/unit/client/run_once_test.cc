#include "client/cpp/run_once.h"

#include <set>
#include <stdexcept>

#include "client/cpp/security.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/fake_server.h"
#include "tests/unit/client/run_once_fixture.h"

namespace onced::client {
namespace {

using testing::Each;
using testing::Ge;
using testing::SizeIs;

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

TEST_F(RunOnceTest, WhatIsNotCommittedCanBeLater) {
  service_.commit.OtherwiseFail(Broken());
  const NotCommitted lost = Is<NotCommitted>(Run());
  EXPECT_EQ(lost.reason, NotCommitted::Reason::kUnknown);
  const std::size_t before = service_.commit.calls();
  (void)client_.Commit(kKey, lost.token, lost.result);
  const v1::CommitRequest sent = service_.commit.requests().at(before);
  EXPECT_EQ(sent.token(), "token-7");
  EXPECT_EQ(sent.result().body(), "done");
}

TEST_F(RunOnceTest, ACommitThatThrewIsSentAgain) {
  service_.commit.Then([](const auto&, auto&) -> grpc::Status { throw std::bad_alloc(); });
  Is<Done>(Run());
  EXPECT_EQ(Settled(), "commit 2 release 0");
}

TEST_F(RunOnceTest, AReleaseThatThrewIsSentAgain) {
  options_.classifier = Always(Verdict::kRelease);
  service_.release.Then([](const auto&, auto&) -> grpc::Status { throw std::bad_alloc(); });
  Is<NothingDone>(Run());
  EXPECT_EQ(Settled(), "commit 0 release 2");
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

TEST_F(RunOnceTest, ReleasesATakeoverOfWhichTheWorkKnowsThatNothingHappened) {
  options_.classifier = Always(Verdict::kRelease);
  service_.ThenVerdict(TakeoverAnswer());
  const NothingDone done = Is<NothingDone>(Run([](WorkContext& context) {
    context.NothingHappenedBefore();
    return Result{};
  }));
  EXPECT_TRUE(done.executed.takeover);
  EXPECT_TRUE(done.released.ok());
  EXPECT_EQ(Settled(), "commit 0 release 1");
  options_.classifier = Always(Verdict::kUnknown);
  service_.ThenVerdict(TakeoverAnswer());
  Is<Undecided>(Run([](WorkContext& context) {
    context.NothingHappenedBefore();
    return Result{};
  }));
  EXPECT_EQ(Settled(), "commit 0 release 1");
}

// ---- The caller's own end, before the work ----

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

TEST_F(RunOnceTest, WaitsALittleForAVerdictThatItDoesNotKnow) {
  options_.wait_timeout = absl::Seconds(10);
  v1::ReserveResponse unknown;
  unknown.set_outcome(static_cast<v1::Outcome>(42));
  service_.reserve.Otherwise([&](const auto&, auto& response) {
    response = unknown;
    return grpc::Status::OK;
  });
  Is<Conflict>(Run());
  EXPECT_EQ(service_.reserve.calls(), 10u);
}

TEST_F(RunOnceTest, AsksForNoWaitThatIsOver) {
  options_.wait_timeout = absl::Seconds(1);
  service_.clock.oversleep = absl::Seconds(1);
  service_.ThenVerdict(v1::OUTCOME_CONFLICT);
  Is<Done>(Run());
  EXPECT_EQ(FromProto(service_.reserve.requests().at(1).wait_timeout()), absl::ZeroDuration());
}

TEST_F(RunOnceTest, SendsTheCallersRequestId) {
  options_.request_id = "mine";
  Is<Done>(Run());
  options_.request_id.clear();
  Is<Done>(Run());
  Is<Done>(Run());
  const auto sent = service_.reserve.requests();
  EXPECT_EQ(sent[0].request_id(), "mine");
  EXPECT_THAT(sent[1].request_id(), SizeIs(32));
  EXPECT_NE(sent[1].request_id(), sent[2].request_id());
}

TEST_F(RunOnceTest, RefusesAClientWithoutTime) {
  for (const absl::Duration timeout : {absl::ZeroDuration(), -absl::Seconds(1)}) {
    ScriptedService service({.timeout = timeout});
    options_.fail_open = FailOpen{[](const auto&, const auto&) {}};
    const auto outcome =
        RunOnce(service.client(), kKey, "fp", options_, [](WorkContext&) { return Result{}; });
    EXPECT_EQ(outcome.status().code(), absl::StatusCode::kInvalidArgument) << timeout;
    EXPECT_EQ(service.client().Inspect(kKey).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(service.reserve.calls() + service.inspect.calls(), 0u);
  }
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
  const RunOutcome outcome = run;
  ASSERT_NE(ResultOf(outcome), nullptr);
  EXPECT_EQ(ResultOf(outcome)->body, "done");
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
    // CANCELLED, though not by this caller: cut off, as by a server that stops.
    const bool open = code == grpc::StatusCode::UNAVAILABLE ||
                      code == grpc::StatusCode::DEADLINE_EXCEEDED ||
                      code == grpc::StatusCode::CANCELLED;
    EXPECT_STREQ(NameOf(outcome), open ? "Unprotected" : "error") << code;
    EXPECT_EQ(runs_, open ? 1 : 0) << code;
  }
}

TEST_F(RunOnceTest, FailsClosedWhereTheServiceItselfRefused) {
  options_.fail_open = FailOpen{[](const auto&, const auto&) {}};
  const struct {
    const char* reason;
    const char* want;
  } kReasons[] = {
      {"DRAINING", "Unprotected"}, {"OUTCOME_UNKNOWN", "error"}, {"STORE_FAILED", "error"}};
  for (const auto& row : kReasons) {
    service_.reserve.OtherwiseFail(ServiceError(absl::StatusCode::kUnavailable, row.reason));
    EXPECT_STREQ(NameOf(Run()), row.want) << row.reason;
  }
}

// A server that is there answers at once; one that lets a call wait has somebody to wait for.
TEST_F(RunOnceTest, FailsClosedWhereACallThatMayWaitTookLong) {
  options_.fail_open = FailOpen{[](const auto&, const auto&) {}};
  const struct {
    std::optional<absl::Duration> wait;
    absl::Duration took;
    const char* want;
  } kCalls[] = {{absl::Seconds(10), absl::Seconds(1), "Unprotected"},
                {absl::Seconds(10), absl::Milliseconds(1'001), "error"},
                {absl::ZeroDuration(), absl::Seconds(5), "Unprotected"},
                {std::nullopt, absl::Seconds(5), "Unprotected"}};
  for (const auto& row : kCalls) {
    options_.wait_timeout = row.wait;
    service_.reserve.Then([&](const auto&, auto&) {
      service_.clock.Advance(row.took);
      return grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "timed out");
    });
    EXPECT_STREQ(NameOf(Run()), row.want) << row.took;
  }
}

// gRPC says so as if it couldn't connect.
TEST(RunOnceOverTheWire, FailsClosedWhereTheTokenCannotBeRead) {
  FakeServer server;
  const std::string none = testing::TempDir() + "no-such-folder/token";
  const RunOptions options{.classifier = CommitResults,
                           .fail_open = FailOpen{[](const auto&, const auto&) {}}};
  const Client by_path = Client::Connect(
      server.target(), {.connect = {.auth_token_file = none}, .retry = {.attempts_max = 1}});
  const Client by_credentials = Client::Connect(
      server.target(), {.connect = {.credentials = WithTokenFile(
                                        grpc::experimental::LocalCredentials(LOCAL_TCP), none)},
                        .retry = {.attempts_max = 1}});
  for (const Client& client : {by_path, by_credentials}) {
    const auto outcome =
        RunOnce(client, kKey, "fp", options, [](WorkContext&) { return Result{}; });
    EXPECT_STREQ(NameOf(outcome), "error");
    EXPECT_TRUE(absl::IsUnavailable(outcome.status())) << outcome.status();
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
      {409, kUnknown}, {422, kCommit},  {425, kUnknown}, {429, kRelease}, {499, kUnknown},
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
