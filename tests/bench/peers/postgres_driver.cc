// Only where libpq is installed; postgres_server.cc says so where it isn't.
#ifdef ONCED_BENCH_LIBPQ
#include "tests/bench/peers/postgres_driver.h"

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/bench/peers/postgres_binary.h"
#include "tests/bench/peers/wait.h"

namespace onced::bench {
namespace {

// Of one statement that others get between. So many in a row would be an error.
constexpr int kRetriesMax = 100;
constexpr int kBinary = 1;

constexpr char kReserve[] = "reserve";
constexpr char kReserveMany[] = "reserve_many";
constexpr char kCommit[] = "commit";
constexpr char kCommitMany[] = "commit_many";

struct FreeResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, FreeResult>;

std::string_view Value(const PGresult& result, int row, int column) {
  return {PQgetvalue(&result, row, column),
          static_cast<std::size_t>(PQgetlength(&result, row, column))};
}

// Nothing was done, through no fault of the statement.
bool IsPassing(const PGresult& result) {
  const char* state = PQresultErrorField(&result, PG_DIAG_SQLSTATE);
  const std::string_view code = state == nullptr ? "" : state;
  return code == "40P01" || code == "40001";  // Deadlock, serialization failure.
}

template <typename Field>
std::string Column(std::uint32_t type, const std::vector<Step>& steps, std::size_t begin,
                   std::size_t end, Field field) {
  PgArray array(type);
  for (std::size_t i = begin; i < end; ++i) array.Append(field(steps[i]));
  return array.bytes();
}

}  // namespace

PostgresDriver::PostgresDriver(const DriverOptions& options, const PostgresSql& sql)
    : sql_(sql), connections_(options.connections), messages_(options.callers) {}

absl::StatusOr<std::unique_ptr<PostgresDriver>> PostgresDriver::Connect(
    const DriverOptions& options, const std::string& conninfo, const PostgresSql& sql) {
  auto driver = std::unique_ptr<PostgresDriver>(new PostgresDriver(options, sql));
  for (std::size_t i = 0; i < driver->connections_.size(); ++i) {
    Connection& connection = driver->connections_[i];
    const absl::Status opened = driver->Open(conninfo, connection);
    if (!opened.ok()) return opened;
    driver->polled_.push_back(
        {.fd = PQsocket(connection.handle.get()), .events = POLLIN, .revents = 0});
    driver->free_.push_back(static_cast<int>(i));
  }
  return driver;
}

absl::Status PostgresDriver::Open(const std::string& conninfo, Connection& connection) {
  connection.handle.reset(PQconnectdb(conninfo.c_str()));
  PGconn* handle = connection.handle.get();
  if (PQstatus(handle) != CONNECTION_OK) return absl::UnavailableError(PQerrorMessage(handle));
  const struct {
    const char* name;
    const std::string& sql;
    std::vector<Oid> types;
  } statements[] = {
      {kReserve, sql_.reserve, {kPgText, kPgText, kPgBytea, kPgBytea, kPgBytea}},
      {kReserveMany,
       sql_.reserve_many,
       {kPgText, kPgTextArray, kPgByteaArray, kPgByteaArray, kPgByteaArray}},
      {kCommit, sql_.commit, {kPgText, kPgText, kPgBytea, kPgBytea}},
      {kCommitMany, sql_.commit_many, {kPgText, kPgTextArray, kPgByteaArray, kPgByteaArray}},
  };
  for (const auto& statement : statements) {
    const Result prepared(PQprepare(handle, statement.name, statement.sql.c_str(),
                                    static_cast<int>(statement.types.size()),
                                    statement.types.data()));
    if (PQresultStatus(prepared.get()) != PGRES_COMMAND_OK) {
      return absl::InternalError(absl::StrCat(statement.name, ": ", PQerrorMessage(handle)));
    }
  }
  if (PQsetnonblocking(handle, 1) != 0) return absl::InternalError(PQerrorMessage(handle));
  return absl::OkStatus();
}

PostgresDriver::Statement PostgresDriver::MakeStatement(const std::vector<Step>& steps,
                                                        std::size_t begin, std::size_t end) {
  const Step& first = steps[begin];
  const bool reserves = first.op == Op::kReserve;
  Statement statement{.steps = end - begin};
  std::vector<std::string>& values = statement.parameters;
  values.emplace_back(kNamespace);
  if (statement.steps == 1) {
    statement.name = reserves ? kReserve : kCommit;
    values.push_back(first.key);
    if (reserves) {
      values.insert(values.end(), {first.fingerprint, first.request_id, tokens_.Draw()});
    } else {
      values.insert(values.end(), {first.token, *first.body});
    }
    return statement;
  }
  statement.name = reserves ? kReserveMany : kCommitMany;
  const auto column = [&](std::uint32_t type, auto field) {
    values.push_back(Column(type, steps, begin, end, field));
  };
  column(kPgText, [](const Step& s) { return std::string_view(s.key); });
  if (reserves) {
    column(kPgBytea, [](const Step& s) { return std::string_view(s.fingerprint); });
    column(kPgBytea, [](const Step& s) { return std::string_view(s.request_id); });
    column(kPgBytea, [this](const Step&) { return tokens_.Draw(); });
  } else {
    column(kPgBytea, [](const Step& s) { return std::string_view(s.token); });
    column(kPgBytea, [](const Step& s) { return std::string_view(*s.body); });
  }
  return statement;
}

void PostgresDriver::Start(int caller, const std::vector<Step>& steps) {
  Message& message = messages_[caller];
  message.wanted.clear();
  for (const Step& step : steps) message.wanted.emplace_back(step);
  message.outcomes.clear();
  message.statements.clear();
  message.retries_left = kRetriesMax;
  for (std::size_t begin = 0, end = 0; begin < steps.size(); begin = end) {
    while (end < steps.size() && steps[end].op == steps[begin].op) ++end;
    message.statements.push_back(MakeStatement(steps, begin, end));
  }
  if (steps.empty()) {
    finished_.push_back(caller);
    return;
  }
  waiting_.push_back(caller);
  Dispatch();
}

void PostgresDriver::Dispatch() {
  while (!waiting_.empty() && !free_.empty()) {
    const int index = free_.back();
    free_.pop_back();
    Connection& connection = connections_[index];
    connection.caller = waiting_.front();
    waiting_.pop_front();
    Send(connection);
  }
}

void PostgresDriver::Send(Connection& connection) {
  constexpr std::size_t kParametersMax = 5;
  const Statement& statement = messages_[connection.caller].statements.front();
  const char* values[kParametersMax];
  int sizes[kParametersMax];
  int formats[kParametersMax];
  std::size_t count = 0;
  for (const std::string& parameter : statement.parameters) {
    values[count] = parameter.data();
    sizes[count] = static_cast<int>(parameter.size());
    formats[count++] = kBinary;
  }
  if (PQsendQueryPrepared(connection.handle.get(), statement.name, static_cast<int>(count), values,
                          sizes, formats, kBinary) == 0) {
    return Fail(connection);
  }
  Flush(connection);
}

void PostgresDriver::Flush(Connection& connection) {
  const int left = PQflush(connection.handle.get());
  if (left < 0) return Fail(connection);
  connection.unsent = left > 0;
}

void PostgresDriver::Poll(Clock::time_point until, std::vector<Completion>& done) {
  bool waited = false;
  while (true) {
    const bool something = !finished_.empty();
    for (const int caller : std::exchange(finished_, {})) {
      Message& message = messages_[caller];
      message.outcomes.resize(message.wanted.size());  // Those that have failed.
      done.push_back({.caller = caller, .outcomes = std::move(message.outcomes)});
    }
    if (something || (waited && Clock::now() >= until)) return;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      const Connection& connection = connections_[i];
      polled_[i].events = static_cast<short>(connection.unsent ? POLLIN | POLLOUT : POLLIN);
      if (connection.broken) polled_[i].fd = -1;  // poll() passes over it.
    }
    waited = true;
    if (!WaitUntil(until, polled_)) continue;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      if (polled_[i].revents == 0) continue;
      if (connections_[i].unsent) Flush(connections_[i]);
      if ((polled_[i].revents & ~POLLOUT) != 0) Receive(connections_[i]);
    }
    Dispatch();
  }
}

