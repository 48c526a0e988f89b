// The load's side of Redis.
#pragma once

#include <hiredis/hiredis.h>
#include <poll.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/driver.h"
#include "tests/bench/peers/token_source.h"
#include "tests/bench/peers/verdict.h"

struct redisReply;

namespace onced::bench {

// Operation: a step is one EVALSHA. Those of a message go out together, and so do
//            messages that were started before the same Poll(): what Redis calls
//            pipelining. It answers a connection in its order.
// Threads:   as Driver says.
class RedisDriver final : public Driver {
 public:
  static absl::StatusOr<std::unique_ptr<RedisDriver>> Connect(const DriverOptions& options,
                                                              const Terms& terms);

  void Start(int caller, const std::vector<Step>& steps) override;
  void Poll(Clock::time_point until, std::vector<Completion>& done) override;

 private:
  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  using Context = std::unique_ptr<redisContext, FreeContext>;

  struct Connection {
    Context context;
    std::deque<int> callers;  // One a message under way, in order.
    bool unsent = false;
    bool broken = false;
  };
  struct Message {
    std::vector<Wanted> wanted;
    std::vector<Outcome> outcomes;  // Of those that were answered.
  };

  RedisDriver(const DriverOptions& options, const Terms& terms);
  absl::Status Open(const std::string& address, Connection& connection);
  absl::Status Load(redisContext& context, std::string_view script, std::string& sha);

  void AppendReserve(redisContext& context, const Step& step);
  void AppendCommit(redisContext& context, const Step& step);
  void Send(Connection& connection);
  void Receive(Connection& connection, std::vector<Completion>& done);
  void Take(Connection& connection, const redisReply& reply, std::vector<Completion>& done);
  // All that is under way on it has failed.
  void Break(Connection& connection);
  void Finish(int caller, std::vector<Completion>& done);

  const std::string lease_ms_;
  const std::string lapsed_retention_ms_;
  const std::string retention_ms_;
  std::string reserve_sha_;
  std::string commit_sha_;

  TokenSource tokens_;
  std::vector<Connection> connections_;
  std::vector<pollfd> polled_;     // One a connection.
  std::vector<Message> messages_;  // One a caller.
  std::vector<int> failed_;        // Callers whose completion the next Poll() gives.
};

}  // namespace onced::bench
