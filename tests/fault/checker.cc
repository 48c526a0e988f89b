#include "tests/fault/checker.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "tests/fault/evidence.h"
#include "tests/fault/invariants.h"
#include "tests/fault/linearize.h"

namespace onced::fault {
namespace {

// Of one key and of all: the first few tell what is wrong.
constexpr std::size_t kShownOfKey = 3;
constexpr std::size_t kShown = 8;
// Of these, that is: after that, no more histories are put into order.
constexpr std::size_t kEnough = 20;

}  // namespace

Verdict Check(const Recording& run, const Rules& rules, std::uint64_t max_steps) {
  std::map<std::string, std::vector<Event>> by_key;
  for (const Event& event : EventsOf(run)) by_key[event.call->key].push_back(event);
  Verdict verdict{.broken = CheckTime(run), .keys = by_key.size()};
  for (const auto& [key, events] : by_key) {
    verdict.longest = std::max<std::uint64_t>(verdict.longest, events.size());
    std::vector<std::string> broken = CheckInvariants(events);
    if (broken.size() > kShownOfKey) broken.resize(kShownOfKey);
    for (const std::string& text : broken) verdict.broken.push_back(absl::StrCat(key, ": ", text));
    if (!broken.empty() || verdict.broken.size() >= kEnough) continue;
    const Rule& rule = rules.at(key.substr(0, key.find('/')));
    const Linearization found = Linearize(events, run.lives, rule, max_steps);
    verdict.hardest = std::max(verdict.hardest, found.steps);
    if (found.order == Order::kTooHard) verdict.too_hard.push_back(key);
    if (found.order == Order::kNone) {
      verdict.broken.push_back(absl::StrCat(key, ": ", found.explanation));
    }
  }
  return verdict;
}

std::string ToText(const Verdict& verdict) {
  std::string text;
  for (std::size_t i = 0; i < std::min(verdict.broken.size(), kShown); ++i) {
    absl::StrAppend(&text, verdict.broken[i], "\n");
  }
  if (verdict.broken.size() > kShown) {
    absl::StrAppend(&text, "... and ", verdict.broken.size() - kShown, " more\n");
  }
  return text;
}

}  // namespace onced::fault
