// What the jobs are for: a parcel's label, and the order to fetch it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

// Stands for a carrier's API, in a file in which each line is something that it was made to do:
// "JOB STEP FENCE". It takes the same twice: nothing here keeps a job from being done twice but
// who calls it. What it can do, and what one in earnest should be able to, is to be asked what
// it has done, and to compare fences.
//
// Threads: one; of several processes, one after the other.
class Carrier {
 public:
  // `delay` is what an order takes until it is confirmed.
  Carrier(std::string file, absl::Duration delay) : file_(std::move(file)), delay_(delay) {}

  enum class Unless { kNever, kDone };
  // Has the step done; under kDone only if it was not before. ABORTED: somebody with a greater
  // fence has given an order for this job. Any other error: nobody knows.
  absl::Status Order(const std::string& job_id, int step, std::int64_t fence, Unless unless);

 private:
  const std::string file_;
  const absl::Duration delay_;
};
