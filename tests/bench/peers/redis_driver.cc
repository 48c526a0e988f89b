// Only where hiredis is installed; redis_server.cc says so where it isn't.
#ifdef ONCED_BENCH_HIREDIS
#include "tests/bench/peers/redis_driver.h"

#include <fcntl.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/bench/peers/redis_script.h"
#include "tests/bench/peers/wait.h"

namespace onced::bench {
namespace {

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

std::string_view TextOf(const redisReply& reply) {
  return reply.type == REDIS_REPLY_STRING ? std::string_view(reply.str, reply.len) : "";
}

// The text of an element of an answer; empty if there is none.
std::string_view ElementOf(const redisReply& reply, std::size_t index) {
  if (reply.type != REDIS_REPLY_ARRAY || index >= reply.elements) return "";
  return TextOf(*reply.element[index]);
}

std::string KeyOf(const Step& step) {
  return std::string(kNamespace).append(1, '\0').append(step.key);
}

void Append(redisContext& context, std::initializer_list<std::string_view> words) {
  constexpr std::size_t kWordsMax = 9;
  const char* starts[kWordsMax];
  std::size_t sizes[kWordsMax];
  std::size_t count = 0;
  for (const std::string_view word : words) {
    starts[count] = word.data();
    sizes[count++] = word.size();
  }
  redisAppendCommandArgv(&context, static_cast<int>(count), starts, sizes);
}

}  // namespace

RedisDriver::RedisDriver(const DriverOptions& options, const Terms& terms)
    : lease_ms_(absl::StrCat(terms.lease_ms)),
      lapsed_retention_ms_(absl::StrCat(terms.lapsed_retention_ms)),
      retention_ms_(absl::StrCat(terms.retention_ms)),
      connections_(options.connections),
      messages_(options.callers) {}

absl::StatusOr<std::unique_ptr<RedisDriver>> RedisDriver::Connect(const DriverOptions& options,
                                                                  const Terms& terms) {
  auto driver = std::unique_ptr<RedisDriver>(new RedisDriver(options, terms));
  for (Connection& connection : driver->connections_) {
    const absl::Status opened = driver->Open(options.address, connection);
    if (!opened.ok()) return opened;
    driver->polled_.push_back({.fd = connection.context->fd, .events = POLLIN, .revents = 0});
  }
  return driver;
}

absl::Status RedisDriver::Open(const std::string& address, Connection& connection) {
  const std::size_t colon = address.rfind(':');
  redisContext* context =
      colon == std::string::npos
          ? redisConnectUnix(address.c_str())
          : redisConnect(address.substr(0, colon).c_str(), std::stoi(address.substr(colon + 1)));
  connection.context.reset(context);
  if (context == nullptr || context->err != 0) {
    return absl::UnavailableError(absl::StrCat("redis at ", address, ": ",
                                               context == nullptr ? "no memory" : context->errstr));
  }
  for (const auto& [script, sha] :
       {std::pair(kRedisReserve, &reserve_sha_), std::pair(kRedisCommit, &commit_sha_)}) {
    const absl::Status loaded = Load(*context, script, *sha);
    if (!loaded.ok()) return loaded;
  }
  // hiredis connects either way, but what has connected one way can't be told to go
  // on in the other, but so.
  fcntl(context->fd, F_SETFL, fcntl(context->fd, F_GETFL) | O_NONBLOCK);
  context->flags &= ~REDIS_BLOCK;
  return absl::OkStatus();
}

absl::Status RedisDriver::Load(redisContext& context, std::string_view script, std::string& sha) {
  const Reply reply(static_cast<redisReply*>(
      redisCommand(&context, "SCRIPT LOAD %b", script.data(), script.size())));
  if (reply == nullptr) return absl::UnavailableError(context.errstr);
  if (reply->type != REDIS_REPLY_STRING) {
    return absl::InternalError(absl::StrCat("redis refuses a script: ", reply->str));
  }
  sha = TextOf(*reply);
  return absl::OkStatus();
}

void RedisDriver::AppendReserve(redisContext& context, const Step& step) {
  Append(context, {"EVALSHA", reserve_sha_, "1", KeyOf(step), step.fingerprint, step.request_id,
                   tokens_.Draw(), lease_ms_, lapsed_retention_ms_});
}

void RedisDriver::AppendCommit(redisContext& context, const Step& step) {
  Append(context, {"EVALSHA", commit_sha_, "1", KeyOf(step), step.token, retention_ms_,
                   absl::StrCat(kStatusCode), *step.body});
}

void RedisDriver::Start(int caller, const std::vector<Step>& steps) {
  Message& message = messages_[caller];
  message.wanted.clear();
  for (const Step& step : steps) message.wanted.emplace_back(step);
  message.outcomes.clear();
  Connection& connection = connections_[caller % connections_.size()];
  if (connection.broken || steps.empty()) {
    failed_.push_back(caller);
    return;
  }
  for (const Step& step : steps) {
    if (step.op == Op::kReserve) {
      AppendReserve(*connection.context, step);
    } else {
      AppendCommit(*connection.context, step);
    }
  }
  connection.callers.push_back(caller);
  connection.unsent = true;
}

void RedisDriver::Poll(Clock::time_point until, std::vector<Completion>& done) {
  const std::size_t before = done.size();
  bool waited = false;
  while (true) {
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      if (connections_[i].unsent) Send(connections_[i]);
      const bool writes = connections_[i].unsent;
      polled_[i].events = static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN);
      if (connections_[i].broken) polled_[i].fd = -1;  // poll() passes over it.
    }
    for (const int caller : std::exchange(failed_, {})) Finish(caller, done);
    if (done.size() > before || (waited && Clock::now() >= until)) return;
    waited = true;
    if (!WaitUntil(until, polled_)) continue;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      if ((polled_[i].revents & ~POLLOUT) != 0) Receive(connections_[i], done);
    }
  }
}

