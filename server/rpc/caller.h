// Who sent a call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/ledger/access.h"

namespace onced {

// A value; made by Authenticator, once for a call.
// Lifetime: the Authenticator's access list outlives it.
class Caller {
 public:
  // Of a server that asks nobody who they are: may do everything.
  static Caller Anyone() { return Caller("anonymous", {}, true); }

  Caller(std::string name, AccessList::Grants grants)
      : Caller(std::move(name), std::move(grants), false) {}

  bool May(Right right, absl::string_view name_space) const {
    return everything_ || grants_.Allow(right, name_space);
  }
  // What is about the whole server.
  bool MayEverywhere(Right right) const { return everything_ || grants_.AllowEverywhere(right); }
  // In any namespace at all.
  bool MaySomewhere(Right right) const { return everything_ || grants_.AllowSomewhere(right); }
  // For audit lines; never a metric's label.
  const std::string& name() const { return name_; }

 private:
  friend class Authenticator;

  Caller(std::string name, AccessList::Grants grants, bool everything)
      : name_(std::move(name)), grants_(std::move(grants)), everything_(everything) {}

  std::string name_;
  AccessList::Grants grants_;
  bool everything_;
  // Of the tokens that it was found in, if by one: newer ones may not have it any more.
  std::optional<std::uint64_t> token_version_;
  // From then on it has to be known anew.
  absl::Time not_after_ = absl::InfiniteFuture();
};

}  // namespace onced
