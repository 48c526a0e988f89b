#include "server/observe/otlp_exporter.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/base/read_file.h"
#include "server/base/thread_name.h"
#include "server/observe/otlp_json.h"

namespace onced {
namespace {

constexpr int kOk = 200;
constexpr int kBadRequest = 400;
constexpr int kDoublingsMax = 20;  // Of a delay that has a bound anyway.

std::string UrlOf(absl::string_view endpoint) {
  absl::ConsumeSuffix(&endpoint, "/");
  return absl::StrCat(endpoint, "/v1/traces");
}

bool IsTaken(const HttpPost::Answer& answer) {
  return answer.status >= kOk && answer.status < kOk + 100;
}

// What OTLP/HTTP says is to be tried again; no answer at all is, too.
bool IsRetryable(const HttpPost::Answer& answer) {
  constexpr int kRetryable[] = {0, 429, 502, 503, 504};
  return std::find(std::begin(kRetryable), std::end(kRetryable), answer.status) !=
         std::end(kRetryable);
}

constexpr std::size_t kHeadersBytesMax = 64 << 10;

// Lines that aren't "Name: value" are no headers: a file of those alone is refused.
std::optional<std::vector<std::string>> ReadHeaders(const std::string& path) {
  std::vector<std::string> headers = {"Content-Type: application/json", "Expect:"};
  if (path.empty()) return headers;
  const absl::StatusOr<std::string> file = ReadRegularFile(path, kHeadersBytesMax);
  if (!file.ok()) return std::nullopt;
  for (const absl::string_view line : absl::StrSplit(*file, '\n')) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (text.empty() || text[0] == '#') continue;
    const std::size_t colon = text.find(':');
    if (colon == 0 || colon == absl::string_view::npos) return std::nullopt;
    headers.emplace_back(text);
  }
  return headers;
}

}  // namespace

absl::StatusOr<std::unique_ptr<OtlpExporter>> OtlpExporter::Start(Options options, Random& random,
                                                                  Log& log) {
  if (!ReadHeaders(options.headers_file).has_value()) {
    // Not the line that is wrong: it may be a secret.
    return absl::InvalidArgumentError(
        absl::StrCat("otlp_headers_file: ", options.headers_file,
                     ": can't be read, or has a line that isn't \"Name: value\""));
  }
  return std::unique_ptr<OtlpExporter>(new OtlpExporter(std::move(options), random, log));
}

OtlpExporter::OtlpExporter(Options options, Random& random, Log& log)
    : options_(std::move(options)),
      log_(log),
      post_(UrlOf(options_.endpoint)),
      random_(random),
      runner_([this] { Run(); }) {}

OtlpExporter::~OtlpExporter() {
  {
    const MutexLock lock(mutex_);
    flush_ = std::make_unique<Countdown>(absl::ToChronoNanoseconds(options_.flush_max));
    changed_.NotifyAll();
    while (FlushRest() > absl::ZeroDuration() && !thread_done_) {
      changed_.WaitFor(mutex_, absl::ToChronoNanoseconds(FlushRest()));
    }
  }
  post_.Abort();
  runner_.join();
}

absl::Duration OtlpExporter::FlushRest() const {
  return flush_ == nullptr ? absl::InfiniteDuration() : absl::FromChrono(flush_->rest());
}

void OtlpExporter::Take(std::unique_ptr<Span> span) {
  bool wakes = false;
  {
    const MutexLock lock(mutex_);
    if (queue_.size() < options_.queue_max) {
      queue_.push_back(std::move(span));
      // The first begins the wait for others, and a full batch ends it.
      wakes = queue_.size() == 1 || queue_.size() == options_.batch_max;
    }
  }
  if (span != nullptr) {
    ++counts_.queue_full;
  } else if (wakes) {
    changed_.NotifyAll();
  }
}

void OtlpExporter::Run() {
  thread_.Adopt();
  NameThisThread("otlp");
  for (Batch batch = TakeBatch(); !batch.empty(); batch = TakeBatch()) Send(batch);
  const MutexLock lock(mutex_);
  thread_done_ = true;
  changed_.NotifyAll();
}

OtlpExporter::Batch OtlpExporter::TakeBatch() {
  const MutexLock lock(mutex_);
  while (queue_.empty() && flush_ == nullptr) changed_.Wait(mutex_);
  const Countdown until_sent(absl::ToChronoNanoseconds(options_.batch_wait));
  while (queue_.size() < options_.batch_max && flush_ == nullptr && until_sent.rest().count() > 0) {
    changed_.WaitFor(mutex_, until_sent.rest());
  }
  Batch batch;
  while (!queue_.empty() && batch.size() < options_.batch_max) {
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return batch;
}

void OtlpExporter::Send(const Batch& batch) {
  const std::string body = OtlpRequestOf(batch, options_.version);
  HttpPost::Answer answer;
  for (int failed = 0;; ++failed) {
    if (failed > 0 && !AwaitAttempt(failed, answer)) break;
    // Read each time: credentials are renewed. One that can't be read now may be again.
    const auto headers = ReadHeaders(options_.headers_file);
    if (!headers.has_value()) {
      answer = {.error = "otlp_headers_file can't be read"};
      continue;
    }
    answer = post_.Send(body, *headers, options_.timeout);
    if (!IsRetryable(answer)) break;
  }
  if (!IsTaken(answer)) return GiveUp(batch, answer);
  const std::uint64_t rejected =
      std::min<std::uint64_t>(RejectedSpansIn(answer.body), batch.size());
  counts_.rejected += rejected;
  counts_.exported += batch.size() - rejected;
}

bool OtlpExporter::AwaitAttempt(int failed, const HttpPost::Answer& answer) {
  if (failed >= options_.attempts_max) return false;
  const absl::Duration backoff = std::min(
      options_.first_delay * (1 << std::min(failed - 1, kDoublingsMax)), options_.delay_max);
  // Half of it at random: collectors that come back aren't met by everybody at once.
  const absl::Duration jittered = backoff * (0.5 + random_.Draw<std::uint8_t>() / 512.0);
  const absl::Duration delay = std::min(answer.retry_after.value_or(jittered), options_.delay_max);
  const Countdown until_due(absl::ToChronoNanoseconds(delay));
  const MutexLock lock(mutex_);
  while (until_due.rest().count() > 0 && FlushRest() > absl::ZeroDuration()) {
    changed_.WaitFor(mutex_, std::min(until_due.rest(), absl::ToChronoNanoseconds(FlushRest())));
  }
  return FlushRest() > absl::ZeroDuration();
}

void OtlpExporter::GiveUp(const Batch& batch, const HttpPost::Answer& answer) {
  bool over = false;
  {
    const MutexLock lock(mutex_);
    over = FlushRest() <= absl::ZeroDuration();
  }
  (over                                                   ? counts_.shutdown
   : answer.status >= kBadRequest && !IsRetryable(answer) ? counts_.rejected
                                                          : counts_.unreachable) += batch.size();
  log_.WriteLimited(LogLevel::kWarn, "spans_lost",
                    {{"spans", batch.size()}, {"status", answer.status}, {"error", answer.error}});
}

}  // namespace onced
