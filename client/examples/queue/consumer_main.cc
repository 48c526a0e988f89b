// Consumes the queue, until it is told to stop (SIGTERM):
//
//   consumer --redis 127.0.0.1:6379 --onced 127.0.0.1:50051 --carrier orders.txt --name c1
//
// or adds a job to it:
//
//   consumer --redis 127.0.0.1:6379 --add order-1 --payload "Main Street 1"
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "consumer.h"

ABSL_FLAG(std::string, redis, "127.0.0.1:6379", "HOST:PORT, or the path of a socket");
ABSL_FLAG(std::string, onced, "127.0.0.1:50051", "HOST:PORT");
ABSL_FLAG(std::string, carrier, "orders.txt", "the file that stands for the carrier");
ABSL_FLAG(absl::Duration, carrier_delay, absl::ZeroDuration(), "what an order takes");
ABSL_FLAG(std::string, name, absl::StrCat("consumer-", getpid()), "this consumer's");
ABSL_FLAG(absl::Duration, lease, absl::Seconds(30), "how soon others take over from a dead one");
ABSL_FLAG(absl::Duration, idle, absl::Seconds(60),
          "how soon an entry that isn't acknowledged is looked at again");
ABSL_FLAG(int, attempts, 5, "before a job is given up");
ABSL_FLAG(std::string, add, "", "the ID of a job to add");
ABSL_FLAG(std::string, payload, "", "of that job");

namespace {

volatile std::sig_atomic_t stopped = 0;

// One round: what others left, then what is new.
absl::Status Round(JobQueue& queue, const onced::client::Client& client, Carrier& carrier,
                   const ConsumerOptions& options) {
  const absl::Duration idle = absl::GetFlag(FLAGS_idle);
  auto entries = queue.Abandoned(idle, 10);
  if (entries.ok() && entries->empty()) {
    entries = queue.Next(std::min(idle, absl::Seconds(1)));
  }
  if (!entries.ok()) return entries.status();
  for (const Entry& entry : *entries) {
    if (stopped != 0) break;  // The others are delivered again, to somebody else.
    if (absl::Status handled = Handle(entry, client, queue, carrier, options); !handled.ok()) {
      return handled;
    }
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("consumes the queue, or adds a job to it");
  absl::ParseCommandLine(argc, argv);
  std::signal(SIGTERM, [](int) { stopped = 1; });
  auto queue = JobQueue::Open(absl::GetFlag(FLAGS_redis), {.consumer = absl::GetFlag(FLAGS_name)});
  absl::Status status = queue.status();
  if (status.ok() && !absl::GetFlag(FLAGS_add).empty()) {
    status = queue->Add(absl::GetFlag(FLAGS_add), absl::GetFlag(FLAGS_payload));
  } else if (status.ok()) {
    const auto client = onced::client::Client::Connect(absl::GetFlag(FLAGS_onced));
    Carrier carrier(absl::GetFlag(FLAGS_carrier), absl::GetFlag(FLAGS_carrier_delay));
    const ConsumerOptions options{.lease_ttl = absl::GetFlag(FLAGS_lease),
                                  .attempts_max = absl::GetFlag(FLAGS_attempts)};
    while (status.ok() && stopped == 0) status = Round(*queue, client, carrier, options);
  }
  if (!status.ok()) std::cerr << status << std::endl;
  return status.ok() ? 0 : 1;
}
