// Sends spans to an OpenTelemetry collector, by OTLP/HTTP with JSON.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/base/mutex.h"
#include "server/base/random.h"
#include "server/base/span.h"
#include "server/base/thread_role.h"
#include "server/observe/http_post.h"
#include "server/observe/log.h"

namespace onced {

// What became of spans, since the process started.
// Threads: any.
struct SpanCounts {
  std::atomic<std::uint64_t> exported{0};     // A collector took them.
  std::atomic<std::uint64_t> queue_full{0};   // Not sent: it was too slow, or away.
  std::atomic<std::uint64_t> rejected{0};     // It refused them.
  std::atomic<std::uint64_t> unreachable{0};  // Given up, after so many attempts.
  std::atomic<std::uint64_t> shutdown{0};     // Not sent by the end of the process.
};

// Operation: collects spans to batches, and sends one after the other; what the protocol
//            calls retryable is tried again, later and later.
// Threads:   Take() and counts() from any; the sending on a thread of its own.
// Lifetime:  `log` and `random` outlive it. The destructor sends what is left, for
//            `flush_max` at most.
// Promise:   Take() never waits for the network.
// Limits:    queue_max spans wait, beside the batch that is being sent; more are dropped,
//            and counted.
class OtlpExporter final : public SpanSink {
 public:
  struct Options {
    std::string endpoint;      // "http://host:4318"; the path /v1/traces is added.
    std::string headers_file;  // "Name: value" lines, read before each batch; empty: none.
    std::string version;       // The server's.
    std::size_t queue_max = 4'096;
    std::size_t batch_max = 512;
    absl::Duration batch_wait = absl::Seconds(1);  // Until a batch that isn't full is sent.
    absl::Duration timeout = absl::Seconds(10);    // Of one attempt.
    int attempts_max = 5;
    absl::Duration first_delay = absl::Seconds(1);  // Then twice that, and so on.
    absl::Duration delay_max = absl::Seconds(30);   // Also of what a collector asks for.
    absl::Duration flush_max = absl::Seconds(2);
  };

  // INVALID_ARGUMENT if the headers can't be read.
  static absl::StatusOr<std::unique_ptr<OtlpExporter>> Start(Options options, Random& random,
                                                             Log& log);
  ~OtlpExporter() override;

  void Take(std::unique_ptr<Span> span) override ABSL_LOCKS_EXCLUDED(mutex_);
  const SpanCounts& counts() const { return counts_; }

 private:
  using Batch = std::vector<std::unique_ptr<Span>>;

  OtlpExporter(Options options, Random& random, Log& log);
  void Run();
  // Empty: stopping, and nothing is left.
  Batch TakeBatch() RUNS_ON(thread_) ABSL_LOCKS_EXCLUDED(mutex_);
  void Send(const Batch& batch) RUNS_ON(thread_) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether there is time for another attempt; waits until it is due.
  bool AwaitAttempt(int failed, const HttpPost::Answer& answer) RUNS_ON(thread_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void GiveUp(const Batch& batch, const HttpPost::Answer& answer) RUNS_ON(thread_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Zero or less: it is over.
  absl::Duration FlushRest() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Constant after construction.
  const Options options_;
  Log& log_;

  // Shared.
  SpanCounts counts_;
  HttpPost post_;  // Send() on the thread; Abort() on any.
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::unique_ptr<Span>> queue_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Countdown> flush_ ABSL_GUARDED_BY(mutex_);  // Set: stopping.
  bool thread_done_ ABSL_GUARDED_BY(mutex_) = false;

  // Its own thread only.
  ThreadRole thread_;
  Random& random_ OWNED_BY(thread_);

  std::thread runner_;  // Last: starts once everything above exists.
};

}  // namespace onced
