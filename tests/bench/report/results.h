// What was measured.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace onced::bench {

// What one row of a table is about.
struct Cell {
  std::string table;
  std::string peer;
  std::string workload = "fresh";
  int callers = 64;
  int connections = 2;
  int steps = 1;        // A message.
  double rate = 0;      // Messages a second of an open loop; 0: a closed one.
  std::string variant;  // What else tells it from the others: "while another one writes".

  bool operator==(const Cell&) const = default;
};

// Of one round.
struct Sample {
  double per_second = 0;  // Steps.
  // Of messages, in microseconds.
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double p999 = 0;
  double server_cpu = 0;  // Microseconds a step; 0 if it isn't known.
  double load_cpu = 0;    // Of a core, 0 to 1.
  // Of the server, where they are asked for.
  double memory = 0;        // The most that it ever had, in bytes.
  double instructions = 0;  // A step.
};

// By round. One that was skipped in a round is skipped for good.
struct Series {
  Cell cell;
  std::vector<Sample> samples;
  std::string skipped;  // Why there are none.
};

using Metric = double Sample::*;

// Of an even number, the mean of the two in the middle; 0 of none.
double Median(std::vector<double> values);

class Results {
 public:
  // A row, as yet without samples.
  void Add(const Cell& cell) { Of(cell); }
  void Add(const Cell& cell, const Sample& sample);
  void Skip(const Cell& cell, const std::string& why);

  const std::vector<Series>& all() const { return all_; }
  std::vector<const Series*> Table(const std::string& table) const;
  // The only one for which `is` holds; nullptr if there is none.
  const Series* Find(const std::function<bool(const Cell&)>& is) const;

 private:
  Series& Of(const Cell& cell);
  std::vector<Series> all_;  // In the order in which they came first.
};

// nullopt without samples.
std::optional<double> MedianOf(const Series* series, Metric metric);
// The median, over rounds, of a function of both samples of a round. What disturbs a
// round disturbs both. Rounds that only one of them has are left out.
std::optional<double> MedianOfRounds(
    const Series* a, const Series* b,
    const std::function<double(const Sample&, const Sample&)>& function);
std::optional<double> MedianRatio(const Series* a, const Series* b, Metric metric);

}  // namespace onced::bench
