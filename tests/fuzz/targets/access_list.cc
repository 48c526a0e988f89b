// A caller's name, a namespace, and the list that says whether it may: a line each of the
// first two, then YAML.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/config/access.h"
#include "server/config/config.h"
#include "server/ledger/access.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {
namespace {

constexpr Right kRights[] = {Right::kUse, Right::kInspect, Right::kAdmin};

std::string TakeLine(absl::string_view& bytes) {
  const std::string line(bytes.substr(0, bytes.find('\n')));
  bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
  return line;
}

bool IsPlain(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("._-", {&c, 1});
  });
}

// The same in other words: an entry's identity is the name, or stands for all below it.
bool IsOf(const AccessList::Entry& entry, const std::string& name) {
  absl::string_view below = entry.identity;
  if (!absl::ConsumeSuffix(&below, "*") || !absl::EndsWith(below, "/")) {
    return entry.identity == name;
  }
  if (!absl::StartsWith(name, below) || !absl::StrContains(name, "://")) return false;
  const std::vector<std::string> segments = absl::StrSplit(name.substr(below.size()), '/');
  return std::all_of(segments.begin(), segments.end(), [](const std::string& segment) {
    return !segment.empty() && segment != "." && segment != ".." && IsPlain(segment);
  });
}

bool IsOn(const AccessList::Entry& entry, const std::string& name_space) {
  return std::any_of(entry.namespaces.begin(), entry.namespaces.end(), [&](absl::string_view on) {
    return absl::ConsumeSuffix(&on, "*") ? absl::StartsWith(name_space, on) : on == name_space;
  });
}

void CheckEntry(const AccessList::Entry& entry) {
  Demand(!entry.identity.empty() && entry.identity.size() <= 2'048, "an identity's size");
  const std::size_t stars = std::count(entry.identity.begin(), entry.identity.end(), '*');
  Demand(stars == 0 || (stars == 1 && absl::EndsWith(entry.identity, "/*")), "a star inside");
  Demand(!entry.namespaces.empty(), "on nothing");
  for (absl::string_view name_space : entry.namespaces) {
    absl::ConsumeSuffix(&name_space, "*");
    Demand(name_space.size() <= limits::kNamespaceBytesMax && IsPlain(name_space), "no namespace");
  }
  Demand(!(entry.rights == Rights{}), "no right");
}

// What some entry allows, and nothing else.
void CheckGrants(const std::vector<AccessList::Entry>& entries, const std::string& name,
                 const std::string& name_space) {
  const AccessList list(entries);
  const AccessList::Grants grants = list.GrantsOf({name});
  for (const Right right : kRights) {
    const auto allows = [&](const std::string& where) {
      return std::any_of(entries.begin(), entries.end(), [&](const AccessList::Entry& entry) {
        return entry.rights.Has(right) && IsOf(entry, name) && IsOn(entry, where);
      });
    };
    Demand(grants.Allow(right, name_space) == allows(name_space), "not what the list says");
    // No namespace begins so.
    Demand(grants.AllowEverywhere(right) == allows("/"), "everywhere, or not");
    Demand(!list.GrantsOf({}).Allow(right, name_space), "nobody may something");
  }
}

}  // namespace

void AccessListFile(absl::string_view bytes) {
  const std::string name = TakeLine(bytes);
  const std::string name_space = TakeLine(bytes);
  const YamlDocument document = ParseYaml(bytes);
  if (!document.problems.empty()) return;  // The target config_file is about that.
  Config config;
  ConfigErrors errors;
  ReadAccess({.key = std::string(kAccessKey), .line = 1, .value = document.root}, "onced.yaml",
             config, errors);
  if (!errors.ToStatus().ok()) return;
  Demand(!config.access.empty(), "an empty list");
  for (const AccessList::Entry& entry : config.access) CheckEntry(entry);
  CheckGrants(config.access, name, name_space);
  // As it stands in the list: each allows at least what it says of itself.
  for (const AccessList::Entry& entry : config.access) {
    CheckGrants(config.access, entry.identity, entry.namespaces.front());
  }
}

}  // namespace onced::fuzz
