// Connections to the real server: bounds, and a lack of descriptors.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/sanitized.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

// A connection that says nothing.
class Silent {
 public:
  explicit Silent(const std::string& address)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const std::size_t colon = address.rfind(':');
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  ~Silent() { close(fd_); }
  Silent(const Silent&) = delete;
  Silent& operator=(const Silent&) = delete;

  // Waits for it, past what the server says.
  void AwaitEnd() const {
    char bytes[4096];
    while (recv(fd_, bytes, sizeof bytes, 0) > 0) {
    }
  }

 private:
  const int fd_;
};

using Silents = std::vector<std::unique_ptr<Silent>>;

double Open(const ServerProcess& server) {
  return server.GetMetrics().at("idempotency_connections{port=\"api\"}");
}

// A call over a new connection.
bool Reserves(const ServerProcess& server, const std::string& key) {
  return Api(server.Connect()).Reserve(ReserveOf(key)).ok();
}

// A line of the log comes a moment after what it tells of.
void AwaitLogged(const ServerProcess& server, const std::string& text) {
  Await(text, [&] { return absl::StrContains(server.Log(), text); });
}

TEST(Connections, OverTheBoundAreClosedAndOthersWorkOn) {
  ServerProcess server({.flags = {"--connections-max", "4", "--connections-per-peer-max", "4"}});
  Api api(server.Connect());
  api.Grant("first");
  Silents silent;
  for (int i = 0; i < 3; ++i) silent.push_back(std::make_unique<Silent>(server.address()));
  Await("all to be open", [&] { return Open(server) == 4; });
  const Silent over(server.address());
  over.AwaitEnd();
  EXPECT_EQ(Open(server), 4);
  api.Grant("second");
  EXPECT_FALSE(Reserves(server, "no room"));
  AwaitLogged(server, "\"event\":\"connection_refused\",\"cause\":\"connections_max\"");
  silent.pop_back();
  Await("room", [&] { return Reserves(server, "room"); });
}

TEST(Connections, OfOnePeerLeaveRoomForOthers) {
  ServerProcess server({.flags = {"--connections-max", "4"}});
  Silents silent;
  for (int i = 0; i < 2; ++i) silent.push_back(std::make_unique<Silent>(server.address()));
  const Silent over(server.address());
  over.AwaitEnd();
  AwaitLogged(server, "\"cause\":\"connections_per_peer_max\"");
}

TEST(Connections, TooManyForTheDescriptorsAreRefusedAtTheStart) {
  const TempDir dir;
  const Finished run =
      integration::Run({.argv = {ServerBinary(), "--data-dir", dir.Path("data"), "--listen",
                                 "127.0.0.1:0", "--connections-max", "1000000"}});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, testing::HasSubstr("connections_max: 1000000 are too many"));
}

// Its bound is taken down to what it has, and up again: what a leak elsewhere in the
// process would do. gRPC's own listener would be deaf from then on.
TEST(Connections, ALackOfDescriptorsPasses) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer that gets none takes objects for broken";
  ServerProcess server;
  Api api(server.Connect());
  api.Grant("before");
  const pid_t pid = server.process().pid();
  rlimit limit{};
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, nullptr, &limit), 0);
  rlimit none = limit;
  none.rlim_cur = 4;  // Fewer than are open.
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, &none, nullptr), 0);
  Silents silent;
  for (int i = 0; i < 20; ++i) silent.push_back(std::make_unique<Silent>(server.address()));
  api.Grant("meanwhile");  // Connections that are open work on.
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, &limit, nullptr), 0);
  Await("to be let in again", [&] { return Reserves(server, "after"); });
  EXPECT_EQ(server.Get("/livez").status, 200);
}

TEST(Connections, OneThatSaysNothingIsClosedAfterTheHandshakesTime) {
  ServerProcess server;
  const Silent silent(server.address());
  silent.AwaitEnd();  // After 10 s; a test that hangs here has found that it isn't.
  Await("that it is missed", [&] { return Open(server) == 0; });
}

TEST(Connections, ACallsMetadataIsAtMost8KiB) {
  ServerProcess server;
  Api api(server.Connect());
  for (const std::size_t bytes : {7'000u, 9'000u}) {
    grpc::ClientContext context;
    context.set_deadline(Soon());
    context.AddMetadata("padding", std::string(bytes, 'x'));
    v1::InspectResponse response;
    const grpc::Status status = api.stub().Inspect(&context, InspectOf("key"), &response);
    EXPECT_EQ(status.error_code(), bytes < 8'192 ? grpc::OK : grpc::RESOURCE_EXHAUSTED);
    EXPECT_EQ(ErrorOf(status).reason, "") << "it is the transport's";
  }
}

TEST(Connections, TheAdminPortHasItsOwn) {
  ServerProcess server({.flags = {"--connections-max", "1"}});
  Silents silent;
  for (int i = 0; i < 64; ++i) silent.push_back(std::make_unique<Silent>(server.admin_address()));
  const Silent over(server.admin_address());
  over.AwaitEnd();
  EXPECT_TRUE(Reserves(server, "key"));
}

}  // namespace
}  // namespace onced::integration
