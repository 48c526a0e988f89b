#include "server/config/policies.h"

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/names.h"
#include "server/config/settings.h"
#include "server/config/values.h"

namespace onced {
namespace {

constexpr absl::string_view kUnlisted[] = {"allow", "deny"};

// Reads one policy: `default_policy`, or that of a namespace.
class PolicyReader {
 public:
  // `name` is the policy's place in the file; `inherited` says what it starts from.
  PolicyReader(std::string name, absl::string_view inherited, const std::string& path,
               ConfigErrors& errors)
      : name_(std::move(name)), inherited_(inherited), path_(path), errors_(errors) {}

  Policy Read(const YamlNode& node, const Policy& from) {
    policy_ = from;
    ReadMap(node, "");
    CheckOrder("lease", policy_.lease, true);
    CheckOrder("retention", policy_.retention, true);
    CheckOrder("wait", policy_.wait, false);
    return policy_;
  }

 private:
  void ReadMap(const YamlNode& node, const std::string& prefix) {
    if (node.kind == YamlNode::Kind::kNull) return;  // All keys commented out.
    if (node.kind != YamlNode::Kind::kMap) {
      errors_.Add(prefix.empty() ? name_ : Path(prefix.substr(0, prefix.size() - 1)), At(node.line),
                  "must be a map");
      return;
    }
    for (const YamlEntry& entry : node.entries) ReadEntry(entry, prefix + entry.key);
  }

  void ReadEntry(const YamlEntry& entry, const std::string& key) {
    const std::string prefix = key + ".";
    for (const PolicySetting& setting : PolicySettings()) {
      if (key == setting.name) return Set(setting, entry);
      if (absl::StartsWith(setting.name, prefix)) return ReadMap(entry.value, prefix);
    }
    errors_.Add(Path(key), At(entry.line), "is not a setting of a policy");
  }

  void Set(const PolicySetting& setting, const YamlEntry& entry) {
    if (entry.value.kind != YamlNode::Kind::kScalar) {
      errors_.Add(Path(setting.name), At(entry.line), "must have a value");
      return;
    }
    lines_[setting.name] = entry.line;
    const absl::Status set = setting.set(entry.value.scalar, policy_);
    if (set.ok()) return;
    errors_.Add(Path(setting.name), At(entry.line), entry.value.scalar, set.message());
    failed_ = true;
  }

  // min <= default <= max, where this policy itself gives one of them.
  void CheckOrder(absl::string_view section, const DurationBounds& bounds, bool has_min) {
    const Limit min{absl::StrCat(section, ".min"), bounds.min};
    const Limit preset{absl::StrCat(section, ".default"), bounds.preset};
    const Limit max{absl::StrCat(section, ".max"), bounds.max};
    if (failed_ || !(Given(min) || Given(preset) || Given(max))) return;
    if (has_min && bounds.min > bounds.max) return Refuse(min, "above", max);
    if (has_min && bounds.preset < bounds.min) return Refuse(preset, "below", min);
    if (bounds.preset > bounds.max) return Refuse(preset, "above", max);
  }

  struct Limit {
    std::string key;
    absl::Duration value;
  };
  bool Given(const Limit& limit) const { return lines_.count(limit.key) > 0; }
  std::string Described(const Limit& limit) const {
    return absl::StrCat(absl::FormatDuration(limit.value),
                        Given(limit) ? "" : absl::StrCat(" (", inherited_, ")"));
  }
  void Refuse(const Limit& limit, absl::string_view relation, const Limit& other) {
    const Limit& given = Given(limit) ? limit : other;
    errors_.Add(
        Path(limit.key), At(lines_[given.key]),
        absl::StrCat(Described(limit), " is ", relation, " ", other.key, " ", Described(other),
                     Given(limit) && Given(other)
                         ? ""
                         : absl::StrCat(": set ", Given(limit) ? other.key : limit.key, " too")));
  }

  std::string Path(absl::string_view key) const { return absl::StrCat(name_, ".", key); }
  std::string At(int line) const { return absl::StrCat(path_, ":", line); }

  const std::string name_;
  const absl::string_view inherited_;
  const std::string& path_;
  ConfigErrors& errors_;
  Policy policy_;
  std::map<std::string, int> lines_;  // Of the settings that are given, by name.
  bool failed_ = false;               // One that can't be read: orders mean nothing then.
};

void ReadNamespaces(const YamlNode& node, const std::string& path, const Policy& default_policy,
                    Config& config, ConfigErrors& errors) {
  if (node.kind == YamlNode::Kind::kNull) return;
  if (node.kind != YamlNode::Kind::kMap) {
    errors.Add(kNamespacesKey, absl::StrCat(path, ":", node.line),
               "must be a map of namespaces to policies");
    return;
  }
  for (const YamlEntry& entry : node.entries) {
    if (!IsName(entry.key, limits::kNamespaceBytesMax)) {
      errors.Add(kNamespacesKey, absl::StrCat(path, ":", entry.line), entry.key,
                 "must be 1 to 64 of [A-Za-z0-9._-], first a letter or digit");
      continue;
    }
    PolicyReader reader(absl::StrCat(kNamespacesKey, ".", entry.key),
                        "inherited from default_policy", path, errors);
    config.namespaces[entry.key] = reader.Read(entry.value, default_policy);
  }
}

// Whether namespaces that are not listed may be used.
bool ReadUnlisted(const YamlNode& node, const std::string& path, ConfigErrors& errors) {
  const absl::StatusOr<std::size_t> index = ParseWord(node.scalar, kUnlisted);
  if (!index.ok()) {
    errors.Add(kUnlistedKey, absl::StrCat(path, ":", node.line), node.scalar,
               index.status().message());
  }
  return index.ok() && *index == 0;
}

}  // namespace

void ReadPolicies(const PolicyNodes& nodes, const std::string& path, Config& config,
                  ConfigErrors& errors) {
  Policy default_policy;
  if (nodes.default_policy != nullptr) {
    PolicyReader reader(std::string(kDefaultPolicyKey), "the built-in default", path, errors);
    default_policy = reader.Read(*nodes.default_policy, default_policy);
  }
  if (nodes.namespaces != nullptr) {
    ReadNamespaces(*nodes.namespaces, path, default_policy, config, errors);
  }
  const bool allowed = nodes.unlisted == nullptr || ReadUnlisted(*nodes.unlisted, path, errors);
  config.unlisted_policy = allowed ? std::optional<Policy>(default_policy) : std::nullopt;
}

}  // namespace onced
