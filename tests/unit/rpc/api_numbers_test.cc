// The numbers that clients of other versions go by.
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "idempotency/admin/v1/admin.pb.h"
#include "idempotency/v1/idempotency.pb.h"

namespace onced {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FileDescriptor;

using Lines = std::set<std::string>;

void Add(const EnumDescriptor& type, Lines& lines) {
  for (int i = 0; i < type.value_count(); ++i) {
    const auto& value = *type.value(i);
    lines.insert(type.full_name() + " " + value.name() + " = " + std::to_string(value.number()));
  }
}

void Add(const Descriptor& type, Lines& lines) {
  for (int i = 0; i < type.field_count(); ++i) {
    const auto& field = *type.field(i);
    std::ostringstream line;
    line << type.full_name() << "." << field.name() << " = " << field.number() << " ";
    if (field.is_repeated()) line << "repeated ";
    if (field.has_optional_keyword()) line << "optional ";
    if (field.real_containing_oneof() != nullptr) {
      line << "oneof " << field.real_containing_oneof()->name() << " ";
    }
    if (field.message_type() != nullptr) {
      line << field.message_type()->full_name();
    } else if (field.enum_type() != nullptr) {
      line << field.enum_type()->full_name();
    } else {
      line << field.type_name();
    }
    lines.insert(line.str());
  }
  for (int i = 0; i < type.nested_type_count(); ++i) Add(*type.nested_type(i), lines);
  for (int i = 0; i < type.enum_type_count(); ++i) Add(*type.enum_type(i), lines);
}

void Add(const FileDescriptor& file, Lines& lines) {
  for (int i = 0; i < file.message_type_count(); ++i) Add(*file.message_type(i), lines);
  for (int i = 0; i < file.enum_type_count(); ++i) Add(*file.enum_type(i), lines);
  for (int i = 0; i < file.service_count(); ++i) {
    const auto& service = *file.service(i);
    for (int j = 0; j < service.method_count(); ++j) {
      const auto& method = *service.method(j);
      lines.insert("/" + service.full_name() + "/" + method.name() + " " +
                   (method.client_streaming() ? "stream " : "") + method.input_type()->full_name() +
                   " -> " + (method.server_streaming() ? "stream " : "") +
                   method.output_type()->full_name());
    }
  }
}

std::string Text(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// No line of api_numbers.txt may change or go: a client that was built by it is out there.
// One that is new is added to the file.
TEST(ApiNumbers, AreThoseThatWerePublished) {
  Lines now;
  Add(*idempotency::v1::ReserveRequest::descriptor()->file(), now);
  Add(*idempotency::admin::v1::ListRequest::descriptor()->file(), now);
  std::ifstream file(ONCED_SOURCE_DIR "/tests/unit/rpc/api_numbers.txt");
  Lines published;
  for (std::string line; std::getline(file, line);) published.insert(line);
  ASSERT_FALSE(published.empty());
  EXPECT_EQ(Text(published), Text(now));
}

}  // namespace
}  // namespace onced
