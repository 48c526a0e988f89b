// What one caller was told, to be held against the server later.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/integration/api.h"

namespace onced::fault {

// Operation: makes calls, one after the other, on keys that nobody else uses, and
//            keeps what was acknowledged.
// Threads:   one.
class Book {
 public:
  // Of a call: acknowledged, or the reason of its error; its code's number where
  // there is none.
  using Outcome = std::string;
  static constexpr char kDone[] = "";

  Outcome Grant(integration::Api& api, const std::string& key,
                absl::Duration lease = absl::Hours(1));
  // Of a key that was granted, as the next ones.
  Outcome Commit(integration::Api& api, const std::string& key, const std::string& body);
  Outcome Release(integration::Api& api, const std::string& key);
  Outcome Extend(integration::Api& api, const std::string& key, absl::Duration lease);

  struct Findings {
    std::vector<std::string> lost;     // What was acknowledged and is not so, in words.
    std::vector<std::string> refused;  // Keys that the server could tell nothing of.
  };
  // Asks for every key. What was never acknowledged may be so or not.
  Findings Check(integration::Api& api) const;
  std::size_t keys() const { return entries_.size(); }

 private:
  enum class Is { kNothing, kGranted, kCommitted, kReleased };
  struct Entry {
    Is is = Is::kNothing;
    bool unsure = false;  // The last call was not answered: it may have been done.
    std::string token;
    std::int64_t fence = 0;
    absl::Time lease_end;
    std::string body;
    absl::Time expire_time;
  };
  static std::string Contradiction(const Entry& entry, const integration::v1::Record& record);

  std::map<std::string, Entry> entries_;
};

}  // namespace onced::fault
