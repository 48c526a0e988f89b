// The key of a call to a user's own method.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/support/string_ref.h"

namespace onced::client {

// What the client sent, which is one of
//   abc-1      visible ASCII but for `"` and `,`, which is how whoever stands between joins two
//   "abc-1"    a string of RFC 8941, section 3.3.3: the same key
// without spaces around it. Nothing: there is none. INVALID_ARGUMENT: it is empty, malformed, or
// one of several.
absl::StatusOr<std::optional<std::string>> ReadKey(
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata);

// The refusal of a call without one.
absl::Status KeyMissing();

// The name of the key in onced: the scope, in which `%` and `/` are escaped as of a URL, a `/`, and
// the key as it is. No two pairs of them have the same. INVALID_ARGUMENT: the key is too
// long for that scope. INTERNAL: no key has room beside the scope, or it is empty.
absl::StatusOr<std::string> JoinKey(const std::string& scope, const std::string& key);

}  // namespace onced::client
