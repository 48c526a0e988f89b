// The table of settings, from which flags, environment, file and --help follow.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/config/config.h"

namespace onced {

struct Setting {
  const char* name;         // As in the file: "data_dir".
  const char* placeholder;  // Of its value, in --help.
  const char* preset;       // As text; empty: none.
  const char* help;
  // On failure the message is the rule that `text` broke.
  absl::Status (*set)(absl::string_view text, Config& config);
};

// In the order of --help.
absl::Span<const Setting> Settings();

// Such a setting can't stand in the file: it is the file's own name.
inline constexpr absl::string_view kConfigSetting = "config";

std::string FlagOf(const Setting& setting);         // "--data-dir"
std::string EnvironmentOf(const Setting& setting);  // "ONCED_DATA_DIR"

// A setting of a namespace's policy: in the file only. A dot in its name is a
// level of the file: lease.min is `lease: {min: ...}`.
struct PolicySetting {
  const char* name;
  const char* preset;
  const char* help;
  absl::Status (*set)(absl::string_view text, Policy& policy);
};
absl::Span<const PolicySetting> PolicySettings();

}  // namespace onced
