#include "client/cli/describe.h"

#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cpp/digest.h"
#include "client/cpp/duration.h"
#include "google/protobuf/util/time_util.h"

namespace onced::cli {
namespace {

constexpr std::size_t kPreviewMax = 1024;

std::string EnumText(const std::string& name, absl::string_view prefix, int number) {
  if (name.empty()) return absl::StrCat(number);
  return std::string(absl::StripPrefix(name, prefix));
}

std::string SizeAndDigest(std::int64_t size, absl::string_view sha256) {
  return absl::StrCat(size, " bytes, sha256 ", absl::BytesToHexString(sha256));
}

std::string BodyText(const v1::Result& result) {
  if (!result.body_omitted()) return BytesText(result.body());
  return absl::StrCat("omitted, ", SizeAndDigest(result.body_size(), result.body_sha256()));
}

void AddText(absl::string_view name, absl::string_view value, Lines& lines) {
  if (!value.empty()) lines.Add(name, Printable(value));
}

void AddTime(absl::string_view name, bool set, const google::protobuf::Timestamp& time,
             Lines& lines) {
  if (set) lines.Add(name, TimeText(time));
}

void Describe(const v1::Previous& previous, Lines& lines) {
  lines.Add("previous.fence", absl::StrCat(previous.fence()));
  AddText("previous.owner", previous.owner(), lines);
  AddTime("previous.lapse_time", previous.has_lapse_time(), previous.lapse_time(), lines);
  if (!previous.checkpoint().empty()) {
    lines.Add("previous.checkpoint", BytesText(previous.checkpoint()));
  }
}

}  // namespace

std::string BytesText(absl::string_view bytes) {
  if (bytes.size() > kPreviewMax || !IsPlainText(bytes)) {
    return SizeAndDigest(static_cast<std::int64_t>(bytes.size()), client::Sha256(bytes));
  }
  // The last line's end would show as an empty line.
  return std::string(absl::StripSuffix(bytes, "\n"));
}

std::string TimeText(const google::protobuf::Timestamp& time) {
  return google::protobuf::util::TimeUtil::ToString(time);
}

std::string StateText(v1::State state) {
  return EnumText(v1::State_Name(state), "STATE_", static_cast<int>(state));
}

std::string OnLapseText(v1::OnLapse on_lapse) {
  return EnumText(v1::OnLapse_Name(on_lapse), "ON_LAPSE_", static_cast<int>(on_lapse));
}

std::string OutcomeText(v1::Outcome outcome) {
  return EnumText(v1::Outcome_Name(outcome), "OUTCOME_", static_cast<int>(outcome));
}

void Describe(const v1::Reservation& reservation, Lines& lines) {
  AddText("token", reservation.token(), lines);
  lines.Add("fence", absl::StrCat(reservation.fence()));
  lines.Add("attempt", absl::StrCat(reservation.attempt()));
  AddTime("lease_expire_time", reservation.has_lease_expire_time(), reservation.lease_expire_time(),
          lines);
  if (reservation.has_previous()) Describe(reservation.previous(), lines);
}

void Describe(const v1::Replay& replay, Lines& lines) {
  lines.Add("fence", absl::StrCat(replay.fence()));
  AddTime("commit_time", replay.has_commit_time(), replay.commit_time(), lines);
  AddTime("expire_time", replay.has_expire_time(), replay.expire_time(), lines);
  Describe(replay.result(), lines);
}

void Describe(const v1::Holder& holder, Lines& lines) {
  lines.Add("state", StateText(holder.state()));
  AddText("owner", holder.owner(), lines);
  lines.Add("fence", absl::StrCat(holder.fence()));
  AddTime("reserve_time", holder.has_reserve_time(), holder.reserve_time(), lines);
  AddTime("lease_expire_time", holder.has_lease_expire_time(), holder.lease_expire_time(), lines);
  if (holder.has_retry_delay()) {
    lines.Add("retry_delay", absl::FormatDuration(client::FromProto(holder.retry_delay())));
  }
}

void Describe(const v1::Record& record, Lines& lines) {
  lines.Add("state", StateText(record.state()));
  if (record.state() == v1::STATE_ABSENT) return;
  lines.Add("fence", absl::StrCat(record.fence()));
  lines.Add("attempt", absl::StrCat(record.attempt()));
  AddText("owner", record.owner(), lines);
  AddText("fingerprint", record.fingerprint(), lines);
  AddTime("reserve_time", record.has_reserve_time(), record.reserve_time(), lines);
  AddTime("lease_expire_time", record.has_lease_expire_time(), record.lease_expire_time(), lines);
  if (record.on_lapse() != v1::ON_LAPSE_UNSPECIFIED) {
    lines.Add("on_lapse", OnLapseText(record.on_lapse()));
  }
  if (!record.checkpoint().empty()) lines.Add("checkpoint", BytesText(record.checkpoint()));
  if (record.has_previous()) Describe(record.previous(), lines);
  AddTime("commit_time", record.has_commit_time(), record.commit_time(), lines);
  if (record.late()) lines.Add("late", "true");
  AddTime("expire_time", record.has_expire_time(), record.expire_time(), lines);
  if (record.has_result()) Describe(record.result(), lines);
}

void Describe(const v1::Result& result, Lines& lines) {
  lines.Add("status_code", absl::StrCat(result.status_code()));
  for (const v1::Header& header : result.headers()) {
    lines.Add("header", absl::StrCat(Printable(header.name()), ": ", Printable(header.value())));
  }
  if (result.headers_omitted()) lines.Add("headers_omitted", "true");
  lines.Add("body", BodyText(result));
}

}  // namespace onced::cli
