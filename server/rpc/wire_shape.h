// What a message costs to parse, seen before it is parsed.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/ledger/policy.h"

namespace onced {

// 4 MiB of fields of two bytes each take a parser a tenth of a second and more, in which it
// serves nobody else, and tens of MiB. A walk over them, which stops at the first bound,
// doesn't.
//
// Threads:  constant after construction.
// Lifetime: by itself: nothing of the descriptor is kept.
class WireShape {
 public:
  // In any one message, items of repeated messages apart.
  static constexpr std::size_t kFieldsMax = 64;
  // Of a repeated message, so many items are kept: one more than a request may have, so
  // that it is seen that there were too many. Of headers, for which no commit is refused,
  // and of all others.
  static constexpr std::size_t kHeadersKept = limits::kHeadersMax + 1;
  static constexpr std::size_t kItemsKept = limits::kBatchOperationsMax + 1;

  // Of a message type that doesn't contain itself.
  explicit WireShape(const google::protobuf::Descriptor& type);

  enum class Verdict : std::uint8_t {
    kFine,
    kExcess,         // Of items.
    kTooManyFields,  // In one message.
    kMalformed       // It can't be parsed.
  };
  // Of all the bytes of a message. kFine doesn't say that they can be parsed.
  Verdict Look(absl::string_view bytes) const;
  // The same message without the items that are not kept: of one that is fine but for them.
  std::string WithoutExcess(absl::string_view bytes) const;

 private:
  // What a field of a type holds.
  struct Field {
    std::unique_ptr<const WireShape> inner;  // Null: it is no message.
    std::size_t kept = 0;                    // Of a repeated one; 0: it isn't.
  };

  // nullptr if it is no message.
  const Field* Find(std::uint32_t number) const {
    return number < fields_.size() && fields_[number].inner != nullptr ? &fields_[number] : nullptr;
  }

  std::vector<Field> fields_;  // By number.
};

}  // namespace onced
