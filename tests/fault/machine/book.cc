#include "tests/fault/machine/book.h"

namespace onced::fault {

using integration::Api;
using integration::ToTime;
namespace v1 = integration::v1;

namespace {

template <typename Response>
Book::Outcome OutcomeOf(const integration::Reply<Response>& reply) {
  if (reply.ok()) return Book::kDone;
  const integration::Error error = reply.error();
  return error.reason.empty() ? std::to_string(error.code) : error.reason;
}

}  // namespace

Book::Outcome Book::Grant(Api& api, const std::string& key, absl::Duration lease) {
  v1::ReserveRequest request = integration::ReserveOf(key);
  *request.mutable_lease_ttl() = integration::ToProto(lease);
  const auto reply = api.Reserve(request);
  Entry& entry = entries_[key];
  if (reply.ok() && reply.response.outcome() != v1::OUTCOME_FRESH) {
    return v1::Outcome_Name(reply.response.outcome());
  }
  entry.unsure = !reply.ok();
  if (!reply.ok()) return OutcomeOf(reply);
  const v1::Reservation& grant = reply.response.reservation();
  EXPECT_GT(grant.fence(), entry.fence) << key << ": a fence that does not grow";
  entry = {.is = Is::kGranted,
           .token = grant.token(),
           .fence = grant.fence(),
           .lease_end = ToTime(grant.lease_expire_time())};
  return kDone;
}

Book::Outcome Book::Commit(Api& api, const std::string& key, const std::string& body) {
  Entry& entry = entries_.at(key);
  const auto reply =
      api.Commit(integration::CommitOf(key, entry.token, integration::ResultOf(200, body)));
  entry.body = body;
  entry.unsure = !reply.ok();
  if (!reply.ok()) return OutcomeOf(reply);
  entry.is = Is::kCommitted;
  entry.expire_time = ToTime(reply.response.expire_time());
  return kDone;
}

Book::Outcome Book::Release(Api& api, const std::string& key) {
  Entry& entry = entries_.at(key);
  const auto reply = api.Release(integration::ReleaseOf(key, entry.token));
  entry.unsure = !reply.ok();
  if (reply.ok()) entry.is = Is::kReleased;
  return OutcomeOf(reply);
}

Book::Outcome Book::Extend(Api& api, const std::string& key, absl::Duration lease) {
  Entry& entry = entries_.at(key);
  v1::ExtendRequest request = integration::ExtendOf(key, entry.token);
  *request.mutable_lease_ttl() = integration::ToProto(lease);
  const auto reply = api.Extend(request);
  if (reply.ok()) entry.lease_end = ToTime(reply.response.lease_expire_time());
  return OutcomeOf(reply);
}

Book::Findings Book::Check(Api& api) const {
  Findings findings;
  for (const auto& [key, entry] : entries_) {
    if (entry.is == Is::kNothing) continue;
    v1::InspectRequest request = integration::InspectOf(key);
    request.set_include_result(true);
    const auto reply = api.Inspect(request);
    if (!reply.ok()) {
      findings.refused.push_back(key + ": " + OutcomeOf(reply));
      continue;
    }
    const std::string wrong = Contradiction(entry, reply.response.record());
    if (!wrong.empty()) {
      findings.lost.push_back(key + ": " + wrong + ", but it is " +
                              reply.response.record().ShortDebugString().substr(0, 200));
    }
  }
  return findings;
}

std::string Book::Contradiction(const Entry& entry, const v1::Record& record) {
  const v1::State state = record.state();
  const bool held = state == v1::STATE_PENDING || state == v1::STATE_LAPSED;
  const bool same_grant = record.fence() == entry.fence;
  const bool committed =
      state == v1::STATE_COMMITTED && same_grant && record.result().body() == entry.body;
  switch (entry.is) {
    case Is::kNothing:
      return "";
    case Is::kGranted: {
      const bool may_have_ended =
          entry.unsure && (committed || state == v1::STATE_ABSENT);  // A commit, or a release.
      if (may_have_ended) return "";
      if (!held || !same_grant) return "granted with fence " + std::to_string(entry.fence);
      const bool kept = ToTime(record.lease_expire_time()) >= entry.lease_end;
      return kept ? "" : "the lease was to end later";
    }
    case Is::kCommitted:
      if (!committed) return "committed with fence " + std::to_string(entry.fence);
      return ToTime(record.expire_time()) == entry.expire_time ? "" : "it was to expire otherwise";
    case Is::kReleased:
      return state == v1::STATE_ABSENT ? "" : "released";
  }
  return "";
}

}  // namespace onced::fault
