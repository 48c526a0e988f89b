// The load's side of PostgreSQL.
#pragma once

#include <libpq-fe.h>
#include <poll.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/driver.h"
#include "tests/bench/peers/postgres_sql.h"
#include "tests/bench/peers/token_source.h"
#include "tests/bench/peers/verdict.h"

namespace onced::bench {

// Operation: the steps of a message that ask for the same are one statement. A
//            connection executes one statement at a time: all callers share the
//            connections as a pool, and wait for a free one.
// Threads:   as Driver says.
class PostgresDriver final : public Driver {
 public:
  // `conninfo` is libpq's: where, and as whom.
  static absl::StatusOr<std::unique_ptr<PostgresDriver>> Connect(const DriverOptions& options,
                                                                 const std::string& conninfo,
                                                                 const PostgresSql& sql);

  void Start(int caller, const std::vector<Step>& steps) override;
  void Poll(Clock::time_point until, std::vector<Completion>& done) override;

 private:
  struct FreeConnection {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  using Handle = std::unique_ptr<PGconn, FreeConnection>;

  struct Connection {
    Handle handle;
    int caller = -1;  // Whose statement it executes; none if it is free.
    bool unsent = false;
    bool broken = false;
  };
  // A part of a message: steps of the same kind, one after the other.
  struct Statement {
    const char* name = nullptr;
    std::vector<unsigned> types;
    std::vector<std::string> parameters;
    std::size_t steps = 0;
  };
  struct Message {
    std::deque<Statement> statements;  // The first is to be sent, or is under way.
    std::vector<Wanted> wanted;
    std::vector<Outcome> outcomes;  // Of the statements that are done.
    std::vector<Outcome> latest;    // Of the one under way.
    bool again = false;             // The one under way has to be sent once more.
    int retries_left = 0;
  };

  PostgresDriver(const DriverOptions& options, const PostgresSql& sql);
  absl::Status Open(const std::string& conninfo, Connection& connection);

  Statement MakeStatement(const std::vector<Step>& steps, std::size_t begin, std::size_t end);
  // Gives waiting messages to free connections.
  void Dispatch();
  void Send(Connection& connection);
  void Flush(Connection& connection);
  void Receive(Connection& connection);
  void Take(const PGresult& result, Message& message);
  // The statement of its caller is done.
  void Advance(Connection& connection);
  void Fail(Connection& connection);

  const PostgresSql sql_;
  TokenSource tokens_;
  std::vector<Connection> connections_;
  std::vector<pollfd> polled_;     // One a connection.
  std::vector<Message> messages_;  // One a caller.
  std::vector<int> free_;          // Connections, the one that was used last at the end.
  std::deque<int> waiting_;        // Callers.
  std::vector<int> finished_;      // Callers whose completion the next Poll() gives.
};

}  // namespace onced::bench
