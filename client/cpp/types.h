// What callers and the service tell each other, as plain values. Here and in the options every
// member has an initializer, so that a compiler doesn't warn of those that a caller leaves out;
// but for those that are required.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace onced::client {

// What stands for one side effect.
struct Key {
  // The tenant: 1-64 bytes of [A-Za-z0-9._-], first a letter or digit.
  std::string name_space = {};
  // 1-256 bytes of UTF-8 without control characters. Compared byte for byte.
  std::string name = {};
};

// A header of a result. Order and duplicates are kept.
struct Header {
  std::string name = {};   // UTF-8; other bytes are stored as U+FFFD.
  std::string value = {};  // Any bytes.

  friend bool operator==(const Header&, const Header&) = default;
};

// What the work came to, as it is told to those who ask again.
struct Result {
  // The caller's own code, such as an HTTP status. The service doesn't read it.
  int status_code = 0;
  // Up to 64, and 16 KiB of names and values; those from the first that doesn't fit
  // are dropped. No secrets: cookies, authorization.
  std::vector<Header> headers = {};
  // Any bytes. One over the namespace's bound (1 MiB unless configured, at most 3 MiB) is
  // dropped; its size and digest are kept.
  std::string body = {};

  // ---- Of a stored result; not read in a commit. ----
  // Of the whole body, in bytes, also if it was dropped.
  std::int64_t body_size = 0;
  // SHA-256 of the whole body, 32 bytes, also if it was dropped.
  std::string body_sha256 = {};
  // The body was dropped.
  bool body_omitted = false;
  // Not all headers are there.
  bool headers_omitted = false;

  friend bool operator==(const Result&, const Result&) = default;
};

enum class State { kUnknown, kAbsent, kPending, kLapsed, kCommitted };

// The holder whose lease ran out before it committed: its effect may have happened.
struct Previous {
  std::int64_t fence = 0;
  std::string owner = {};
  absl::Time lapse_time = {};
  // The last one saved for the key, by that holder or one before it; empty: none.
  std::string checkpoint = {};
};

// Who has a key.
struct Holder {
  State state = State::kUnknown;
  std::string owner = {};
  std::int64_t fence = 0;
  absl::Time reserve_time = {};
  // Nothing if the key is committed.
  std::optional<absl::Time> lease_expire_time = {};
  // Of a conflict: how long to wait before asking again. At most 1 s, jittered.
  absl::Duration retry_delay = {};
};

// A commit that was acknowledged.
struct Committed {
  absl::Time commit_time = {};
  // The result is replayed until then.
  absl::Time expire_time = {};
  // An earlier attempt of this commit had been executed.
  bool already_committed = false;
  // The lease had run out, but nobody had taken over.
  bool late = false;
  // The body was too large, or there were too many headers: see Result.
  bool body_omitted = false;
  bool headers_omitted = false;
};

// All that is known of a key, but for its secrets. What doesn't apply to the state is
// left as it is here.
struct Record {
  State state = State::kUnknown;
  absl::Time server_time = {};  // By which the state was judged.

  // ---- Unless kAbsent: of the last grant. ----
  std::int64_t fence = 0;
  int attempt = 0;
  std::string owner = {};
  std::string fingerprint = {};
  absl::Time reserve_time = {};
  std::optional<absl::Time> expire_time = {};  // Nothing: never.

  // ---- kPending, kLapsed. ----
  absl::Time lease_expire_time = {};
  // Nobody takes over once the lease has run out: an operator or a late commit settles it.
  bool held_on_lapse = false;
  std::optional<Previous> previous = {};
  std::string checkpoint = {};

  // ---- kCommitted. ----
  absl::Time commit_time = {};
  bool late = false;
  std::optional<Result> result = {};  // If it was asked for.
};

}  // namespace onced::client
