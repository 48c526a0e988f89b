// W3C Trace Context, level 1 (https://www.w3.org/TR/trace-context-1/), as far as a
// server needs it that calls nobody.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "server/base/trace_ref.h"

namespace onced {

struct TraceContext {
  TraceRef parent;  // The caller's span; neither id is zero.
  bool sampled = false;
  std::string state;  // The tracestate, as it came; empty: none, or not a valid one.
};

// nullopt for what isn't one: the call is then one without a context. Of a version later
// than this one (00), what this one knows is taken.
std::optional<TraceContext> ParseTraceparent(absl::string_view text);

// Whether it is a list that may be passed on: at most 32 members of 512 characters in
// all, keys and values of the right characters, no key twice.
bool IsTracestate(absl::string_view text);

}  // namespace onced
