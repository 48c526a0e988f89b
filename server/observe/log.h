// Log lines for operators: one JSON object a line.
//
//   {"time":"2026-01-31T12:00:00.000000Z","level":"info","event":"serving","shards":16}
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"

namespace onced {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError };

// A name and a typed value. Refers to the text it is made from.
struct LogField {
  using Value =
      std::variant<absl::string_view, std::int64_t, std::uint64_t, double, bool, absl::Duration>;

  LogField(absl::string_view n, absl::string_view v) : name(n), value(v) {}
  LogField(absl::string_view n, const char* v) : name(n), value(absl::string_view(v)) {}
  LogField(absl::string_view n, const std::string& v) : name(n), value(absl::string_view(v)) {}
  LogField(absl::string_view n, bool v) : name(n), value(v) {}
  LogField(absl::string_view n, double v) : name(n), value(v) {}
  LogField(absl::string_view n, absl::Duration v) : name(n), value(v) {}
  LogField(absl::string_view n, std::signed_integral auto v) : name(n), value(std::int64_t{v}) {}
  LogField(absl::string_view n, std::unsigned_integral auto v) : name(n), value(std::uint64_t{v}) {}

  absl::string_view name;
  Value value;
};

// Threads:  all functions from any thread.
// Lifetime: `clock` must outlive it.
// Promise:  a line is one write(2), so that lines of threads and of processes
//           that share a pipe don't mix. A line that can't be written is lost.
// Limits:   a line has at most kLineBytesMax bytes: a field that doesn't fit is
//           left out, and "truncated":true says so.
//
// Never log a key, token, request_id, fingerprint, header or body: KeyHash() is
// for keys. Writing to a pipe that nobody reads raises SIGPIPE: ignore it.
class Log {
 public:
  using Fields = std::initializer_list<LogField>;

  struct Options {
    LogLevel level = LogLevel::kInfo;  // Lines below it are not written.
    int fd = 2;                        // Not owned.
    // Of WriteLimited(), for each event: so many lines at once, then one each `interval`.
    std::uint32_t burst = 10;
    absl::Duration interval = absl::Seconds(1);
  };
  static constexpr std::size_t kLineBytesMax = 4096;  // PIPE_BUF: a pipe takes that at once.

  explicit Log(const Clock& clock) : Log(clock, Options{}) {}
  Log(const Clock& clock, const Options& options) : clock_(clock), options_(options) {}
  ~Log();  // Reports what is still suppressed.
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // `event` is a constant of the program, in snake_case; what varies is a field.
  void Debug(absl::string_view event, Fields fields = {}) {
    Write(LogLevel::kDebug, event, fields);
  }
  void Info(absl::string_view event, Fields fields = {}) { Write(LogLevel::kInfo, event, fields); }
  void Warn(absl::string_view event, Fields fields = {}) { Write(LogLevel::kWarn, event, fields); }
  void Error(absl::string_view event, Fields fields = {}) {
    Write(LogLevel::kError, event, fields);
  }
  void Write(LogLevel level, absl::string_view event, Fields fields = {});

  // An event "audit", whatever the level is.
  void Audit(const std::vector<LogField>& fields) {
    WriteLine(clock_.Now(), LogLevel::kInfo, "audit", fields.data(), fields.size(), 0);
  }

  // For events that a client can cause: written at a bounded rate. A line that
  // follows suppressed ones says how many in "suppressed".
  void WriteLimited(LogLevel level, absl::string_view event, Fields fields = {})
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A token bucket.
  struct Bucket {
    double tokens = 0;
    absl::Time filled_at;
    std::uint64_t suppressed = 0;
    LogLevel level = LogLevel::kInfo;
  };

  // Takes a token and returns how many lines were suppressed before, or counts
  // this one as suppressed and returns -1.
  std::int64_t Admit(LogLevel level, absl::string_view event, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void WriteLine(absl::Time now, LogLevel level, absl::string_view event, Fields fields,
                 std::uint64_t suppressed) const {
    WriteLine(now, level, event, fields.begin(), fields.size(), suppressed);
  }
  void WriteLine(absl::Time now, LogLevel level, absl::string_view event, const LogField* fields,
                 std::size_t count, std::uint64_t suppressed) const;

  // Constant after construction.
  const Clock& clock_;
  const Options options_;

  Mutex mutex_;
  absl::flat_hash_map<std::string, Bucket> buckets_ ABSL_GUARDED_BY(mutex_);
};

// Stands for a key in a log line: enough to recognise it, not to read it (a key
// that can be guessed can be confirmed).
std::string KeyHash(absl::string_view key);

}  // namespace onced
