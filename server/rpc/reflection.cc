#include "server/rpc/reflection.h"

#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/support/status.h>

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace onced {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using reflection_v1::ServerReflectionRequest;
using reflection_v1::ServerReflectionResponse;

void Fail(grpc::StatusCode code, std::string message, ServerReflectionResponse& response) {
  response.mutable_error_response()->set_error_code(code);
  response.mutable_error_response()->set_error_message(std::move(message));
}

void NotFound(absl::string_view kind, const std::string& name, ServerReflectionResponse& response) {
  Fail(grpc::NOT_FOUND, absl::StrCat("no ", kind, ": ", name), response);
}

// The file, and all that it needs, each once.
void Tell(const FileDescriptor& wanted, ServerReflectionResponse& response) {
  std::vector<const FileDescriptor*> files = {&wanted};
  absl::flat_hash_set<const FileDescriptor*> seen = {&wanted};
  for (std::size_t i = 0; i < files.size(); ++i) {
    const FileDescriptor& file = *files[i];
    google::protobuf::FileDescriptorProto proto;
    file.CopyTo(&proto);
    response.mutable_file_descriptor_response()->add_file_descriptor_proto(
        proto.SerializeAsString());
    for (int d = 0; d < file.dependency_count(); ++d) {
      if (seen.insert(file.dependency(d)).second) files.push_back(file.dependency(d));
    }
  }
}

}  // namespace

ServerReflectionResponse Reflection::Answer(const ServerReflectionRequest& request) const {
  ServerReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  const auto tell = [&](const FileDescriptor* file, absl::string_view kind,
                        const std::string& name) {
    return file != nullptr ? Tell(*file, response) : NotFound(kind, name, response);
  };
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kFileByFilename: {
      const std::string& name = request.file_by_filename();
      tell(pool_.FindFileByName(name), "file", name);
      break;
    }
    case ServerReflectionRequest::kFileContainingSymbol: {
      const std::string& name = request.file_containing_symbol();
      tell(pool_.FindFileContainingSymbol(name), "symbol", name);
      break;
    }
    case ServerReflectionRequest::kFileContainingExtension:
      FindExtension(request.file_containing_extension(), response);
      break;
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
      FindExtensions(request.all_extension_numbers_of_type(), response);
      break;
    case ServerReflectionRequest::kListServices:
      ListServices(response);
      break;
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      Fail(grpc::UNIMPLEMENTED, "nothing is asked for that this server knows of", response);
      break;
  }
  return response;
}

void Reflection::ListServices(Response& response) const {
  auto& list = *response.mutable_list_services_response();
  for (const std::string& name : services_) list.add_service()->set_name(name);
}

void Reflection::FindExtension(const reflection_v1::ExtensionRequest& request,
                               Response& response) const {
  const Descriptor* type = pool_.FindMessageTypeByName(request.containing_type());
  if (type == nullptr) return NotFound("message type", request.containing_type(), response);
  const FieldDescriptor* extension = pool_.FindExtensionByNumber(type, request.extension_number());
  if (extension != nullptr) return Tell(*extension->file(), response);
  NotFound("extension", absl::StrCat(type->full_name(), ", ", request.extension_number()),
           response);
}

void Reflection::FindExtensions(const std::string& type_name, Response& response) const {
  const Descriptor* type = pool_.FindMessageTypeByName(type_name);
  if (type == nullptr) return NotFound("message type", type_name, response);
  std::vector<const FieldDescriptor*> extensions;
  pool_.FindAllExtensions(type, &extensions);
  auto& numbers = *response.mutable_all_extension_numbers_response();
  numbers.set_base_type_name(type->full_name());
  for (const FieldDescriptor* extension : extensions) {
    numbers.add_extension_number(extension->number());
  }
}

}  // namespace onced
