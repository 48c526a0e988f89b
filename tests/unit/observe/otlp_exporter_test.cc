// The exporter against a collector on a socket: one that works, and all that can go wrong.
#include "server/observe/otlp_exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "absl/strings/match.h"
#include "server/base/clock.h"
#include "server/observe/otlp_json.h"
#include "tests/integration/otlp_collector.h"

namespace onced {
namespace {

using integration::CollectedSpan;
using integration::OtlpCollector;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

std::unique_ptr<Span> MakeSpan(std::uint8_t number = 1) {
  auto span = std::make_unique<Span>();
  span->self = {{1}, {number, 1}};
  span->service = "pkg.Service";
  span->method = "Call";
  span->started = kStart;
  span->ended = kStart + absl::Milliseconds(250);
  return span;
}

class OtlpExporterTest : public testing::Test {
 protected:
  void Start(OtlpExporter::Options options = {}) {
    if (options.endpoint.empty()) options.endpoint = collector_.endpoint();
    options.version = "1.2.3";
    options.batch_wait = absl::Milliseconds(1);
    options.first_delay = absl::Milliseconds(1);
    auto started = OtlpExporter::Start(std::move(options), random_, log_);
    ASSERT_TRUE(started.ok()) << started.status();
    exporter_ = *std::move(started);
  }
  // Waits until the counter says so.
  static void Await(const std::atomic<std::uint64_t>& counter, std::uint64_t want) {
    for (int i = 0; i < 60'000 && counter < want; ++i) usleep(1'000);
    ASSERT_EQ(counter, want);
  }
  const SpanCounts& counts() const { return exporter_->counts(); }

