#include "tests/fault/linearize.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "tests/fault/model.h"

namespace onced::fault {
namespace {

// How much of a failed search is shown.
constexpr std::size_t kShownBefore = 6;
constexpr std::size_t kShownAfter = 12;

// The search of Wing and Gong: of the calls that may come next, try each, and go
// back where none fits; with Lowe's memory of what was tried.
class Search {
 public:
  Search(const std::vector<Event>& events, const std::vector<Life>& lives, const Rule& rule,
         std::uint64_t max_steps)
      : events_(events), model_(events, lives, rule), max_steps_(max_steps) {
    // Each set of calls has a number: the sum of its members'.
    std::mt19937_64 random(20'230'607);  // Any: it changes nothing.
    for (std::size_t i = 0; i < events.size(); ++i) numbers_.push_back(random());
    done_.resize(events.size());
    for (const Event& event : events) {
      const Answer& answer = event.call->answer;
      for (const std::string* text : {&answer.owner, &answer.previous_owner, &answer.result}) {
        seen_.insert(*text);
      }
      if (Judged(*event.call)) seen_.insert(event.call->owner);  // Perhaps regained.
    }
    seen_.erase("");
    for (std::size_t i = 0; i < events.size(); ++i) index_of_call_[events[i].call->id] = i;
  }

  Linearization Run() {
    if (From(0, {}, 0)) return {.steps = steps_};
    if (steps_ > max_steps_) return {.order = Order::kTooHard, .steps = steps_};
    return {.order = Order::kNone, .steps = steps_, .explanation = Explain()};
  }

 private:
  // The calls that may come next: those that were sent before any other that isn't
  // done yet has come to its end.
  struct Window {
    std::vector<std::size_t> calls;
    std::size_t first_to_end = 0;  // By its place in events_.
    // The earliest time that one of them was judged by, and that one.
    std::int64_t earliest = INT64_MAX;
    std::size_t earliest_call = 0;
  };

  Window WindowFrom(std::size_t first) const {
    Window window;
    Position end = kNever;
    window.first_to_end = first;
    for (std::size_t i = first; i < events_.size() && events_[i].call->sent < end; ++i) {
      if (done_[i]) continue;
      window.calls.push_back(i);
      if (events_[i].end < end) {
        end = events_[i].end;
        window.first_to_end = i;
      }
      if (events_[i].when.exact() && events_[i].when.lo < window.earliest) {
        window.earliest = events_[i].when.lo;
        window.earliest_call = i;
      }
    }
    // What was judged first goes first: that is mostly right at once.
    std::stable_sort(window.calls.begin(), window.calls.end(),
                     [&](std::size_t a, std::size_t b) { return Urgency(a) < Urgency(b); });
    return window;
  }
  std::tuple<bool, bool, Position> Urgency(std::size_t i) const {
    return {IsUnseen(i), !Judged(*events_[i].call), events_[i].end};
  }

  // Whether those that are not done can be done from this state on. All before
  // `first` are done; `number` is that of the done ones.
  bool From(std::size_t first, const Known& known, std::uint64_t number) {
    while (first < events_.size() && done_[first]) ++first;
    const Window window = WindowFrom(first);
    if (window.calls.empty()) return true;
    if (steps_ > max_steps_) return false;
    if (!tried_.insert({number, known}).second) return false;
    Remember(known, window);
    // What was never answered may have had no effect. That is decided as late as can
    // be, but before effects are tried: most had none, or none that was seen.
    const std::size_t last_chance = window.first_to_end;
    const auto unseen = std::find_if(window.calls.begin(), window.calls.end(),
                                     [&](auto call) { return IsUnseen(call); });
    if (Any({window.calls.begin(), unseen}, window, first, known, number)) return true;
    if (MayBeDone(*events_[last_chance].call) && Do(last_chance, first, known, number)) return true;
    return Any({unseen, window.calls.end()}, window, first, known, number);
  }
  // It wasn't answered, and no other answer tells of it.
  bool IsUnseen(std::size_t index) const {
    const Call& call = *events_[index].call;
    return MayBeDone(call) && !seen_.contains(call.owner) && !seen_.contains(call.result);
  }

  // Whether one of the calls can be next.
  bool Any(const std::vector<std::size_t>& calls, const Window& window, std::size_t first,
           const Known& known, std::uint64_t number) {
    for (const std::size_t call : calls) {
      if (!PredecessorIsDone(call)) continue;
      for (const Known& next : model_.Execute(known, call)) {
        const bool too_late = next.now > window.earliest && call != window.earliest_call;
        if (!too_late && Do(call, first, next, number)) return true;
      }
    }
    return false;
  }

  bool Do(std::size_t call, std::size_t first, const Known& next, std::uint64_t number) {
    ++steps_;
    done_[call] = true;
    path_.push_back(call);
    if (From(first, next, number + numbers_[call])) return true;
    path_.pop_back();
    done_[call] = false;
    return false;
  }

  bool PredecessorIsDone(std::size_t call) const {
    const std::optional<std::uint64_t>& after = events_[call].call->after;
    if (!after.has_value()) return true;
    const auto predecessor = index_of_call_.find(*after);
    if (predecessor == index_of_call_.end()) return true;  // It was refused.
    return done_[predecessor->second] || !Judged(*events_[predecessor->second].call);
  }

  // ---- For the explanation ----

  void Remember(const Known& known, const Window& window) {
    if (path_.size() < best_path_.size() || (path_.empty() && best_window_.size() > 0)) return;
    best_path_ = path_;
    best_known_ = known;
    best_window_ = window.calls;
  }
  std::string Explain() const {
    std::string text = absl::StrCat("the answers fit into no order: after ", best_path_.size(),
                                    " of ", events_.size(), " calls");
    const std::size_t shown = std::min(best_path_.size(), kShownBefore);
    for (std::size_t i = best_path_.size() - shown; i < best_path_.size(); ++i) {
      absl::StrAppend(&text, "\n    ", Describe(*events_[best_path_[i]].call));
    }
    absl::StrAppend(&text, "\n  the record is ", model_.Describe(best_known_),
                    "\n  and none of these can be next:");
    for (std::size_t i = 0; i < std::min(best_window_.size(), kShownAfter); ++i) {
      absl::StrAppend(&text, "\n    ", Describe(*events_[best_window_[i]].call));
    }
    return text;
  }

  const std::vector<Event>& events_;
  const Model model_;
  const std::uint64_t max_steps_;
  std::vector<std::uint64_t> numbers_;
  std::map<std::uint64_t, std::size_t> index_of_call_;

  std::set<std::string> seen_;  // Owners and results that answers tell of.

  std::vector<bool> done_;
  std::vector<std::size_t> path_;
  std::uint64_t steps_ = 0;
  absl::flat_hash_set<std::pair<std::uint64_t, Known>> tried_;

  std::vector<std::size_t> best_path_;
  std::vector<std::size_t> best_window_;
  Known best_known_;
};

}  // namespace

Linearization Linearize(const std::vector<Event>& events, const std::vector<Life>& lives,
                        const Rule& rule, std::uint64_t max_steps) {
  return Search(events, lives, rule, max_steps).Run();
}

}  // namespace onced::fault
