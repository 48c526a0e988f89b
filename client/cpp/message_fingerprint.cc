#include "client/cpp/message_fingerprint.h"

#include "client/cpp/excluded_fields.h"
#include "google/protobuf/message.h"

namespace onced::client {

absl::StatusOr<std::string> MessageFingerprint(const google::protobuf::Message& message,
                                               const std::vector<std::string>& excluded) {
  const absl::StatusOr<ExcludedFields> fields =
      ExcludedFields::Find(*message.GetDescriptor(), excluded);
  if (!fields.ok()) return fields.status();
  return fields->Fingerprint(message);
}

}  // namespace onced::client
