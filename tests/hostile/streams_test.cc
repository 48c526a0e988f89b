// How much of a connection one client may have, whether it says that it knows or not.
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/hostile/http2.h"
#include "tests/hostile/raw_connection.h"
#include "tests/integration/api.h"
#include "tests/integration/async_reserve.h"
#include "tests/integration/process.h"
#include "tests/integration/server_process.h"
#include "tests/integration/session.h"

namespace onced::hostile {
namespace {

using integration::Api;
using integration::AsyncReserve;
using integration::Await;
using integration::ReserveOf;
using integration::ServerProcess;
using integration::SessionStream;

constexpr std::uint32_t kStreamsMax = 256;

std::uint32_t StreamOf(std::uint32_t number) { return 2 * number + 1; }

std::string SettingsAck() { return Frame(FrameType::kSettings, kAck, 0, ""); }

// Whether the connection still lives: it answers a ping, or ends.
bool Answers(RawConnection& connection) {
  const std::string answer = Ping(kAck);
  connection.Send(Ping());
  std::string taken;
  Await("an answer or the end", [&] {
    taken += connection.Take();
    return !connection.open() || taken.find(answer) != std::string::npos;
  });
  return connection.open();
}

// With the server's settings come, and told so or not.
RawConnection Begin(const ServerProcess& server, bool acknowledges) {
  RawConnection connection = BeginHttp2(server.address());
  std::string taken;
  Await("settings", [&] {
    taken += connection.Take();
    return taken.size() >= 9;
  });
  if (acknowledges) connection.Send(SettingsAck());
  return connection;
}

struct Row {
  const char* name;
  bool acknowledges;
  std::uint32_t streams_max;
};
// Who doesn't acknowledge has more, but no end of them.
constexpr Row kRows[] = {{"acknowledged", true, kStreamsMax}, {"never", false, 1'024}};

TEST(Streams, OneTooManyEndsTheConnection) {
  const ServerProcess server;
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    RawConnection connection = Begin(server, row.acknowledges);
    std::uint32_t begun = 0;
    for (; begun < row.streams_max; ++begun) {
      ASSERT_TRUE(connection.Send(Call(StreamOf(begun), "Reserve")));
    }
    ASSERT_TRUE(Answers(connection));
    // One that ends makes room for one, and for no more.
    connection.Send(RstStream(StreamOf(0)) + Call(StreamOf(begun++), "Reserve"));
    ASSERT_TRUE(Answers(connection));
    connection.Send(Call(StreamOf(begun), "Reserve"));
    EXPECT_FALSE(Answers(connection));
  }
}

// Of fields that are small and many, or one that is large, in one frame or in many.
TEST(Streams, HeadersThatAreTooLargeEndTheConnection) {
  const ServerProcess server;
  const auto of_fields = [](std::size_t bytes) {
    std::string fields = CallFields("Reserve");
    for (int i = 0; fields.size() < bytes; ++i) {
      fields += HeaderField(absl::StrCat("x-", i), std::string(100, 'x'));
    }
    return fields;
  };
  // As frames of up to 16 KiB, of which only the last says that the block ends.
  const auto in_frames = [](const std::string& block) {
    std::string frames;
    for (std::size_t at = 0; at < block.size(); at += 10'000) {
      frames += Frame(at == 0 ? FrameType::kHeaders : FrameType::kContinuation,
                      at + 10'000 >= block.size() ? kEndHeaders : 0, 1, block.substr(at, 10'000));
    }
    return frames;
  };
  const struct {
    const char* name;
    std::string frames;
    bool passes;
    bool passes_unacknowledged;
  } kHeaders[] = {
      {"few", in_frames(of_fields(4'000)), true, true},
      {"20 kB", in_frames(of_fields(20'000)), false, true},
      {"40 kB", in_frames(of_fields(40'000)), false, false},
      {"a field of 40 kB", in_frames(HeaderField("x", std::string(40'000, 'x'))), false, false},
      {"a field of 200 kB", in_frames(HeaderField("x", std::string(200'000, 'x'))), false, false},
  };
  for (const auto& headers : kHeaders) {
    for (const Row& row : kRows) {
      SCOPED_TRACE(absl::StrCat(headers.name, ", ", row.name));
      RawConnection connection = Begin(server, row.acknowledges);
      connection.Send(headers.frames);
      EXPECT_EQ(Answers(connection),
                row.acknowledges ? headers.passes : headers.passes_unacknowledged);
    }
  }
  // The last two, both ways; for others gRPC's own bound may have been first.
  EXPECT_GE(server.GetMetrics().at("idempotency_connections_ended_total"), 4);
}

// gRPC's client waits by itself with the 257th.
TEST(Streams, OneMoreBeginsOnceAnotherEnds) {
  const ServerProcess server;
  Api api(server.Connect());
  std::vector<std::unique_ptr<SessionStream>> sessions;
  for (std::uint32_t i = 0; i < kStreamsMax; ++i) {
    sessions.push_back(std::make_unique<SessionStream>(api));
    ASSERT_TRUE(sessions.back()->Send(1, ReserveOf(absl::StrCat("session-", i))));
    sessions.back()->Read();  // So it has begun.
  }
  AsyncReserve waiting(api, ReserveOf("one more"));
  Api other(server.Connect());
  for (int i = 0; i < 20; ++i) {  // It would have been served, as these are.
    other.Grant(absl::StrCat("other-", i));
    EXPECT_FALSE(waiting.IsAnswered());
  }
  EXPECT_EQ(other.Inspect("one more").state(), integration::v1::STATE_ABSENT);
  sessions.pop_back();
  EXPECT_EQ(waiting.Outcome(), integration::v1::OUTCOME_FRESH);
}

}  // namespace
}  // namespace onced::hostile
