// Spans of a running server, as a collector gets them.
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/otlp_collector.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kName[] = "idempotency.v1.IdempotencyService/";

// A caller's context: the trace is `digit`, 32 times.
struct Caller {
  explicit Caller(char digit, bool sampled = true)
      : trace(32, digit), parent(16, digit), flags(sampled ? "-01" : "-00") {}
  std::string trace;
  std::string parent;
  std::string flags;
  std::string Header() const { return "00-" + trace + "-" + parent + flags; }
};

class TracingTest : public testing::Test {
 protected:
  void StartWith(std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--otlp-endpoint", collector_.endpoint()});
    server_ = std::make_unique<ServerProcess>(ServerProcess::Options{.flags = std::move(flags)});
    api_ = std::make_unique<Api>(server_->Connect());
  }
  void SetUp() override { StartWith({}); }

  v1::ReserveResponse Reserve(const Caller& caller, v1::ReserveRequest request) {
    grpc::ClientContext context;
    context.AddMetadata("traceparent", caller.Header());
    context.AddMetadata("tracestate", "vendor=x");
    v1::ReserveResponse response;
    const grpc::Status status = api_->stub().Reserve(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  grpc::Status Commit(const Caller& caller, const v1::CommitRequest& request) {
    grpc::ClientContext context;
    context.AddMetadata("traceparent", caller.Header());
    v1::CommitResponse response;
    return api_->stub().Commit(&context, request, &response);
  }
  CollectedSpan SpanOf(const Caller& caller) {
    for (std::size_t count = 1;; ++count) {
      for (const CollectedSpan& span : collector_.AwaitSpans(count)) {
        if (span.trace_id == caller.trace) return span;
      }
    }
  }
  static std::string LinkTo(const CollectedSpan& span) {
    return span.trace_id + "/" + span.span_id;
  }

  OtlpCollector collector_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Api> api_;
};

TEST_F(TracingTest, ReplaysAndConflictsLinkToTheCallThatHoldsOrCommittedTheKey) {
  const Caller first('1'), second('2'), third('3'), fourth('4');
  const std::string token = Reserve(first, ReserveOf("k")).reservation().token();
  EXPECT_EQ(Reserve(second, ReserveOf("k")).outcome(), v1::OUTCOME_CONFLICT);
  EXPECT_TRUE(Commit(third, CommitOf("k", token, ResultOf(200, "body"))).ok());
  EXPECT_EQ(Reserve(fourth, ReserveOf("k")).outcome(), v1::OUTCOME_REPLAYED);

  const CollectedSpan granted = SpanOf(first);
  EXPECT_EQ(granted.name, std::string(kName) + "Reserve");
  EXPECT_EQ(granted.kind, 2);
  EXPECT_EQ(granted.parent_id, first.parent);
  EXPECT_EQ(granted.state, "vendor=x");
  EXPECT_NE(granted.span_id, first.parent);
  EXPECT_THAT(granted.links, IsEmpty());
  EXPECT_EQ(granted.attributes.at("idempotency.outcome"), "FRESH");
  EXPECT_EQ(granted.attributes.at("idempotency.replayed"), "false");
  EXPECT_EQ(granted.attributes.at("idempotency.namespace"), kNamespace);
  EXPECT_EQ(granted.attributes.at("rpc.grpc.status_code"), "0");
  EXPECT_THAT(granted.attributes, Contains(testing::Key("idempotency.queue_seconds")));

  const CollectedSpan conflict = SpanOf(second);
  EXPECT_THAT(conflict.links, ElementsAre(LinkTo(granted)));
  EXPECT_EQ(conflict.attributes.at("idempotency.outcome"), "CONFLICT");

  const CollectedSpan commit = SpanOf(third);
  EXPECT_EQ(commit.name, std::string(kName) + "Commit");
  EXPECT_EQ(commit.state, "");
  const CollectedSpan replayed = SpanOf(fourth);
  EXPECT_THAT(replayed.links, ElementsAre(LinkTo(commit)));
  EXPECT_EQ(replayed.attributes.at("idempotency.replayed"), "true");
}

TEST_F(TracingTest, ALinkSurvivesARestart) {
  const Caller first('1'), second('2');
  Reserve(first, ReserveOf("k"));
  const CollectedSpan granted = SpanOf(first);
  server_->Kill9();
  server_->Start();
  api_ = std::make_unique<Api>(server_->Connect());
  Reserve(second, ReserveOf("k"));
  EXPECT_THAT(SpanOf(second).links, ElementsAre(LinkTo(granted)));
}

TEST_F(TracingTest, AWaiterLinksToTheCommitThatItWaitedFor) {
  const Caller holder('1'), waiter('2');
  const std::string token = Reserve(holder, ReserveOf("k")).reservation().token();
  std::thread waiting([&] {
    v1::ReserveRequest request = ReserveOf("k");
    WithWait(absl::Seconds(60))(request);
    EXPECT_EQ(Reserve(waiter, request).outcome(), v1::OUTCOME_REPLAYED);
  });
  server_->AwaitWaiters(1);
  const Caller committer('3');
  EXPECT_TRUE(Commit(committer, CommitOf("k", token, {})).ok());
  waiting.join();
  const CollectedSpan span = SpanOf(waiter);
  EXPECT_THAT(span.links, ElementsAre(LinkTo(SpanOf(committer))));
  EXPECT_THAT(span.attributes, Contains(testing::Key("idempotency.wait_seconds")));
}

TEST_F(TracingTest, WhatIsNotSampledIsNotTraced) {
  const Caller unsampled('1', false), sampled('2');
  Reserve(unsampled, ReserveOf("k"));
  grpc::ClientContext malformed;
  malformed.AddMetadata("traceparent", "00-ABC");
  v1::ReserveResponse response;
  EXPECT_TRUE(api_->stub().Reserve(&malformed, ReserveOf("k"), &response).ok());
  grpc::ClientContext two;
  for (const char digit : {'3', '4'}) two.AddMetadata("traceparent", Caller(digit).Header());
  EXPECT_TRUE(api_->stub().Reserve(&two, ReserveOf("k"), &response).ok());
  api_->Reserve("k");
  EXPECT_THAT(Reserve(sampled, ReserveOf("k")).outcome(), v1::OUTCOME_CONFLICT);
  const auto spans = collector_.AwaitSpans(1);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].trace_id, sampled.trace);
  EXPECT_THAT(spans[0].links, IsEmpty()) << "its holder isn't traced";
}

