// A user's service as a process of its own, as docs/client.md shows it, to be killed in the middle
// of its work:
//
//   onced_test_charger ONCED NAMESPACE LEASE_MS
//
// Prints its address, and "charging" when its handler runs, which never ends.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <utility>

#include "charges.grpc.pb.h"
#include "client/cpp/idempotent_method.h"
#include "grpcpp/grpcpp.h"

namespace oc = onced::client;

namespace {

using onced::test::charges::ChargeRequest;
using onced::test::charges::ChargeResponse;
using onced::test::charges::Charges;

// Whom the call is for; a real service has it from its authentication.
absl::StatusOr<std::string> AccountOf(const grpc::ServerContextBase& context) {
  const auto found = context.client_metadata().find("x-account");
  if (found == context.client_metadata().end()) return absl::UnauthenticatedError("who is it?");
  return std::string(found->second.data(), found->second.size());
}

grpc::Status ChargeOnce(const ChargeRequest&, ChargeResponse*, oc::WorkContext& work) {
  if (work.takeover() || !work.SaveCheckpoint("half way").ok()) return {grpc::INTERNAL, "not now"};
  std::cout << "charging" << std::endl;
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

class ChargesService final : public Charges::Service {
 public:
  explicit ChargesService(oc::IdempotentMethod charge) : charge_(std::move(charge)) {}

 private:
  grpc::Status Charge(grpc::ServerContext* context, const ChargeRequest* request,
                      ChargeResponse* response) override {
    return charge_.Run(*context, *request, *response, [&](oc::WorkContext& work) {
      return ChargeOnce(*request, response, work);  // What the method did before.
    });
  }

  const oc::IdempotentMethod charge_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return EXIT_FAILURE;
  oc::MethodOptions options{.name_space = "shop",
                            .scope = AccountOf,
                            .classifier = oc::ByGrpcStatus,
                            .excluded_fields = {"meta.trace_id"},
                            .owner = "charges",
                            .lease_ttl = absl::Seconds(30)};
  // Who is killed is to be missed sooner in a test.
  options.name_space = argv[2];
  options.lease_ttl = absl::Milliseconds(std::atoi(argv[3]));
  const absl::StatusOr<oc::IdempotentMethod> charge = oc::IdempotentMethod::Create(
      oc::Client::Connect(argv[1]), "/onced.test.charges.Charges/Charge",
      *ChargeRequest::descriptor(), options);
  if (!charge.ok()) {
    std::cerr << charge.status() << "\n";
    return EXIT_FAILURE;
  }
  ChargesService service(*charge);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  std::cout << "serves on 127.0.0.1:" << port << std::endl;
  server->Wait();
}
