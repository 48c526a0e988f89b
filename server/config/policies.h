// The policies of namespaces, from the file.
#pragma once

#include <string>

#include "server/config/config.h"
#include "server/config/errors.h"
#include "server/config/yaml.h"

namespace onced {

// Top-level keys of the file that are not in Settings().
inline constexpr absl::string_view kDefaultPolicyKey = "default_policy";
inline constexpr absl::string_view kNamespacesKey = "namespaces";
inline constexpr absl::string_view kUnlistedKey = "unlisted_namespaces";

// The values of these keys; nullptr where the file `path` has none.
struct PolicyNodes {
  const YamlNode* default_policy = nullptr;
  const YamlNode* namespaces = nullptr;
  const YamlNode* unlisted = nullptr;
};

// Sets the namespaces and the policy of unlisted ones in `config`.
void ReadPolicies(const PolicyNodes& nodes, const std::string& path, Config& config,
                  ConfigErrors& errors);

}  // namespace onced
