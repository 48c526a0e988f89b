// Who may do what in which namespaces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onced {

enum class Right : std::uint8_t {
  kUse,      // Reserve, Commit, Release, Extend.
  kInspect,  // Inspect.
  kAdmin,    // The admin service; what is about the whole server needs it on every namespace.
};

// None implies another.
struct Rights {
  bool use = false;
  bool inspect = false;
  bool admin = false;

  bool Has(Right right) const {
    switch (right) {
      case Right::kUse:
        return use;
      case Right::kInspect:
        return inspect;
      case Right::kAdmin:
        return admin;
    }
    __builtin_unreachable();
  }
  bool operator==(const Rights&) const = default;
};

// The access list. An identity is a name: a URI as it stands in a certificate,
// "dns:NAME", or "token:NAME".
//
// Threads:  constant after construction; reads from any thread.
// Lifetime: Grants refer to it.
// Promise:  what no entry allows is not allowed.
class AccessList {
 public:
  struct Entry {
    // A name; or a URI's beginning and "/*", which stands for every URI below it.
    std::string identity;
    std::vector<std::string> namespaces;  // Each a name, a beginning and "*", or "*".
    Rights rights;
    bool operator==(const Entry&) const = default;
  };

  // What one caller may do: the union of what all its names may.
  class Grants {
   public:
    // Of nobody: nothing.
    Grants() = default;
    bool Allow(Right right, absl::string_view name_space) const;
    bool AllowEverywhere(Right right) const;
    // In any namespace at all.
    bool AllowSomewhere(Right right) const;

   private:
    friend class AccessList;
    std::vector<const Entry*> entries_;
  };

  AccessList() = default;
  explicit AccessList(std::vector<Entry> entries);
  AccessList(const AccessList&) = delete;
  AccessList& operator=(const AccessList&) = delete;

  bool empty() const { return entries_.empty(); }
  Grants GrantsOf(absl::Span<const std::string> names) const;

 private:
  using Index = absl::flat_hash_map<std::string, std::vector<const Entry*>>;

  static void Add(const Index& index, absl::string_view name, Grants& grants);

  const std::vector<Entry> entries_{};
  Index exact_;
  Index below_;  // By what stands before the "/*".
};

}  // namespace onced
