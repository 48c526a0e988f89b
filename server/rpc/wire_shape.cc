#include "server/rpc/wire_shape.h"

#include <array>

#include "server/base/check.h"

namespace onced {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr std::uint32_t kLengthDelimited = 2;  // The wire type.

// One field of a message on the wire.
struct WireField {
  std::uint32_t number = 0;
  std::uint32_t type = 0;
  absl::string_view whole;  // With its tag.
  absl::string_view value;  // Of a length-delimited one.
};

std::optional<std::uint64_t> TakeVarint(absl::string_view& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= std::uint64_t{byte & 0x7fU} << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

// How long the value is that follows a tag; nullopt: longer than what there is. Groups,
// which no client of this API has, count as fields without a value.
std::optional<std::size_t> ValueSize(std::uint32_t type, absl::string_view bytes) {
  constexpr std::array<std::size_t, 6> kFixed = {0, 8, 0, 0, 0, 4};
  absl::string_view rest = bytes;
  if (type > 5) return std::nullopt;
  if (type == 0) {
    if (!TakeVarint(rest).has_value()) return std::nullopt;
    return bytes.size() - rest.size();
  }
  if (type != kLengthDelimited) {
    if (kFixed[type] > bytes.size()) return std::nullopt;
    return kFixed[type];
  }
  const auto length = TakeVarint(rest);
  if (!length.has_value() || *length > rest.size()) return std::nullopt;
  return bytes.size() - rest.size() + *length;
}

// nullopt: the bytes are malformed. There are some.
std::optional<WireField> TakeField(absl::string_view& bytes) {
  absl::string_view rest = bytes;
  const auto tag = TakeVarint(rest);
  if (!tag.has_value() || *tag > UINT32_MAX || *tag < 8) return std::nullopt;
  WireField field{.number = static_cast<std::uint32_t>(*tag >> 3),
                  .type = static_cast<std::uint32_t>(*tag & 7)};
  const auto size = ValueSize(field.type, rest);
  if (!size.has_value()) return std::nullopt;
  field.value = rest.substr(0, *size);
  if (field.type == kLengthDelimited) (void)TakeVarint(field.value);  // Ignored: seen above.
  rest.remove_prefix(*size);
  field.whole = bytes.substr(0, bytes.size() - rest.size());
  bytes = rest;
  return field;
}

void AppendVarint(std::uint64_t value, std::string& to) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}

}  // namespace

WireShape::WireShape(const Descriptor& type) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.type() != FieldDescriptor::TYPE_MESSAGE) continue;
    const auto number = static_cast<std::size_t>(field.number());
    if (number >= fields_.size()) fields_.resize(number + 1);
    fields_[number].inner = std::make_unique<const WireShape>(*field.message_type());
    if (field.is_repeated())
      fields_[number].kept = field.name() == "headers" ? kHeadersKept : kItemsKept;
  }
}

WireShape::Verdict WireShape::Look(absl::string_view bytes) const {
  std::size_t others = 0;
  std::size_t items = 0;  // Of all repeated ones together: no request has two kinds.
  Verdict verdict = Verdict::kFine;
  while (!bytes.empty()) {
    const auto field = TakeField(bytes);
    if (!field.has_value()) return Verdict::kMalformed;
    const Field* known = field->type == kLengthDelimited ? Find(field->number) : nullptr;
    if (known != nullptr && known->kept > 0) {
      if (++items > known->kept) {  // What is left out isn't looked at.
        verdict = Verdict::kExcess;
        continue;
      }
    } else if (++others > kFieldsMax) {
      return Verdict::kTooManyFields;
    }
    if (known == nullptr) continue;
    const Verdict inner = known->inner->Look(field->value);
    if (inner > Verdict::kExcess) return inner;
    if (inner == Verdict::kExcess) verdict = inner;
  }
  return verdict;
}

std::string WireShape::WithoutExcess(absl::string_view bytes) const {
  std::string kept;
  std::size_t items = 0;
  while (!bytes.empty()) {
    const auto field = TakeField(bytes);
    ONCED_CHECK(field.has_value());  // Look() has seen them.
    const Field* known = field->type == kLengthDelimited ? Find(field->number) : nullptr;
    if (known == nullptr) {
      kept.append(field->whole.data(), field->whole.size());
      continue;
    }
    if (known->kept > 0 && ++items > known->kept) continue;
    const std::string inner = known->inner->WithoutExcess(field->value);
    AppendVarint(std::uint64_t{field->number} << 3 | kLengthDelimited, kept);
    AppendVarint(inner.size(), kept);
    kept += inner;
  }
  return kept;
}

}  // namespace onced
