#include "server/base/trace_context.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/base/bytes.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {
namespace {

template <std::size_t kSize>
std::string HexOf(const std::array<std::uint8_t, kSize>& bytes) {
  return ToHex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void ReadTraceparent(absl::string_view text) {
  const auto context = ParseTraceparent(text);
  if (!context.has_value()) return;
  Demand(context->state.empty(), "a state out of nowhere");
  const TraceRef& parent = context->parent;
  Demand(HexOf(parent.trace_id) != std::string(32, '0'), "a trace of zeros");
  Demand(HexOf(parent.span_id) != std::string(16, '0'), "a span of zeros");
  Demand(text.substr(2, 51) ==
             absl::StrCat("-", HexOf(parent.trace_id), "-", HexOf(parent.span_id), "-"),
         "other ids");
  const char flags = text[54];
  Demand(context->sampled == (absl::StrContains("13579bdf", {&flags, 1})), "sampled, or not");
  Demand(!absl::StartsWith(text, "ff"), "there is no such version");
  Demand(!absl::StartsWith(text, "00") || text.size() == 55, "this version has no more");
}

// One that is as it should be.
void WriteTraceparent(Draw draw) {
  const std::string trace = ToHex(draw.View(16));
  const std::string span = ToHex(draw.View(8));
  if (trace.size() != 32 || span.size() != 16) return;
  const auto context = ParseTraceparent(absl::StrCat("00-", trace, "-", span, "-01"));
  const bool valid = trace != std::string(32, '0') && span != std::string(16, '0');
  Demand(context.has_value() == valid, "refused a good one, or took a bad one");
}

void ReadTracestate(absl::string_view text) {
  if (!IsTracestate(text)) return;
  Demand(text.size() <= 512, "too long");
  const std::vector<std::string> members = absl::StrSplit(text, ',');
  const auto members_there =
      std::count_if(members.begin(), members.end(),
                    [](const std::string& member) { return absl::StrContains(member, '='); });
  Demand(members_there >= 1 && members_there <= 32, "how many members?");
  Demand(std::all_of(text.begin(), text.end(),
                     [](char c) { return c == '\t' || (c >= ' ' && c <= '~'); }),
         "can't be a header");
  Demand(!IsTracestate(absl::StrCat(text, ",", text)), "every key twice");
  for (const std::string& member : members) {
    Demand(IsTracestate(member) == absl::StrContains(member, '='), "a member by itself");
  }
}

}  // namespace

void TraceHeaders(absl::string_view bytes) {
  ReadTraceparent(bytes);
  WriteTraceparent(Draw(bytes));
  ReadTracestate(bytes);
}

}  // namespace onced::fuzz
