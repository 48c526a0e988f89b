// Bearer tokens, by their digests.
#pragma once

#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace onced {

// Threads: constant after construction.
// Limits:  kTokensMax tokens. What is presented has kTokenBytesMin to kTokenBytesMax bytes.
class TokenTable {
 public:
  struct Entry {
    std::string identity;                           // As in the access list: "token:NAME".
    absl::Time not_after = absl::InfiniteFuture();  // Not valid from then on.
  };

  static constexpr std::size_t kTokensMax = 10'000;
  static constexpr std::size_t kTokenBytesMin = 16;
  static constexpr std::size_t kTokenBytesMax = 256;

  // One token a line, `NAME sha256:HEX [not_after RFC3339]`; what stands after a # is a
  // comment. The error has one line for each that is wrong, "FILE:LINE: what"; a file
  // without tokens is wrong, too.
  static absl::StatusOr<TokenTable> Parse(absl::string_view text, const std::string& file);

  // nullptr: no such token. What is looked for is a digest, so that how long it takes
  // says nothing about the tokens there are.
  const Entry* Find(absl::string_view token) const;
  std::size_t size() const { return entries_.size(); }

 private:
  absl::flat_hash_map<std::string, Entry> entries_;  // By the token's SHA-256.
};

}  // namespace onced
