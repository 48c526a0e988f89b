#include "client/cpp/classify.h"

#include <utility>

namespace onced::client {

Verdict CommitResults(const absl::StatusOr<Result>& outcome) {
  return outcome.ok() ? Verdict::kCommit : Verdict::kUnknown;
}

Verdict ByHttpStatus(const absl::StatusOr<Result>& outcome) {
  if (!outcome.ok()) return Verdict::kUnknown;
  const int status = outcome->status_code;
  switch (status) {
    case 401:
    case 403:
    case 407:
    case 429:
      return Verdict::kRelease;
    case 408:
    case 409:
    case 425:
    case 499:  // As some proxies write that their caller has gone.
      return Verdict::kUnknown;
    default:
      break;
  }
  const bool done = status >= 200 && status <= 299;
  const bool refused = status >= 400 && status <= 499;
  return done || refused ? Verdict::kCommit : Verdict::kUnknown;
}

Classifier ReleaseIf(std::function<bool(const Result&)> nothing_happened, Classifier otherwise) {
  return [nothing_happened = std::move(nothing_happened),
          otherwise = std::move(otherwise)](const absl::StatusOr<Result>& outcome) {
    if (outcome.ok() && nothing_happened(*outcome)) return Verdict::kRelease;
    return otherwise(outcome);
  };
}

}  // namespace onced::client
