#include "server/observe/prometheus_telemetry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/observe/process_metrics.h"

namespace onced {
namespace {

class PrometheusTelemetryTest : public testing::Test {
 protected:
  // The value of a series, such as `name{label="value"}`; "none" if there is none.
  std::string Value(const std::string& series) const {
    for (const absl::string_view line : absl::StrSplit(scrape_, '\n')) {
      absl::string_view rest = line;
      if (absl::ConsumePrefix(&rest, series) && absl::ConsumePrefix(&rest, " ")) {
        return std::string(rest);
      }
    }
    return "none";
  }
  void Scrape() { scrape_ = telemetry_.Scrape(); }

  class FakeTime final : public TimeSource {
   public:
    TimeReading Read() const override { return {absl::UnixEpoch(), now}; }
    absl::Duration now;
  };
  FakeTime time_;
  SystemClock clock_;
  Log log_{clock_, {.fd = -1}};  // Its lines are lost: they are none of this test's.
  PrometheusTelemetry telemetry_{{.build_info = {{"version", "1.2.3"}, {"revision", "a\"b"}},
                                  .start_time = absl::FromUnixMillis(1'700'000'000'250),
                                  .reasons = {"SUPERSEDED", "QUEUE_FULL"},
                                  .namespaces = {"pay", "shop"},
                                  .time_source = &time_},
                                 log_};
  std::string scrape_;
};

TEST_F(PrometheusTelemetryTest, HasEverySeriesFromTheStart) {
  Scrape();
  std::set<std::string> requests;
  for (const absl::string_view line : absl::StrSplit(scrape_, '\n')) {
    if (absl::StartsWith(line, "idempotency_requests_total")) requests.insert(std::string(line));
  }
  EXPECT_EQ(requests.size(), 6u + 6 * 2);
  for (const char* status : {"fresh", "replayed", "conflict", "mismatch", "unresolved", "error"}) {
    EXPECT_EQ(Value(absl::StrCat("idempotency_requests_total{method=\"reserve\",status=\"", status,
                                 "\"}")),
              "0");
  }
  for (const char* method : {"commit", "release", "extend", "inspect", "batch", "session"}) {
    for (const char* status : {"ok", "error"}) {
      EXPECT_EQ(Value(absl::StrCat("idempotency_requests_total{method=\"", method, "\",status=\"",
                                   status, "\"}")),
                "0");
    }
    for (const char* reason : {"SUPERSEDED", "QUEUE_FULL", "OTHER"}) {
      EXPECT_EQ(Value(absl::StrCat("idempotency_errors_total{method=\"", method, "\",reason=\"",
                                   reason, "\"}")),
                "0");
    }
  }
  for (const char* end : {"takeover", "commit", "release", "extend"}) {
    EXPECT_EQ(Value(absl::StrCat("idempotency_lapses_total{end=\"", end, "\"}")), "0");
  }
  EXPECT_EQ(Value("idempotency_store_failures_total"), "0");
}

TEST_F(PrometheusTelemetryTest, SaysWhatRunsAndSinceWhen) {
  Scrape();
  EXPECT_EQ(Value("idempotency_build_info{revision=\"a\\\"b\",version=\"1.2.3\"}"), "1");
  EXPECT_EQ(Value("process_start_time_seconds"), "1700000000.25");
}

TEST_F(PrometheusTelemetryTest, TellsOfBackups) {
  Scrape();
  for (const char* name : {"time_seconds", "duration_seconds", "size_bytes", "failures_total"}) {
    EXPECT_EQ(Value(absl::StrCat("idempotency_backup_", name)), "0") << name;
  }
  telemetry_.BackupMade({.id = 1, .cut_time = absl::FromUnixSeconds(17), .size_bytes = 4096},
                        absl::Milliseconds(1'500));
  telemetry_.BackupFailed("disk 7", absl::Seconds(9));
  Scrape();
  EXPECT_EQ(Value("idempotency_backup_time_seconds"), "17");
  EXPECT_EQ(Value("idempotency_backup_duration_seconds"), "1.5");
  EXPECT_EQ(Value("idempotency_backup_size_bytes"), "4096");
  EXPECT_EQ(Value("idempotency_backup_failures_total"), "1");
}

TEST_F(PrometheusTelemetryTest, CountsEachCallInItsOwnSeries) {
  // As often as the series' place in the list, so that no two have the same count.
  int times = 0;
  std::map<std::string, int> want;
  for (const Method method : kMethods) {
    for (const CallStatus status : kCallStatuses) {
      const bool verdict = status != CallStatus::kOk && status != CallStatus::kError;
      if (status != CallStatus::kError && verdict != (method == Method::kReserve)) continue;
      ++times;
      for (int i = 0; i < times; ++i) {
        telemetry_.CallEnded(method, status, absl::Milliseconds(1), absl::ZeroDuration());
      }
      constexpr const char* kNames[] = {"reserve", "commit", "release", "extend",
                                        "inspect", "batch",  "session"};
      constexpr const char* kEnds[] = {"fresh",      "replayed", "conflict", "mismatch",
                                       "unresolved", "ok",       "error"};
      want[absl::StrCat("idempotency_requests_total{method=\"", kNames[static_cast<int>(method)],
                        "\",status=\"", kEnds[static_cast<int>(status)], "\"}")] = times;
    }
  }
  Scrape();
  for (const auto& [series, count] : want) EXPECT_EQ(Value(series), absl::StrCat(count)) << series;
}

TEST_F(PrometheusTelemetryTest, KeepsWaitingApartFromLatency) {
  telemetry_.CallEnded(Method::kReserve, CallStatus::kFresh, absl::Milliseconds(3),
                       absl::ZeroDuration());
  telemetry_.CallEnded(Method::kReserve, CallStatus::kReplayed, absl::Milliseconds(4),
                       absl::Seconds(7));
  Scrape();
  const std::string duration = "idempotency_request_duration_seconds_";
  EXPECT_EQ(Value(duration + "count{method=\"reserve\"}"), "2");
  EXPECT_EQ(Value(duration + "sum{method=\"reserve\"}"), "0.007");
  EXPECT_EQ(Value(duration + "bucket{method=\"reserve\",le=\"0.0025\"}"), "0");
  EXPECT_EQ(Value(duration + "bucket{method=\"reserve\",le=\"0.005\"}"), "2");
  EXPECT_EQ(Value(duration + "count{method=\"commit\"}"), "0");
  EXPECT_EQ(Value("idempotency_wait_duration_seconds_count"), "1");
  EXPECT_EQ(Value("idempotency_wait_duration_seconds_sum"), "7");
}

TEST_F(PrometheusTelemetryTest, CountsErrorsByPublishedReasonOnly) {
  telemetry_.CallRefused(Method::kCommit, "SUPERSEDED");
  telemetry_.CallRefused(Method::kCommit, "whatever a client sent");
  telemetry_.CallRefused(Method::kCommit, "");
  Scrape();
  EXPECT_EQ(Value("idempotency_errors_total{method=\"commit\",reason=\"SUPERSEDED\"}"), "1");
  EXPECT_EQ(Value("idempotency_errors_total{method=\"commit\",reason=\"OTHER\"}"), "2");
  EXPECT_EQ(Value("idempotency_errors_total{method=\"reserve\",reason=\"SUPERSEDED\"}"), "0");
  EXPECT_FALSE(absl::StrContains(scrape_, "whatever"));
}

TEST_F(PrometheusTelemetryTest, CountsTheWorkBelow) {
  telemetry_.Drained(3, absl::Milliseconds(2));
  telemetry_.Drained(5, absl::Milliseconds(1));
  telemetry_.Synced(absl::Microseconds(300));
  telemetry_.StoreFailed("EIO");
  telemetry_.MetUnresolved(absl::Hours(2));
  for (int i = 0; i < 4; ++i) {
    for (int times = 0; times <= i; ++times) telemetry_.LapseEnded(kLapseEnds[i]);
  }
  Scrape();
  EXPECT_EQ(Value("idempotency_drained_requests_sum"), "8");
  EXPECT_EQ(Value("idempotency_drained_requests_bucket{le=\"4\"}"), "1");
  EXPECT_EQ(Value("idempotency_queue_wait_seconds_sum"), "0.003");
  EXPECT_EQ(Value("idempotency_store_sync_duration_seconds_sum"), "0.0003");
  EXPECT_EQ(Value("idempotency_store_failures_total"), "1");
  EXPECT_EQ(Value("idempotency_unresolved_age_seconds_bucket{le=\"3600\"}"), "0");
  EXPECT_EQ(Value("idempotency_unresolved_age_seconds_sum"), "7200");
  EXPECT_EQ(Value("idempotency_lapses_total{end=\"takeover\"}"), "1");
  EXPECT_EQ(Value("idempotency_lapses_total{end=\"commit\"}"), "2");
  EXPECT_EQ(Value("idempotency_lapses_total{end=\"release\"}"), "3");
  EXPECT_EQ(Value("idempotency_lapses_total{end=\"extend\"}"), "4");
}

TEST_F(PrometheusTelemetryTest, CountsCallsAsGrpcsLibrariesDo) {
  const auto labels = [](const std::string& type, const std::string& code = "") {
    return absl::StrCat("{", code.empty() ? "" : "grpc_code=\"" + code + "\",",
                        "grpc_method=\"M\",grpc_service=\"p.S\",grpc_type=\"", type, "\"}");
  };
  RpcTelemetry* unary = telemetry_.OfRpc({.service = "p.S", .method = "M"});
  EXPECT_EQ(telemetry_.OfRpc({.service = "p.S", .method = "M"}), unary);
  Scrape();
  EXPECT_EQ(Value("grpc_server_started_total" + labels("unary")), "0");
  for (const char* code : {"OK", "Canceled", "FailedPrecondition", "Unauthenticated"}) {
    EXPECT_EQ(Value("grpc_server_handled_total" + labels("unary", code)), "0") << code;
  }
  EXPECT_EQ(Value("grpc_server_handling_seconds_count" + labels("unary")), "0");
  absl::Duration started;
  for (const int code : {0, 0, 9, 16, 99}) {
    time_.now += absl::Hours(1);
    started = unary->Started();
    time_.now += absl::Seconds(2);
    unary->Handled(started, code);
  }
  unary->Started();
  Scrape();
  EXPECT_EQ(Value("grpc_server_started_total" + labels("unary")), "6");
  EXPECT_EQ(Value("grpc_server_msg_received_total" + labels("unary")), "6");
  EXPECT_EQ(Value("grpc_server_msg_sent_total" + labels("unary")), "2");
  EXPECT_EQ(Value("grpc_server_handled_total" + labels("unary", "OK")), "2");
  EXPECT_EQ(Value("grpc_server_handled_total" + labels("unary", "FailedPrecondition")), "1");
  EXPECT_EQ(Value("grpc_server_handled_total" + labels("unary", "Unauthenticated")), "1");
  EXPECT_EQ(Value("grpc_server_handled_total" + labels("unary", "Unknown")), "1");
  EXPECT_EQ(Value("grpc_server_handling_seconds_sum" + labels("unary")), "10");
}

TEST_F(PrometheusTelemetryTest, CountsTheMessagesOfAStream) {
  RpcTelemetry* stream = telemetry_.OfRpc({.service = "p.S", .method = "Session", .streams = true});
  const absl::Duration started = stream->Started();
  for (int i = 0; i < 3; ++i) stream->Received();
  for (int i = 0; i < 2; ++i) stream->Sent();
  stream->Handled(started, 0);
  Scrape();
  const std::string labels =
      "{grpc_method=\"Session\",grpc_service=\"p.S\",grpc_type=\"bidi_stream\"}";
  EXPECT_EQ(Value("grpc_server_started_total" + labels), "1");
  EXPECT_EQ(Value("grpc_server_msg_received_total" + labels), "3");
  EXPECT_EQ(Value("grpc_server_msg_sent_total" + labels), "2");
}

TEST_F(PrometheusTelemetryTest, CountsVerdictsByNamespace) {
  const auto value = [&](const char* name_space, const char* verdict) {
    return Value(absl::StrCat("idempotency_namespace_verdicts_total{namespace=\"", name_space,
                              "\",verdict=\"", verdict, "\"}"));
  };
  Scrape();
  for (const char* name_space : {"_other", "pay", "shop"}) {
    for (const char* verdict : {"fresh", "replayed", "conflict", "mismatch", "unresolved"}) {
      EXPECT_EQ(value(name_space, verdict), "0");
    }
    EXPECT_EQ(value(name_space, "error"), "none");
  }
  telemetry_.Judged({0}, CallStatus::kFresh);
  telemetry_.Judged({1}, CallStatus::kReplayed);
  for (int i = 0; i < 2; ++i) telemetry_.Judged({2}, CallStatus::kConflict);
  Scrape();
  EXPECT_EQ(value("_other", "fresh"), "1");
  EXPECT_EQ(value("pay", "replayed"), "1");
  EXPECT_EQ(value("shop", "conflict"), "2");
  EXPECT_DEATH(telemetry_.Judged({0}, CallStatus::kOk), "bug");
}

TEST_F(PrometheusTelemetryTest, CountsWrites) {
  telemetry_.Wrote(3, 5'000, absl::Milliseconds(2));
  telemetry_.Wrote(1, 100, absl::Milliseconds(1));
  Scrape();
  EXPECT_EQ(Value("idempotency_store_write_changes_sum"), "4");
  EXPECT_EQ(Value("idempotency_store_write_bytes_sum"), "5100");
  EXPECT_EQ(Value("idempotency_store_write_bytes_bucket{le=\"256\"}"), "1");
  EXPECT_EQ(Value("idempotency_store_write_duration_seconds_sum"), "0.003");
}

TEST_F(PrometheusTelemetryTest, AsksGaugesAtEachScrape) {
  double depth = 1;
  telemetry_.AddGauge(kQueueDepthGauge, {{"executor", "0"}}, [&] { return depth; });
  telemetry_.AddGauge(kWaitersGauge, {}, [] { return 7; });
  telemetry_.AddGauge(kQueueDepthGauge, {{"executor", "1"}}, [] { return 2.5; });
  Scrape();
  EXPECT_EQ(Value("idempotency_queue_depth{executor=\"0\"}"), "1");
  EXPECT_EQ(Value("idempotency_queue_depth{executor=\"1\"}"), "2.5");
  EXPECT_EQ(Value("idempotency_waiters"), "7");
  depth = 4;
  Scrape();
  EXPECT_EQ(Value("idempotency_queue_depth{executor=\"0\"}"), "4");
  // One family each: Prometheus refuses a second TYPE of a name.
  const std::string type = "# TYPE idempotency_queue_depth gauge\n";
  EXPECT_EQ(scrape_.find(type), scrape_.rfind(type));
  EXPECT_NE(scrape_.find(type), std::string::npos);
}

TEST_F(PrometheusTelemetryTest, AsksCountersAtEachScrape) {
  double refused = 3;
  telemetry_.AddCounter({"idempotency_tests_total", "Of this test."}, {{"by", "a"}},
                        [&] { return refused; });
  Scrape();
  EXPECT_EQ(Value("idempotency_tests_total{by=\"a\"}"), "3");
  EXPECT_TRUE(absl::StrContains(scrape_, "# TYPE idempotency_tests_total counter\n"));
  refused = 5;
  Scrape();
  EXPECT_EQ(Value("idempotency_tests_total{by=\"a\"}"), "5");
}

TEST_F(PrometheusTelemetryTest, TellsOfTheProcess) {
  AddProcessMetrics(telemetry_);
  Scrape();
  const auto value = [&](const char* name) {
    double number = 0;
    EXPECT_TRUE(absl::SimpleAtod(Value(name), &number)) << name;
    return number;
  };
  EXPECT_GT(value("process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(value("process_virtual_memory_bytes"), value("process_resident_memory_bytes"));
  EXPECT_GE(value("process_threads"), 1);
  EXPECT_GT(value("process_cpu_seconds_total"), 0);
  EXPECT_GT(value("process_max_fds"), value("process_open_fds"));
  const double before = value("process_open_fds");
  const std::ifstream one_more("/proc/self/stat");
  Scrape();
  EXPECT_EQ(value("process_open_fds"), before + 1);
}

TEST_F(PrometheusTelemetryTest, LosesNoCountOfAnyThread) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 1000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kCalls; ++i) {
        telemetry_.CallEnded(Method::kReserve, CallStatus::kFresh, absl::Milliseconds(1),
                             absl::ZeroDuration());
        telemetry_.CallRefused(Method::kReserve, "QUEUE_FULL");
        if (i % 100 == 0) {
          EXPECT_FALSE(telemetry_.Scrape().empty());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Scrape();
  EXPECT_EQ(Value("idempotency_requests_total{method=\"reserve\",status=\"fresh\"}"), "4000");
  EXPECT_EQ(Value("idempotency_errors_total{method=\"reserve\",reason=\"QUEUE_FULL\"}"), "4000");
  EXPECT_EQ(Value("idempotency_request_duration_seconds_count{method=\"reserve\"}"), "4000");
}

TEST_F(PrometheusTelemetryTest, DiesOfAnEndThatTheMethodHasNot) {
  EXPECT_DEATH(telemetry_.CallEnded(Method::kCommit, CallStatus::kFresh, {}, {}), "bug");
  EXPECT_DEATH(telemetry_.CallEnded(Method::kReserve, CallStatus::kOk, {}, {}), "bug");
}

// docs/metrics.md has a row for each metric: name, type and help.
TEST_F(PrometheusTelemetryTest, IsDocumented) {
  telemetry_.OfRpc({.service = "p.S", .method = "M"});
  for (const GaugeFamily& family : kGaugeFamilies)
    telemetry_.AddGauge(family, {}, [] { return 0; });
  for (const CounterFamily& family : kCounterFamilies)
    telemetry_.AddCounter(family, {}, [] { return 0; });
  Scrape();
  std::map<std::string, std::string> help;
  std::set<std::string> real;
  for (const absl::string_view line : absl::StrSplit(scrape_, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 3));
    if (words.size() != 4 || words[0] != "#") continue;
    if (words[1] == "HELP") help[words[2]] = words[3];
    if (words[1] == "TYPE") {
      real.insert(absl::StrCat("| `", words[2], "` | ", words[3], " | ", help[words[2]], " |"));
    }
  }
  std::ifstream file(ONCED_SOURCE_DIR "/docs/metrics.md");
  std::set<std::string> documented;
  for (std::string line; std::getline(file, line);) {
    if (absl::StartsWith(line, "| `")) documented.insert(line);
  }
  EXPECT_EQ(documented, real);
}

}  // namespace
}  // namespace onced
