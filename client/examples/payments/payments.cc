// The payment server. Several of them may share one file of books.
//
//   payments --listen=127.0.0.1:6000 --onced=127.0.0.1:50051 --books=books.db
//
// To see what happens when one dies at the worst moment: --delay makes the moments longer, and
// --hold_before, --hold_after make them last as long as a file is there. --lose_answers loses what
// the books said.
#include <grpcpp/grpcpp.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/time/time.h"
#include "books.h"
#include "charge_service.h"
#include "onced/client/client.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:6000", "where to serve; port 0: any that is free");
ABSL_FLAG(std::string, onced, "127.0.0.1:50051", "where onced serves");
ABSL_FLAG(std::string, books, "books.db", "the file of the books, made if it isn't there");
ABSL_FLAG(absl::Duration, lease, absl::Seconds(30), "how soon others take over if this one dies");
ABSL_FLAG(absl::Duration, delay, absl::ZeroDuration(),
          "rest up to that long before each charge, and again before it is committed to onced");
ABSL_FLAG(std::string, hold_before, "", "charge nothing while this file is there");
ABSL_FLAG(std::string, hold_after, "", "commit nothing to onced while this file is there");
ABSL_FLAG(double, lose_answers, 0,
          "of so many charges made, from 0 to 1, don't hear that they were");

namespace {

// Evenly spread in [0, 1).
double Fraction() {
  thread_local std::mt19937_64 random(std::random_device{}());
  return std::uniform_real_distribution<>(0, 1)(random);
}

// Called on many threads at once.
void Hold(const std::string& file) {
  std::this_thread::sleep_for(absl::ToChronoMicroseconds(absl::GetFlag(FLAGS_delay) * Fraction()));
  if (file.empty() || !std::filesystem::exists(file)) return;
  std::cout << "holding while there is " << file << std::endl;
  while (std::filesystem::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

int Serve() {
  // Before the first thread, so that all of them leave these to sigwait() below.
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);

  payments::Books books(absl::GetFlag(FLAGS_books));
  const auto service = payments::ChargeService::Create(
      onced::client::Client::Connect(absl::GetFlag(FLAGS_onced)), books,
      {.lease = absl::GetFlag(FLAGS_lease),
       .before_charge = [] { Hold(absl::GetFlag(FLAGS_hold_before)); },
       .after_charge = [] { Hold(absl::GetFlag(FLAGS_hold_after)); },
       .loses_answer = [] { return Fraction() < absl::GetFlag(FLAGS_lose_answers); }});
  if (!service.ok()) {
    std::cerr << service.status() << "\n";
    return EXIT_FAILURE;
  }

  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::GetFlag(FLAGS_listen), grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(service->get());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::cerr << "can't listen on " << absl::GetFlag(FLAGS_listen) << "\n";
    return EXIT_FAILURE;
  }
  std::cout << "payments on port " << port << std::endl;

  int signal = 0;
  sigwait(&stop, &signal);
  server->Shutdown();  // Waits for the calls that have begun.
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("the payment server");
  absl::ParseCommandLine(argc, argv);
  try {
    return Serve();
  } catch (const payments::SqlError& error) {
    std::cerr << error.what() << "\n";
    return EXIT_FAILURE;
  }
}
