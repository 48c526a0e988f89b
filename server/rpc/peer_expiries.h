// When the certificates of those who call expire.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "server/base/mutex.h"

namespace onced {

// Threads: any.
// Limits:  remembers kRememberedMax certificates; with more it reads some again.
class PeerExpiries {
 public:
  static constexpr std::size_t kRememberedMax = 1'024;

  // InfinitePast for a connection without a certificate that can be read.
  absl::Time Of(const grpc::AuthContext& peer) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  // By the certificate's SHA-256.
  absl::flat_hash_map<std::string, absl::Time> known_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onced
