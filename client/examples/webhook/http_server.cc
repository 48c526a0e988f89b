#include "http_server.h"

#include <civetweb.h>
#include <strings.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"

namespace webhook {
namespace {

constexpr char kPath[] = "/webhooks";
constexpr std::size_t kBodyBytesMax = std::size_t{1} << 20;

std::vector<std::string> HeadersOf(const mg_request_info& request, const char* name) {
  std::vector<std::string> values;
  for (int i = 0; i < request.num_headers; ++i) {
    const mg_header& header = request.http_headers[i];
    if (strcasecmp(header.name, name) == 0) values.emplace_back(header.value);
  }
  return values;
}

// RESOURCE_EXHAUSTED: it is too large. DATA_LOSS: it ended too early.
absl::StatusOr<std::string> ReadBody(mg_connection* connection) {
  std::string body;
  std::array<char, 16 * 1024> buffer;
  int size = 0;
  while ((size = mg_read(connection, buffer.data(), buffer.size())) > 0) {
    if (body.size() + static_cast<std::size_t>(size) > kBodyBytesMax) {
      return absl::ResourceExhaustedError("");
    }
    body.append(buffer.data(), static_cast<std::size_t>(size));
  }
  const long long announced = mg_get_request_info(connection)->content_length;
  if (size < 0 || (announced >= 0 && body.size() != static_cast<std::size_t>(announced))) {
    return absl::DataLossError("");
  }
  return body;
}

void Write(mg_connection* connection, const Answer& answer) {
  std::string head = absl::StrCat("HTTP/1.1 ", answer.status, " ",
                                  mg_get_response_code_text(connection, answer.status), "\r\n");
  for (const onced::client::Header& header : answer.headers) {
    absl::StrAppend(&head, header.name, ": ", header.value, "\r\n");
  }
  absl::StrAppend(&head, "Content-Length: ", answer.body.size(), "\r\nConnection: close\r\n\r\n");
  // One that has gone delivers again.
  mg_write(connection, head.data(), head.size());
  mg_write(connection, answer.body.data(), answer.body.size());
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& address,
                                                              const Gateway& gateway) {
  std::unique_ptr<HttpServer> server(new HttpServer(gateway));
  const char* options[] = {"listening_ports",    address.c_str(), "num_threads", "50",
                           "request_timeout_ms", "10000",         nullptr};
  const mg_callbacks none{};
  server->context_ = mg_start(&none, nullptr, options);
  if (server->context_ == nullptr) return absl::UnavailableError("can't listen on " + address);
  mg_set_request_handler(server->context_, kPath, &HttpServer::Handle, server.get());
  return server;
}

// civetweb writes nothing more once it is told to stop, so that answers go first.
HttpServer::~HttpServer() {
  if (context_ == nullptr) return;
  std::unique_lock lock(mutex_);
  ending_ = true;
  changed_.wait(lock, [this] { return at_work_ == 0; });
  lock.unlock();
  mg_stop(context_);
}

bool HttpServer::Begin() {
  const std::lock_guard lock(mutex_);
  if (!ending_) ++at_work_;
  return !ending_;
}

void HttpServer::End() {
  const std::lock_guard lock(mutex_);
  --at_work_;
  changed_.notify_all();
}

int HttpServer::port() const {
  mg_server_port port{};
  return mg_get_server_ports(context_, 1, &port) == 1 ? port.port : 0;
}

int HttpServer::Handle(mg_connection* connection, void* self) {
  HttpServer& server = *static_cast<HttpServer*>(self);
  if (!server.Begin()) {
    Write(connection, Problem(503, "Ending", "The event was not handed on."));
    return 503;
  }
  const Answer answer = server.AnswerTo(connection);
  Write(connection, answer);
  server.End();
  return answer.status;
}

Answer HttpServer::AnswerTo(mg_connection* connection) const {
  const mg_request_info& request = *mg_get_request_info(connection);
  if (std::string_view(request.request_method) != "POST") {
    Answer answer = Problem(405, "Not allowed", "Events are delivered by POST.");
    answer.headers.push_back({"Allow", "POST"});
    return answer;
  }
  absl::StatusOr<std::string> body = ReadBody(connection);
  if (absl::IsResourceExhausted(body.status())) {
    return Problem(413, "Too large", "An event has up to 1 MiB.");
  }
  if (!body.ok()) return Problem(400, "Cut off", "The body ended too early.");

  std::string_view source = request.local_uri;
  source.remove_prefix(std::string_view(kPath).size());
  if (source.starts_with('/')) source.remove_prefix(1);
  return gateway_.Receive({.source = std::string(source),
                           .webhook_ids = HeadersOf(request, "webhook-id"),
                           .idempotency_keys = HeadersOf(request, "idempotency-key"),
                           .body = *std::move(body)});
}

}  // namespace webhook