TEST_F(TracingTest, AnErrorIsToldByItsCodeAndReason) {
  const Caller caller('1');
  EXPECT_EQ(Commit(caller, CommitOf("absent", "token", {})).error_code(),
            grpc::StatusCode::NOT_FOUND);
  const CollectedSpan span = SpanOf(caller);
  EXPECT_EQ(span.attributes.at("rpc.grpc.status_code"), "5");
  EXPECT_EQ(span.attributes.at("error.type"), "NOT_RESERVED");
  EXPECT_EQ(span.status, 0) << "the caller's fault, by OpenTelemetry's conventions";
}

TEST_F(TracingTest, ABatchIsOneSpanWithFewLinks) {
  constexpr int kKeys = 40;
  v1::BatchRequest grants;
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = "k" + std::to_string(i);
    char digits[33];
    snprintf(digits, sizeof digits, "%032x", i + 1);
    Caller holder('1');
    holder.trace = digits;
    Reserve(holder, ReserveOf(key));
    *grants.add_operations()->mutable_reserve() = ReserveOf(key);
  }
  *grants.add_operations()->mutable_inspect() = InspectOf("");
  const Caller caller('a');
  grpc::ClientContext context;
  context.AddMetadata("traceparent", caller.Header());
  v1::BatchResponse response;
  ASSERT_TRUE(api_->stub().Batch(&context, grants, &response).ok());
  const CollectedSpan span = SpanOf(caller);
  EXPECT_EQ(span.name, std::string(kName) + "Batch");
  EXPECT_EQ(span.links.size(), 32u);
  EXPECT_EQ(span.attributes.at("idempotency.operations.conflict"), "40");
  EXPECT_EQ(span.attributes.at("idempotency.operations.error"), "1");
  EXPECT_EQ(span.attributes.at("idempotency.operations.fresh"), "0");
  EXPECT_EQ(span.attributes.count("idempotency.replayed"), 0u);
}

