// The port for machines that watch this one: /metrics, /livez, /readyz.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/base/mutex.h"

struct mg_connection;
struct mg_context;

namespace onced {

// Answers GET and HEAD; 405 to other methods, 404 to other paths.
//
// Threads:  a few of its own, on which it calls the functions in Options, also
//           two at once.
// Lifetime: what these functions refer to must outlive it. Destruction ends the
//           connections and joins the threads.
// Limits:   kThreads connections at a time, each for one request, which must be
//           whole within `request_millis_max`; others wait in a queue of kQueueMax.
//           A connection that sends nothing delays the destruction by up to 2 s.
//
// Starting it ignores SIGPIPE and SIGCHLD in the whole process: the library does.
class HttpServer {
 public:
  struct Options {
    std::string host;                      // An address or a name; an IPv6 address has no brackets.
    std::uint16_t port = 0;                // 0: the kernel chooses.
    std::function<std::string()> metrics;  // In Prometheus' text format.
    // OK: 200 and "ok"; else 503 and the message.
    std::function<absl::Status()> live;
    std::function<absl::Status()> ready;
    // What /readyz says beside "ok"; nothing if that is empty. Traffic goes on:
    // what settles reservations must get through.
    std::function<std::string()> warning = [] { return std::string(); };
    int request_millis_max = 2'000;
  };
  // Each may be held by a client that sends its request slowly.
  static constexpr int kThreads = 64;
  static constexpr int kQueueMax = 64;

  // The message of a failure is one line that names the address.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Open(Options options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // The port that it listens on, never 0.
  std::uint16_t port() const { return port_; }

 private:
  struct Answer {
    int code;
    const char* reason;
    std::string body;
    const char* more_headers = "";  // Each ends in CR LF.
    const char* content_type = "text/plain; charset=utf-8";
  };

  explicit HttpServer(Options options) : options_(std::move(options)) {}
  absl::Status Start();
  Answer Respond(absl::string_view method, absl::string_view path) const;
  std::string TakeMessage() ABSL_LOCKS_EXCLUDED(mutex_);

  static void Send(mg_connection* connection, const Answer& answer, bool with_body);

  // Called by the library.
  static int Handle(mg_connection* connection);
  static int RefuseMalformed(mg_connection* connection, int code, const char* message);
  static int KeepMessage(const mg_connection* connection, const char* message);

  // Constant once open.
  const Options options_;
  std::string address_;  // That of the host, in figures.
  std::uint16_t port_ = 0;

  Mutex mutex_;
  std::string message_ ABSL_GUARDED_BY(mutex_);  // Why the library failed to start.

  mg_context* context_ = nullptr;  // Last: its threads use the above.
};

}  // namespace onced
