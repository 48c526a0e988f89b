// How a client shows who it is, and to whom.
#include "client/cpp/security.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "client/cpp/admin_client.h"
#include "client/cpp/raw_client.h"
#include "grpcpp/security/credentials.h"
#include "tests/unit/client/fake_server.h"

namespace onced::client {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// An address of this machine that others have, too; nullopt: it has none.
std::optional<std::string> AddressBeyondLoopback() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return std::nullopt;
  std::optional<std::string> found;
  for (const ifaddrs* one = all; one != nullptr && !found.has_value(); one = one->ifa_next) {
    const bool usable = one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET &&
                        (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable) continue;
    char text[INET_ADDRSTRLEN] = "";
    const auto* address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    found = inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
  }
  freeifaddrs(all);
  return found;
}

class SecurityTest : public testing::Test {
 protected:
  SecurityTest() {
    dir_ = testing::TempDir() + "/security_XXXXXX";
    EXPECT_NE(mkdtemp(dir_.data()), nullptr);
  }
  ~SecurityTest() override { std::filesystem::remove_all(dir_); }

  std::string Path(const std::string& name = "token") const { return dir_ + "/" + name; }
  void Write(const std::string& text, const std::string& name = "token") const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }
  // As tools do it that replace a file: at no time is there none, or half of one.
  void Replace(const std::string& text) const {
    Write(text, "new");
    std::filesystem::rename(Path("new"), Path());
  }

  static CallOptions Soon() { return {.deadline = absl::Now() + absl::Seconds(60)}; }
  static absl::Status Inspect(RawClient& client) { return client.Inspect({}, Soon()).status(); }
  // What the server was shown by the next call.
  std::string Shown(RawClient& client) {
    const absl::Status status = Inspect(client);
    EXPECT_TRUE(status.ok()) << status;
    return server_.inspect.authorization;
  }

  FakeServer server_;

 private:
  std::string dir_;
};

TEST_F(SecurityTest, WithoutATokenThereIsNoHeader) {
  RawClient client = RawClient::Connect(server_.target());
  EXPECT_EQ(Shown(client), "");
}

TEST_F(SecurityTest, TheTokenIsTheOnlyLineWithoutTheSpaceAroundIt) {
  for (const char* text : {"t0ken/+=.~", "t0ken/+=.~\n", " t0ken/+=.~\r\n"}) {
    Replace(text);
    RawClient client = RawClient::Connect(server_.target(), {.auth_token_file = Path()});
    EXPECT_EQ(Shown(client), "Bearer t0ken/+=.~");
  }
}

TEST_F(SecurityTest, AdminCallsHaveItToo) {
  Write("first");
  AdminClient client = AdminClient::Connect(server_.target(), {.auth_token_file = Path()});
  ASSERT_TRUE(client.AcceptClock({}, Soon()).ok());
  EXPECT_EQ(server_.accept_clock.authorization, "Bearer first");
}

TEST_F(SecurityTest, TheFileIsReadAgainWhenItChanges) {
  Write("first");
  RawClient client = RawClient::Connect(server_.target(), {.auth_token_file = Path()});
  EXPECT_EQ(Shown(client), "Bearer first");
  EXPECT_EQ(Shown(client), "Bearer first");
  Replace("other");  // As long as the first.
  EXPECT_EQ(Shown(client), "Bearer other");
  Write("a longer one");
  EXPECT_THAT(Inspect(client).message(), HasSubstr("doesn't hold one line with a token"));
  Write("longer");
  EXPECT_EQ(Shown(client), "Bearer longer");
}

// Kubernetes turns a link to a folder.
TEST_F(SecurityTest, ALinkOnTheWayMayTurn) {
  for (const char* version : {"1", "2"}) {
    std::filesystem::create_directory(Path(version));
    Write(version, std::string(version) + "/token");
  }
  std::filesystem::create_symlink("1", Path("data"));
  RawClient client = RawClient::Connect(server_.target(), {.auth_token_file = Path("data/token")});
  EXPECT_EQ(Shown(client), "Bearer 1");
  std::filesystem::create_symlink("2", Path("new"));
  std::filesystem::rename(Path("new"), Path("data"));
  EXPECT_EQ(Shown(client), "Bearer 2");
}

