#include "server/rpc/reflection.h"

#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/grpcpp.h>

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "idempotency/v1/idempotency.grpc.pb.h"
#include "server/rpc/service.h"
#include "tests/unit/rpc/served.h"

namespace onced {
namespace {

using google::protobuf::FileDescriptorProto;
using reflection_v1::ServerReflectionRequest;
using reflection_v1::ServerReflectionResponse;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// Files of which one extends a message of another, and needs a third one twice.
class ReflectionTest : public testing::Test {
 protected:
  ReflectionTest() {
    FileDescriptorProto root;
    root.set_name("root.proto");
    root.add_message_type()->set_name("Leaf");
    Add(root);

    FileDescriptorProto base;
    base.set_name("base.proto");
    base.set_package("p");
    base.add_dependency("root.proto");
    auto& extended = *base.add_message_type();
    extended.set_name("Extended");
    extended.add_extension_range()->set_start(100);
    extended.mutable_extension_range(0)->set_end(200);
    base.add_message_type()->set_name("Plain");
    auto& method = *base.add_service()->add_method();
    base.mutable_service(0)->set_name("S");
    method.set_name("M");
    method.set_input_type(".p.Plain");
    method.set_output_type(".p.Plain");
    Add(base);

    FileDescriptorProto more;
    more.set_name("more.proto");
    more.add_dependency("base.proto");
    more.add_dependency("root.proto");
    for (const int number : {101, 150}) {
      auto& extension = *more.add_extension();
      extension.set_name("e" + std::to_string(number));
      extension.set_number(number);
      extension.set_label(google::protobuf::FieldDescriptorProto::LABEL_OPTIONAL);
      extension.set_type(google::protobuf::FieldDescriptorProto::TYPE_INT32);
      extension.set_extendee(".p.Extended");
    }
    Add(more);
  }

  void Add(const FileDescriptorProto& file) { ASSERT_NE(pool_.BuildFile(file), nullptr); }

  // Of what was asked, checks that it is told back.
  ServerReflectionResponse Ask(ServerReflectionRequest request) {
    request.set_host("host");
    const ServerReflectionResponse response = reflection_.Answer(request);
    EXPECT_EQ(response.valid_host(), "host");
    EXPECT_EQ(response.original_request().SerializeAsString(), request.SerializeAsString());
    return response;
  }
  static std::vector<std::string> FilesIn(const ServerReflectionResponse& response) {
    std::vector<std::string> names;
    for (const auto& bytes : response.file_descriptor_response().file_descriptor_proto()) {
      FileDescriptorProto file;
      EXPECT_TRUE(file.ParseFromString(bytes));
      names.push_back(file.name());
    }
    return names;
  }

