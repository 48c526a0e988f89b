#include "client/cpp/excluded_fields.h"

#include <memory>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "client/cpp/fingerprint.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/message.h"

namespace onced::client {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int kMapValue = 2;  // The number of the field `value` of a map's entry.

absl::Status NoSuchPath(const Descriptor& type, const std::string& path, const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrCat("excluded field \"", path, "\" of ", type.full_name(), ": ", why));
}

using Rest = std::span<const FieldDescriptor* const>;

void Clear(Message& message, Rest path) {
  const Reflection& reflection = *message.GetReflection();
  const FieldDescriptor* field = path.front();
  if (path.size() == 1) return reflection.ClearField(&message, field);
  if (!field->is_repeated()) {
    // One that isn't there is not to be made.
    if (reflection.HasField(message, field)) {
      Clear(*reflection.MutableMessage(&message, field), path.subspan(1));
    }
    return;
  }
  // The elements of a map are its entries.
  for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
    Clear(*reflection.MutableRepeatedMessage(&message, field, i), path.subspan(1));
  }
}

absl::StatusOr<std::string> Serialized(const Message& message) {
  std::string bytes;
  bool done = false;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    done = message.SerializePartialToCodedStream(&coded);
  }
  if (done) return bytes;
  return absl::InvalidArgumentError(absl::StrCat("too large to be serialized: a ",
                                                 message.GetDescriptor()->full_name(), " of ",
                                                 message.ByteSizeLong(), " bytes"));
}

absl::StatusOr<std::string> FingerprintOfAll(const Message& message) {
  const absl::StatusOr<std::string> bytes = Serialized(message);
  if (!bytes.ok()) return bytes.status();
  return Fingerprint({message.GetDescriptor()->full_name(), *bytes});
}

}  // namespace

absl::StatusOr<ExcludedFields> ExcludedFields::Find(const Descriptor& type,
                                                    const std::vector<std::string>& paths) {
  ExcludedFields found;
  for (const std::string& path : paths) {
    Path fields;
    const Descriptor* within = &type;
    for (const absl::string_view step : absl::StrSplit(path, '.')) {
      const std::string name(step);
      if (within == nullptr) {
        return NoSuchPath(type, path, absl::StrCat(fields.back()->name(), " has no fields"));
      }
      const FieldDescriptor* field = within->FindFieldByName(name);
      if (field == nullptr) {
        return NoSuchPath(type, path,
                          absl::StrCat(within->full_name(), " has no field \"", name, "\""));
      }
      // What leads on is the value of the entry.
      if (!fields.empty() && fields.back()->is_map()) {
        fields.push_back(fields.back()->message_type()->FindFieldByNumber(kMapValue));
      }
      fields.push_back(field);
      const FieldDescriptor* inner =
          field->is_map() ? field->message_type()->FindFieldByNumber(kMapValue) : field;
      within = inner->message_type();  // nullptr unless it is a message.
    }
    found.paths_.push_back(std::move(fields));
  }
  return found;
}

absl::StatusOr<std::string> ExcludedFields::Fingerprint(const Message& message) const {
  if (paths_.empty()) return FingerprintOfAll(message);
  const std::unique_ptr<Message> copy(message.New());
  copy->CopyFrom(message);
  for (const Path& path : paths_) Clear(*copy, path);
  return FingerprintOfAll(*copy);
}

}  // namespace onced::client
