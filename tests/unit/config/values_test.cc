#include "server/config/values.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace onced {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

struct WholeRow {
  const char* text;
  std::optional<std::uint64_t> want;  // nullopt: refused. Bounds are 1 and 256.
};

TEST(ParseWhole, TakesDigitsInsideTheBounds) {
  const WholeRow rows[] = {{"1", 1},
                           {"256", 256},
                           {"0016", 16},
                           {"0", std::nullopt},
                           {"257", std::nullopt},
                           {"-1", std::nullopt},
                           {"+1", std::nullopt},
                           {" 1", std::nullopt},
                           {"1 ", std::nullopt},
                           {"", std::nullopt},
                           {"0x10", std::nullopt},
                           {"1.0", std::nullopt},
                           {"1e2", std::nullopt},
                           {"99999999999999999999999999", std::nullopt}};
  for (const WholeRow& row : rows) {
    const auto got = ParseWhole(row.text, 1, 256);
    EXPECT_EQ(got.ok(), row.want.has_value()) << row.text;
    if (got.ok() && row.want) {
      EXPECT_EQ(*got, *row.want) << row.text;
    }
  }
  EXPECT_EQ(ParseWhole("x", 1, 256).status().message(), "must be a whole number from 1 to 256");
}

TEST(ParseBytes, KnowsThreeUnits) {
  const std::vector<std::pair<const char*, std::optional<std::uint64_t>>> rows = {
      {"67108864", 64 * kMiB},
      {"65536KiB", 64 * kMiB},
      {"64MiB", 64 * kMiB},
      {"1GiB", 1024 * kMiB},
      {"63MiB", std::nullopt},
      {"2GiB", std::nullopt},
      {"64MB", std::nullopt},
      {"64M", std::nullopt},
      {"MiB", std::nullopt},
      {"-64MiB", std::nullopt},
      {"64 MiB", std::nullopt},
      {"18446744073709551615GiB", std::nullopt},
      // 2^64 bytes and one GiB.
      {"17179869185GiB", std::nullopt}};
  for (const auto& [text, want] : rows) {
    const auto got = ParseBytes(text, 64 * kMiB, 1024 * kMiB);
    EXPECT_EQ(got.ok(), want.has_value()) << text;
    if (got.ok() && want) {
      EXPECT_EQ(*got, *want) << text;
    }
  }
  EXPECT_EQ(ParseBytes("0", 0, 10).value(), 0u);
  EXPECT_EQ(ParseBytes("x", 64 * kMiB, 1024 * kMiB).status().message(),
            "must be a number of bytes, KiB, MiB or GiB from 64MiB to 1GiB");
}

TEST(ParseDuration, TakesUnitsAndDaysInsideTheBounds) {
  const std::vector<std::pair<const char*, std::optional<absl::Duration>>> rows = {
      {"100ms", absl::Milliseconds(100)},
      {"24h", absl::Hours(24)},
      {"1d", absl::Hours(24)},
      {"1h30m", absl::Minutes(90)},
      {"1.5s", absl::Milliseconds(1500)},
      {"99ms", std::nullopt},
      {"24h1us", std::nullopt},
      {"2d", std::nullopt},
      {"15", std::nullopt},
      {"", std::nullopt},
      {"-1s", std::nullopt},
      {"inf", std::nullopt},
      {"1s500ns", std::nullopt},
      {"99999999999999999999h", std::nullopt},
      {"99999999999999999999d", std::nullopt},
      {"1 s", std::nullopt},
      {"d", std::nullopt}};
  for (const auto& [text, want] : rows) {
    const auto got = ParseDuration(text, absl::Milliseconds(100), absl::Hours(24));
    EXPECT_EQ(got.ok(), want.has_value()) << text;
    if (got.ok() && want) {
      EXPECT_EQ(*got, *want) << text;
    }
  }
  EXPECT_EQ(ParseDuration("1", absl::Milliseconds(100), absl::Hours(24)).status().message(),
            "must be a duration such as 500ms, 15s or 24h, from 100ms to 24h");
}

