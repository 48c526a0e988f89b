// What becomes of an entry of the queue.
#pragma once

#include "carrier.h"
#include "job_queue.h"
#include "onced/client/client.h"

struct ConsumerOptions {
  absl::Duration lease_ttl = absl::Seconds(30);
  // For whoever is at a job already.
  absl::Duration wait_timeout = absl::Seconds(1);
  // So often an entry is delivered, and a job taken over, before it is given up.
  int attempts_max = 5;
};

// Has the job of `entry` done, if nobody has or is at it, and acknowledges it if it is settled.
// Else it stays in the queue, and is looked at again when it has been idle for long enough. An
// error is the queue's.
absl::Status Handle(const Entry& entry, const onced::client::Client& client, JobQueue& queue,
                    Carrier& carrier, const ConsumerOptions& options);
