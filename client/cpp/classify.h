// What the outcome of the work means for the key.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "client/cpp/types.h"

namespace onced::client {

enum class Verdict {
  // It is final: the result is stored and replayed. Also a failure that would be the same again,
  // such as a card that was declined.
  kCommit,
  // Surely nothing happened: the key is free again, and the next call does the work anew. But
  // after a takeover, since this says nothing of the run before it: then the key lapses.
  kRelease,
  // Nobody knows whether it happened: the key is neither committed nor released. It lapses at
  // the end of the lease, and the namespace's policy says what then: the next caller takes
  // over, with `previous`, or an operator settles it.
  kUnknown,
};

// Called once with what the work returned. Of an error, which has nothing to be stored, kCommit
// is taken as kUnknown; so is an exception that it throws.
using Classifier = std::function<Verdict(const absl::StatusOr<Result>& outcome)>;

// Every result is final; every error is unknown.
Verdict CommitResults(const absl::StatusOr<Result>& outcome);

// By the HTTP status of the result, as of a server that answered the request:
//   2xx                     commit
//   400-499, but for these  commit: it would be refused again
//   401, 403, 407, 429      release: turned away at the door, of work that sends one request
//                           and hands on its answer
//   408, 409, 425, 499      unknown: they say little about the effect
//   all others              unknown: 3xx, 5xx and what is no HTTP status
// Every error is unknown. What a 2xx says inside is for ReleaseIf().
Verdict ByHttpStatus(const absl::StatusOr<Result>& outcome);

// Releases where `nothing_happened` says so of a result, such as a 200 whose body has
// `"success": false`; else `otherwise` decides.
Classifier ReleaseIf(std::function<bool(const Result&)> nothing_happened, Classifier otherwise);

}  // namespace onced::client
