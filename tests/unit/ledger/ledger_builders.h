// Records, tokens and decisions for the tests of the ledger, and their text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "server/ledger/decide.h"

namespace onced::ledger_test {

inline const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);
inline const absl::Duration kTick = absl::Microseconds(1);  // The least difference of two times.
inline constexpr Epoch kEpoch{7};
inline constexpr Epoch kOldEpoch{3};  // From before a restore.

// The tokens of the cast. Those of the same number differ in their epoch alone.
Token MakeToken(std::uint8_t number, Epoch epoch = kEpoch);
inline const Token kHolders = MakeToken(1);
inline const Token kStrangers = MakeToken(2);
inline const Token kRestoreds = MakeToken(2, kOldEpoch);
inline const Token kGarbage = Token::FromText("garbage");

inline const Mint kMint{.token = MakeToken(9), .fence = {900}, .jitter = 0.5};
inline const View kView{.now = kNow, .epoch = kEpoch};

// A policy that nothing else has, so that what was copied from where shows.
Policy PolicyOfTheGrant();
// Another one in every field that a record takes a copy of.
Policy PolicyOfLater();

Result MakeResult(std::string body);

// Of attempt 3 with fence 30, by "alice" with "fp" and "rid", granted a minute before
// kNow under PolicyOfTheGrant(). Its lease ends, or its retention does, at kNow + `rest`.
Record PendingRecord(absl::Duration rest);
Record HeldRecord(absl::Duration rest);  // Under HOLD.
Record CommittedRecord(absl::Duration rest, std::string body = "done");

// `value` after `change` was done to it.
template <typename T, typename Change>
T With(T value, Change change) {
  change(value);
  return value;
}
inline Pending& PendingOf(Record& record) { return std::get<Pending>(record.phase); }
inline const Pending& PendingOf(const Record& record) { return std::get<Pending>(record.phase); }
inline Committed& CommittedOf(Record& record) { return std::get<Committed>(record.phase); }

inline Decision Keeps(Reply reply) { return {Keep{}, std::move(reply)}; }
inline Decision Writes(Record record, Reply reply) {
  return {Write{std::move(record)}, std::move(reply)};
}
inline Decision Erases(Reply reply) { return {Erase{}, std::move(reply)}; }

// Everything in it, for people and for looking for secrets.
std::string Show(const Record& record);
std::string Show(const Reply& reply);
std::string Show(const Decision& decision);

}  // namespace onced::ledger_test
