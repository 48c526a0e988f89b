// Fields of a message that are left out of its fingerprint.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace onced::client {

// Threads:  any; constant.
// Lifetime: of the descriptor that it was made of.
class ExcludedFields {
 public:
  // INVALID_ARGUMENT names the path that the type doesn't have.
  static absl::StatusOr<ExcludedFields> Find(const google::protobuf::Descriptor& type,
                                             const std::vector<std::string>& paths);

  // Of a message of that type. INVALID_ARGUMENT: it is too large.
  absl::StatusOr<std::string> Fingerprint(const google::protobuf::Message& message) const;

 private:
  // From the outermost field to the one that is cleared. None but the last is
  // anything but a message.
  using Path = std::vector<const google::protobuf::FieldDescriptor*>;

  ExcludedFields() = default;

  std::vector<Path> paths_;
};

}  // namespace onced::client
