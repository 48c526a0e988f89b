#include "redis.h"

#include <sys/time.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace {

// Longer than any command here blocks.
constexpr timeval kTimeout{.tv_sec = 30, .tv_usec = 0};

}  // namespace

absl::StatusOr<Redis> Redis::Connect(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  Context context(nullptr, &redisFree);
  if (address.rfind('/', 0) == 0) {
    context.reset(redisConnectUnixWithTimeout(address.c_str(), kTimeout));
  } else if (colon != std::string::npos) {
    context.reset(redisConnectWithTimeout(address.substr(0, colon).c_str(),
                                          std::atoi(address.c_str() + colon + 1), kTimeout));
  } else {
    return absl::InvalidArgumentError(absl::StrCat(address, ": isn't HOST:PORT"));
  }
  if (context == nullptr || context->err != 0) {
    return absl::UnavailableError(
        absl::StrCat(address, ": ", context == nullptr ? "no memory" : context->errstr));
  }
  redisSetTimeout(context.get(), kTimeout);
  return Redis(std::move(context));
}

absl::StatusOr<RedisReply> Redis::Call(const std::vector<std::string>& arguments) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& argument : arguments) {
    texts.push_back(argument.data());
    sizes.push_back(argument.size());
  }
  RedisReply reply(
      static_cast<redisReply*>(redisCommandArgv(context_.get(), static_cast<int>(arguments.size()),
                                                texts.data(), sizes.data())),
      &freeReplyObject);
  if (reply == nullptr) return absl::UnavailableError(absl::StrCat("Redis: ", context_->errstr));
  if (reply->type == REDIS_REPLY_ERROR) return absl::FailedPreconditionError(TextOf(*reply));
  return reply;
}

std::string TextOf(const redisReply& reply) {
  const bool text = reply.type == REDIS_REPLY_STRING || reply.type == REDIS_REPLY_STATUS ||
                    reply.type == REDIS_REPLY_ERROR;
  return text ? std::string(reply.str, reply.len) : "";
}