void PostgresDriver::Receive(Connection& connection) {
  PGconn* handle = connection.handle.get();
  if (PQconsumeInput(handle) == 0) return Fail(connection);
  if (connection.caller < 0) return;  // A notice.
  while (PQisBusy(handle) == 0) {
    const Result result(PQgetResult(handle));
    if (result == nullptr) return Advance(connection);
    Take(*result, messages_[connection.caller]);
  }
}

void PostgresDriver::Take(const PGresult& result, Message& message) {
  const std::size_t steps = message.statements.front().steps;
  message.latest.assign(steps, {});
  message.again = IsPassing(result);
  const bool answered = PQresultStatus(&result) == PGRES_TUPLES_OK &&
                        static_cast<std::size_t>(PQntuples(&result)) == steps;
  if (!answered) return;  // The outcomes are failures as they are.
  for (std::size_t i = 0; i < steps; ++i) {
    const int row = static_cast<int>(i);
    const std::string_view word = Value(result, row, 0);
    const Verdict verdict = VerdictOf(word);
    message.again = message.again || word == "RETRY";
    Outcome& outcome = message.latest[i];
    if (verdict == Verdict::kFresh) outcome.token = Value(result, row, 1);
    const Wanted& wanted = message.wanted[message.outcomes.size() + i];
    outcome.as_expected = wanted.IsMetBy(verdict, Value(result, row, 2));
  }
}

void PostgresDriver::Advance(Connection& connection) {
  Message& message = messages_[connection.caller];
  if (std::exchange(message.again, false) && message.retries_left-- > 0) return Send(connection);
  for (Outcome& outcome : message.latest) message.outcomes.push_back(std::move(outcome));
  message.latest.clear();
  message.statements.pop_front();
  if (!message.statements.empty()) return Send(connection);
  finished_.push_back(std::exchange(connection.caller, -1));
  free_.push_back(static_cast<int>(&connection - connections_.data()));
}

void PostgresDriver::Fail(Connection& connection) {
  connection.broken = true;
  connection.unsent = false;
  if (connection.caller >= 0) finished_.push_back(std::exchange(connection.caller, -1));
  // Of the last one, whoever waits would wait for ever.
  for (const Connection& other : connections_) {
    if (!other.broken) return;
  }
  finished_.insert(finished_.end(), waiting_.begin(), waiting_.end());
  waiting_.clear();
}

}  // namespace onced::bench
#endif
