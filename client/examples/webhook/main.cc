// A gateway for webhooks: takes events from providers, who deliver them at least once, and hands
// each on to an endpoint of one's own once:
//
//   webhook SERVER LISTEN ENDPOINT [LEASE [TIMEOUT]]
//   webhook 127.0.0.1:50051 127.0.0.1:8080 http://127.0.0.1:9000/events 30s 10s
//
// SERVER is where onced is, LEASE how soon another gateway takes over if this one dies, and
// TIMEOUT how long the endpoint may take. What it does with an event is in gateway.h. Ends at
// SIGTERM, after the deliveries that have begun.
#include <curl/curl.h>
#include <pthread.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "endpoint.h"
#include "gateway.h"
#include "http_server.h"
#include "onced/client/client.h"

namespace oc = onced::client;

namespace {

// `text` or, if there is none, `otherwise`; zero if it is no duration.
absl::Duration DurationOf(const char* text, absl::Duration otherwise) {
  absl::Duration duration;
  if (text == nullptr) return otherwise;
  return absl::ParseDuration(text, &duration) ? duration : absl::ZeroDuration();
}

}  // namespace

int main(int argc, char** argv) {
  const absl::Duration lease = DurationOf(argc > 4 ? argv[4] : nullptr, absl::Seconds(30));
  const absl::Duration timeout = DurationOf(argc > 5 ? argv[5] : nullptr, absl::Seconds(10));
  if (argc < 4 || argc > 6 || lease <= absl::ZeroDuration() || timeout <= absl::ZeroDuration()) {
    std::cerr << "usage: webhook SERVER LISTEN ENDPOINT [LEASE [TIMEOUT]]\n";
    return EXIT_FAILURE;
  }
  // Of all threads that are to come: they are waited for below.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  curl_global_init(CURL_GLOBAL_DEFAULT);

  // Shorter than the providers' own patience: without onced they are to hear soon that the event
  // wasn't taken.
  const oc::Client client = oc::Client::Connect(argv[1], {.timeout = absl::Seconds(2)});
  const webhook::Gateway gateway(client, webhook::Endpoint(argv[3], timeout), lease);
  const absl::StatusOr<std::unique_ptr<webhook::HttpServer>> server =
      webhook::HttpServer::Start(argv[2], gateway);
  if (!server.ok()) {
    std::cerr << server.status() << "\n";
    return EXIT_FAILURE;
  }
  std::cout << "listening on port " << (*server)->port() << std::endl;

  int signal = 0;
  sigwait(&ends, &signal);
  return EXIT_SUCCESS;
}
