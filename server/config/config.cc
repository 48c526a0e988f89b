#include "server/config/config.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/config/access.h"
#include "server/config/errors.h"
#include "server/config/flags.h"
#include "server/config/policies.h"
#include "server/config/settings.h"
#include "server/config/values.h"
#include "server/config/yaml.h"
#include "server/ledger/record.h"

namespace onced {
namespace {

// A value as it was given, and by whom.
struct Given {
  const Setting* setting;
  std::string source;
  std::string value;
};

struct CommandLine {
  std::vector<Given> values;
  bool help = false;
  bool version = false;
};

const Setting* FindFlag(absl::string_view flag) {
  for (const Setting& setting : Settings()) {
    if (FlagOf(setting) == flag) return &setting;
  }
  return nullptr;
}

bool IsGiven(const std::vector<Given>& values, const Setting& setting) {
  for (const Given& given : values) {
    if (given.setting == &setting) return true;
  }
  return false;
}

// Takes one flag and its value: `args[i]`, and perhaps the one after it, which
// `i` then moves to.
void ParseFlag(absl::Span<const std::string> args, std::size_t& i, CommandLine& line,
               ConfigErrors& errors) {
  const std::string flag = FlagNameIn(args[i]);
  const Setting* setting = FindFlag(flag);
  if (setting == nullptr) {
    errors.Add(flag, "", "no such flag: see --help");
    return;
  }
  std::optional<std::string> value = TakeFlagValue(args, i);
  if (!value.has_value()) {
    errors.Add(setting->name, flag, "needs a value");
    return;
  }
  if (IsGiven(line.values, *setting)) errors.Add(setting->name, flag, *value, "is given twice");
  line.values.push_back({setting, flag, *std::move(value)});
}

CommandLine ParseCommandLine(absl::Span<const std::string> args, ConfigErrors& errors) {
  CommandLine line;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--help") {
      line.help = true;
    } else if (args[i] == "--version") {
      line.version = true;
    } else if (absl::StartsWith(args[i], "--")) {
      ParseFlag(args, i, line, errors);
    } else {
      errors.Add(args[i], "", "is not a flag: see --help");
    }
  }
  return line;
}

// Variables that are set and not empty. Others that begin with ONCED_ are not
// looked for: orchestrators set such for a service of that name.
std::vector<Given> ReadVariables(EnvLookup env) {
  std::vector<Given> values;
  for (const Setting& setting : Settings()) {
    const std::string name = EnvironmentOf(setting);
    std::optional<std::string> value = env(name);
    if (value.has_value() && !value->empty()) values.push_back({&setting, name, *std::move(value)});
  }
  return values;
}

void Apply(const std::vector<Given>& values, Config& config, ConfigErrors& errors) {
  for (const Given& given : values) {
    const absl::Status set = given.setting->set(given.value, config);
    if (set.ok()) continue;
    // Of a URL that has a user and a password in it, nothing is shown.
    const bool secret =
        absl::StrContains(given.value, "://") && absl::StrContains(given.value, "@");
    if (secret) {
      errors.Add(given.setting->name, given.source, set.message());
    } else {
      errors.Add(given.setting->name, given.source, given.value, set.message());
    }
  }
}

// What the file has beside settings. nullptr: not in it.
struct FileNodes {
  PolicyNodes policies;
  const YamlEntry* access = nullptr;
};

// Takes one top-level key of the file: a setting, or a place for policies or access.
void ReadTopEntry(const YamlEntry& entry, const std::string& source, std::vector<Given>& values,
                  FileNodes& nodes, ConfigErrors& errors) {
  PolicyNodes& policies = nodes.policies;
  if (entry.key == kAccessKey) {
    nodes.access = &entry;
    return;
  }
  if (entry.key == kDefaultPolicyKey) {
    policies.default_policy = &entry.value;
    return;
  }
  if (entry.key == kNamespacesKey) {
    policies.namespaces = &entry.value;
    return;
  }
  if (entry.key == kUnlistedKey) {
    policies.unlisted = &entry.value;
    return;
  }
  for (const Setting& setting : Settings()) {
    if (entry.key != setting.name || entry.key == kConfigSetting) continue;
    if (entry.value.kind == YamlNode::Kind::kScalar) {
      values.push_back({&setting, source, entry.value.scalar});
    } else {
      errors.Add(setting.name, source, "must have a value");
    }
    return;
  }
  errors.Add(entry.key, source, "is not a setting");
}

