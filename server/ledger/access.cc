#include "server/ledger/access.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/base/names.h"

namespace onced {
namespace {

constexpr absl::string_view kBelow = "/*";

bool Matches(absl::string_view pattern, absl::string_view name_space) {
  if (absl::ConsumeSuffix(&pattern, "*")) return absl::StartsWith(name_space, pattern);
  return pattern == name_space;
}

// One that can't mean another place than it says, as "..", an empty one, or one
// that is percent-encoded may.
bool IsPlainSegment(absl::string_view segment) {
  return !segment.empty() && segment != "." && segment != ".." && AreNameBytes(segment);
}

bool IsPlainPath(absl::string_view path) {
  const std::vector<absl::string_view> segments = absl::StrSplit(path, '/');
  return std::all_of(segments.begin(), segments.end(), IsPlainSegment);
}

}  // namespace

bool AccessList::Grants::Allow(Right right, absl::string_view name_space) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry* entry) {
    if (!entry->rights.Has(right)) return false;
    const auto& patterns = entry->namespaces;
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return Matches(pattern, name_space); });
  });
}

bool AccessList::Grants::AllowEverywhere(Right right) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry* entry) {
    const auto& patterns = entry->namespaces;
    return entry->rights.Has(right) &&
           std::find(patterns.begin(), patterns.end(), "*") != patterns.end();
  });
}

bool AccessList::Grants::AllowSomewhere(Right right) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry* entry) {
    return entry->rights.Has(right) && !entry->namespaces.empty();
  });
}

AccessList::AccessList(std::vector<Entry> entries) : entries_(std::move(entries)) {
  for (const Entry& entry : entries_) {
    absl::string_view identity = entry.identity;
    Index& index = absl::ConsumeSuffix(&identity, kBelow) ? below_ : exact_;
    index[identity].push_back(&entry);
  }
}

AccessList::Grants AccessList::GrantsOf(absl::Span<const std::string> names) const {
  Grants grants;
  for (const std::string& name : names) {
    Add(exact_, name, grants);
    if (below_.empty() || !absl::StrContains(name, "://")) continue;
    // From the end, as long as what is cut off is plain.
    for (std::size_t at = name.rfind('/'); at != std::string::npos && at > 0;
         at = name.rfind('/', at - 1)) {
      const absl::string_view rest = absl::string_view(name).substr(at + 1);
      if (!IsPlainPath(rest)) break;
      Add(below_, absl::string_view(name).substr(0, at), grants);
    }
  }
  return grants;
}

void AccessList::Add(const Index& index, absl::string_view name, Grants& grants) {
  const auto found = index.find(name);
  if (found == index.end()) return;
  grants.entries_.insert(grants.entries_.end(), found->second.begin(), found->second.end());
}

}  // namespace onced
