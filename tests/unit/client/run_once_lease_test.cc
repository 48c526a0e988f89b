#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "gmock/gmock.h"
#include "tests/unit/client/run_once_fixture.h"

namespace onced::client {
namespace {

using testing::Each;
using testing::SizeIs;

// Returns once a stop is requested, and not before.
void AwaitLost(const WorkContext& context) {
  std::mutex mutex;
  std::condition_variable_any told;
  std::unique_lock lock(mutex);
  EXPECT_FALSE(told.wait(lock, context.lost(), [] { return false; }));
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
    for (std::size_t calls = 1; calls <= 4; ++calls) {
      service_.clock.AdvanceToSleeper();
      service_.extend.AwaitCalls(calls);
    }
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
    service_.clock.AdvanceToSleeper();
    service_.extend.AwaitCalls(1);
    service_.clock.AdvanceToSleeper();
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
    const auto outcome = RunOnce(service.client(), kKey, "", options_,
                                 [&](WorkContext& context) -> absl::StatusOr<Result> {
                                   EXPECT_FALSE(context.lost().stop_requested());
                                   service.clock.Advance(kThird);
                                   AwaitLost(context);
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
          ToProtoTime(service.ServerNow() + row.left);
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

// ---- A grant that was long on its way ----

class SlowExtend : public RunOnceTest {
 protected:
  SlowExtend() { NextGrant(service_.FreshAnswer()); }

  void NextGrant(const v1::ReserveResponse& grant) {
    service_.reserve.Then([this, grant](const auto&, auto& response) {
      response = grant;
      service_.clock.Advance(kThird + absl::Milliseconds(1));
      return grpc::Status::OK;
    });
  }
  // Granted at once, and told after `delay`.
  auto ExtendedAfter(absl::Duration delay) {
    return [this, delay](const auto&, v1::ExtendResponse& response) {
      *response.mutable_lease_expire_time() =
          ToProtoTime(service_.ServerNow() + ScriptedService::kLease);
      service_.clock.Advance(delay);
      return grpc::Status::OK;
    };
  }
};

TEST_F(SlowExtend, RunsNothingOnALeaseThatIsOverWhenItIsHeardOf) {
  service_.extend.Otherwise(ExtendedAfter(2 * ScriptedService::kLease));
  EXPECT_EQ(Run().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(runs_, 0);
  EXPECT_EQ(service_.extend.calls(), 2u);
  EXPECT_EQ(Settled(), "commit 0 release 1");
}

TEST_F(SlowExtend, RunsOnALeaseOfWhichAThirdIsLeft) {
  service_.extend.Then(ExtendedAfter(2 * kThird + absl::Milliseconds(1)))
      .Then(ExtendedAfter(2 * kThird));
  Is<Done>(Run([](WorkContext& context) {
    EXPECT_EQ(context.lease_left(), kThird);
    return Result{};
  }));
  EXPECT_EQ(service_.extend.calls(), 2u);
}

TEST_F(SlowExtend, GivesBackNoTakeover) {
  Is<Done>(Run());
  NextGrant(TakeoverAnswer());
  service_.extend.Otherwise(ExtendedAfter(2 * ScriptedService::kLease));
  EXPECT_EQ(Run().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(Settled(), "commit 1 release 0");
}

TEST_F(SlowExtend, RunsNothingForACallerThatEndedMeanwhile) {
  options_.call.deadline = service_.clock.WallNow() + kThird + absl::Seconds(2);
  service_.extend.Then(ExtendedAfter(absl::Seconds(3)));
  EXPECT_EQ(Run().status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(runs_, 0);
  EXPECT_EQ(Settled(), "commit 0 release 1");
}

// ---- A lease that ends ----

TEST_F(RunOnceTest, TellsTheWorkThatTheLeaseIsOver) {
  service_.extend.OtherwiseFail(Broken());
  Is<Done>(Run([this](WorkContext& context) {
    while (context.lease_left() > absl::ZeroDuration()) {
      EXPECT_FALSE(context.lost().stop_requested()) << context.lease_left();
      service_.clock.AdvanceToSleeper();
      (void)service_.clock.AwaitSleeper();
    }
    EXPECT_EQ(context.lease_left(), absl::ZeroDuration());
    AwaitLost(context);
    const std::size_t calls = service_.extend.calls();
    service_.clock.AdvanceToSleeper();
    service_.extend.AwaitCalls(calls + 1);  // Goes on: it is still the holder's.
    return Result{};
  }));
}

TEST_F(RunOnceTest, TellsTheWorkThatTheLeaseIsOverWhereNothingExtendsIt) {
  options_.keep_max = absl::ZeroDuration();
  Is<Done>(Run([this](WorkContext& context) {
    EXPECT_EQ(service_.clock.AwaitSleeper(), service_.clock.Now() + ScriptedService::kLease);
    service_.clock.Advance(kThird);
    EXPECT_TRUE(context.SaveCheckpoint("x").ok());
    service_.clock.AdvanceToSleeper();  // The end of which the keeper knew.
    EXPECT_EQ(service_.clock.AwaitSleeper(), service_.clock.Now() + kThird);
    EXPECT_FALSE(context.lost().stop_requested());
    service_.clock.AdvanceToSleeper();
    AwaitLost(context);
    return Result{};
  }));
  EXPECT_EQ(service_.extend.calls(), 1u);
}

// ---- The calls that extend it ----

TEST_F(RunOnceTest, NoExtendOutlastsItsUse) {
  const struct {
    absl::Duration lease;
    absl::Duration timeout;       // Of the first, at a third of it.
    absl::Duration timeout_over;  // Once the lease is over.
  } kLeases[] = {
      {absl::Seconds(30), absl::Seconds(5), absl::Seconds(5)},
      {absl::Seconds(6), absl::Seconds(2), absl::Seconds(2)},
      {absl::Milliseconds(900), absl::Milliseconds(600), absl::Seconds(1)},
  };
  for (const auto& row : kLeases) {
    SCOPED_TRACE(row.lease);
    ScriptedService service;
    service.reserve.Then([&](const auto&, auto& response) {
      response = service.FreshAnswer();
      *response.mutable_reservation()->mutable_lease_expire_time() =
          ToProtoTime(service.ServerNow() + row.lease);
      return grpc::Status::OK;
    });
    service.extend.OtherwiseFail(Broken());
    Is<Done>(RunOnce(service.client(), kKey, "fp", options_, [&](WorkContext& context) {
      service.clock.AdvanceToSleeper();
      service.extend.AwaitCalls(1);
      EXPECT_EQ(service.extend.deadlines()[0], service.clock.WallNow() + row.timeout);
      (void)service.clock.AwaitSleeper();
      const std::size_t calls = service.extend.calls();
      service.clock.Advance(context.lease_left());
      service.extend.AwaitCalls(calls + 1);
      EXPECT_EQ(service.extend.deadlines()[calls], service.clock.WallNow() + row.timeout_over);
      return Result{};
    }));
  }
}

TEST_F(RunOnceTest, BacksOffAnewAfterEachSuccess) {
  service_.uniform = 0.5;
  const grpc::Status timed_out(grpc::StatusCode::DEADLINE_EXCEEDED, "timed out");
  const auto extended = [this](const auto&, v1::ExtendResponse& response) {
    *response.mutable_lease_expire_time() =
        ToProtoTime(service_.ServerNow() + ScriptedService::kLease);
    return grpc::Status::OK;
  };
  service_.extend.ThenFail(timed_out, 3).Then(extended).ThenFail(timed_out);
  const absl::Duration kPauses[] = {
      kThird, absl::Milliseconds(50), absl::Milliseconds(100), absl::Milliseconds(200),
      kThird, absl::Milliseconds(50),
  };
  Is<Done>(Run([&](WorkContext&) {
    for (const absl::Duration pause : kPauses) {
      EXPECT_EQ(service_.clock.AwaitSleeper() - service_.clock.Now(), pause);
      service_.clock.AdvanceToSleeper();
      // Asked, answered, and asleep again.
      (void)service_.clock.AwaitSleeper();
    }
    return Result{};
  }));
}

TEST_F(RunOnceTest, IsNotToldToLetTheLeaseRunOut) {
  service_.extend.OtherwiseFail(
      ServiceError(absl::StatusCode::kResourceExhausted, "QUEUE_FULL", absl::Minutes(1)));
  Is<Done>(Run([this](WorkContext& context) {
    service_.clock.AdvanceToSleeper();
    while (context.lease_left() > absl::Seconds(1)) {
      const absl::Duration pause = service_.clock.AwaitSleeper() - service_.clock.Now();
      EXPECT_EQ(pause, std::min(ScriptedService::kLease / 6, context.lease_left() / 2));
      service_.clock.AdvanceToSleeper();
    }
    return Result{};
  }));
}

TEST_F(RunOnceTest, ExtendsByTheDefaultWhereItsOwnIsRefused) {
  options_.lease_ttl = ScriptedService::kLease;
  service_.extend.ThenFail(ServiceError(absl::StatusCode::kInvalidArgument, "INVALID_FIELD"));
  Is<Done>(Run([this](WorkContext& context) {
    service_.clock.AdvanceToSleeper();
    service_.extend.AwaitCalls(1);
    service_.clock.AdvanceToSleeper();
    service_.extend.AwaitCalls(2);
    (void)service_.clock.AwaitSleeper();
    EXPECT_FALSE(context.lost().stop_requested());
    return Result{};
  }));
  EXPECT_TRUE(service_.extend.requests()[0].has_lease_ttl());
  EXPECT_FALSE(service_.extend.requests()[1].has_lease_ttl());
}

TEST_F(RunOnceTest, TellsTheWorkThatTheServiceRefusesToExtend) {
  options_.lease_ttl = ScriptedService::kLease;
  service_.extend.OtherwiseFail(ServiceError(absl::StatusCode::kInvalidArgument, "INVALID_FIELD"));
  Is<Done>(Run([this](WorkContext& context) {
    service_.clock.AdvanceToSleeper();
    service_.extend.AwaitCalls(1);
    service_.clock.AdvanceToSleeper();
    AwaitLost(context);
    return Result{};
  }));
  EXPECT_EQ(service_.extend.calls(), 2u);
}

TEST_F(RunOnceTest, ExtendsAgainAfterAnException) {
  service_.extend.Then([](const auto&, auto&) -> grpc::Status { throw std::bad_alloc(); });
  Is<Done>(Run([this](WorkContext& context) {
    service_.clock.AdvanceToSleeper();
    service_.extend.AwaitSent(1);
    service_.clock.AdvanceToSleeper();
    service_.extend.AwaitSent(2);
    while (context.lease_left() < ScriptedService::kLease) std::this_thread::yield();
    EXPECT_FALSE(context.lost().stop_requested());
    return Result{};
  }));
}

TEST_F(RunOnceTest, TracesAllCalls) {
  options_.call.traceparent = "00-1-2-01";
  options_.classifier = Always(Verdict::kRelease);
  Is<NothingDone>(Run([this](WorkContext&) {
    service_.clock.AdvanceToSleeper();
    service_.extend.AwaitCalls(1);
    return Result{};
  }));
  options_.classifier = CommitResults;
  Is<Done>(Run());
  for (const auto& sent : {service_.reserve.traceparents(), service_.extend.traceparents(),
                           service_.release.traceparents(), service_.commit.traceparents()}) {
    EXPECT_THAT(sent, Each("00-1-2-01"));
    EXPECT_FALSE(sent.empty());
  }
}

// Takes connections, and says nothing.
class Silence {
 public:
  Silence() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    auto* const address = reinterpret_cast<sockaddr*>(&address_);
    EXPECT_EQ(bind(socket_, address, size), 0);
    EXPECT_EQ(getsockname(socket_, address, &size), 0);
    EXPECT_EQ(listen(socket_, 10), 0);
  }
  ~Silence() { close(socket_); }

  std::string target() const { return "127.0.0.1:" + std::to_string(ntohs(address_.sin_port)); }

 private:
  const int socket_;
  sockaddr_in address_{};
};

// Whose own deadline is far: by the clock of the script it is another year.
TEST_F(RunOnceTest, AnExtendThatHangsKeepsNobodyFromEnding) {
  const Silence silence;
  const std::unique_ptr<Stub> stub = NewStub(silence.target());
  service_.extend.ForwardTo([&](grpc::ClientContext* context, const v1::ExtendRequest& request,
                                v1::ExtendResponse* response) {
    context->set_wait_for_ready(true);
    return stub->Extend(context, request, response);
  });
  Is<Done>(Run([this](WorkContext&) {
    service_.clock.AdvanceToSleeper();
    service_.extend.AwaitSent(1);
    return Result{};
  }));
}

}  // namespace
}  // namespace onced::client
