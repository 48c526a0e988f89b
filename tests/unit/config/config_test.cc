#include "server/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "server/config/settings.h"

namespace onced {
namespace {

using testing::ElementsAre;

// What a start is made of: a command line, an environment, and files by path.
struct World {
  std::vector<std::string> args;
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> files;
};

absl::StatusOr<Invocation> Load(const World& world) {
  return LoadConfig(
      world.args,
      [&](const std::string& name) -> std::optional<std::string> {
        const auto found = world.env.find(name);
        return found == world.env.end() ? std::nullopt : std::optional(found->second);
      },
      [&](const std::string& path) -> absl::StatusOr<std::string> {
        const auto found = world.files.find(path);
        if (found == world.files.end()) return absl::NotFoundError("No such file or directory");
        return found->second;
      });
}

// A start that must succeed.
Config Loaded(const World& world) {
  const absl::StatusOr<Invocation> invocation = Load(world);
  EXPECT_TRUE(invocation.ok()) << invocation.status();
  if (!invocation.ok() || !std::holds_alternative<Config>(*invocation)) return Config{};
  return std::get<Config>(*invocation);
}

std::vector<std::string> Errors(const World& world) {
  const absl::StatusOr<Invocation> invocation = Load(world);
  EXPECT_EQ(invocation.status().code(), absl::StatusCode::kInvalidArgument);
  return absl::StrSplit(std::string(invocation.status().message()), '\n');
}

// With a data directory and this file.
World WithFile(const std::string& text) {
  return {.args = {"--data-dir=/d", "--config=c.yaml"}, .files = {{"c.yaml", text}}};
}

TEST(LoadConfig, NeedsNothingButADataDirectory) {
  Config want;
  want.data_dir = "/d";
  EXPECT_EQ(Loaded({.args = {"--data-dir", "/d"}}), want);
  EXPECT_EQ(Loaded({.args = {"--data-dir=/d"}}), want);
  EXPECT_EQ(Loaded({.env = {{"ONCED_DATA_DIR", "/d"}}}), want);
  EXPECT_THAT(Errors({}),
              ElementsAre("data_dir: is required: --data-dir, ONCED_DATA_DIR, or data_dir in the "
                          "file"));
}

TEST(LoadConfig, HasTheDocumentedDefaults) {
  const Config config = Loaded({.args = {"--data-dir=/d"}});
  EXPECT_EQ(ToText(config.listen), "127.0.0.1:50051");
  EXPECT_EQ(ToText(config.http_listen), "127.0.0.1:9464");
  EXPECT_EQ(config.shards, std::nullopt);
  EXPECT_EQ(config.executors, 0u);
  EXPECT_EQ(config.durability, Config::Durability::kFsync);
  EXPECT_EQ(config.queue_max, 40'000u);
  EXPECT_EQ(config.settle_queue_max, 10'000u);
  EXPECT_EQ(config.queue_wait_max, absl::Milliseconds(500));
  EXPECT_EQ(config.connections_max, 0u);
  EXPECT_EQ(config.connections_per_peer_max, 0u);
  EXPECT_EQ(config.restart_grace, absl::Seconds(15));
  EXPECT_EQ(config.drain_window, absl::Seconds(2));
  EXPECT_EQ(config.shutdown_grace, absl::Seconds(10));
  EXPECT_EQ(config.max_downtime, absl::Hours(7 * 24));
  EXPECT_EQ(config.clock_tolerance, absl::Seconds(1));
  EXPECT_FALSE(config.accept_clock);
  EXPECT_EQ(config.reclaim_grace, absl::Hours(1));
  EXPECT_EQ(config.sweep_interval, absl::Minutes(10));
  EXPECT_EQ(config.sweep_bytes_per_second, 33'554'432u);
  EXPECT_EQ(config.disk_floor_bytes, 268'435'456u);
  ASSERT_TRUE(config.admin_listen.has_value());
  EXPECT_EQ(ToText(*config.admin_listen), "127.0.0.1:50052");
  EXPECT_EQ(config.backup_dir, "");
  EXPECT_EQ(config.backup_keep, 7u);
  EXPECT_EQ(config.backup_rate_bytes, 67'108'864u);
  EXPECT_EQ(config.memory_budget_bytes, 536'870'912u);
  EXPECT_EQ(config.log_level, Config::LogLevel::kInfo);
  const PolicyTable policies = config.Policies();
  ASSERT_NE(policies.Find("any"), nullptr);
  EXPECT_EQ(*policies.Find("any"), Policy{});
}

// The defaults stand twice: in Config, for code, and in the table, for people.
TEST(Settings, ShowTheDefaultsThatConfigHas) {
  for (const Setting& setting : Settings()) {
    if (*setting.preset == '\0') continue;
    Config config;
    EXPECT_TRUE(setting.set(setting.preset, config).ok()) << setting.name;
    EXPECT_EQ(config, Config{}) << setting.name;
  }
  for (const PolicySetting& setting : PolicySettings()) {
    Policy policy;
    EXPECT_TRUE(setting.set(setting.preset, policy).ok()) << setting.name;
    EXPECT_EQ(policy, Policy{}) << setting.name;
  }
}

struct SettingRow {
  const char* name;  // As in the file; flag and variable follow.
  const char* value;
  void (*change)(Config&);
};

const SettingRow kSettingRows[] = {
    {"listen", "127.0.0.2:1",
     [](Config& c) {
       c.listen = {"127.0.0.2", 1};
     }},
    {"http_listen", "[::]:2",
     [](Config& c) {
       c.http_listen = {"::", 2};
     }},
    {"admin_listen", "[::1]:3",
     [](Config& c) {
       c.admin_listen = {"::1", 3};
     }},
    {"queue_wait_max", "0s", [](Config& c) { c.queue_wait_max = absl::ZeroDuration(); }},
    {"connections_max", "7", [](Config& c) { c.connections_max = 7; }},
    {"connections_per_peer_max", "3", [](Config& c) { c.connections_per_peer_max = 3; }},
    {"backup_dir", "/b", [](Config& c) { c.backup_dir = "/b"; }},
    {"backup_keep", "0", [](Config& c) { c.backup_keep = 0; }},
    {"backup_rate", "1MiB", [](Config& c) { c.backup_rate_bytes = 1 << 20; }},
    {"shards", "256", [](Config& c) { c.shards = 256; }},
    {"executors", "3", [](Config& c) { c.executors = 3; }},
    {"durability", "process", [](Config& c) { c.durability = Config::Durability::kProcess; }},
    {"queue_max", "7", [](Config& c) { c.queue_max = 7; }},
    {"settle_queue_max", "8", [](Config& c) { c.settle_queue_max = 8; }},
    {"restart_grace", "0s", [](Config& c) { c.restart_grace = absl::ZeroDuration(); }},
    {"drain_window", "5s", [](Config& c) { c.drain_window = absl::Seconds(5); }},
    {"shutdown_grace", "2m", [](Config& c) { c.shutdown_grace = absl::Minutes(2); }},
    {"max_downtime", "30d", [](Config& c) { c.max_downtime = absl::Hours(24 * 30); }},
    {"clock_tolerance", "250ms", [](Config& c) { c.clock_tolerance = absl::Milliseconds(250); }},
    {"accept_clock", "yes", [](Config& c) { c.accept_clock = true; }},
    {"reclaim_grace", "2s", [](Config& c) { c.reclaim_grace = absl::Seconds(2); }},
    {"sweep_interval", "1s", [](Config& c) { c.sweep_interval = absl::Seconds(1); }},
    {"sweep_rate", "64KiB", [](Config& c) { c.sweep_bytes_per_second = 64 << 10; }},
    {"disk_floor", "1GiB", [](Config& c) { c.disk_floor_bytes = 1 << 30; }},
    {"memory_budget", "64MiB", [](Config& c) { c.memory_budget_bytes = 64 << 20; }},
    {"reload_interval", "1m", [](Config& c) { c.reload_interval = absl::Minutes(1); }},
    {"insecure", "yes", [](Config& c) { c.insecure = true; }},
    {"core_dumps", "yes", [](Config& c) { c.core_dumps = true; }},
    {"log_level", "warn", [](Config& c) { c.log_level = Config::LogLevel::kWarn; }},
};

// None of them can be given alone.
const SettingRow kTogetherRows[] = {
    {"tls_cert", "/c", [](Config& c) { c.tls_cert = "/c"; }},
    {"tls_key", "/k", [](Config& c) { c.tls_key = "/k"; }},
    {"tls_client_ca", "/a", [](Config& c) { c.tls_client_ca = "/a"; }},
    {"tls_client_auth", "request",
     [](Config& c) { c.tls_client_auth = Config::TlsClientAuth::kRequest; }},
    {"token_file", "/t", [](Config& c) { c.token_file = "/t"; }},
    {"otlp_endpoint", "https://c:1", [](Config& c) { c.otlp_endpoint = "https://c:1"; }},
    {"otlp_headers_file", "/run/h", [](Config& c) { c.otlp_headers_file = "/run/h"; }},
    {"trace_sample_ratio", "0.5", [](Config& c) { c.trace_sample_ratio = 0.5; }},
};

TEST(LoadConfig, TakesEachSettingFromEachSource) {
  for (const SettingRow& row : kSettingRows) {
    Config want;
    want.data_dir = "/d";
    row.change(want);
    std::string flag = row.name;
    std::string variable = "ONCED_";
    for (char& c : flag) {
      variable += static_cast<char>(std::toupper(c));
      if (c == '_') c = '-';
    }
    EXPECT_EQ(Loaded({.args = {"--data-dir=/d", "--" + flag, row.value}}), want) << row.name;
    EXPECT_EQ(Loaded({.args = {"--data-dir=/d", "--" + flag + "=" + row.value}}), want) << row.name;
    EXPECT_EQ(Loaded({.args = {"--data-dir=/d"}, .env = {{variable, row.value}}}), want)
        << row.name;
    want.config = "c.yaml";
    EXPECT_EQ(Loaded(WithFile(std::string(row.name) + ": '" + row.value + "'\n")), want)
        << row.name;
  }
  // One row for each setting, besides those that every row uses.
  EXPECT_EQ(std::size(kSettingRows) + std::size(kTogetherRows) + 2, Settings().size());
}

TEST(LoadConfig, TakesThoseThatStandTogether) {
  Config want;
  want.data_dir = "/d";
  want.config = "c.yaml";
  want.access = {{"token:a", {"*"}, {.use = true}}};
  World world = WithFile("access: [{identity: 'token:a', namespaces: ['*'], rights: [use]}]\n");
  for (const SettingRow& row : kTogetherRows) {
    row.change(want);
    world.files["c.yaml"] += std::string(row.name) + ": " + row.value + "\n";
  }
  EXPECT_EQ(Loaded(world), want);
}

TEST(LoadConfig, TheAdminServiceCanBeOff) {
  EXPECT_EQ(Loaded({.args = {"--data-dir=/d", "--admin-listen=off"}}).admin_listen, std::nullopt);
  EXPECT_EQ(Loaded(WithFile("admin_listen: off\n")).admin_listen, std::nullopt);
}

TEST(LoadConfig, ABackupsRateIsNoneOrAtLeastAMebibyte) {
  for (const char* rate : {"0", "0KiB"}) {
    EXPECT_EQ(
        Loaded({.args = {"--data-dir=/d", std::string("--backup-rate=") + rate}}).backup_rate_bytes,
        0u);
  }
  for (const char* rate : {"1", "64", "1023KiB", "1048575", "1025GiB", "fast"}) {
    EXPECT_THAT(Errors({.args = {"--data-dir=/d", std::string("--backup-rate=") + rate}}),
                ElementsAre(testing::HasSubstr("from 1MiB to 1024GiB, or 0 for no limit")))
        << rate;
  }
}

TEST(LoadConfig, BackupsLieElsewhere) {
  for (const char* dir : {"/d", "/d/", "/d/backups", "/e/../d/b", "/d/b/../../d"}) {
    EXPECT_THAT(Errors({.args = {"--data-dir=/d", std::string("--backup-dir=") + dir}}),
                ElementsAre(testing::HasSubstr("must not be data_dir or lie in it")))
        << dir;
  }
  for (const char* dir : {"/", "/e/..", "/d/.."}) {
    EXPECT_THAT(Errors({.args = {"--data-dir=/d", std::string("--backup-dir=") + dir}}),
                ElementsAre(testing::HasSubstr("must not lie in backup_dir")))
        << dir;
  }
  for (const char* dir : {"/e", "/data", "/d/../e"}) {
    Loaded({.args = {"--data-dir=/d", std::string("--backup-dir=") + dir}});
  }
}

TEST(LoadConfig, PrefersFlagsToEnvironmentToFileToDefaults) {
  World world = WithFile("shards: 1\nqueue_max: 1\nexecutors: 1\ndata_dir: /file\n");
  world.env = {{"ONCED_SHARDS", "2"}, {"ONCED_QUEUE_MAX", "2"}, {"ONCED_CONFIG", "other.yaml"}};
  world.args.push_back("--shards=3");
  const Config config = Loaded(world);
  EXPECT_EQ(config.shards, 3u);
  EXPECT_EQ(config.queue_max, 2u);
  EXPECT_EQ(config.executors, 1u);
  EXPECT_EQ(config.settle_queue_max, 10'000u);
  EXPECT_EQ(config.data_dir, "/d");
  EXPECT_EQ(config.config, "c.yaml");
}

TEST(LoadConfig, FindsTheFileByTheEnvironment) {
  const Config config =
      Loaded({.env = {{"ONCED_CONFIG", "e.yaml"}}, .files = {{"e.yaml", "data_dir: /file"}}});
  EXPECT_EQ(config.data_dir, "/file");
}

TEST(LoadConfig, TakesAnEmptyVariableAsUnset) {
  EXPECT_EQ(Loaded({.args = {"--data-dir=/d"}, .env = {{"ONCED_SHARDS", ""}, {"ONCED_CONFIG", ""}}})
                .shards,
            std::nullopt);
}

TEST(LoadConfig, AnswersHelpAndVersionWhateverElseIsWrong) {
  EXPECT_EQ(Load({.args = {"--nonsense", "--help"}}).value(), Invocation(ShowHelp{}));
  EXPECT_EQ(Load({.args = {"--shards=x", "--version"}}).value(), Invocation(ShowVersion{}));
}

TEST(LoadConfig, TellsAllErrorsAtOnce) {
  World world = WithFile(
      "shards: 0\n"
      "speed: fast\n"
      "default_policy:\n"
      "  lease: {min: 10ms}\n"
      "namespaces:\n"
      "  -bad: {}\n");
  world.env = {{"ONCED_EXECUTORS", "257"}};
  world.args.push_back("--listen=nowhere");
  world.args.push_back("--color");
  world.args.push_back("red");
  EXPECT_THAT(
      Errors(world),
      ElementsAre("--color: no such flag: see --help", "red: is not a flag: see --help",
                  "speed (c.yaml:2): is not a setting",
                  "shards: \"0\" (c.yaml:1): must be a whole number from 1 to 256",
                  "default_policy.lease.min: \"10ms\" (c.yaml:4): must be a duration such as "
                  "500ms, 15s or 24h, from 100ms to 24h",
                  "namespaces: \"-bad\" (c.yaml:6): must be 1 to 64 of [A-Za-z0-9._-], first a "
                  "letter or digit",
                  "executors: \"257\" (ONCED_EXECUTORS): must be a whole number from 0 to 256",
                  "listen: \"nowhere\" (--listen): must be HOST:PORT or [IPV6]:PORT, with a port "
                  "from 0 (any that is free) to 65535"));
}

struct ErrorRow {
  const char* name;
  World world;
  const char* error;
  friend std::ostream& operator<<(std::ostream& out, const ErrorRow& row) {
    return out << row.name;
  }
};

class LoadConfigError : public testing::TestWithParam<ErrorRow> {};

TEST_P(LoadConfigError, IsOneLine) {
  EXPECT_THAT(Errors(GetParam().world), ElementsAre(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Flags, LoadConfigError,
    testing::Values(
        ErrorRow{"no_value", {{"--data-dir=/d", "--shards"}}, "shards (--shards): needs a value"},
        ErrorRow{"flag_as_value",
                 {{"--data-dir=/d", "--shards", "--executors=1"}},
                 "shards (--shards): needs a value"},
        ErrorRow{"twice",
                 {{"--data-dir=/d", "--shards=1", "--shards=1"}},
                 "shards: \"1\" (--shards): is given twice"},
        ErrorRow{"empty",
                 {{"--data-dir="}},
                 "data_dir: \"\" (--data-dir): must be a path, not empty and without NUL bytes"},
        ErrorRow{"one_dash", {{"--data-dir=/d", "-h"}}, "-h: is not a flag: see --help"},
        ErrorRow{"prefix", {{"--data-dir=/d", "--shard=1"}}, "--shard: no such flag: see --help"},
        ErrorRow{"underscore",
                 {{"--data_dir=/d", "--data-dir=/d"}},
                 "--data_dir: no such flag: see --help"},
        ErrorRow{"overridden_too",
                 {{"--data-dir=/d", "--shards=1"}, {{"ONCED_SHARDS", "none"}}},
                 "shards: \"none\" (ONCED_SHARDS): must be a whole number from 1 to 256"},
        ErrorRow{"control_characters",
                 {{"--data-dir=/d", "--shards=1\n\x1b[31m"}},
                 "shards: \"1\\n\\x1b[31m\" (--shards): must be a whole number from 1 to 256"},
        ErrorRow{"same_port",
                 {{"--data-dir=/d", "--listen=127.0.0.1:1", "--http-listen=127.0.0.1:1"}},
                 "http_listen: \"127.0.0.1:1\": must differ from listen"},
        ErrorRow{"admin_as_listen",
                 {{"--data-dir=/d", "--listen=127.0.0.1:1", "--admin-listen=127.0.0.1:1"}},
                 "admin_listen: \"127.0.0.1:1\": must differ from listen and http_listen"},
        ErrorRow{"admin_as_http",
                 {{"--data-dir=/d", "--http-listen=127.0.0.1:1", "--admin-listen=127.0.0.1:1"}},
                 "admin_listen: \"127.0.0.1:1\": must differ from listen and http_listen"},
        ErrorRow{"no_file",
                 {{"--data-dir=/d", "--config=/none"}},
                 "config: \"/none\" (--config): can't be read: No such file or directory"}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    File, LoadConfigError,
    testing::Values(
        ErrorRow{"list", WithFile("- a\n"), "config (c.yaml:1): must be a map of settings"},
        ErrorRow{"scalar", WithFile("\nhello\n"), "config (c.yaml:2): must be a map of settings"},
        ErrorRow{"twice", WithFile("shards: 1\nshards: 2\n"),
                 "config (c.yaml:2): has the key shards twice"},
        ErrorRow{"latin1", WithFile("\n# caf\xe9\n"), "config (c.yaml:2): is not valid UTF-8"},
        ErrorRow{"no_value", WithFile("shards:\n"), "shards (c.yaml:1): must have a value"},
        ErrorRow{"map_as_value", WithFile("shards: {a: 1}\n"),
                 "shards (c.yaml:1): must have a value"},
        ErrorRow{"negative", WithFile("queue_max: -1\n"),
                 "queue_max: \"-1\" (c.yaml:1): must be a whole number from 1 to 1000000"},
        ErrorRow{"huge", WithFile("queue_max: 99999999999999999999999\n"),
                 "queue_max: \"99999999999999999999999\" (c.yaml:1): must be a whole number from 1 "
                 "to 1000000"},
        ErrorRow{"config", WithFile("config: other.yaml\n"), "config (c.yaml:1): is not a setting"},
        ErrorRow{"dashes", WithFile("queue-max: 1\n"), "queue-max (c.yaml:1): is not a setting"},
        ErrorRow{"unlisted", WithFile("unlisted_namespaces: maybe\n"),
                 "unlisted_namespaces: \"maybe\" (c.yaml:1): must be one of: allow, deny"}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Policies, LoadConfigError,
    testing::Values(
        ErrorRow{"policy_is_scalar", WithFile("default_policy: x\n"),
                 "default_policy (c.yaml:1): must be a map"},
        ErrorRow{"section_is_scalar", WithFile("default_policy:\n  lease: 1m\n"),
                 "default_policy.lease (c.yaml:2): must be a map"},
        ErrorRow{"namespaces_is_list", WithFile("namespaces: [pay]\n"),
                 "namespaces (c.yaml:1): must be a map of namespaces to policies"},
        ErrorRow{"unknown_key", WithFile("namespaces:\n  pay:\n    colour: red\n"),
                 "namespaces.pay.colour (c.yaml:3): is not a setting of a policy"},
        ErrorRow{"unknown_key_below", WithFile("default_policy:\n  wait: {min: 1s}\n"),
                 "default_policy.wait.min (c.yaml:2): is not a setting of a policy"},
        ErrorRow{"no_value", WithFile("default_policy:\n  on_lapse:\n"),
                 "default_policy.on_lapse (c.yaml:2): must have a value"},
        ErrorRow{"on_lapse", WithFile("default_policy: {on_lapse: hold}\n"),
                 "default_policy.on_lapse: \"hold\" (c.yaml:1): must be one of: REGRANT, HOLD"},
        ErrorRow{"body", WithFile("default_policy: {max_body_bytes: 3145729}\n"),
                 "default_policy.max_body_bytes: \"3145729\" (c.yaml:1): must be a number of "
                 "bytes, KiB, MiB or GiB from 0 to 3MiB"},
        ErrorRow{"twice", WithFile("namespaces:\n  pay: {}\n  pay: {}\n"),
                 "config (c.yaml:3): has the key pay twice"},
        ErrorRow{"min_above_max", WithFile("default_policy:\n  lease: {min: 2m, max: 1m}\n"),
                 "default_policy.lease.min (c.yaml:2): 2m is above lease.max 1m"},
        ErrorRow{"default_above_max",
                 WithFile("default_policy:\n  wait:\n    max: 1s\n    default: 2s\n"),
                 "default_policy.wait.default (c.yaml:4): 2s is above wait.max 1s"},
        ErrorRow{"built_in_default_above_max", WithFile("default_policy:\n  lease: {max: 1m}\n"),
                 "default_policy.lease.default (c.yaml:2): 2m (the built-in default) is above "
                 "lease.max 1m: set lease.default too"},
        ErrorRow{"inherited_default_below_min",
                 WithFile("default_policy:\n  retention: {default: 1h}\n"
                          "namespaces:\n  pay:\n    retention:\n      min: 2h\n"),
                 "namespaces.pay.retention.default (c.yaml:6): 1h (inherited from default_policy) "
                 "is below retention.min 2h: set retention.default too"},
        ErrorRow{"inherited_max_below_default",
                 WithFile("default_policy:\n  wait: {max: 5s}\n"
                          "namespaces:\n  pay:\n    wait: {default: 6s}\n"),
                 "namespaces.pay.wait.default (c.yaml:5): 6s is above wait.max 5s (inherited from "
                 "default_policy): set wait.max too"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(LoadConfig, KeepsLapsedReservationsLongerThanARestartsGrace) {
  const auto at = [](const std::string& retention) {
    return WithFile(absl::StrCat(
        "restart_grace: 20s\nnamespaces: {pay: {lapsed_retention: ", retention, "}}\n"));
  };
  EXPECT_EQ(Loaded(at("21s")).namespaces.at("pay").lapsed_retention, absl::Seconds(21));
  EXPECT_THAT(Errors(at("20.999s")),
              testing::ElementsAre("namespaces.pay.lapsed_retention: \"20.999s\": must be at least "
                                   "21s, one second more than restart_grace"));
}

TEST(LoadConfig, InheritsPolicies) {
  const Config config =
      Loaded(WithFile("default_policy:\n"
                      "  lease: {min: 1s, max: 10m, default: 1m}\n"
                      "  on_lapse: HOLD\n"
                      "  waiters_max: 5\n"
                      "namespaces:\n"
                      "  pay:\n"
                      "    lease: {default: 5m}\n"
                      "    retention: {min: 1h, max: 400d, default: 30d}\n"
                      "    wait: {max: 20s, default: 10s}\n"
                      "    on_lapse: REGRANT\n"
                      "    lapsed_retention: 48h\n"
                      "    max_body_bytes: 3MiB\n"
                      "    waiters_per_key_max: 9\n"
                      "  plain:\n"
                      "  also-plain: {}\n"));
  Policy standard;
  standard.lease = {absl::Seconds(1), absl::Minutes(10), absl::Minutes(1)};
  standard.on_lapse = OnLapse::kHold;
  standard.waiters_max = 5;
  Policy pay = standard;
  pay.lease.preset = absl::Minutes(5);
  pay.retention = {absl::Hours(1), absl::Hours(9600), absl::Hours(720)};
  pay.wait = {absl::ZeroDuration(), absl::Seconds(20), absl::Seconds(10)};
  pay.on_lapse = OnLapse::kRegrant;
  pay.lapsed_retention = absl::Hours(48);
  pay.body_bytes_max = 3 << 20;
  pay.waiters_per_key_max = 9;

  const PolicyTable policies = config.Policies();
  const auto found = [&](const char* name) {
    Policy policy = *policies.Find(name);
    policy.listed_as = {};
    return policy;
  };
  EXPECT_EQ(found("pay"), pay);
  EXPECT_EQ(found("plain"), standard);
  EXPECT_EQ(found("also-plain"), standard);
  EXPECT_EQ(found("unlisted"), standard);
}

TEST(LoadConfig, DeniesUnlistedNamespacesIfToldTo) {
  const PolicyTable policies =
      Loaded(WithFile("unlisted_namespaces: deny\nnamespaces: {pay: {}}\n")).Policies();
  EXPECT_NE(policies.Find("pay"), nullptr);
  EXPECT_EQ(policies.Find("unlisted"), nullptr);
}

TEST(LoadConfig, ReadsPoliciesThroughAnchors) {
  const PolicyTable policies =
      Loaded(WithFile("namespaces:\n  a: &strict {on_lapse: HOLD}\n  b: *strict\n")).Policies();
  EXPECT_EQ(policies.Find("b")->on_lapse, OnLapse::kHold);
}

TEST(LoadConfig, TakesEveryNamespaceOfTheContract) {
  const std::string longest(64, 'n');
  const PolicyTable policies = Loaded(WithFile("unlisted_namespaces: deny\nnamespaces:\n  " +
                                               longest + ":\n  0.a_B-9:\n  123:\n"))
                                   .Policies();
  for (const std::string& name : {longest, std::string("0.a_B-9"), std::string("123")}) {
    EXPECT_NE(policies.Find(name), nullptr) << name;
  }
  for (const std::string& name : {longest + "n", std::string(".a"), std::string("a b"),
                                  std::string("\"\""), std::string("ä")}) {
    EXPECT_EQ(Errors(WithFile("namespaces:\n  " + name + ":\n")).size(), 1u) << name;
  }
}

TEST(HelpText, NamesEveryFlag) {
  const std::string help = HelpText();
  for (const Setting& setting : Settings()) {
    EXPECT_TRUE(absl::StrContains(help, "  " + FlagOf(setting) + " " + setting.placeholder))
        << setting.name;
  }
  for (const absl::string_view line : absl::StrSplit(help, '\n'))
    EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace onced
