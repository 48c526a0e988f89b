// What happened in a run, for people, and for the test to see that all of it did.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace onced::examples {

class Report {
 public:
  void Add(const std::string& what, std::int64_t count) { rows_.emplace_back(what, count); }
  // What has never happened: its protection wasn't needed, and so is not shown to be there.
  std::vector<std::string> Missing() const;
  void Print() const;

 private:
  std::vector<std::pair<std::string, std::int64_t>> rows_;
};

}  // namespace onced::examples