void ApplyFile(const std::string& path, absl::string_view text, Config& config,
               ConfigErrors& errors) {
  const YamlDocument document = ParseYaml(text);
  const auto at = [&](int line) { return line > 0 ? absl::StrCat(path, ":", line) : path; };
  for (const YamlProblem& problem : document.problems) {
    errors.Add(kConfigSetting, at(problem.line), problem.text);
  }
  const YamlNode& root = document.root;
  if (root.kind != YamlNode::Kind::kMap && root.kind != YamlNode::Kind::kNull) {
    errors.Add(kConfigSetting, at(root.line), "must be a map of settings");
    return;
  }
  std::vector<Given> values;
  FileNodes nodes;
  for (const YamlEntry& entry : root.entries) {
    ReadTopEntry(entry, at(entry.line), values, nodes, errors);
  }
  Apply(values, config, errors);
  ReadPolicies(nodes.policies, path, config, errors);
  if (nodes.access != nullptr) ReadAccess(*nodes.access, path, config, errors);
}

// The file that the last of `values` names, if one does.
void ReadFile(const std::vector<Given>& values, FileReader read_file, Config& config,
              ConfigErrors& errors) {
  const Given* file = nullptr;
  for (const Given& given : values) {
    if (given.setting->name == kConfigSetting) file = &given;
  }
  if (file == nullptr || file->value.empty()) return;
  const absl::StatusOr<std::string> text = read_file(file->value);
  if (!text.ok()) {
    errors.Add(kConfigSetting, file->source, file->value,
               absl::StrCat("can't be read: ", text.status().message()));
    return;
  }
  ApplyFile(file->value, *text, config, errors);
}

// A reservation must outlive the grace that a restart may give it: else its key
// could be ABSENT, and after a crash be PENDING again.
void CheckOutlivesGrace(absl::string_view name, const Policy& policy, const Config& config,
                        ConfigErrors& errors) {
  const absl::Duration min = config.restart_grace + kMarkLeadMax;
  if (policy.lapsed_retention >= min) return;
  errors.Add(absl::StrCat(name, ".lapsed_retention"), "",
             absl::FormatDuration(policy.lapsed_retention),
             absl::StrCat("must be at least ", absl::FormatDuration(min),
                          ", one second more than restart_grace"));
}

void CheckAdminListen(const Config& config, ConfigErrors& errors) {
  const std::optional<Endpoint>& admin = config.admin_listen;
  if (!admin.has_value() || admin->port == 0) return;
  if (*admin == config.listen || *admin == config.http_listen) {
    errors.Add("admin_listen", "", ToText(*admin), "must differ from listen and http_listen");
  }
}

// By their names alone: links aren't followed.
bool LiesIn(const std::string& inner, const std::string& outer) {
  if (inner.empty() || outer.empty()) return false;
  std::error_code error;
  const std::filesystem::path below =
      std::filesystem::absolute(inner, error).lexically_normal() / "";
  const std::filesystem::path above =
      std::filesystem::absolute(outer, error).lexically_normal() / "";
  return absl::StartsWith(below.string(), above.string());
}

void CheckTraces(const Config& config, ConfigErrors& errors) {
  if (!config.otlp_endpoint.empty()) {
    const bool sealed = absl::StartsWith(config.otlp_endpoint, "https://");
    if (config.otlp_headers_file.empty() || sealed || IsLoopbackUrl(config.otlp_endpoint)) return;
    errors.Add("otlp_headers_file", "", config.otlp_headers_file,
               "would be sent in the clear: otlp_endpoint must be https, or of this machine");
    return;
  }
  if (!config.otlp_headers_file.empty()) {
    errors.Add("otlp_headers_file", "", config.otlp_headers_file, "needs otlp_endpoint");
  }
  if (config.trace_sample_ratio > 0) {
    errors.Add("trace_sample_ratio", "", absl::StrCat(config.trace_sample_ratio),
               "needs otlp_endpoint");
  }
}