TEST(IsLoopback, IsThisMachineAlone) {
  for (const char* text : {"127.0.0.1:1", "127.255.0.9:1", "localhost:1", "[::1]:1"}) {
    EXPECT_TRUE(IsLoopback(*ParseEndpoint(text))) << text;
  }
  for (const char* text : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "127.example.org:1",
                           "localhost.example.org:1", "[::ffff:127.0.0.1]:1"}) {
    EXPECT_FALSE(IsLoopback(*ParseEndpoint(text))) << text;
  }
}

TEST(ParseEndpoint, SplitsHostAndPort) {
  const std::vector<std::pair<const char*, std::optional<Endpoint>>> rows = {
      {"127.0.0.1:50051", Endpoint{"127.0.0.1", 50051}},
      {"localhost:0", Endpoint{"localhost", 0}},
      {"0.0.0.0:65535", Endpoint{"0.0.0.0", 65535}},
      {"[::1]:80", Endpoint{"::1", 80}},
      {"[::]:0", Endpoint{"::", 0}},
      {"my-pod.svc_1:1", Endpoint{"my-pod.svc_1", 1}},
      {"127.0.0.1", std::nullopt},
      {":80", std::nullopt},
      {"127.0.0.1:", std::nullopt},
      {"127.0.0.1:65536", std::nullopt},
      {"127.0.0.1:-1", std::nullopt},
      {"127.0.0.1:80s", std::nullopt},
      {"127.0.0.1:80,0.0.0.0:81", std::nullopt},
      {"::1:80", std::nullopt},
      {"[::1]80", std::nullopt},
      {"[::1:80", std::nullopt},
      {"[127.0.0.1]:80", std::nullopt},
      {"[zz]:80", std::nullopt},
      {"unix:/run/x:80", std::nullopt},
      {"a b:80", std::nullopt}};
  for (const auto& [text, want] : rows) {
    const auto got = ParseEndpoint(text);
    EXPECT_EQ(got.ok(), want.has_value()) << text;
    if (got.ok() && want) {
      EXPECT_EQ(*got, *want) << text;
      EXPECT_EQ(ToText(*got), text);
    }
  }
}

TEST(ParseUrl, TakesWhatACollectorHas) {
  for (const char* text : {"http://127.0.0.1:4318", "https://collector.example.org",
                           "http://[::1]:4318", "https://a.example.org/tenant/7/"}) {
    EXPECT_TRUE(ParseUrl(text).ok()) << text;
  }
  for (const char* text : {"", "127.0.0.1:4318", "http://", "http:///v1", "grpc://a:1", "HTTP://a",
                           "http://user:secret@a", "http://a/?key=secret", "http://a b",
                           "http://a\n", "file:///etc/passwd", "http://:80"}) {
    EXPECT_FALSE(ParseUrl(text).ok()) << text;
  }
}

TEST(ParseRatio, TakesNoneToAll) {
  const std::vector<std::pair<const char*, std::optional<double>>> rows = {{"0", 0.0},
                                                                           {"1", 1.0},
                                                                           {"0.25", 0.25},
                                                                           {"1.0", 1.0},
                                                                           {"", std::nullopt},
                                                                           {"1.01", std::nullopt},
                                                                           {"-0.1", std::nullopt},
                                                                           {"nan", std::nullopt},
                                                                           {"1e-3", std::nullopt},
                                                                           {"10%", std::nullopt},
                                                                           {".", std::nullopt}};
  for (const auto& [text, want] : rows) {
    const auto got = ParseRatio(text);
    EXPECT_EQ(got.ok(), want.has_value()) << text;
    if (got.ok() && want) {
      EXPECT_EQ(*got, *want) << text;
    }
  }
}

TEST(ParseWord, NamesTheChoices) {
  constexpr absl::string_view kWords[] = {"fsync", "process"};
  EXPECT_EQ(ParseWord("process", kWords).value(), 1u);
  EXPECT_EQ(ParseWord("FSYNC", kWords).status().message(), "must be one of: fsync, process");
}

}  // namespace
}  // namespace onced
