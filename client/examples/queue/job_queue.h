// A queue that delivers at least once: a stream of Redis, and a group that reads it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "redis.h"

// One entry of the stream. Several may be of one job: a producer that heard no answer adds it
// again, and Redis can't know that it is the same.
struct Entry {
  std::string id = {};      // Redis', of this entry.
  std::string job_id = {};  // The producer's, of the job.
  std::string payload = {};
  // How often it was handed to a consumer, with this time.
  std::int64_t deliveries = 1;
};

// What has been added and isn't acknowledged, is delivered again, to whoever asks next.
// Threads: one.
class JobQueue {
 public:
  struct Names {
    std::string stream = "jobs";
    std::string group = "shippers";
    std::string dead_stream = "jobs-dead";
    std::string consumer = {};  // This process.
  };

  // Makes the group if there is none.
  static absl::StatusOr<JobQueue> Open(const std::string& address, Names names);

  absl::Status Add(const std::string& job_id, const std::string& payload);
  // An entry that nobody was given before; waits for one, for so long.
  absl::StatusOr<std::vector<Entry>> Next(absl::Duration wait);
  // Up to `count` entries that were given to somebody, this consumer included, `idle` ago and are
  // not acknowledged. They are given to this consumer, and their time begins anew. Who had them
  // may be dead, or slow, or have put them off: the queue can't know.
  absl::StatusOr<std::vector<Entry>> Abandoned(absl::Duration idle, int count);
  // It is done with, and never delivered again.
  absl::Status Acknowledge(const Entry& entry);
  // The same, and it is added to the stream of the dead: once, however often this is called for
  // the same job and reason.
  absl::Status Bury(const Entry& entry, const std::string& reason);

 private:
  JobQueue(Redis redis, Names names) : redis_(std::move(redis)), names_(std::move(names)) {}
  absl::StatusOr<std::int64_t> DeliveriesOf(const std::string& id);

  Redis redis_;
  Names names_;
  std::string cursor_ = "0-0";  // Of Abandoned(): where it goes on.
};