  OtlpCollector collector_;
  SystemClock clock_;
  Log log_{clock_, {.fd = -1}};
  SystemRandom random_;
  std::unique_ptr<OtlpExporter> exporter_;
};

TEST_F(OtlpExporterTest, SendsWhatASpanHas) {
  Start();
  auto span = MakeSpan();
  span->self = {{0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                {1, 2, 3, 4, 5, 6, 7, 8}};
  span->parent = {8, 7, 6, 5, 4, 3, 2, 1};
  span->state = "a=\"x\\y";
  span->code = 14;
  span->reason = "STORE_FAILED";
  span->name_space = "pay";
  span->outcome = CallStatus::kReplayed;
  span->queued = absl::Milliseconds(500);
  span->waited = absl::Seconds(2);
  span->LinkTo({{0xcd}, {0xef}});
  exporter_->Take(std::move(span));
  const std::vector<CollectedSpan> spans = collector_.AwaitSpans(1);
  const CollectedSpan& got = spans[0];
  EXPECT_EQ(got.trace_id, "ab0102030405060708090a0b0c0d0e0f");
  EXPECT_EQ(got.span_id, "0102030405060708");
  EXPECT_EQ(got.parent_id, "0807060504030201");
  EXPECT_EQ(got.state, "a=\"x\\y");
  EXPECT_EQ(got.name, "pkg.Service/Call");
  EXPECT_EQ(got.kind, 2);
  EXPECT_EQ(got.status, 2);
  EXPECT_DOUBLE_EQ(got.seconds, 0.25);
  EXPECT_THAT(got.links, ElementsAre("cd000000000000000000000000000000/ef00000000000000"));
  const std::map<std::string, std::string> want = {{"rpc.system", "grpc"},
                                                   {"rpc.service", "pkg.Service"},
                                                   {"rpc.method", "Call"},
                                                   {"rpc.grpc.status_code", "14"},
                                                   {"error.type", "STORE_FAILED"},
                                                   {"idempotency.namespace", "pay"},
                                                   {"idempotency.outcome", "REPLAYED"},
                                                   {"idempotency.replayed", "true"},
                                                   {"idempotency.queue_seconds", "0.5"},
                                                   {"idempotency.wait_seconds", "2"}};
  EXPECT_EQ(got.attributes, want);
  const auto requests = collector_.AwaitRequests(1);
  EXPECT_THAT(requests[0].head, testing::StartsWith("POST /v1/traces HTTP/1.1\r\n"));
  EXPECT_THAT(requests[0].head, HasSubstr("Content-Type: application/json"));
  EXPECT_THAT(requests[0].body,
              HasSubstr("\"service.name\",\"value\":{\"stringValue\":\"onced\"}"));
  EXPECT_THAT(requests[0].body, HasSubstr("\"stringValue\":\"1.2.3\""));
  Await(counts().exported, 1);
}

TEST_F(OtlpExporterTest, SendsAPlainSpanWithoutWhatItHasNot) {
  Start();
  auto span = MakeSpan();
  span->operations.emplace();
  (*span->operations)[static_cast<std::size_t>(CallStatus::kFresh)] = 3;
  exporter_->Take(std::move(span));
  const CollectedSpan got = collector_.AwaitSpans(1)[0];
  EXPECT_EQ(got.parent_id, "");
  EXPECT_EQ(got.status, 0);
  EXPECT_TRUE(got.links.empty());
  EXPECT_EQ(got.attributes.count("idempotency.replayed"), 0u);
  EXPECT_EQ(got.attributes.at("idempotency.operations.fresh"), "3");
  EXPECT_EQ(got.attributes.at("idempotency.operations.conflict"), "0");
}

// OpenTelemetry's conventions: these are the server's fault, the others the caller's.
TEST(OtlpStatus, IsAnErrorWhereTheServerIsToBlame) {
  for (int code = 0; code <= 16; ++code) {
    std::vector<std::unique_ptr<Span>> spans;
    spans.push_back(MakeSpan());
    spans[0]->code = code;
    const bool want = code == 2 || code == 4 || code >= 12;
    EXPECT_EQ(integration::ParseOtlp(OtlpRequestOf(spans, "1"))[0].status,
              want && code != 16 ? 2 : 0)
        << code;
  }
}

TEST_F(OtlpExporterTest, BatchesAreBoundedAndNothingIsLost) {
  collector_.SetAnswer({.hangs = true});
  Start({.batch_max = 10});
  exporter_->Take(MakeSpan());
  collector_.AwaitRequests(1);
  for (std::uint8_t i = 0; i < 99; ++i) exporter_->Take(MakeSpan(i));
  collector_.SetAnswer({});
  collector_.AwaitSpans(100);
  Await(counts().exported, 100);
  const auto requests = collector_.AwaitRequests(11);
  EXPECT_EQ(requests.size(), 11u);
  for (const auto& request : requests) {
    EXPECT_LE(integration::ParseOtlp(request.body).size(), 10u);
  }
}

TEST_F(OtlpExporterTest, ACollectorThatHangsSlowsNobodyAndDropsAreCounted) {
  collector_.SetAnswer({.hangs = true});
  Start({.queue_max = 100, .batch_max = 10});
  exporter_->Take(MakeSpan());
  collector_.AwaitRequests(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1'000; ++i) exporter_->Take(MakeSpan());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts().queue_full, 3'900u);
  collector_.SetAnswer({});
  collector_.AwaitSpans(101);
  Await(counts().exported, 101);
}

TEST_F(OtlpExporterTest, WhatIsRetryableIsTriedAgain) {
  for (const int status : {429, 502, 503, 504}) {
    const std::size_t before = collector_.AwaitRequests(0).size();
    collector_.SetAnswer({.status = status});
    Start({.attempts_max = 1'000, .delay_max = absl::Milliseconds(2)});
    exporter_->Take(MakeSpan());
    collector_.AwaitRequests(before + 3);
    EXPECT_EQ(counts().exported, 0u) << status;
    collector_.SetAnswer({});
    Await(counts().exported, 1);
  }
}

TEST_F(OtlpExporterTest, WhatIsRefusedIsDroppedAtOnce) {
  for (const int status : {400, 401, 404, 500}) {
    const std::size_t before = collector_.AwaitRequests(0).size();
    collector_.SetAnswer({.status = status, .body = "no"});
    Start();
    exporter_->Take(MakeSpan());
    Await(counts().rejected, 1);
    EXPECT_EQ(collector_.AwaitRequests(0).size(), before + 1) << status;
    collector_.SetAnswer({});
    exporter_->Take(MakeSpan());
    Await(counts().exported, 1);
  }
}

TEST_F(OtlpExporterTest, PartialSuccessIsCounted) {
  collector_.SetAnswer({.hangs = true});
  Start();
  exporter_->Take(MakeSpan());
  collector_.AwaitRequests(1);
  for (int i = 0; i < 9; ++i) exporter_->Take(MakeSpan());
  collector_.SetAnswer(
      {.body = "{\"partialSuccess\":{\"rejectedSpans\":\"1\",\"errorMessage\":\"too old\"}}"});
  Await(counts().rejected, 2);
  Await(counts().exported, 8);
}

TEST(RejectedSpans, AreReadFromWhatever) {
  EXPECT_EQ(RejectedSpansIn("{}"), 0u);
  EXPECT_EQ(RejectedSpansIn(""), 0u);
  EXPECT_EQ(RejectedSpansIn("{\"partialSuccess\":{}}"), 0u);
  EXPECT_EQ(RejectedSpansIn("{\"partialSuccess\":{\"rejectedSpans\":\"17\"}}"), 17u);
  EXPECT_EQ(RejectedSpansIn("{\"partialSuccess\": {\"rejectedSpans\" : 17 }}"), 17u);
  EXPECT_EQ(RejectedSpansIn("{\"rejectedSpans\":"), 0u);
  EXPECT_EQ(RejectedSpansIn("{\"rejectedSpans\":null}"), 0u);
  EXPECT_EQ(RejectedSpansIn("{\"rejectedSpans\":99999999999999999999999}"), 0u);
}

TEST_F(OtlpExporterTest, ACollectorThatIsDownIsGivenUpAndTriedAnew) {
  std::string gone;
  {
    const OtlpCollector other;
    gone = other.endpoint();
  }
  Start({.endpoint = gone, .attempts_max = 3});
  exporter_->Take(MakeSpan());
  Await(counts().unreachable, 1);
  exporter_->Take(MakeSpan());
  Await(counts().unreachable, 2);
}

TEST_F(OtlpExporterTest, ASlowAnswerRunsIntoTheTimeout) {
  collector_.SetAnswer({.hangs = true});
  Start({.timeout = absl::Milliseconds(20), .attempts_max = 1});
  exporter_->Take(MakeSpan());
  Await(counts().unreachable, 1);
}

// Bounded, so that a year of it isn't slept through.
TEST_F(OtlpExporterTest, WhatTheCollectorAsksForIsHonouredWithinBounds) {
  collector_.SetAnswer({.status = 503, .headers = "Retry-After: 31536000\r\n"});
  Start({.delay_max = absl::Milliseconds(5)});
  exporter_->Take(MakeSpan());
  collector_.AwaitRequests(2);
  collector_.SetAnswer({});
  Await(counts().exported, 1);
}

TEST_F(OtlpExporterTest, WhatIsLeftAtTheEndIsSent) {
  Start({.batch_max = 7});
  for (int i = 0; i < 50; ++i) exporter_->Take(MakeSpan());
  exporter_.reset();
  EXPECT_EQ(collector_.AwaitSpans(50).size(), 50u);
}

TEST_F(OtlpExporterTest, ACollectorThatHangsDoesNotKeepTheProcess) {
  collector_.SetAnswer({.hangs = true});
  Start({.timeout = absl::Hours(1), .flush_max = absl::Milliseconds(20)});
  exporter_->Take(MakeSpan());
  collector_.AwaitRequests(1);
  for (int i = 0; i < 1'000; ++i) exporter_->Take(MakeSpan());
  exporter_.reset();  // Or the test never ends.
}

TEST_F(OtlpExporterTest, ALongBackoffDoesNotKeepTheProcess) {
  collector_.SetAnswer({.status = 503, .headers = "Retry-After: 3600\r\n"});
  Start({.delay_max = absl::Hours(1), .flush_max = absl::Milliseconds(20)});
  exporter_->Take(MakeSpan());
  collector_.AwaitRequests(1);
  exporter_.reset();
}

class WithHeaders : public OtlpExporterTest {
 protected:
  void Write(const std::string& text) { std::ofstream(path_) << text; }
  ~WithHeaders() override { std::filesystem::remove(path_); }
  const std::string path_ = testing::TempDir() + "otlp_headers_" + std::to_string(getpid());
};

TEST_F(WithHeaders, AreSentAndReadAnew) {
  Write("# of the collector\nAuthorization: Bearer one\n\nX-Tenant: 7\n");
  Start({.headers_file = path_});
  exporter_->Take(MakeSpan());
  EXPECT_THAT(collector_.AwaitRequests(1)[0].head, HasSubstr("Authorization: Bearer one\r\n"));
  EXPECT_THAT(collector_.AwaitRequests(1)[0].head, HasSubstr("X-Tenant: 7"));
  Await(counts().exported, 1);
  Write("Authorization: Bearer two\n");
  exporter_->Take(MakeSpan());
  EXPECT_THAT(collector_.AwaitRequests(2)[1].head, HasSubstr("Authorization: Bearer two"));
}

TEST_F(WithHeaders, ThatAreNoneKeepItFromStarting) {
  for (const char* text : {"secret", ": secret"}) {
    Write(text);
    const auto started =
        OtlpExporter::Start({.endpoint = "http://x", .headers_file = path_}, random_, log_);
    EXPECT_EQ(started.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(started.status().message()), Not(HasSubstr("secret")));
  }
  std::filesystem::remove(path_);
  EXPECT_FALSE(
      OtlpExporter::Start({.endpoint = "http://x", .headers_file = path_}, random_, log_).ok());
}

}  // namespace
}  // namespace onced
