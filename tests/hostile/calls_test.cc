// Who makes calls that no client should.
#include <grpcpp/grpcpp.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/hostile/http2.h"
#include "tests/hostile/raw_connection.h"
#include "tests/hostile/trial.h"
#include "tests/integration/async_reserve.h"

namespace onced::hostile {
namespace {

using integration::Api;
using integration::AsyncReserve;
using integration::AsyncReserves;
using integration::CommitOf;
using integration::ReserveOf;
using integration::ResultOf;
using integration::WithWait;

constexpr std::uint32_t kStreamsMax = 256;

std::uint32_t StreamOf(std::uint32_t number) { return 2 * number + 1; }

// On one connection, this on stream after stream; on a new one when the server has
// had enough.
void CallAgainAndAgain(const std::string& address, Attack& attack,
                       const std::function<std::string(std::uint32_t stream)>& call) {
  while (!attack.ended()) {
    RawConnection connection = BeginHttp2(address);
    for (std::uint32_t i = 0; i < 10'000 && connection.open() && !attack.ended(); ++i) {
      connection.Send(call(StreamOf(i)));
      connection.Send(WindowUpdate(0, 1'000));  // For the answers that were read.
      connection.Take();
      attack.CountRound();
    }
  }
}

TEST(Messages, ThatAreTooLargeHurtNobody) {
  Trial trial({.name = "messages over 4 MiB", .bounds = {.rounds = 30}});
  const std::string large(5 << 20, 'x');
  trial.Run([&](Attack& attack, int) {
    CallAgainAndAgain(trial.address(), attack, [&](std::uint32_t stream) {
      return Call(stream, "Reserve") + Message(stream, large);
    });
  });
}

TEST(Messages, ThatLieAboutTheirLengthHurtNobody) {
  Trial trial({.name = "lengths that lie", .bounds = {.rounds = 30}});
  trial.Run([&](Attack& attack, int) {
    CallAgainAndAgain(trial.address(), attack, [](std::uint32_t stream) {
      const std::uint32_t sizes[] = {0xffffffff, 0x7fffffff, 4U << 20, 5, 0};
      return Call(stream, "Commit") + Frame(FrameType::kData, stream % 3 == 0 ? 0 : kEndStream,
                                            stream,
                                            MessagePrefix(0, sizes[stream / 2 % 5]) + "xxxx");
    });
  });
}

// A few bytes that gzip says are a gigabyte: never inflated.
TEST(Messages, ThatAreCompressedAreNotInflated) {
  Trial trial({.name = "compressed bombs", .bounds = {.rounds = 30}});
  const std::string gzip("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  trial.Run([&](Attack& attack, int) {
    CallAgainAndAgain(trial.address(), attack, [&](std::uint32_t stream) {
      return Call(stream, "Commit", HeaderField("grpc-encoding", "gzip")) +
             Message(stream, gzip + std::string(1'000, '\0'), 1);
    });
  });
}

TEST(Messages, ThatAreGarbageAreRefused) {
  Trial trial({.name = "garbage for messages", .bounds = {.rounds = 30}});
  trial.Run([&](Attack& attack, int) {
    CallAgainAndAgain(trial.address(), attack, [](std::uint32_t stream) {
      const char* const methods[] = {"Reserve", "Commit", "Batch", "Session", "Nothing"};
      std::string bytes(stream % 3'000, '\xff');
      if (stream % 4 == 1) bytes.assign(stream % 3'000, '\x0a');
      return Call(stream, methods[stream / 2 % 5]) + Message(stream, bytes);
    });
  });
}

TEST(Calls, ThatAreCancelledByTheThousandHurtNobody) {
  Trial trial({.name = "cancelled calls", .bounds = {.rounds = 30}});
  Api api(trial.server().Connect());
  api.Grant("held");
  trial.Run([&](Attack& attack, int) {
    std::deque<std::unique_ptr<AsyncReserve>> calls;
    for (int i = 0; !attack.ended(); ++i) {
      const bool waits = i % 2 == 0;
      auto request = ReserveOf(waits ? "held" : absl::StrCat("cancelled-", i));
      if (waits) WithWait(absl::Seconds(60))(request);
      calls.push_back(std::make_unique<AsyncReserve>(api, request));
      calls.back()->Cancel();
      if (calls.size() > 64) calls.pop_front();
      attack.CountRound();
    }
  });
}

// One connection's waiting calls take half of its own streams, and nobody else's.
TEST(Calls, ThatAllWaitHurtNobody) {
  Trial trial({.name = "waits on every stream", .bounds = {.rounds = 30}});
  Api api(trial.server().Connect());
  api.Grant("held");
  trial.Run([&](Attack& attack, int) {
    AsyncReserves calls;
    for (std::uint32_t i = 0; i < kStreamsMax; ++i) {
      auto request = ReserveOf("held");
      WithWait(absl::Seconds(60))(request);
      calls.push_back(std::make_unique<AsyncReserve>(api, request));
    }
    while (!attack.ended()) {
      for (auto& call : calls) {
        if (!call->IsAnswered()) continue;
        auto request = ReserveOf("held");
        WithWait(absl::Seconds(60))(request);
        call = std::make_unique<AsyncReserve>(api, request);
        attack.CountRound();
      }
      if (integration::CountAnswered(calls) == 0) attack.CountRound();
    }
  });
}

// As many calls in flight as it may have, all the time, of one namespace.
TEST(Calls, OfOneNamespaceAsFastAsCanBeLeaveTheOthersTheirs) {
  Trial trial({.name = "flood of a namespace", .bounds = {.rounds = 30}});
  trial.Run([&](Attack& attack, int thread) {
    Api api(trial.server().Connect());
    std::deque<std::unique_ptr<AsyncReserve>> calls;
    for (int i = 0; !attack.ended(); ++i) {
      auto request = ReserveOf(absl::StrCat("flood-", thread, "-", i));
      request.set_namespace_("flooder");
      calls.push_back(std::make_unique<AsyncReserve>(api, request));
      if (calls.size() < 200) continue;
      calls.front()->Get();
      calls.pop_front();
      attack.CountRound();
    }
  });
}

// ---- Those who ask, and never read ----

std::string LargeReplay(Api& api, std::size_t body_bytes) {
  const auto granted = api.Grant("large");
  const auto done =
      api.Commit(CommitOf("large", granted.token(), ResultOf(200, std::string(body_bytes, 'x'))));
  EXPECT_TRUE(done.ok());
  return ReserveOf("large").SerializeAsString();
}

// Answers of 1 MiB to whoever has no room for a byte: what the server holds of them
// is bounded.
TEST(Replies, ThatAreNeverReadTakeBoundedMemory) {
  constexpr int kConnections = 6;
  Trial trial({.name = "replies never read",
               .bounds = {.memory_mib_max = 400, .rounds = 30},
               .server = {.flags = {"--memory-budget", "64MiB"}}});
  Api api(trial.server().Connect());
  const std::string request = LargeReplay(api, 1 << 20);
  trial.Run([&](Attack& attack, int) {
    std::vector<RawConnection> all;
    const auto begin = [&] {
      RawConnection connection = BeginHttp2(trial.address(), Settings({{kInitialWindowSize, 0}}));
      for (std::uint32_t i = 0; i < kStreamsMax; ++i) {
        connection.Send(Call(StreamOf(i), "Reserve") + Message(StreamOf(i), request));
      }
      return connection;
    };
    for (int i = 0; i < kConnections; ++i) all.push_back(begin());
    while (!attack.ended()) {
      for (RawConnection& connection : all) {
        connection.Await(std::chrono::milliseconds(1));  // Its settings, and that it ended.
        if (!connection.open()) connection = begin();
        attack.CountRound();
      }
    }
  });
}

TEST(Sessions, ThatAreNeverReadTakeBoundedMemory) {
  constexpr int kSessions = 64;
  Trial trial({.name = "sessions never read",
               .bounds = {.memory_mib_max = 400, .rounds = 30},
               .server = {.flags = {"--memory-budget", "64MiB"}}});
  Api api(trial.server().Connect());
  LargeReplay(api, 1 << 20);
  integration::v1::SessionRequest asked;
  for (int i = 0; i < 3; ++i) {
    *asked.add_operations()->mutable_reserve() = ReserveOf("large");
  }
  const std::string message = asked.SerializeAsString();
  trial.Run([&](Attack& attack, int) {
    std::vector<RawConnection> all;
    const auto begin = [&] {
      RawConnection connection = BeginHttp2(trial.address(), Settings({{kInitialWindowSize, 0}}));
      for (std::uint32_t i = 0; i < kSessions / 4; ++i) {
        connection.Send(Call(StreamOf(i), "Session"));
        for (int n = 0; n < 16; ++n) connection.Send(Message(StreamOf(i), message, 0, 0));
      }
      return connection;
    };
    for (int i = 0; i < 4; ++i) all.push_back(begin());
    while (!attack.ended()) {
      for (RawConnection& connection : all) {
        connection.Await(std::chrono::milliseconds(1));
        if (!connection.open()) connection = begin();
        attack.CountRound();
      }
    }
  });
}

}  // namespace
}  // namespace onced::hostile
