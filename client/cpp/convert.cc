#include "client/cpp/convert.h"

#include <utility>

#include "client/cpp/digest.h"
#include "client/cpp/duration.h"
#include "client/cpp/utf8.h"

namespace onced::client {
namespace {

// No policy allows a larger body.
constexpr std::size_t kBodyBytesMax = 3 << 20;
constexpr std::size_t kHeadersMax = 64;
constexpr std::size_t kHeaderBytesMax = 16 << 10;

State StateOf(v1::State state) {
  switch (state) {
    case v1::STATE_ABSENT:
      return State::kAbsent;
    case v1::STATE_PENDING:
      return State::kPending;
    case v1::STATE_LAPSED:
      return State::kLapsed;
    case v1::STATE_COMMITTED:
      return State::kCommitted;
    default:
      return State::kUnknown;
  }
}

// Up to and with the first that doesn't fit, of which no more is sent than shows that.
void AddHeaders(const Result& result, v1::Result& proto) {
  std::size_t bytes = 0;
  for (const Header& header : result.headers) {
    v1::Header& added = *proto.add_headers();
    added.set_name(ToUtf8(header.name, kHeaderBytesMax + 1));
    added.set_value(header.value.substr(0, kHeaderBytesMax + 1));
    bytes += added.name().size() + added.value().size();
    if (bytes > kHeaderBytesMax || proto.headers_size() > static_cast<int>(kHeadersMax)) return;
  }
}

}  // namespace

absl::Time ToTime(const google::protobuf::Timestamp& proto) {
  return absl::FromUnixSeconds(proto.seconds()) + absl::Nanoseconds(proto.nanos());
}

Result FromProto(v1::Result proto) {
  Result result{.status_code = proto.status_code(),
                .body = std::move(*proto.mutable_body()),
                .body_size = proto.body_size(),
                .body_sha256 = proto.body_sha256(),
                .body_omitted = proto.body_omitted(),
                .headers_omitted = proto.headers_omitted()};
  for (v1::Header& header : *proto.mutable_headers()) {
    result.headers.push_back(
        {std::move(*header.mutable_name()), std::move(*header.mutable_value())});
  }
  return result;
}

Holder FromProto(const v1::Holder& proto) {
  Holder holder{.state = StateOf(proto.state()),
                .owner = proto.owner(),
                .fence = proto.fence(),
                .reserve_time = ToTime(proto.reserve_time()),
                .retry_delay = client::FromProto(proto.retry_delay())};
  if (proto.has_lease_expire_time()) holder.lease_expire_time = ToTime(proto.lease_expire_time());
  return holder;
}

Previous FromProto(const v1::Previous& proto) {
  return {.fence = proto.fence(),
          .owner = proto.owner(),
          .lapse_time = ToTime(proto.lapse_time()),
          .checkpoint = proto.checkpoint()};
}

Committed FromProto(const v1::CommitResponse& proto) {
  return {.commit_time = ToTime(proto.commit_time()),
          .expire_time = ToTime(proto.expire_time()),
          .already_committed = proto.already_committed(),
          .late = proto.late(),
          .body_omitted = proto.body_omitted(),
          .headers_omitted = proto.headers_omitted()};
}

Record FromProto(v1::InspectResponse response) {
  v1::Record& proto = *response.mutable_record();
  Record record{.state = StateOf(proto.state()),
                .server_time = ToTime(response.server_time()),
                .fence = proto.fence(),
                .attempt = proto.attempt(),
                .owner = proto.owner(),
                .fingerprint = proto.fingerprint(),
                .reserve_time = ToTime(proto.reserve_time()),
                .lease_expire_time = ToTime(proto.lease_expire_time()),
                .held_on_lapse = proto.on_lapse() == v1::ON_LAPSE_HOLD,
                .checkpoint = proto.checkpoint(),
                .commit_time = ToTime(proto.commit_time()),
                .late = proto.late()};
  if (proto.has_expire_time()) record.expire_time = ToTime(proto.expire_time());
  if (proto.has_previous()) record.previous = FromProto(proto.previous());
  if (proto.has_result()) record.result = FromProto(std::move(*proto.mutable_result()));
  return record;
}

v1::Result ToProto(const Result& result) {
  v1::Result proto;
  proto.set_status_code(result.status_code);
  AddHeaders(result, proto);
  if (result.body.size() <= kBodyBytesMax) {
    proto.set_body(result.body);
  } else {
    proto.set_body_omitted(true);
    proto.set_body_size(static_cast<std::int64_t>(result.body.size()));
    proto.set_body_sha256(Sha256(result.body));
  }
  return proto;
}

}  // namespace onced::client
