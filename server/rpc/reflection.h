// What grpc.reflection answers.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "grpc/reflection/v1/reflection.pb.h"

namespace onced {

namespace reflection_v1 = grpc::reflection::v1;

// Operation: looks up what is asked for among the services named and in the pool.
// Threads:   any.
// Lifetime:  the pool outlives it.
class Reflection {
 public:
  Reflection(std::vector<std::string> services, const google::protobuf::DescriptorPool& pool)
      : services_(std::move(services)), pool_(pool) {}

  reflection_v1::ServerReflectionResponse Answer(
      const reflection_v1::ServerReflectionRequest& request) const;

 private:
  using Response = reflection_v1::ServerReflectionResponse;
  void ListServices(Response& response) const;
  // Of the message's extensions, the file of one, or the numbers of all.
  void FindExtension(const reflection_v1::ExtensionRequest& request, Response& response) const;
  void FindExtensions(const std::string& type_name, Response& response) const;

  const std::vector<std::string> services_;
  const google::protobuf::DescriptorPool& pool_;
};

}  // namespace onced