void RedisDriver::Send(Connection& connection) {
  int all_sent = 0;
  if (redisBufferWrite(connection.context.get(), &all_sent) != REDIS_OK) {
    Break(connection);
    return;
  }
  connection.unsent = all_sent == 0;
}

void RedisDriver::Receive(Connection& connection, std::vector<Completion>& done) {
  if (redisBufferRead(connection.context.get()) != REDIS_OK) {
    Break(connection);
    return;
  }
  while (true) {
    void* next = nullptr;
    if (redisGetReplyFromReader(connection.context.get(), &next) != REDIS_OK) {
      Break(connection);
      return;
    }
    if (next == nullptr) return;
    const Reply reply(static_cast<redisReply*>(next));
    Take(connection, *reply, done);
  }
}

void RedisDriver::Take(Connection& connection, const redisReply& reply,
                       std::vector<Completion>& done) {
  if (connection.callers.empty()) return Break(connection);  // Nobody has asked.
  const int caller = connection.callers.front();
  Message& message = messages_[caller];
  const Wanted& wanted = message.wanted[message.outcomes.size()];
  const Verdict verdict = VerdictOf(ElementOf(reply, 0));
  std::string_view second = ElementOf(reply, 1);
  Outcome outcome;
  if (verdict == Verdict::kFresh) outcome.token = second;
  if (verdict == Verdict::kReplayed)
    second.remove_prefix(std::min(second.size(), kRedisStatusBytes));
  outcome.as_expected = wanted.IsMetBy(verdict, second);
  message.outcomes.push_back(std::move(outcome));
  if (message.outcomes.size() < message.wanted.size()) return;
  connection.callers.pop_front();
  Finish(caller, done);
}

void RedisDriver::Break(Connection& connection) {
  connection.broken = true;
  connection.unsent = false;
  for (const int caller : std::exchange(connection.callers, {})) failed_.push_back(caller);
}

void RedisDriver::Finish(int caller, std::vector<Completion>& done) {
  Message& message = messages_[caller];
  message.outcomes.resize(message.wanted.size());  // Those that have failed.
  done.push_back({.caller = caller, .outcomes = std::move(message.outcomes)});
}

}  // namespace onced::bench
#endif
