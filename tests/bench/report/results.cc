#include "tests/bench/report/results.h"

#include <algorithm>

namespace onced::bench {

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

void Results::Add(const Cell& cell, const Sample& sample) { Of(cell).samples.push_back(sample); }

void Results::Skip(const Cell& cell, const std::string& why) { Of(cell).skipped = why; }

Series& Results::Of(const Cell& cell) {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [&](const Series& series) { return series.cell == cell; });
  if (found != all_.end()) return *found;
  return all_.emplace_back(Series{.cell = cell});
}

std::vector<const Series*> Results::Table(const std::string& table) const {
  std::vector<const Series*> rows;
  for (const Series& series : all_) {
    if (series.cell.table == table) rows.push_back(&series);
  }
  return rows;
}

const Series* Results::Find(const std::function<bool(const Cell&)>& is) const {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Series& series) { return is(series.cell); });
  return found == all_.end() ? nullptr : &*found;
}

std::optional<double> MedianOf(const Series* series, Metric metric) {
  if (series == nullptr || series->samples.empty()) return std::nullopt;
  std::vector<double> values;
  for (const Sample& sample : series->samples) values.push_back(sample.*metric);
  return Median(values);
}

std::optional<double> MedianOfRounds(
    const Series* a, const Series* b,
    const std::function<double(const Sample&, const Sample&)>& function) {
  if (a == nullptr || b == nullptr) return std::nullopt;
  const std::size_t rounds = std::min(a->samples.size(), b->samples.size());
  if (rounds == 0) return std::nullopt;
  std::vector<double> values;
  for (std::size_t i = 0; i < rounds; ++i) {
    values.push_back(function(a->samples[i], b->samples[i]));
  }
  return Median(values);
}

std::optional<double> MedianRatio(const Series* a, const Series* b, Metric metric) {
  return MedianOfRounds(a, b, [metric](const Sample& of_a, const Sample& of_b) {
    return of_b.*metric > 0 ? of_a.*metric / of_b.*metric : 0;
  });
}

}  // namespace onced::bench
