// The tables of section 3 of docs/protocol.md, and nothing else.
#pragma once

#include <optional>
#include <variant>

#include "server/ledger/operation.h"
#include "server/ledger/policy.h"
#include "server/ledger/record.h"

namespace onced {

// What a decision may need that is random. Drawn by the caller, so that
// Decide() has no randomness of its own.
struct Mint {
  Token token;          // Of a new grant, if there is one.
  Fence fence;          // Likewise; larger than any handed out for the key.
  double jitter = 1.0;  // In (0, 1]: what share of the retry delay to ask for.
};

struct Keep {
  bool operator==(const Keep&) const = default;
};
struct Write {
  Record record;
  bool operator==(const Write&) const = default;
};
struct Erase {
  bool operator==(const Erase&) const = default;
};
using Change = std::variant<Keep, Write, Erase>;

struct Decision {
  Change change;
  Reply reply;
  bool operator==(const Decision&) const = default;
};

// No I/O, no clock, no lock: the same arguments give the same decision. `found`
// is the record as stored, expired or not.
Decision Decide(const std::optional<Record>& found, const Operation& operation, const View& view,
                const Policy& policy, const Mint& mint);

}  // namespace onced
