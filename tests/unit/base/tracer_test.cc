#include "server/base/tracer.h"

#include <gtest/gtest.h>

#include <vector>

namespace onced {
namespace {

class Kept final : public SpanSink {
 public:
  void Take(std::unique_ptr<Span> span) override { spans.push_back(std::move(span)); }
  std::vector<std::unique_ptr<Span>> spans;
};

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);
const TraceContext kCaller{.parent = {{1}, {2}}, .sampled = true, .state = "a=b"};

class TracerTest : public testing::Test {
 protected:
  std::unique_ptr<Span> Begin(double ratio, const std::optional<TraceContext>& context) {
    return Tracer(kept_, random_, ratio).Begin(context, kNow);
  }
  Kept kept_;
  SystemRandom random_;
};

TEST_F(TracerTest, ASpanIsTheCallersChild) {
  const auto span = Begin(0, kCaller);
  ASSERT_NE(span, nullptr);
  EXPECT_EQ(span->self.trace_id, kCaller.parent.trace_id);
  EXPECT_EQ(span->parent, kCaller.parent.span_id);
  EXPECT_NE(span->self.span_id, kCaller.parent.span_id);
  EXPECT_NE(span->self.span_id, TraceRef{}.span_id);
  EXPECT_EQ(span->state, "a=b");
  EXPECT_EQ(span->started, kNow);
}

TEST_F(TracerTest, TheCallersFlagIsObeyed) {
  TraceContext unsampled = kCaller;
  unsampled.sampled = false;
  EXPECT_EQ(Begin(0, unsampled), nullptr);
  EXPECT_EQ(Begin(1, unsampled), nullptr);
}

TEST_F(TracerTest, TheRatioIsForCallsWithoutAContext) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Begin(0, std::nullopt), nullptr);
  TraceRef last;
  for (int i = 0; i < 100; ++i) {
    const auto span = Begin(1, std::nullopt);
    ASSERT_NE(span, nullptr);
    EXPECT_NE(span->self.trace_id, TraceRef{}.trace_id);
    EXPECT_NE(span->self.trace_id, last.trace_id);
    EXPECT_EQ(span->parent, TraceRef{}.span_id);
    last = span->self;
  }
  int traced = 0;
  constexpr int kCalls = 10'000;
  for (int i = 0; i < kCalls; ++i) traced += Begin(0.25, std::nullopt) != nullptr;
  EXPECT_NEAR(traced, kCalls / 4, 400);  // Nine standard deviations.
}

TEST_F(TracerTest, WhatEndsIsTaken) {
  Tracer tracer(kept_, random_, 1);
  tracer.End(tracer.Begin(std::nullopt, kNow), kNow + absl::Seconds(2));
  ASSERT_EQ(kept_.spans.size(), 1u);
  EXPECT_EQ(kept_.spans[0]->ended - kept_.spans[0]->started, absl::Seconds(2));
}

TEST(SpanLinks, AreFewAndToOthers) {
  Span span;
  span.self = {{1}, {1}};
  span.LinkTo({});
  span.LinkTo(span.self);
  EXPECT_TRUE(span.links.empty());
  for (int twice = 0; twice < 2; ++twice) {
    for (std::uint8_t i = 2; i < 60; ++i) span.LinkTo({{1}, {i}});
  }
  EXPECT_EQ(span.links.size(), Span::kLinksMax);
  EXPECT_EQ(span.links.back(), (TraceRef{{1}, {Span::kLinksMax + 1}}));
}

}  // namespace
}  // namespace onced
