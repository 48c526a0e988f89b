#include "server/rpc/wire.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/wrappers.pb.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/ledger/policy.h"

namespace onced {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::UnknownField;

// Of a repeated field, so many are searched: no request that is in order has more.
constexpr int kItemsMax = limits::kBatchOperationsMax;

// So small a message costs little to parse, whatever is in it.
constexpr std::size_t kUnseenBytesMax = 4'096;

// A string field on the wire looks like a bytes field; its parser says whether
// the text is UTF-8.
bool IsUtf8(const std::string& text) {
  google::protobuf::BytesValue as_bytes;
  as_bytes.set_value(text);
  google::protobuf::StringValue as_string;
  return as_string.ParseFromString(as_bytes.SerializeAsString());
}

std::optional<std::string> FindBadText(const Descriptor& type, const std::string& bytes);

std::optional<std::string> FindBadTextIn(const FieldDescriptor& field, const std::string& bytes) {
  if (field.type() == FieldDescriptor::TYPE_STRING && !IsUtf8(bytes)) return "";
  if (field.type() != FieldDescriptor::TYPE_MESSAGE) return std::nullopt;
  return FindBadText(*field.message_type(), bytes);
}

// The path of the first string field that isn't UTF-8. The depth is that of the
// request types, none of which contains itself.
std::optional<std::string> FindBadText(const Descriptor& type, const std::string& bytes) {
  google::protobuf::Empty fields;  // Keeps every field, as one it doesn't know.
  if (!fields.ParseFromString(bytes)) return std::nullopt;
  const auto& unknown = fields.GetReflection()->GetUnknownFields(fields);
  std::vector<int> seen(static_cast<std::size_t>(type.field_count()), 0);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const UnknownField& value = unknown.field(i);
    const FieldDescriptor* field = type.FindFieldByNumber(value.number());
    if (field == nullptr || value.type() != UnknownField::TYPE_LENGTH_DELIMITED) continue;
    const int index = seen[static_cast<std::size_t>(field->index())]++;
    if (index >= kItemsMax) return std::nullopt;
    const auto inner = FindBadTextIn(*field, value.length_delimited());
    if (!inner.has_value()) continue;
    std::string path = field->name();
    if (field->is_repeated()) absl::StrAppend(&path, "[", index, "]");
    return inner->empty() ? path : absl::StrCat(path, ".", *inner);
  }
  return std::nullopt;
}

Violation NoMessage(const google::protobuf::Message& message) {
  return {"request", absl::StrCat("the bytes are not a ", message.GetTypeName())};
}

Violation WhatIsWrong(const google::protobuf::Message& message, const std::string& bytes) {
  const auto path = FindBadText(*message.GetDescriptor(), bytes);
  if (path.has_value()) return {*path, "must be valid UTF-8"};
  return NoMessage(message);
}

std::string Flatten(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  if (!bytes.Dump(&slices).ok()) return {};
  std::string flat;
  for (const grpc::Slice& slice : slices) {
    flat.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return flat;
}

std::optional<Violation> ParseUpTo(std::size_t bytes_max, const grpc::ByteBuffer& bytes,
                                   google::protobuf::Message& message) {
  if (bytes.Length() <= bytes_max) return Parse(bytes, message);
  return Violation{"request",
                   absl::StrCat("must have at most ", bytes_max, " bytes, has ", bytes.Length())};
}

}  // namespace

std::optional<Violation> Parse(const grpc::ByteBuffer& bytes, google::protobuf::Message& message) {
  grpc::ByteBuffer consumed = bytes;  // Counts references; the bytes are not copied.
  grpc::ProtoBufferReader reader(&consumed);
  if (reader.status().ok() && message.ParseFromZeroCopyStream(&reader)) return std::nullopt;
  return WhatIsWrong(message, Flatten(bytes));
}

std::optional<Violation> Parse(const grpc::ByteBuffer& bytes, const WireShape& shape,
                               google::protobuf::Message& message) {
  if (bytes.Length() <= kUnseenBytesMax) return Parse(bytes, message);
  std::string flat = Flatten(bytes);
  switch (shape.Look(flat)) {
    case WireShape::Verdict::kFine:
      break;
    case WireShape::Verdict::kExcess:
      flat = shape.WithoutExcess(flat);
      break;
    case WireShape::Verdict::kTooManyFields:
      return Violation{"request", absl::StrCat("a message in it has more than ",
                                               WireShape::kFieldsMax, " fields")};
    case WireShape::Verdict::kMalformed:
      return NoMessage(message);
  }
  if (message.ParseFromString(flat)) return std::nullopt;
  return WhatIsWrong(message, flat);
}

std::optional<Violation> ParseName(const grpc::ByteBuffer& bytes,
                                   google::protobuf::Message& message) {
  return ParseUpTo(kNameRequestBytesMax, bytes, message);
}

std::optional<Violation> ParseSmall(const grpc::ByteBuffer& bytes,
                                    google::protobuf::Message& message) {
  return ParseUpTo(kSmallRequestBytesMax, bytes, message);
}

grpc::Status NotARequest(const Violation& violation) {
  return {grpc::INVALID_ARGUMENT, absl::StrCat(violation.field, ": ", violation.description)};
}

grpc::ByteBuffer Serialize(const google::protobuf::Message& message) {
  grpc::ByteBuffer bytes;
  bool own_buffer = false;
  const grpc::Status done =
      grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::Message>(message, &bytes,
                                                                                 &own_buffer);
  ONCED_CHECK(done.ok());  // It fails for messages over 2 GiB only.
  return bytes;
}

}  // namespace onced
