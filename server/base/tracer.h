// Decides which calls are traced, and gives their spans names.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "server/base/mutex.h"
#include "server/base/random.h"
#include "server/base/span.h"
#include "server/base/trace_context.h"

namespace onced {

// Threads:  any.
// Lifetime: what is passed in outlives it.
class Tracer {
 public:
  // `ratio` of the calls that come without a context are traced, 0 to 1.
  Tracer(SpanSink& sink, Random& random, double ratio)
      : sink_(sink), ratio_(ratio), random_(random) {}

  // A span that begins now; nullptr: the call is not traced. A caller's context decides
  // that, if there is one.
  std::unique_ptr<Span> Begin(const std::optional<TraceContext>& context, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void End(std::unique_ptr<Span> span, absl::Time now) {
    span->ended = now;
    sink_.Take(std::move(span));
  }

 private:
  // Constant after construction.
  SpanSink& sink_;
  const double ratio_;

  Mutex mutex_;
  Random& random_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onced