  google::protobuf::DescriptorPool pool_;
  const Reflection reflection_{{"p.S", "q.T"}, pool_};
};

ServerReflectionRequest ForFile(const std::string& name) {
  ServerReflectionRequest request;
  request.set_file_by_filename(name);
  return request;
}
ServerReflectionRequest ForSymbol(const std::string& name) {
  ServerReflectionRequest request;
  request.set_file_containing_symbol(name);
  return request;
}
ServerReflectionRequest ForExtension(const std::string& type, int number) {
  ServerReflectionRequest request;
  request.mutable_file_containing_extension()->set_containing_type(type);
  request.mutable_file_containing_extension()->set_extension_number(number);
  return request;
}
ServerReflectionRequest ForExtensions(const std::string& type) {
  ServerReflectionRequest request;
  request.set_all_extension_numbers_of_type(type);
  return request;
}

TEST_F(ReflectionTest, ListsTheServicesThatItWasTold) {
  ServerReflectionRequest request;
  request.set_list_services("");
  const auto list = Ask(request).list_services_response();
  ASSERT_EQ(list.service_size(), 2);
  EXPECT_EQ(list.service(0).name(), "p.S");
  EXPECT_EQ(list.service(1).name(), "q.T");
}

TEST_F(ReflectionTest, TellsAFileAndWhatItNeedsEachOnce) {
  const struct {
    const char* name;
    ServerReflectionRequest request;
    std::vector<std::string> files;
  } rows[] = {
      {"file", ForFile("root.proto"), {"root.proto"}},
      {"file with needs", ForFile("more.proto"), {"more.proto", "base.proto", "root.proto"}},
      {"message", ForSymbol("p.Extended"), {"base.proto", "root.proto"}},
      {"service", ForSymbol("p.S"), {"base.proto", "root.proto"}},
      {"method", ForSymbol("p.S.M"), {"base.proto", "root.proto"}},
      {"extension by name", ForSymbol("e101"), {"more.proto", "base.proto", "root.proto"}},
      {"extension", ForExtension("p.Extended", 150), {"more.proto", "base.proto", "root.proto"}},
  };
  for (const auto& row : rows) EXPECT_EQ(FilesIn(Ask(row.request)), row.files) << row.name;
}

TEST_F(ReflectionTest, TellsTheNumbersOfExtensions) {
  const auto some = Ask(ForExtensions("p.Extended")).all_extension_numbers_response();
  EXPECT_EQ(some.base_type_name(), "p.Extended");
  EXPECT_THAT(some.extension_number(), UnorderedElementsAre(101, 150));
  const auto none = Ask(ForExtensions("p.Plain"));
  ASSERT_TRUE(none.has_all_extension_numbers_response());
  EXPECT_THAT(none.all_extension_numbers_response().extension_number(), IsEmpty());
}

TEST_F(ReflectionTest, WhatItCannotTellIsAnError) {
  const struct {
    const char* name;
    ServerReflectionRequest request;
    grpc::StatusCode code;
  } rows[] = {
      {"file", ForFile("p.Extended"), grpc::NOT_FOUND},
      {"symbol", ForSymbol("p.Nothing"), grpc::NOT_FOUND},
      {"no symbol", ForSymbol(""), grpc::NOT_FOUND},
      {"leading dot", ForSymbol(".p.Extended"), grpc::NOT_FOUND},
      {"extension", ForExtension("p.Extended", 102), grpc::NOT_FOUND},
      {"negative extension", ForExtension("p.Extended", -1), grpc::NOT_FOUND},
      {"type of extension", ForExtension("p.Nothing", 101), grpc::NOT_FOUND},
      {"type of extensions", ForExtensions("p.S"), grpc::NOT_FOUND},
      {"nothing", {}, grpc::UNIMPLEMENTED},
  };
  for (const auto& row : rows) {
    const auto response = Ask(row.request);
    EXPECT_EQ(response.error_response().error_code(), row.code) << row.name;
    EXPECT_NE(response.error_response().error_message(), "") << row.name;
  }
}

// ---- Over the network ----

class NoService final : public idempotency::v1::IdempotencyService::AsyncService {};

template <typename Version, typename Request, typename Response>
void ExpectDescribesItself(const rpc_test::Served& served) {
  const auto stub = Version::NewStub(served.channel());
  grpc::ClientContext context;
  const auto stream = stub->ServerReflectionInfo(&context);
  const auto ask = [&](const ServerReflectionRequest& asked) {
    Request request;
    EXPECT_TRUE(request.ParseFromString(asked.SerializeAsString()));
    EXPECT_TRUE(stream->Write(request));
    Response response;
    EXPECT_TRUE(stream->Read(&response));
    return response;
  };
  ServerReflectionRequest list;
  list.set_list_services("*");
  std::vector<std::string> names;
  const auto listed = ask(list);
  for (const auto& each : listed.list_services_response().service()) names.push_back(each.name());
  EXPECT_THAT(names, ElementsAre(rpc_test::kServiceName, "grpc.health.v1.Health",
                                 "grpc.reflection.v1.ServerReflection",
                                 "grpc.reflection.v1alpha.ServerReflection"));
  for (const std::string& name : {names[1], names[2], names[3]}) {
    EXPECT_EQ(ask(ForSymbol(name)).file_descriptor_response().file_descriptor_proto_size(), 1)
        << name;
  }
  EXPECT_EQ(ask(ForSymbol("nothing")).error_response().error_code(), grpc::NOT_FOUND);
  stream->WritesDone();
  Response response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(ReflectionService, BothVersionsDescribeThemselves) {
  NoService service;
  rpc_test::Served served(service, [](CallQueue&) {});
  ExpectDescribesItself<grpc::reflection::v1::ServerReflection, ServerReflectionRequest,
                        ServerReflectionResponse>(served);
  namespace v1alpha = grpc::reflection::v1alpha;
  ExpectDescribesItself<v1alpha::ServerReflection, v1alpha::ServerReflectionRequest,
                        v1alpha::ServerReflectionResponse>(served);
}

TEST(ReflectionService, BytesThatAreNoRequestEndTheStream) {
  NoService service;
  rpc_test::Served served(service, [](CallQueue&) {});
  const auto stub = grpc::reflection::v1::ServerReflection::NewStub(served.channel());
  grpc::ClientContext context;
  const auto stream = stub->ServerReflectionInfo(&context);
  EXPECT_TRUE(stream->Write(ForSymbol("\xff")));
  ServerReflectionResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::INVALID_ARGUMENT);
}

// Many streams that nobody reads, and that end with their server.
TEST(ReflectionService, OpenStreamsEndWithTheServer) {
  NoService service;
  rpc_test::Served served(service, [](CallQueue&) {});
  const auto stub = grpc::reflection::v1::ServerReflection::NewStub(served.channel());
  std::vector<grpc::ClientContext> contexts(50);
  std::vector<
      std::unique_ptr<grpc::ClientReaderWriter<ServerReflectionRequest, ServerReflectionResponse>>>
      streams;
  for (grpc::ClientContext& context : contexts) {
    streams.push_back(stub->ServerReflectionInfo(&context));
    EXPECT_TRUE(streams.back()->Write(ForSymbol("idempotency.v1.ReserveRequest")));
  }
  ServerReflectionResponse response;
  EXPECT_TRUE(streams.back()->Read(&response));
  served.server().Shutdown();
  for (const auto& stream : streams) {
    while (stream->Read(&response)) {
    }
    EXPECT_FALSE(stream->Finish().ok());
  }
}

}  // namespace
}  // namespace onced
