#include "server/observe/rpc_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace onced {
namespace {

// Seconds, up to the longest wait. Few: there is a series for each, of each method.
const prometheus::Histogram::BucketBoundaries& Buckets() {
  static const prometheus::Histogram::BucketBoundaries buckets = {
      0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60};
  return buckets;
}
}  // namespace

// The families that gRPC's own libraries have, by the names that dashboards know.
struct RpcMetrics::Families {
  explicit Families(prometheus::Registry& registry)
      : started(prometheus::BuildCounter()
                    .Name("grpc_server_started_total")
                    .Help("Calls that began.")
                    .Register(registry)),
        handled(prometheus::BuildCounter()
                    .Name("grpc_server_handled_total")
                    .Help("Calls that were answered, by gRPC's status code.")
                    .Register(registry)),
        received(prometheus::BuildCounter()
                     .Name("grpc_server_msg_received_total")
                     .Help("Messages that came in calls.")
                     .Register(registry)),
        sent(prometheus::BuildCounter()
                 .Name("grpc_server_msg_sent_total")
                 .Help("Messages that were sent in calls, but for errors.")
                 .Register(registry)),
        handling(prometheus::BuildHistogram()
                     .Name("grpc_server_handling_seconds")
                     .Help("Time from the beginning of a call to its answer, waiting included.")
                     .Register(registry)) {}

  prometheus::Family<prometheus::Counter>& started;
  prometheus::Family<prometheus::Counter>& handled;
  prometheus::Family<prometheus::Counter>& received;
  prometheus::Family<prometheus::Counter>& sent;
  prometheus::Family<prometheus::Histogram>& handling;
};

// One method.
class RpcMetrics::Rpc final : public RpcTelemetry {
 public:
  Rpc(Families& families, const RpcName& name, const TimeSource* time_source)
      : time_source_(time_source), streams_(name.streams) {
    const prometheus::Labels labels = {{"grpc_type", streams_ ? "bidi_stream" : "unary"},
                                       {"grpc_service", std::string(name.service)},
                                       {"grpc_method", std::string(name.method)}};
    started_ = &families.started.Add(labels);
    received_ = &families.received.Add(labels);
    sent_ = &families.sent.Add(labels);
    handling_ = &families.handling.Add(labels, Buckets());
    for (std::size_t code = 0; code < kCodeCount; ++code) {
      prometheus::Labels with_code = labels;
      with_code["grpc_code"] = kCodes[code];
      handled_[code] = &families.handled.Add(with_code);
    }
  }

  absl::Duration Started() override {
    started_->Increment();
    if (!streams_) received_->Increment();
    return Now();
  }
  void Received() override { received_->Increment(); }
  void Sent() override { sent_->Increment(); }
  void Handled(absl::Duration started, int code) override {
    constexpr int kUnknown = 2;
    const bool known = code >= 0 && static_cast<std::size_t>(code) < kCodeCount;
    handled_[static_cast<std::size_t>(known ? code : kUnknown)]->Increment();
    if (!streams_ && code == 0) sent_->Increment();
    handling_->Observe(absl::ToDoubleSeconds(Now() - started));
  }

 private:
  // By their numbers, as gRPC's libraries for Prometheus write them.
  static constexpr const char* kCodes[] = {
      "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  static constexpr std::size_t kCodeCount = std::size(kCodes);

  absl::Duration Now() const {
    return time_source_ == nullptr ? absl::ZeroDuration() : time_source_->Read().monotonic;
  }

  const TimeSource* const time_source_;
  const bool streams_;
  prometheus::Counter* started_;
  prometheus::Counter* received_;
  prometheus::Counter* sent_;
  prometheus::Histogram* handling_;
  std::array<prometheus::Counter*, kCodeCount> handled_{};
};

RpcMetrics::RpcMetrics(prometheus::Registry& registry, const TimeSource* time_source)
    : families_(std::make_unique<Families>(registry)), time_source_(time_source) {}

RpcMetrics::~RpcMetrics() = default;

RpcTelemetry* RpcMetrics::Of(const RpcName& name) {
  const MutexLock lock(mutex_);
  std::unique_ptr<Rpc>& rpc = rpcs_[absl::StrCat(name.service, "/", name.method)];
  if (rpc == nullptr) rpc = std::make_unique<Rpc>(*families_, name, time_source_);
  return rpc.get();
}

}  // namespace onced
