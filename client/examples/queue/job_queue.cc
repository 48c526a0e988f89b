#include "job_queue.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace {

// All of it or nothing: Redis runs a script by itself.
constexpr char kBury[] = R"(
if redis.call('SADD', KEYS[3], ARGV[3] .. ' ' .. ARGV[5]) == 1 then
  redis.call('XADD', KEYS[2], '*', 'job_id', ARGV[3], 'payload', ARGV[4], 'reason', ARGV[5])
end
return redis.call('XACK', KEYS[1], ARGV[1], ARGV[2]))";

std::string MillisecondsOf(absl::Duration duration) {
  return absl::StrCat(absl::ToInt64Milliseconds(duration));
}

// [ID, [name, value, ...]]; one that was deleted meanwhile has no fields.
Entry EntryOf(const redisReply& reply) {
  Entry entry{.id = TextOf(*reply.element[0])};
  const redisReply& fields = *reply.element[1];
  for (std::size_t i = 0; fields.type == REDIS_REPLY_ARRAY && i + 1 < fields.elements; i += 2) {
    const std::string name = TextOf(*fields.element[i]);
    if (name == "job_id") entry.job_id = TextOf(*fields.element[i + 1]);
    if (name == "payload") entry.payload = TextOf(*fields.element[i + 1]);
  }
  return entry;
}

std::vector<Entry> EntriesOf(const redisReply& reply) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < reply.elements; ++i) {
    if (reply.element[i]->type == REDIS_REPLY_ARRAY) entries.push_back(EntryOf(*reply.element[i]));
  }
  return entries;
}

}  // namespace

absl::StatusOr<JobQueue> JobQueue::Open(const std::string& address, Names names) {
  absl::StatusOr<Redis> redis = Redis::Connect(address);
  if (!redis.ok()) return redis.status();
  const auto made = redis->Call({"XGROUP", "CREATE", names.stream, names.group, "0", "MKSTREAM"});
  if (!made.ok() && !absl::StartsWith(made.status().message(), "BUSYGROUP")) return made.status();
  return JobQueue(*std::move(redis), std::move(names));
}

absl::Status JobQueue::Add(const std::string& job_id, const std::string& payload) {
  return redis_.Call({"XADD", names_.stream, "*", "job_id", job_id, "payload", payload}).status();
}

absl::StatusOr<std::vector<Entry>> JobQueue::Next(absl::Duration wait) {
  const auto reply =
      redis_.Call({"XREADGROUP", "GROUP", names_.group, names_.consumer, "COUNT", "1", "BLOCK",
                   MillisecondsOf(wait), "STREAMS", names_.stream, ">"});
  if (!reply.ok()) return reply.status();
  if ((*reply)->type == REDIS_REPLY_NIL) return std::vector<Entry>();
  return EntriesOf(*(*reply)->element[0]->element[1]);  // Of the one stream.
}

absl::StatusOr<std::vector<Entry>> JobQueue::Abandoned(absl::Duration idle, int count) {
  const auto reply = redis_.Call({"XAUTOCLAIM", names_.stream, names_.group, names_.consumer,
                                  MillisecondsOf(idle), cursor_, "COUNT", absl::StrCat(count)});
  if (!reply.ok()) return reply.status();
  cursor_ = TextOf(*(*reply)->element[0]);
  std::vector<Entry> entries = EntriesOf(*(*reply)->element[1]);
  for (Entry& entry : entries) {
    const auto deliveries = DeliveriesOf(entry.id);
    if (!deliveries.ok()) return deliveries.status();
    entry.deliveries = *deliveries;
  }
  return entries;
}

absl::StatusOr<std::int64_t> JobQueue::DeliveriesOf(const std::string& id) {
  const auto reply = redis_.Call({"XPENDING", names_.stream, names_.group, id, id, "1"});
  if (!reply.ok()) return reply.status();
  if ((*reply)->elements == 0) return 1;  // Somebody has acknowledged it just now.
  return (*reply)->element[0]->element[3]->integer;
}

absl::Status JobQueue::Acknowledge(const Entry& entry) {
  return redis_.Call({"XACK", names_.stream, names_.group, entry.id}).status();
}

absl::Status JobQueue::Bury(const Entry& entry, const std::string& reason) {
  return redis_
      .Call({"EVAL", kBury, "3", names_.stream, names_.dead_stream,
             absl::StrCat(names_.dead_stream, "-seen"), names_.group, entry.id, entry.job_id,
             entry.payload, reason})
      .status();
}
