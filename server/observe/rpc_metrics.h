// Counts gRPC calls by the names that dashboards know from gRPC's own libraries.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "server/base/believed_clock.h"
#include "server/base/mutex.h"
#include "server/base/telemetry.h"

namespace prometheus {
class Registry;
}  // namespace prometheus

namespace onced {

// Threads:  any.
// Lifetime: what is passed in outlives it.
class RpcMetrics {
 public:
  // `time_source` is nullptr where calls take no time, as in tests.
  RpcMetrics(prometheus::Registry& registry, const TimeSource* time_source);
  ~RpcMetrics();

  // Of the same method the same each time.
  RpcTelemetry* Of(const RpcName& name) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class Rpc;
  struct Families;

  const std::unique_ptr<Families> families_;
  const TimeSource* const time_source_;

  Mutex mutex_;
  std::map<std::string, std::unique_ptr<Rpc>> rpcs_ ABSL_GUARDED_BY(mutex_);  // By full name.
};

}  // namespace onced