// What no setting can say by itself.
void CheckWhole(const Config& config, ConfigErrors& errors) {
  if (config.data_dir.empty() && !errors.Mentions("data_dir")) {
    errors.Add("data_dir", "", "is required: --data-dir, ONCED_DATA_DIR, or data_dir in the file");
  }
  if (config.listen == config.http_listen && config.listen.port != 0) {
    errors.Add("http_listen", "", ToText(config.http_listen), "must differ from listen");
  }
  CheckAdminListen(config, errors);
  CheckTraces(config, errors);
  CheckSecurity(config, errors);
  if (LiesIn(config.backup_dir, config.data_dir)) {
    errors.Add("backup_dir", "", config.backup_dir,
               "must not be data_dir or lie in it: it is there for the day when that is lost");
  } else if (LiesIn(config.data_dir, config.backup_dir)) {
    errors.Add("data_dir", "", config.data_dir,
               "must not lie in backup_dir: a backup removes what it doesn't know there");
  }
  if (config.unlisted_policy.has_value()) {
    CheckOutlivesGrace("default_policy", *config.unlisted_policy, config, errors);
  }
  for (const auto& [name, policy] : config.namespaces) {
    CheckOutlivesGrace(absl::StrCat("namespaces.", name), policy, config, errors);
  }
}

}  // namespace

std::string ToText(const Endpoint& endpoint) {
  const bool v6 = absl::StrContains(endpoint.host, ':');
  return absl::StrCat(v6 ? "[" : "", endpoint.host, v6 ? "]:" : ":", endpoint.port);
}

absl::StatusOr<Invocation> LoadConfig(absl::Span<const std::string> args, EnvLookup env,
                                      FileReader read_file) {
  ConfigErrors errors;
  CommandLine line = ParseCommandLine(args, errors);
  if (line.help) return ShowHelp{};
  if (line.version) return ShowVersion{};

  std::vector<Given> values = ReadVariables(env);
  values.insert(values.end(), line.values.begin(), line.values.end());

  // From the weakest source to the strongest.
  Config config;
  ReadFile(values, read_file, config, errors);
  Apply(values, config, errors);
  CheckWhole(config, errors);

  if (absl::Status status = errors.ToStatus(); !status.ok()) return status;
  return config;
}

std::optional<std::string> ReadEnvironment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

absl::StatusOr<std::string> ReadConfigFile(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             std::fclose);
  if (file == nullptr) return absl::NotFoundError(std::strerror(errno));
  std::string text(kConfigBytesMax + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return absl::UnavailableError(std::strerror(errno));
  if (text.size() > kConfigBytesMax) {
    return absl::OutOfRangeError(absl::StrCat("it has over ", kConfigBytesMax, " bytes"));
  }
  return text;
}

std::string HelpText() {
  std::string text =
      "onced: an idempotency service.\n\n"
      "Usage: onced --data-dir DIR [flags]\n"
      "       onced restore --from BACKUP_DIR --data-dir DIR [flags]; see onced restore --help\n\n"
      "A flag --some-name is also the environment variable ONCED_SOME_NAME and, but for\n"
      "--config, the key some_name of the file. A flag wins over the environment, that\n"
      "over the file. The namespaces' policies and the access list stand in the file: see\n"
      "docs/configuration.md.\n\n";
  for (const Setting& setting : Settings()) {
    const std::string preset =
        *setting.preset == '\0' ? "" : absl::StrCat(" (default ", setting.preset, ")");
    absl::StrAppend(&text, "  ", FlagOf(setting), " ", setting.placeholder, preset, "\n      ",
                    setting.help, "\n");
  }
  absl::StrAppend(&text, "  --help\n      Print this and exit.\n",
                  "  --version\n      Print the version and exit.\n");
  return text;
}

}  // namespace onced
