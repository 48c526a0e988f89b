// A key for callers whose own callers send none: of what is asked for, and when.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace onced::client {

// Live and test never share a key: a test that is replayed to a customer, or a customer's charge to
// a test, would be the worst of mistakes.
enum class KeyMode { kUnset = 0, kLive = 1, kTest = 2 };

// What somebody wants done. Two intents that are equal here are one, if they came to be in the
// same bucket of time.
struct Intent {
  // Required.
  KeyMode mode = KeyMode::kUnset;
  // Required: whose it is, such as the tenant and the account. 1-256 bytes.
  std::string scope;
  // What makes it this one: {{"order", "17"}, {"cents", "1999"}}. 1-64 names and values, in any
  // order. No name is there twice; a name has 1-128 bytes, a value 0-65536.
  std::vector<std::pair<std::string, std::string>> fields;
  // Required: how long an equal one counts as the same, 1 s - 24 h, in whole milliseconds. Time is
  // cut into buckets of this length, from the Unix epoch on.
  absl::Duration bucket;
};

// Computed once for an intent, when it comes to be, and kept for its retries: store text() with the
// intent. To compute it again for a retry, with a later time, is to ask for another execution.
//
// Promise: the same of the same, across versions and machines; of intents that differ in anything,
//          or lie in other buckets, another (SHA-256).
// Limits:  a net against double clicks, no guarantee. Where an intent is submitted twice, on both
//          sides of a bucket's edge, the keys differ, and it is executed twice, however close
//          they are; and two that are meant to be two, in one bucket, are executed once. A key
//          that the caller's caller draws has neither fault.
class AutomaticKey {
 public:
  // `intent_time` is when the intent came to be: when the click was first received. Never the time
  // of a retry. From 1970 on. INVALID_ARGUMENT names the field and its bound.
  static absl::StatusOr<AutomaticKey> Of(const Intent& intent, absl::Time intent_time);
  // One that was kept. INVALID_ARGUMENT if `text` is no AutomaticKey's, or of another mode.
  static absl::StatusOr<AutomaticKey> Kept(KeyMode mode, std::string_view text);

  // A name for Key: "auto-live-" or "auto-test-", and 64 hexadecimal digits.
  const std::string& text() const { return text_; }

  friend bool operator==(const AutomaticKey&, const AutomaticKey&) = default;

 private:
  explicit AutomaticKey(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

}  // namespace onced::client
