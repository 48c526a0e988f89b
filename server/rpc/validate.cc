#include "server/rpc/validate.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/base/bytes.h"
#include "server/rpc/errors.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;

constexpr std::size_t kSha256Bytes = 32;

// Collects what is wrong with one request.
class Findings {
 public:
  explicit Findings(absl::string_view path) : path_(path) {}

  // One violation a field: of several, the first.
  void Add(absl::string_view field, std::string description) {
    std::string place = absl::StrCat(path_, field);
    if (!violations_.empty() && violations_.back().field == place) return;
    violations_.push_back({std::move(place), std::move(description)});
  }
  void CheckLength(absl::string_view field, absl::string_view value, std::size_t min,
                   std::size_t max) {
    if (value.size() >= min && value.size() <= max) return;
    if (min > 0 && value.empty())
      return Add(field, absl::StrCat("is required: ", min, " to ", max, " bytes"));
    Add(field, absl::StrCat("must have at most ", max, " bytes, has ", value.size()));
  }
  const std::vector<Violation>& all() const { return violations_; }

 private:
  const std::string path_;
  std::vector<Violation> violations_;
};

void CheckNamespace(absl::string_view name, Findings& findings) {
  findings.CheckLength("namespace", name, 1, limits::kNamespaceBytesMax);
  if (name.empty()) return;
  if (!absl::ascii_isalnum(static_cast<unsigned char>(name[0]))) {
    findings.Add("namespace", "must begin with a letter or a digit of ASCII");
  }
  for (const char c : name) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-')
      continue;
    return findings.Add("namespace", "must consist of [A-Za-z0-9._-]");
  }
}

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

