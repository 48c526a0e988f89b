// The rows of what Debian has packaged.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "tests/bench/peer.h"
#include "tests/bench/peers/verdict.h"

namespace onced::bench {

enum class RedisLog { kNone, kSyncedAlways };

// Each FAILED_PRECONDITION if the server, or the library of its client, is missing.
absl::StatusOr<std::unique_ptr<Peer>> StartRedis(const PeerOptions& options, RedisLog log,
                                                 const Terms& terms = {});
absl::StatusOr<std::unique_ptr<Peer>> StartPostgres(const PeerOptions& options,
                                                    const Terms& terms = {});

}  // namespace onced::bench
