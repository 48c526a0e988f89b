// A user's service as a process of its own, to be killed in the middle of its work:
//
//   onced_test_charger ONCED NAMESPACE
//
// Prints its address, and "charging" when its handler runs, which never ends.
#include <chrono>
#include <iostream>
#include <thread>

#include "tests/integration/charges/charges.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  onced::integration::ChargesServer server(onced::client::Client::Connect(argv[1]),
                                           {.name_space = argv[2],
                                            .scope = onced::integration::AccountOf,
                                            .classifier = onced::client::ByGrpcStatus,
                                            .owner = "the one that is killed",
                                            .lease_ttl = absl::Seconds(1)});
  server.handle = [](auto& work, auto&, const auto&, auto&) {
    if (!work.SaveCheckpoint("half way").ok()) return grpc::Status(grpc::INTERNAL, "no checkpoint");
    std::cout << "charging" << std::endl;
    while (true) std::this_thread::sleep_for(std::chrono::hours(1));
    return grpc::Status::OK;
  };
  std::cout << "serves on " << server.address() << std::endl;
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}