void CheckKey(absl::string_view key, Findings& findings) {
  findings.CheckLength("key", key, 1, limits::kKeyBytesMax);
  if (const auto at = FindControlCharacter(key)) {
    findings.Add("key", absl::StrCat("must not have control characters, has one at byte ", *at));
  }
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

// The value to use, or the preset where it is not set or wrong.
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

// A commit is never refused for its retention: what is out of bounds is moved
// into them, whatever it is.
std::optional<absl::Duration> RetentionOf(const v1::CommitRequest& request) {
  if (!request.has_retention_ttl()) return std::nullopt;
  const auto duration = FromProto(request.retention_ttl());
  if (duration.has_value()) return ToMicros(*duration);
  const std::int64_t seconds = request.retention_ttl().seconds();
  const bool negative = seconds < 0 || (seconds == 0 && request.retention_ttl().nanos() < 0);
  return negative ? -absl::InfiniteDuration() : absl::InfiniteDuration();
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

void CheckOmittedBody(const v1::Result& result, Findings& findings) {
  if (!result.body().empty())
    findings.Add("result.body", "must be empty where body_omitted is set");
  if (result.body_size() < 0) findings.Add("result.body_size", "must not be negative");
  if (result.body_sha256().size() != kSha256Bytes) {
    findings.Add("result.body_sha256",
                 absl::StrCat("must have ", kSha256Bytes, " bytes where body_omitted is set, has ",
                              result.body_sha256().size()));
  }
}

Result TakeResult(const v1::Result& from, const Policy& policy, Findings& findings) {
  Result to{.status_code = from.status_code()};
  TakeHeaders(from, to);
  if (from.body_omitted()) {
    CheckOmittedBody(from, findings);
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

Token CheckToken(const std::string& token, Findings& findings) {
  findings.CheckLength("token", token, 1, limits::kTokenBytesMax);
  return Token::FromText(token);
}

}  // namespace

// What all operations have in common: who may use the namespace is decided
// first, and says nothing about keys; then `take` looks at the rest.
template <typename Message, typename Take>
Checked Validator::CheckWith(Right right, const Message& message, absl::string_view path,
                             Take take) const {
  Findings findings(path);
  CheckNamespace(message.namespace_(), findings);
  const bool named = findings.all().empty();
  const bool allowed = named && caller_.May(right, message.namespace_());
  const Policy* policy = allowed ? policies_.Find(message.namespace_()) : nullptr;
  if (named && policy == nullptr) {
    return ErrorOf(Refused{Refusal::kNamespaceNotAllowed, std::nullopt, std::nullopt});
  }
  static const Policy kAnyPolicy;  // Its namespace is wrong: the rest is still checked.
  CheckKey(message.key(), findings);
  Request request{.key = {message.namespace_(), message.key()},
                  .operation = take(policy == nullptr ? kAnyPolicy : *policy, findings),
                  .policy = policy};
  if (!findings.all().empty()) return ErrorOf(findings.all());
  return request;
}

Checked Validator::Check(const v1::ReserveRequest& request, absl::string_view path) const {
  return CheckWith(
      Right::kUse, request, path, [&](const Policy& policy, Findings& findings) -> Operation {
        findings.CheckLength("fingerprint", request.fingerprint(), 0, limits::kFingerprintBytesMax);
        findings.CheckLength("request_id", request.request_id(), 0, limits::kRequestIdBytesMax);
        findings.CheckLength("owner", request.owner(), 0, limits::kOwnerBytesMax);
        return ReserveOp{
            .fingerprint = request.fingerprint(),
            .request_id = request.request_id(),
            .owner = request.owner(),
            .lease_ttl = CheckDuration("lease_ttl", request.has_lease_ttl(), request.lease_ttl(),
                                       policy.lease, findings),
            .wait_timeout = CheckDuration("wait_timeout", request.has_wait_timeout(),
                                          request.wait_timeout(), policy.wait, findings)};
      });
}

Checked Validator::Check(const v1::CommitRequest& request, absl::string_view path) const {
  return CheckWith(Right::kUse, request, path,
                   [&](const Policy& policy, Findings& findings) -> Operation {
                     const Token token = CheckToken(request.token(), findings);
                     Result result = TakeResult(request.result(), policy, findings);
                     return CommitOp{token, StoredResult(std::move(result)), RetentionOf(request)};
                   });
}

Checked Validator::Check(const v1::ReleaseRequest& request, absl::string_view path) const {
  return CheckWith(Right::kUse, request, path, [&](const Policy&, Findings& findings) -> Operation {
    return ReleaseOp{CheckToken(request.token(), findings)};
  });
}

Checked Validator::Check(const v1::ExtendRequest& request, absl::string_view path) const {
  return CheckWith(
      Right::kUse, request, path, [&](const Policy& policy, Findings& findings) -> Operation {
        findings.CheckLength("checkpoint", request.checkpoint(), 0, limits::kCheckpointBytesMax);
        ExtendOp extend{.token = CheckToken(request.token(), findings),
                        .lease_ttl = CheckDuration("lease_ttl", request.has_lease_ttl(),
                                                   request.lease_ttl(), policy.lease, findings)};
        if (request.has_checkpoint()) extend.checkpoint = request.checkpoint();
        return extend;
      });
}

Checked Validator::Check(const v1::InspectRequest& request, absl::string_view path) const {
  return CheckWith(Right::kInspect, request, path,
                   [](const Policy&, Findings&) -> Operation { return InspectOp{}; });
}

namespace {

// Of a Reserve that must not wait, whatever its namespace's default.
Checked CheckWithoutWait(const Validator& validator, const v1::ReserveRequest& reserve,
                         const std::string& path) {
  const auto& wait = reserve.wait_timeout();
  if (wait.seconds() > 0 || wait.nanos() > 0) {
    return ErrorOf(
        Violation{absl::StrCat(path, "wait_timeout"), "must be zero: a batch does not wait"});
  }
  Checked checked = validator.Check(reserve, path);
  if (auto* request = std::get_if<Request>(&checked)) {
    std::get<ReserveOp>(request->operation).wait_timeout = absl::ZeroDuration();
  }
  return checked;
}

}  // namespace

Checked Validator::Check(const v1::Operation& operation, int index, Waiting waiting) const {
  const std::string path = absl::StrCat("operations[", index, "].");
  switch (operation.operation_case()) {
    case v1::Operation::kReserve:
      if (waiting == Waiting::kAllowed)
        return Check(operation.reserve(), absl::StrCat(path, "reserve."));
      return CheckWithoutWait(*this, operation.reserve(), absl::StrCat(path, "reserve."));
    case v1::Operation::kCommit:
      return Check(operation.commit(), absl::StrCat(path, "commit."));
    case v1::Operation::kRelease:
      return Check(operation.release(), absl::StrCat(path, "release."));
    case v1::Operation::kExtend:
      return Check(operation.extend(), absl::StrCat(path, "extend."));
    case v1::Operation::kInspect:
      return Check(operation.inspect(), absl::StrCat(path, "inspect."));
    case v1::Operation::OPERATION_NOT_SET:
      return ErrorOf(
          Violation{absl::StrCat("operations[", index, "]"), "must be one of the operations"});
  }
  __builtin_unreachable();
}

}  // namespace onced
