#include "server/observe/http_server.h"

#include <civetweb.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/mutex.h"

namespace onced {
namespace {

// How long the accept loop is given to look at its stop flag before it is woken again.
constexpr std::chrono::milliseconds kKnockInterval{5};

std::string ShownAddress(const std::string& host, int port) {
  const bool v6 = absl::StrContains(host, ':');
  return absl::StrCat(v6 ? "[" : "", host, v6 ? "]:" : ":", port);
}

// The first IPv4 address of a host, as text. The library would look names up by
// itself, but takes some for other things, such as "node1s" for TLS.
absl::StatusOr<std::string> Resolve(const std::string& host) {
  if (absl::StrContains(host, ':')) {
    return absl::InvalidArgumentError("the HTTP library has no IPv6");
  }
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
    return absl::NotFoundError(gai_strerror(error));
  }
  char text[NI_MAXHOST];
  const int error =
      getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  freeaddrinfo(found);
  if (error != 0) return absl::NotFoundError(gai_strerror(error));
  return std::string(text);
}

// Of "cannot bind to 1.2.3.4:5: 98 (Address already in use)", what is in brackets.
std::string Reason(const std::string& message) {
  const std::size_t open = message.rfind('(');
  if (open == std::string::npos || message.back() != ')') return message;
  return message.substr(open + 1, message.size() - open - 2);
}

// Connects to a listening socket and hangs up, to wake its thread. Whether that
// works doesn't matter: the thread wakes by itself within two seconds.
void Knock(const std::string& address, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0) {
    (void)connect(fd, found->ai_addr, found->ai_addrlen);  // Ignored: see above.
    close(fd);
  }
  freeaddrinfo(found);
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Open(Options options) {
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(options)));
  if (absl::Status started = server->Start(); !started.ok()) return started;
  return server;
}

absl::Status HttpServer::Start() {
  const std::string shown = ShownAddress(options_.host, options_.port);
  absl::StatusOr<std::string> address = Resolve(options_.host);
  if (!address.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("can't listen on ", shown, ": ", address.status().message()));
  }
  address_ = *std::move(address);

  const std::string listen = absl::StrCat(address_, ":", options_.port);
  const std::string threads = std::to_string(kThreads);
  const std::string request_ms = std::to_string(options_.request_millis_max);
  const std::string queue = std::to_string(kQueueMax);
  const char* settings[] = {"listening_ports", listen.c_str(), "num_threads", threads.c_str(),
                            "request_timeout_ms", request_ms.c_str(), "connection_queue",
                            queue.c_str(),
                            // An idle connection would hold a thread.
                            "enable_keep_alive", "no",
                            // What a path says is what is looked at: "%00" would end it.
                            "decode_url", "no", "enable_directory_listing", "no", nullptr};
  mg_callbacks callbacks{};
  callbacks.begin_request = &HttpServer::Handle;
  callbacks.http_error = &HttpServer::RefuseMalformed;
  callbacks.log_message = &HttpServer::KeepMessage;
  mg_init_data init{&callbacks, this, settings};
  mg_init_library(MG_FEATURES_DEFAULT);
  context_ = mg_start2(&init, nullptr);
  if (context_ == nullptr) {
    mg_exit_library();
    return absl::UnavailableError(
        absl::StrCat("can't listen on ", shown, ": ", Reason(TakeMessage())));
  }
  mg_server_port bound{};
  if (mg_get_server_ports(context_, 1, &bound) != 1) {
    return absl::InternalError(absl::StrCat("can't tell the port bound for ", shown));
  }
  port_ = static_cast<std::uint16_t>(bound.port);
  return absl::OkStatus();
}

// The library waits for its accept loop, which looks at the stop flag every two
// seconds or when somebody connects. So somebody does.
HttpServer::~HttpServer() {
  if (context_ == nullptr) return;
  Mutex mutex;
  CondVar changed;
  bool stopped = false;
  std::thread stopper([&] {
    mg_stop(context_);
    MutexLock lock(mutex);
    stopped = true;
    changed.NotifyOne();
  });
  {
    MutexLock lock(mutex);
    while (!stopped) {
      changed.WaitFor(mutex, kKnockInterval);
      if (!stopped) Knock(address_, port_);
    }
  }
  stopper.join();
  mg_exit_library();
}

HttpServer::Answer HttpServer::Respond(absl::string_view method, absl::string_view path) const {
  const bool is_metrics = path == "/metrics";
  const bool is_live = path == "/livez";
  if (!is_metrics && !is_live && path != "/readyz") return {404, "Not Found", "not found\n"};
  if (method != "GET" && method != "HEAD") {
    return {405, "Method Not Allowed", "only GET and HEAD\n", "Allow: GET, HEAD\r\n"};
  }
  if (is_metrics) {
    return {200, "OK", options_.metrics(), "", "text/plain; version=0.0.4; charset=utf-8"};
  }
  const absl::Status health = is_live ? options_.live() : options_.ready();
  const std::string warning = is_live ? "" : options_.warning();
  if (health.ok()) {
    return {200, "OK", warning.empty() ? "ok\n" : absl::StrCat("ok, but ", warning, "\n")};
  }
  return {503, "Service Unavailable", absl::StrCat(health.message(), "\n")};
}

void HttpServer::Send(mg_connection* connection, const Answer& answer, bool with_body) {
  const std::string text = absl::StrCat(
      "HTTP/1.1 ", answer.code, " ", answer.reason, "\r\nContent-Type: ", answer.content_type,
      "\r\nContent-Length: ", answer.body.size(), "\r\nCache-Control: no-store\r\n",
      answer.more_headers, "Connection: close\r\n\r\n", with_body ? answer.body : "");
  // Ignored: a client that hung up has no use for the rest.
  (void)mg_write(connection, text.data(), text.size());
  // Else the library reads, without a bound in time, whatever body the client announced.
  mg_disable_connection_keep_alive(connection);
}

int HttpServer::Handle(mg_connection* connection) {
  const auto& self = *static_cast<const HttpServer*>(mg_get_user_data(mg_get_context(connection)));
  const mg_request_info& request = *mg_get_request_info(connection);
  const Answer answer = self.Respond(request.request_method, request.local_uri);
  Send(connection, answer, absl::string_view(request.request_method) != "HEAD");
  return answer.code;
}

// The library's own page would be made with gmtime(), which threads can't share.
int HttpServer::RefuseMalformed(mg_connection* connection, int code, const char* /*message*/) {
  Send(connection, {code, mg_get_response_code_text(connection, code), "malformed request\n"},
       true);
  return 0;
}

int HttpServer::KeepMessage(const mg_connection* connection, const char* message) {
  auto& self = *static_cast<HttpServer*>(mg_get_user_data(mg_get_context(connection)));
  MutexLock lock(self.mutex_);
  // The first one is the cause.
  if (self.message_.empty()) self.message_ = message;
  return 1;  // The library's own log stays silent.
}

std::string HttpServer::TakeMessage() {
  MutexLock lock(mutex_);
  return std::exchange(message_, "");
}

}  // namespace onced
