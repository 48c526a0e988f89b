#include "tests/bench/peers/packaged.h"

#include <vector>

namespace onced::bench {

std::vector<PeerKind> PackagedPeers() {
  constexpr int kStepsMax = 1'024;  // As onced's Batch.
  return {
      {.name = "redis-aof-always",
       .what = "Redis, a Lua script of equal meaning, its log synced before each answer "
               "(appendonly yes, appendfsync always)",
       .steps_max = kStepsMax,
       .start = [](const PeerOptions& o) { return StartRedis(o, RedisLog::kSyncedAlways); }},
      {.name = "redis-no-persistence",
       .what = "Redis, the same script, nothing on the disk",
       .steps_max = kStepsMax,
       .start = [](const PeerOptions& o) { return StartRedis(o, RedisLog::kNone); }},
      {.name = "postgres",
       .what = "PostgreSQL, INSERT ... ON CONFLICT by a prepared statement, one of many rows for "
               "many steps (fsync on, synchronous_commit on); callers share the connections as a "
               "pool",
       .steps_max = kStepsMax,
       .pooled = true,
       .start = [](const PeerOptions& o) { return StartPostgres(o); }},
  };
}

}  // namespace onced::bench
