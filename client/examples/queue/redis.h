// A connection to Redis.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

using RedisReply = std::unique_ptr<redisReply, decltype(&freeReplyObject)>;

// Threads: one.
class Redis {
 public:
  // "HOST:PORT", or the path of a socket.
  static absl::StatusOr<Redis> Connect(const std::string& address);

  // UNAVAILABLE if there is no answer, which says nothing of what became of the command: from
  // then on all fail. FAILED_PRECONDITION if Redis refuses it, with what it says.
  absl::StatusOr<RedisReply> Call(const std::vector<std::string>& arguments);

 private:
  using Context = std::unique_ptr<redisContext, decltype(&redisFree)>;

  explicit Redis(Context context) : context_(std::move(context)) {}

  Context context_;
};

// The text of a string; empty if it is another kind of reply.
std::string TextOf(const redisReply& reply);
