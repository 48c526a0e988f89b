#include "server/rpc/fields.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"
#include "server/base/names.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;

constexpr std::size_t kSha256Bytes = 32;

// Of text that is UTF-8, which the parser has seen to: where a control
// character begins (Unicode category Cc: U+0000-U+001F, U+007F-U+009F).
std::optional<std::size_t> FindControlCharacter(absl::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) return i;
    const bool c1_lead = byte == 0xc2 && i + 1 < text.size();
    if (c1_lead && static_cast<unsigned char>(text[i + 1]) < 0xa0) return i;
  }
  return std::nullopt;
}

std::optional<absl::Duration> FromProto(const google::protobuf::Duration& duration) {
  // Bounds from duration.proto.
  constexpr std::int64_t kSecondsMax = 315'576'000'000;
  constexpr std::int32_t kNanosMax = 999'999'999;
  const std::int64_t seconds = duration.seconds();
  const std::int32_t nanos = duration.nanos();
  if (seconds < -kSecondsMax || seconds > kSecondsMax) return std::nullopt;
  if (nanos < -kNanosMax || nanos > kNanosMax) return std::nullopt;
  if ((seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0)) return std::nullopt;
  return absl::Seconds(seconds) + absl::Nanoseconds(nanos);
}

// As it is stored, so that a first reply and its repeat agree.
absl::Duration ToMicros(absl::Duration duration) {
  return absl::Trunc(duration, absl::Microseconds(1));
}

// Those that fit, up to the first one that doesn't.
void TakeHeaders(const v1::Result& from, Result& to) {
  std::size_t bytes = 0;
  for (const v1::Header& header : from.headers()) {
    bytes += header.name().size() + header.value().size();
    if (to.headers.size() == limits::kHeadersMax || bytes > limits::kHeaderBytesMax) {
      to.headers_omitted = true;
      return;
    }
    to.headers.push_back({header.name(), header.value()});
  }
}

void CheckOmittedBody(absl::string_view path, const v1::Result& result, Findings& findings) {
  const auto field = [&](absl::string_view name) { return absl::StrCat(path, name); };
  if (!result.body().empty())
    findings.Add(field("body"), "must be empty where body_omitted is set");
  if (result.body_size() < 0) findings.Add(field("body_size"), "must not be negative");
  if (result.body_sha256().size() != kSha256Bytes) {
    findings.Add(field("body_sha256"),
                 absl::StrCat("must have ", kSha256Bytes, " bytes where body_omitted is set, has ",
                              result.body_sha256().size()));
  }
}

}  // namespace

void CheckNamespace(absl::string_view name, Findings& findings) {
  findings.CheckLength("namespace", name, 1, limits::kNamespaceBytesMax);
  if (name.empty()) return;
  if (!absl::ascii_isalnum(static_cast<unsigned char>(name[0]))) {
    findings.Add("namespace", "must begin with a letter or a digit of ASCII");
  }
  if (!AreNameBytes(name)) findings.Add("namespace", "must consist of [A-Za-z0-9._-]");
}

void CheckKey(absl::string_view key, Findings& findings) {
  findings.CheckLength("key", key, 1, limits::kKeyBytesMax);
  CheckNoControlCharacters("key", key, findings);
}

void CheckNoControlCharacters(absl::string_view field, absl::string_view text, Findings& findings) {
  if (const auto at = FindControlCharacter(text)) {
    findings.Add(field, absl::StrCat("must not have control characters, has one at byte ", *at));
  }
}

absl::Duration CheckDuration(absl::string_view field, bool is_set,
                             const google::protobuf::Duration& value, const DurationBounds& bounds,
                             Findings& findings) {
  if (!is_set) return bounds.preset;
  const auto duration = FromProto(value);
  if (!duration.has_value()) {
    findings.Add(field, "is no valid google.protobuf.Duration: seconds or nanos are out of range");
    return bounds.preset;
  }
  if (*duration < bounds.min || *duration > bounds.max) {
    findings.Add(field, absl::StrCat("must be from ", absl::FormatDuration(bounds.min), " to ",
                                     absl::FormatDuration(bounds.max), " in this namespace, is ",
                                     absl::FormatDuration(*duration)));
    return bounds.preset;
  }
  return ToMicros(*duration);
}

absl::Duration RetentionOf(const google::protobuf::Duration& retention) {
  const auto duration = FromProto(retention);
  if (duration.has_value()) return ToMicros(*duration);
  const std::int64_t seconds = retention.seconds();
  const bool negative = seconds < 0 || (seconds == 0 && retention.nanos() < 0);
  return negative ? -absl::InfiniteDuration() : absl::InfiniteDuration();
}

Result TakeResult(absl::string_view path, const v1::Result& from, const Policy& policy,
                  Findings& findings) {
  Result to{.status_code = from.status_code()};
  TakeHeaders(from, to);
  if (from.body_omitted()) {
    CheckOmittedBody(path, from, findings);
    to.body_size = from.body_size();
    to.body_sha256 = from.body_sha256();
    to.body_omitted = true;
    return to;
  }
  to.body_size = static_cast<std::int64_t>(from.body().size());
  to.body_sha256 = Sha256(from.body());
  to.body_omitted = to.body_size > policy.body_bytes_max;
  if (!to.body_omitted) to.body = from.body();
  return to;
}

}  // namespace onced
