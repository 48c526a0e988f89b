// HTTP, by civetweb.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "gateway.h"

struct mg_context;
struct mg_connection;

namespace webhook {

// Answers POST /webhooks/SOURCE until it is destroyed; then it sends new ones away, and waits for
// the deliveries that have begun. 50 are handed on at once; others wait.
class HttpServer {
 public:
  // `address` is "IP:PORT"; the port 0 is any that is free. The gateway outlives the server.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& address,
                                                           const Gateway& gateway);
  ~HttpServer();

  int port() const;

 private:
  explicit HttpServer(const Gateway& gateway) : gateway_(gateway) {}

  static int Handle(mg_connection* connection, void* self);
  Answer AnswerTo(mg_connection* connection) const;

  // Whether it may begin; then End() follows.
  bool Begin();
  void End();

  const Gateway& gateway_;
  mg_context* context_ = nullptr;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  int at_work_ = 0;
  bool ending_ = false;
};

}  // namespace webhook