TEST_F(TracingTest, EachMessageOfASessionIsASpan) {
  const Caller caller('1');
  grpc::ClientContext context;
  context.AddMetadata("traceparent", caller.Header());
  const auto stream = api_->stub().Session(&context);
  for (int i = 0; i < 3; ++i) {
    v1::SessionRequest request;
    request.set_id(static_cast<std::uint64_t>(i));
    *request.add_operations()->mutable_reserve() = ReserveOf("k" + std::to_string(i));
    ASSERT_TRUE(stream->Write(request));
  }
  stream->WritesDone();
  v1::SessionResponse response;
  while (stream->Read(&response)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
  const auto spans = collector_.AwaitSpans(3);
  std::set<std::string> ids;
  for (const CollectedSpan& span : spans) {
    EXPECT_EQ(span.name, std::string(kName) + "Session");
    EXPECT_EQ(span.trace_id, caller.trace);
    EXPECT_EQ(span.parent_id, caller.parent);
    EXPECT_EQ(span.attributes.at("idempotency.operations.fresh"), "1");
    ids.insert(span.span_id);
  }
  EXPECT_EQ(ids.size(), 3u);
}

TEST_F(TracingTest, CallsWithoutAContextAreTracedByTheRatio) {
  StartWith({"--trace-sample-ratio", "1"});
  const std::string token = api_->Grant("k").token();
  api_->Commit("k", token, {});
  api_->Reserve("k");
  const CollectedSpan replay = collector_.AwaitSpan("idempotency.outcome", "REPLAYED");
  EXPECT_EQ(replay.parent_id, "");
  EXPECT_THAT(replay.links, ElementsAre(LinkTo(collector_.AwaitSpan("rpc.method", "Commit"))));
}

TEST_F(TracingTest, ACollectorThatHangsFailsNoCallAndDropsAreCounted) {
  collector_.SetAnswer({.hangs = true});
  StartWith({"--trace-sample-ratio", "1"});
  api_->Reserve("first");
  collector_.AwaitRequests(1);
  v1::BatchRequest batch;
  *batch.add_operations()->mutable_inspect() = InspectOf("k");
  for (int i = 0; i < 4'200; ++i) ASSERT_TRUE(api_->Batch(batch).ok());
  Metrics metrics = server_->GetMetrics();
  EXPECT_EQ(metrics.at("idempotency_spans_dropped_total{reason=\"queue_full\"}"), 4'200 - 4'096);
  EXPECT_EQ(metrics.at("idempotency_spans_exported_total"), 0);
  EXPECT_EQ(server_->Stop(), 0) << "and it doesn't keep the server";
}

TEST_F(TracingTest, NothingSecretIsSent) {
  const Caller caller('1'), again('2');
  v1::ReserveRequest request = ReserveOf("customer-4711-key");
  request.set_fingerprint("fingerprint-0815");
  request.set_owner("owner-0815");
  request.set_request_id("request-id-0815");
  const std::string token = Reserve(caller, request).reservation().token();
  EXPECT_TRUE(Commit(again, CommitOf("customer-4711-key", token, ResultOf(200, "body-0815"))).ok());
  collector_.AwaitSpans(2);
  for (const auto& sent : collector_.AwaitRequests(1)) {
    for (const std::string& secret : {token, std::string("4711"), std::string("0815")}) {
      EXPECT_THAT(sent.body, Not(HasSubstr(secret)));
    }
  }
}

}  // namespace
}  // namespace onced::integration
