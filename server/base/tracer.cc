#include "server/base/tracer.h"

#include <cstdint>

namespace onced {
namespace {

// Below 1, of all equally.
double UnitOf(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

// The specification forbids ids that are all zero.
template <typename Id>
Id Drawn(Random& random) {
  Id id{};
  while (id == Id{}) id = random.Draw<Id>();
  return id;
}

}  // namespace

std::unique_ptr<Span> Tracer::Begin(const std::optional<TraceContext>& context, absl::Time now) {
  if (context.has_value() ? !context->sampled : ratio_ <= 0) return nullptr;
  auto span = std::make_unique<Span>();
  span->started = now;
  const MutexLock lock(mutex_);
  if (context.has_value()) {
    span->self.trace_id = context->parent.trace_id;
    span->parent = context->parent.span_id;
    span->state = context->state;
  } else {
    if (UnitOf(random_.Draw<std::uint64_t>()) >= ratio_) return nullptr;
    span->self.trace_id = Drawn<decltype(span->self.trace_id)>(random_);
  }
  span->self.span_id = Drawn<decltype(span->self.span_id)>(random_);
  return span;
}

}  // namespace onced
