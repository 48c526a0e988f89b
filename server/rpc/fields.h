// What the fields of requests have in common.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "idempotency/v1/idempotency.pb.h"
#include "server/ledger/policy.h"
#include "server/ledger/record.h"
#include "server/rpc/errors.h"

namespace onced {

// Collects what is wrong with one request.
// Limits: kMax are kept, and the others counted: a request may have anything wrong with it,
//         any number of times.
class Findings {
 public:
  static constexpr std::size_t kMax = 16;

  explicit Findings(absl::string_view path) : path_(path) {}

  // One violation a field: of several, the first.
  void Add(absl::string_view field, std::string description) {
    std::string place = absl::StrCat(path_, field);
    if (!violations_.empty() && violations_.back().field == place) return;
    if (violations_.size() == kMax) {
      ++left_out_;
      return;
    }
    violations_.push_back({std::move(place), std::move(description)});
  }
  void CheckLength(absl::string_view field, absl::string_view value, std::size_t min,
                   std::size_t max) {
    if (value.size() >= min && value.size() <= max) return;
    if (min > 0 && value.empty())
      return Add(field, absl::StrCat("is required: ", min, " to ", max, " bytes"));
    Add(field, absl::StrCat("must have at most ", max, " bytes, has ", value.size()));
  }
  bool empty() const { return violations_.empty(); }
  // Of some.
  google::rpc::Status Error() const { return ErrorOf(violations_, left_out_); }

 private:
  const std::string path_;
  std::vector<Violation> violations_;
  std::size_t left_out_ = 0;
};

void CheckNamespace(absl::string_view name, Findings& findings);
void CheckKey(absl::string_view key, Findings& findings);
// Of text that is UTF-8, which the parser has seen to.
void CheckNoControlCharacters(absl::string_view field, absl::string_view text, Findings& findings);
// The value to use, or the preset where it is not set or wrong.
absl::Duration CheckDuration(absl::string_view field, bool is_set,
                             const google::protobuf::Duration& value, const DurationBounds& bounds,
                             Findings& findings);
// A commit is never refused for its retention: what is out of bounds is moved
// into them, whatever it is.
absl::Duration RetentionOf(const google::protobuf::Duration& retention);
// As it is stored: without what is too large. `path` is that of `from`, with its dot.
Result TakeResult(absl::string_view path, const idempotency::v1::Result& from, const Policy& policy,
                  Findings& findings);

}  // namespace onced
