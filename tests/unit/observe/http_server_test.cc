#include "server/observe/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace onced {
namespace {

// A connection to a port of this machine.
class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  ~Client() { close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Send(const std::string& text) {
    EXPECT_EQ(send(fd_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // Until the server hangs up.
  std::string Receive() {
    std::string text;
    char buffer[4096];
    for (ssize_t n = 0; (n = recv(fd_, buffer, sizeof buffer, 0)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
  }

 private:
  const int fd_;
};

class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<HttpServer>> server = HttpServer::Open(Options());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  HttpServer::Options Options() {
    return {
        .host = "127.0.0.1",
        .port = 0,
        .metrics = [] { return "# HELP a b\na 1\n"; },
        .live = [this] { return live_ ? absl::OkStatus() : absl::InternalError("stuck"); },
        .ready = [this] { return ready_ ? absl::OkStatus() : absl::UnavailableError("draining"); },
        .warning = [this] { return std::string(warning_.load()); }};
  }

  std::string Ask(const std::string& method, const std::string& path,
                  const std::string& more = "") {
    Client client(server_->port());
    client.Send(absl::StrCat(method, " ", path, " HTTP/1.1\r\nHost: x\r\n", more, "\r\n"));
    return client.Receive();
  }

  std::atomic<bool> live_{true};
  std::atomic<bool> ready_{true};
  std::atomic<const char*> warning_{""};
  std::unique_ptr<HttpServer> server_;
};

std::string Answer(const std::string& status, const std::string& type, const std::string& body,
                   const std::string& more = "") {
  return absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", type,
                      "\r\nContent-Length: ", body.size(), "\r\nCache-Control: no-store\r\n", more,
                      "Connection: close\r\n\r\n", body);
}
constexpr char kText[] = "text/plain; charset=utf-8";

TEST_F(HttpServerTest, ServesMetrics) {
  EXPECT_EQ(Ask("GET", "/metrics"),
            Answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", "# HELP a b\na 1\n"));
  EXPECT_EQ(Ask("GET", "/metrics?name=a"), Ask("GET", "/metrics"));
}

// Who sends slowly holds a thread; whoever is to notice that this process hangs must not
// be kept waiting by that.
TEST_F(HttpServerTest, AnswersBesideManyWhoSendSlowly) {
  HttpServer::Options options = Options();
  options.request_millis_max = 60'000;
  auto patient = HttpServer::Open(std::move(options));
  ASSERT_TRUE(patient.ok());
  server_ = *std::move(patient);
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 50; ++i) {
    slow.push_back(std::make_unique<Client>(server_->port()));
    slow.back()->Send("GET /livez HTTP/1.1\r\nHost:");
  }
  EXPECT_EQ(Ask("GET", "/livez"), Answer("200 OK", kText, "ok\n"));
  slow.front()->Send(" x\r\n\r\n");
  EXPECT_EQ(slow.front()->Receive(), Answer("200 OK", kText, "ok\n"));
}

TEST_F(HttpServerTest, APathIsWhatItSays) {
  for (const char* path : {"/livez%00", "/livez%00x", "/live%7a", "/%2e/livez", "/livez/"}) {
    EXPECT_THAT(Ask("GET", path), testing::StartsWith("HTTP/1.1 404 ")) << path;
  }
}

TEST_F(HttpServerTest, TellsHealth) {
  EXPECT_EQ(Ask("GET", "/livez"), Answer("200 OK", kText, "ok\n"));
  EXPECT_EQ(Ask("GET", "/readyz"), Answer("200 OK", kText, "ok\n"));
  ready_ = false;
  EXPECT_EQ(Ask("GET", "/livez"), Answer("200 OK", kText, "ok\n"));
  EXPECT_EQ(Ask("GET", "/readyz"), Answer("503 Service Unavailable", kText, "draining\n"));
  live_ = false;
  EXPECT_EQ(Ask("GET", "/livez"), Answer("503 Service Unavailable", kText, "stuck\n"));
}

TEST_F(HttpServerTest, WarnsButStaysReady) {
  warning_ = "disk nearly full";
  EXPECT_EQ(Ask("GET", "/readyz"), Answer("200 OK", kText, "ok, but disk nearly full\n"));
  EXPECT_EQ(Ask("GET", "/livez"), Answer("200 OK", kText, "ok\n"));
  ready_ = false;
  EXPECT_EQ(Ask("GET", "/readyz"), Answer("503 Service Unavailable", kText, "draining\n"));
}

TEST_F(HttpServerTest, AnswersHeadWithoutABody) {
  for (const char* path : {"/metrics", "/livez", "/readyz", "/none"}) {
    const std::string get = Ask("GET", path);
    EXPECT_EQ(Ask("HEAD", path), get.substr(0, get.find("\r\n\r\n") + 4)) << path;
  }
}

TEST_F(HttpServerTest, ServesNothingElse) {
  for (const char* path : {"/", "/metrics/", "/metricsx", "/METRICS", "/etc/passwd",
                           "/../../../../etc/passwd", "/%2e%2e/etc/passwd"}) {
    EXPECT_EQ(Ask("GET", path), Answer("404 Not Found", kText, "not found\n")) << path;
  }
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
    EXPECT_EQ(Ask(method, "/metrics"), Answer("405 Method Not Allowed", kText,
                                              "only GET and HEAD\n", "Allow: GET, HEAD\r\n"))
        << method;
  }
}

// It must not read what a client announces and never sends: this would hang.
TEST_F(HttpServerTest, DoesNotWaitForABody) {
  HttpServer::Options options = Options();
  options.request_millis_max = 3'600'000;
  server_ = HttpServer::Open(std::move(options)).value();
  EXPECT_TRUE(absl::StartsWith(Ask("POST", "/metrics", "Content-Length: 1000000000000\r\n"),
                               "HTTP/1.1 405 "));
}

TEST_F(HttpServerTest, ClosesAfterOneRequest) {
  // Receive() returns, so the server hung up.
  EXPECT_TRUE(absl::StartsWith(Ask("GET", "/livez", "Connection: keep-alive\r\n"), "HTTP/1.1 200"));
}

TEST_F(HttpServerTest, RefusesGarbage) {
  const std::pair<const char*, const char*> rows[] = {
      {"\x16\x03\x01garbage\r\n\r\n", "400 Bad Request"},
      {"GET\r\n\r\n", "400 Bad Request"},
      {"GET /livez HTTP/9.9\r\n\r\n", "505 HTTP Version not supported"},
      {"GET nowhere HTTP/1.1\r\n\r\n", "400 Bad Request"}};
  for (const auto& [text, status] : rows) {
    Client client(server_->port());
    client.Send(text);
    EXPECT_EQ(client.Receive(), Answer(status, kText, "malformed request\n")) << text;
  }
  Client giant(server_->port());
  giant.Send(absl::StrCat("GET /livez HTTP/1.1\r\nX: ", std::string(20'000, 'x')));
  EXPECT_FALSE(absl::StartsWith(giant.Receive(), "HTTP/1.1 2"));
  EXPECT_EQ(Ask("GET", "/livez"), Answer("200 OK", kText, "ok\n"));
}

TEST_F(HttpServerTest, AnswersBesideIdleConnections) {
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < HttpServer::kThreads - 1; ++i) {
    idle.push_back(std::make_unique<Client>(server_->port()));
    idle.back()->Send("GET /livez HT");
  }
  EXPECT_EQ(Ask("GET", "/livez"), Answer("200 OK", kText, "ok\n"));
}

TEST_F(HttpServerTest, HangsUpOnASlowRequest) {
  HttpServer::Options options = Options();
  options.request_millis_max = 1;
  server_ = HttpServer::Open(std::move(options)).value();
  Client silent(server_->port());
  EXPECT_EQ(silent.Receive(), "");
  Client slow(server_->port());
  slow.Send("GET /livez HT");
  EXPECT_FALSE(absl::StartsWith(slow.Receive(), "HTTP/1.1 2"));
}

TEST_F(HttpServerTest, AnswersManyAtOnce) {
  std::atomic<int> good{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&] {
      for (int n = 0; n < 10; ++n) good += Ask("GET", "/metrics").size() > 100 ? 1 : 0;
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(good, 160);
}

TEST_F(HttpServerTest, SurvivesClientsThatHangUp) {
  for (int i = 0; i < 20; ++i) {
    Client client(server_->port());
    client.Send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  EXPECT_EQ(Ask("GET", "/livez"), Answer("200 OK", kText, "ok\n"));
}

TEST_F(HttpServerTest, SaysThatTheAddressIsInUse) {
  HttpServer::Options options = Options();
  options.port = server_->port();
  const absl::StatusOr<std::unique_ptr<HttpServer>> second = HttpServer::Open(std::move(options));
  const std::string address = absl::StrCat("127.0.0.1:", server_->port());
  EXPECT_EQ(second.status().message(),
            absl::StrCat("can't listen on ", address, ": Address already in use"));
  EXPECT_EQ(Ask("GET", "/livez"), Answer("200 OK", kText, "ok\n"));
}

TEST_F(HttpServerTest, FreesItsPort) {
  const std::uint16_t port = server_->port();
  server_.reset();
  HttpServer::Options options = Options();
  options.port = port;
  EXPECT_TRUE(HttpServer::Open(std::move(options)).ok());
}

TEST_F(HttpServerTest, ResolvesNames) {
  HttpServer::Options options = Options();
  options.host = "localhost";
  absl::StatusOr<std::unique_ptr<HttpServer>> server = HttpServer::Open(std::move(options));
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
  EXPECT_EQ(Ask("GET", "/livez"), Answer("200 OK", kText, "ok\n"));
}

struct BadHostRow {
  const char* host;
  const char* message;
};

TEST_F(HttpServerTest, SaysWhyItCannotListen) {
  const BadHostRow rows[] = {
      {"::1", "can't listen on [::1]:19464: the HTTP library has no IPv6"},
      {"192.0.2.1", "can't listen on 192.0.2.1:19464: Cannot assign requested address"},
      {"", "can't listen on :19464: Name or service not known"},
  };
  for (const BadHostRow& row : rows) {
    HttpServer::Options options = Options();
    options.host = row.host;
    options.port = 19464;
    EXPECT_EQ(HttpServer::Open(std::move(options)).status().message(), row.message);
  }
}

}  // namespace
}  // namespace onced
