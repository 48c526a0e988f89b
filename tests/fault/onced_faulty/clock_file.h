// A machine whose wall clock is stepped by whoever writes a file.
#pragma once

#include <fstream>
#include <string>
#include <utility>

#include "server/base/believed_clock.h"

namespace onced::fault {

// The wall clock is ahead of the real one by the seconds that the file holds;
// none if there is no such file. The monotonic clock is the real one.
//
// Threads: any.
// Limits:  the file is replaced by a rename, so that no reader sees half of it.
class ClockFile final : public TimeSource {
 public:
  explicit ClockFile(std::string path) : path_(std::move(path)) {}

  TimeReading Read() const override {
    TimeReading reading = real_.Read();
    double seconds = 0;
    if (std::ifstream(path_) >> seconds) reading.wall += absl::Seconds(seconds);
    return reading;
  }

 private:
  const std::string path_;
  const SystemTimeSource real_;
};

}  // namespace onced::fault
