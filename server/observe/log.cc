#include "server/observe/log.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"
#include "server/observe/json.h"

namespace onced {
namespace {

constexpr std::size_t kKeyHashDigits = 12;
// What a line may need after its last field.
constexpr std::size_t kTailBytesMax = 64;

const char* NameOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      return "error";
  }
  __builtin_unreachable();
}

struct ValueAppender {
  std::string& out;
  void operator()(absl::string_view value) const { AppendJsonString(value, out); }
  void operator()(std::int64_t value) const { absl::StrAppend(&out, value); }
  void operator()(std::uint64_t value) const { absl::StrAppend(&out, value); }
  void operator()(double value) const { AppendJsonNumber(value, out); }
  void operator()(bool value) const { out.append(value ? "true" : "false"); }
  void operator()(absl::Duration value) const {
    AppendJsonNumber(absl::ToDoubleSeconds(value), out);
  }
};

std::string Encoded(const LogField& field) {
  std::string text = ",";
  AppendJsonString(field.name, text);
  text.push_back(':');
  std::visit(ValueAppender{text}, field.value);
  return text;
}

// One write(2): the rest of one that was cut short (a full disk) is dropped.
void WriteOnce(int fd, const std::string& line) {
  while (write(fd, line.data(), line.size()) < 0 && errno == EINTR) {
  }
}

}  // namespace

Log::~Log() {
  for (const auto& [event, bucket] : buckets_) {
    if (bucket.suppressed == 0) continue;
    WriteLine(clock_.Now(), bucket.level, "suppressed", {{"of", event}}, bucket.suppressed);
  }
}

void Log::Write(LogLevel level, absl::string_view event, Fields fields) {
  if (level < options_.level) return;
  WriteLine(clock_.Now(), level, event, fields, 0);
}

void Log::WriteLimited(LogLevel level, absl::string_view event, Fields fields) {
  if (level < options_.level) return;
  const absl::Time now = clock_.Now();
  const std::int64_t suppressed = Admit(level, event, now);
  if (suppressed >= 0) WriteLine(now, level, event, fields, static_cast<std::uint64_t>(suppressed));
}

std::int64_t Log::Admit(LogLevel level, absl::string_view event, absl::Time now) {
  MutexLock lock(mutex_);
  const double full = options_.burst;
  Bucket& bucket =
      buckets_.try_emplace(event, Bucket{.tokens = full, .filled_at = now}).first->second;
  const double gained = absl::FDivDuration(now - bucket.filled_at, options_.interval);
  bucket.tokens = std::min(full, bucket.tokens + std::max(0.0, gained));
  bucket.filled_at = now;
  bucket.level = level;
  if (bucket.tokens < 1) {
    ++bucket.suppressed;
    return -1;
  }
  bucket.tokens -= 1;
  return static_cast<std::int64_t>(std::exchange(bucket.suppressed, 0));
}

void Log::WriteLine(absl::Time now, LogLevel level, absl::string_view event, const LogField* fields,
                    std::size_t count, std::uint64_t suppressed) const {
  std::string line = absl::StrCat(
      "{\"time\":\"", absl::FormatTime("%Y-%m-%d%ET%H:%M:%E6S", now, absl::UTCTimeZone()),
      "Z\",\"level\":\"", NameOf(level), "\",\"event\":");
  AppendJsonString(event, line);
  bool truncated = false;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string text = Encoded(fields[i]);
    const bool fits = line.size() + text.size() + kTailBytesMax <= kLineBytesMax;
    if (fits) line.append(text);
    truncated = truncated || !fits;
  }
  if (truncated) line.append(",\"truncated\":true");
  if (suppressed > 0) absl::StrAppend(&line, ",\"suppressed\":", suppressed);
  line.append("}\n");
  WriteOnce(options_.fd, line);
}

std::string KeyHash(absl::string_view key) { return ToHex(Sha256(key)).substr(0, kKeyHashDigits); }

}  // namespace onced
