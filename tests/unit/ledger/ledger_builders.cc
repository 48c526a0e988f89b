#include "tests/unit/ledger/ledger_builders.h"

#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"

namespace onced::ledger_test {
namespace {

constexpr const char* kStates[] = {"ABSENT", "PENDING", "LAPSED", "COMMITTED"};

std::string Show(State state) { return kStates[static_cast<int>(state)]; }
std::string Show(bool value) { return value ? "true" : "false"; }
std::string Show(Fence fence) { return absl::StrCat(fence.value); }
std::string Show(const Token& token) { return token.ToText(); }
std::string Show(const std::string& text) { return absl::StrCat("\"", text, "\""); }
std::string Show(absl::Duration duration) { return absl::FormatDuration(duration); }
// Relative to kNow: the tests think so.
std::string Show(absl::Time time) { return "now+" + absl::FormatDuration(time - kNow); }

std::string Show(const Result& result) {
  std::string headers;
  for (const Header& h : result.headers) absl::StrAppend(&headers, h.name, ":", h.value, ",");
  return absl::StrCat("{", result.status_code, " [", headers, "]",
                      result.headers_omitted ? " headers omitted" : "", " body=", result.body,
                      result.body_omitted ? " omitted" : "", " size=", result.body_size,
                      " sha=", ToHex(result.body_sha256).substr(0, 8), "}");
}

std::string Show(const Previous& p) {
  return absl::StrCat("{fence=", Show(p.fence), " owner=", p.owner, " lapse=", Show(p.lapse_time),
                      "}");
}

template <typename T>
std::string Show(const std::optional<T>& value) {
  return value.has_value() ? Show(*value) : "none";
}

std::string Show(const Holder& h) {
  return absl::StrCat(Show(h.state), " owner=", h.owner, " fence=", Show(h.fence),
                      " reserved=", Show(h.reserve_time), " lease=", Show(h.lease_expire_time));
}

std::string Show(const Pending& p) {
  return absl::StrCat(
      "PENDING request_id=", p.request_id, " lease=", Show(p.lease_expire_time),
      " on_lapse=", static_cast<int>(p.on_lapse), " lapsed_retention=", Show(p.lapsed_retention),
      " retention=", Show(p.retention.min), "..", Show(p.retention.max), "/",
      Show(p.retention.preset), " previous=", Show(p.previous), " checkpoint=", Show(p.checkpoint));
}

std::string Show(const Committed& c) {
  return absl::StrCat("COMMITTED at=", Show(c.commit_time), " until=", Show(c.expire_time),
                      " late=", Show(c.late), " ", Show(*c.result));
}

struct ShowReply {
  std::string operator()(const Fresh& r) const {
    return absl::StrCat("FRESH token=", Show(r.token), " fence=", Show(r.fence),
                        " attempt=", r.attempt, " lease=", Show(r.lease_expire_time),
                        " previous=", Show(r.previous), " checkpoint=", Show(r.checkpoint));
  }
  std::string operator()(const Replayed& r) const {
    return absl::StrCat("REPLAYED ", Show(*r.result), " at=", Show(r.commit_time),
                        " until=", Show(r.expire_time), " fence=", Show(r.fence));
  }
  std::string operator()(const Conflict& r) const {
    return absl::StrCat("CONFLICT ", Show(r.holder), " retry=", Show(r.retry_delay));
  }
  std::string operator()(const Mismatch& r) const {
    return absl::StrCat("MISMATCH ", Show(r.holder));
  }
  std::string operator()(const Unresolved& r) const {
    return absl::StrCat("UNRESOLVED ", Show(r.holder));
  }
  std::string operator()(const Parked&) const { return "parked"; }
  std::string operator()(const CommitDone& r) const {
    return absl::StrCat("committed at=", Show(r.commit_time), " until=", Show(r.expire_time),
                        " already=", Show(r.already_committed), " late=", Show(r.late),
                        " body_omitted=", Show(r.body_omitted),
                        " headers_omitted=", Show(r.headers_omitted));
  }
  std::string operator()(const ReleaseDone& r) const {
    return absl::StrCat("released=", Show(r.released));
  }
  std::string operator()(const ExtendDone& r) const {
    return absl::StrCat("extended lease=", Show(r.lease_expire_time));
  }
  std::string operator()(const Inspected& r) const {
    return absl::StrCat("inspected ", Show(r.state), " lease=", Show(r.lease_expire_time),
                        " until=", Show(r.expire_time),
                        " record=", r.record.has_value() ? ledger_test::Show(*r.record) : "none");
  }
  std::string operator()(const ResolveDone& r) const {
    return absl::StrCat("resolved ", r.committed.has_value() ? (*this)(*r.committed) : "released");
  }
  std::string operator()(const EvictDone& r) const {
    return absl::StrCat("evicted ", Show(r.evicted));
  }
  std::string operator()(const Refused& r) const {
    return absl::StrCat("REFUSED ", static_cast<int>(r.reason), " state=", Show(r.state),
                        " fence=", Show(r.fence));
  }
};

Record Granted() {
  const Policy policy = PolicyOfTheGrant();
  return {.token = kHolders,
          .fence = {30},
          .attempt = 3,
          .owner = "alice",
          .fingerprint = "fp",
          .reserve_time = kNow - absl::Minutes(1),
          .phase = Pending{.request_id = "rid",
                           .lease_expire_time = {},
                           .on_lapse = policy.on_lapse,
                           .lapsed_retention = policy.lapsed_retention,
                           .retention = policy.retention}};
}

}  // namespace

Token MakeToken(std::uint8_t number, Epoch epoch) {
  Token token{.epoch = epoch};
  token.bits.back() = number;
  return token;
}

Policy PolicyOfTheGrant() {
  Policy policy;
  policy.retention = {absl::Seconds(10), absl::Seconds(1000), absl::Seconds(100)};
  policy.on_lapse = OnLapse::kRegrant;
  policy.lapsed_retention = absl::Hours(1);
  return policy;
}

Policy PolicyOfLater() {
  Policy policy;
  policy.retention = {absl::Seconds(2000), absl::Seconds(4000), absl::Seconds(3000)};
  policy.on_lapse = OnLapse::kHold;
  policy.lapsed_retention = absl::Seconds(1);
  return policy;
}

Result MakeResult(std::string body) {
  return {.status_code = 201,
          .headers = {{"a", "1"}, {"a", "1"}, {"b", std::string("\0\xff", 2)}},
          .body = body,
          .body_size = static_cast<std::int64_t>(body.size()),
          .body_sha256 = Sha256(body)};
}

Record PendingRecord(absl::Duration rest) {
  return With(Granted(), [&](Record& r) { PendingOf(r).lease_expire_time = kNow + rest; });
}

Record HeldRecord(absl::Duration rest) {
  return With(PendingRecord(rest), [](Record& r) { PendingOf(r).on_lapse = OnLapse::kHold; });
}

Record CommittedRecord(absl::Duration rest, std::string body) {
  return With(Granted(), [&](Record& r) {
    r.phase = Committed{.commit_time = kNow - absl::Seconds(30),
                        .expire_time = kNow + rest,
                        .late = false,
                        .result = StoredResult(MakeResult(std::move(body)))};
  });
}

std::string Show(const Record& r) {
  return absl::StrCat("{token=", Show(r.token), " fence=", Show(r.fence), " attempt=", r.attempt,
                      " owner=", r.owner, " fp=", r.fingerprint, " reserved=", Show(r.reserve_time),
                      " ", std::visit([](const auto& phase) { return Show(phase); }, r.phase), "}");
}

std::string Show(const Reply& reply) { return std::visit(ShowReply{}, reply); }

std::string Show(const Decision& d) {
  const auto* write = std::get_if<Write>(&d.change);
  const std::string change = write != nullptr ? "write " + Show(write->record)
                             : std::holds_alternative<Keep>(d.change) ? "keep"
                                                                      : "erase";
  return absl::StrCat("\n  ", change, "\n  ", Show(d.reply), "\n");
}

}  // namespace onced::ledger_test