TEST_F(SecurityTest, WithoutAFileNothingIsSentUntilThereIsOne) {
  RawClient client = RawClient::Connect(server_.target(), {.auth_token_file = Path()});
  const absl::Status none = Inspect(client);
  EXPECT_TRUE(absl::IsUnavailable(none)) << none;
  EXPECT_THAT(std::string(none.message()),
              HasSubstr(Path() + ": can't be read: No such file or directory"));
  EXPECT_TRUE(server_.inspect.requests.empty());
  Replace("first");
  EXPECT_EQ(Shown(client), "Bearer first");
  std::filesystem::remove(Path());  // Not the one before: somebody took it away.
  EXPECT_TRUE(absl::IsUnavailable(Inspect(client)));
  EXPECT_EQ(server_.inspect.requests.size(), 1U);
}

TEST_F(SecurityTest, AFileThatHoldsNoTokenIsToldAndNotQuoted) {
  const struct {
    const char* name;
    std::string text;
  } kRows[] = {{"empty", ""},
               {"blank", " \n"},
               {"two_lines", "secret-1\nsecret-2\n"},
               {"two_words", "Bearer secret-1"},
               {"control_byte", "secret-\x01"},
               {"null", std::string("secret-\0x", 9)},
               {"not_ascii", "secret-\xc3\xa4"},
               {"too_long", "secret-" + std::string(5'000, 'x')}};
  RawClient client = RawClient::Connect(server_.target(), {.auth_token_file = Path()});
  for (const auto& row : kRows) {
    Replace(row.text);
    const absl::Status status = Inspect(client);
    EXPECT_TRUE(absl::IsUnavailable(status)) << row.name << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(Path())) << row.name;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret"))) << row.name;
  }
  EXPECT_TRUE(server_.inspect.requests.empty());
  RawClient of_folder = RawClient::Connect(server_.target(), {.auth_token_file = Path(".")});
  EXPECT_THAT(std::string(Inspect(of_folder).message()), HasSubstr("Is a directory"));
}

// ---- Never in the clear ----

TEST_F(SecurityTest, WithoutTlsATokenStaysOnThisMachine) {
  Write("first");
  const auto address = AddressBeyondLoopback();
  if (!address.has_value()) GTEST_SKIP() << "this machine has loopback addresses alone";
  FakeServer beyond(*address);
  RawClient without = RawClient::Connect(beyond.target());
  EXPECT_TRUE(Inspect(without).ok());  // It can be reached.
  RawClient with = RawClient::Connect(beyond.target(), {.auth_token_file = Path()});
  const absl::Status status =
      with.Inspect({}, {.deadline = absl::Now() + absl::Seconds(60)}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("neither UDS or TCP loopback"));
  EXPECT_EQ(beyond.inspect.requests.size(), 1U);
  EXPECT_EQ(beyond.inspect.authorization, "");
}

// Whoever says so themselves gets no further.
TEST_F(SecurityTest, InsecureCredentialsCarryNoToken) {
  Write("first");
  RawClient client = RawClient::Connect(
      server_.target(),
      {.credentials = grpc::InsecureChannelCredentials(), .auth_token_file = Path()});
  EXPECT_THAT(std::string(Inspect(client).message()), HasSubstr("Invalid credentials"));
  EXPECT_TRUE(server_.inspect.requests.empty());
}

// ---- Files for TLS ----

TEST_F(SecurityTest, FilesForTlsAreThereAndGoTogether) {
  Write("x", "pem");
  Write("", "empty");
  const struct {
    const char* name;
    TlsFiles files;
    std::string error;
  } kRows[] = {
      {"no_key", {"", Path("pem"), ""}, "a client's certificate and its key go together"},
      {"no_certificate", {"", "", Path("pem")}, "a client's certificate and its key go together"},
      {"no_authority", {Path("none"), "", ""}, Path("none") + ": can't be read: No such file"},
      {"folder", {Path("."), "", ""}, Path(".") + ": can't be read: Is a directory"},
      {"empty", {Path("empty"), "", ""}, Path("empty") + ": is empty"},
      {"no_pem", {Path("pem"), "", ""}, Path("pem") + ": has no certificate (PEM)"},
      {"no_pem_at_all",
       {"", Path("pem"), Path("pem")},
       Path("pem") + ": is not the key (PEM) of the certificate in " + Path("pem")},
  };
  for (const auto& row : kRows) {
    const auto credentials = TlsCredentials(row.files);
    ASSERT_FALSE(credentials.ok()) << row.name;
    EXPECT_THAT(std::string(credentials.status().message()), StartsWith(row.error)) << row.name;
  }
  EXPECT_TRUE(TlsCredentials({}).ok());
}

}  // namespace
}  // namespace onced::client
