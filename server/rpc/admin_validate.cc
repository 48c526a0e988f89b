#include "server/rpc/admin_validate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rpc/errors.h"
#include "server/rpc/fields.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;
namespace admin_v1 = idempotency::admin::v1;

void CheckFence(std::int64_t fence, Findings& findings) {
  if (fence <= 0) findings.Add("fence", "is required: that of the record that was looked at");
}

void CheckComment(const std::string& comment, Findings& findings) {
  findings.CheckLength("comment", comment, 0, kCommentBytesMax);
  CheckNoControlCharacters("comment", comment, findings);
}

// Whose bounds of a body hold; a namespace of which nothing is said has the defaults.
const Policy& PolicyOf(const PolicyTable& policies, const std::string& name_space) {
  static const Policy kUnlisted;
  const Policy* policy = policies.Find(name_space);
  return policy == nullptr ? kUnlisted : *policy;
}

std::optional<State> StateFrom(v1::State state) {
  switch (state) {
    case v1::STATE_ABSENT:
      return State::kAbsent;
    case v1::STATE_PENDING:
      return State::kPending;
    case v1::STATE_LAPSED:
      return State::kLapsed;
    case v1::STATE_COMMITTED:
      return State::kCommitted;
    default:  // Whatever a client may send.
      return std::nullopt;
  }
}

std::vector<State> TakeStates(const admin_v1::ListRequest& request, Findings& findings) {
  std::vector<State> states;
  if (request.states_size() > kStatesMax) {
    findings.Add("states", absl::StrCat("must have at most ", kStatesMax, " values, has ",
                                        request.states_size()));
    return states;
  }
  for (int i = 0; i < request.states_size(); ++i) {
    const auto state = StateFrom(request.states(i));
    const bool known = state.has_value();
    if (!known) findings.Add(absl::StrCat("states[", i, "]"), "is no state");
    const bool twice = known && std::find(states.begin(), states.end(), *state) != states.end();
    if (known && !twice) states.push_back(*state);
  }
  return states;
}

std::size_t TakePageSize(std::int32_t size, Findings& findings) {
  if (size == 0) return kPageSizePreset;
  if (size > 0 && static_cast<std::size_t>(size) <= kPageSizeMax)
    return static_cast<std::size_t>(size);
  findings.Add("page_size", absl::StrCat("must be from 1 to ", kPageSizeMax, ", is ", size));
  return kPageSizePreset;
}

}  // namespace

bool IsNamespace(const std::string& name) {
  Findings findings("");
  CheckNamespace(name, findings);
  return findings.empty();
}

std::optional<google::rpc::Status> AdminValidator::Denied(const std::string& name_space) const {
  const bool may = IsNamespace(name_space) ? caller_.May(Right::kAdmin, name_space)
                                           : caller_.MaySomewhere(Right::kAdmin);
  if (may) return std::nullopt;
  return ErrorOf(AdminRefusal::kNamespaceNotAllowed);
}

// What Resolve and Evict have in common; `take` looks at the rest.
template <typename Message, typename Take>
Checked AdminValidator::CheckSettling(const Message& message, Take take) const {
  if (const auto denied = Denied(message.namespace_())) return *denied;
  Findings findings("");
  CheckNamespace(message.namespace_(), findings);
  CheckKey(message.key(), findings);
  CheckFence(message.fence(), findings);
  const Policy& policy = PolicyOf(policies_, message.namespace_());
  Request request{.key = {message.namespace_(), message.key()},
                  .operation = take(policy, findings),
                  .policy = &policy};
  CheckComment(message.comment(), findings);
  if (!findings.empty()) return findings.Error();
  return request;
}

Checked AdminValidator::Check(const admin_v1::ResolveRequest& request) const {
  return CheckSettling(request, [&](const Policy& policy, Findings& findings) -> Operation {
    ResolveOp resolve{.fence = {request.fence()}, .force = request.force(), .commit = {}};
    if (request.outcome_case() == admin_v1::ResolveRequest::OUTCOME_NOT_SET) {
      findings.Add("outcome", "is required: commit or release");
    }
    if (!request.has_commit()) return resolve;
    const admin_v1::Commitment& commit = request.commit();
    ResolveOp::Settlement& settlement = resolve.commit.emplace();
    settlement.result =
        StoredResult(TakeResult("commit.result.", commit.result(), policy, findings));
    if (commit.has_retention_ttl()) settlement.retention_ttl = RetentionOf(commit.retention_ttl());
    return resolve;
  });
}

Checked AdminValidator::Check(const admin_v1::EvictRequest& request) const {
  return CheckSettling(request, [&](const Policy&, Findings&) -> Operation {
    return EvictOp{.fence = {request.fence()}, .force = request.force()};
  });
}

CheckedPage AdminValidator::Check(const admin_v1::ListRequest& request) const {
  if (auto denied = Denied(request.namespace_())) return *std::move(denied);
  Findings findings("");
  CheckNamespace(request.namespace_(), findings);
  PageRequest page{.filter = {.name_space = request.namespace_(),
                              .key_prefix = request.key_prefix(),
                              .states = TakeStates(request, findings)},
                   .page_token = request.page_token(),
                   .page_size = 0};
  findings.CheckLength("key_prefix", request.key_prefix(), 0, limits::kKeyBytesMax);
  page.page_size = TakePageSize(request.page_size(), findings);
  if (!findings.empty()) return findings.Error();
  return page;
}

CheckedPage AdminValidator::Check(const admin_v1::EvictNamespaceRequest& request) const {
  if (auto denied = Denied(request.namespace_())) return *std::move(denied);
  Findings findings("");
  CheckNamespace(request.namespace_(), findings);
  CheckComment(request.comment(), findings);
  if (!findings.empty()) return findings.Error();
  return PageRequest{.filter = {.name_space = request.namespace_(), .key_prefix = "", .states = {}},
                     .page_token = request.page_token(),
                     .page_size = kPageSizeMax,
                     .force = request.force()};
}

}  // namespace onced
