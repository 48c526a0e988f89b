// Metrics whose values are asked for.
#pragma once

#include <prometheus/metric_family.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace onced {

// Metrics that are asked when they are scraped.
// Threads: all functions from any thread.
class CallbackMetrics {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;
  struct Named {
    const char* name;
    const char* help;
    prometheus::MetricType type;
  };
  void Add(const Named& family, Labels labels, std::function<double()> value)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    FamilyOf(family).series.push_back({std::move(labels), std::move(value)});
  }

  // One family for each name, as the text format demands. The callbacks run
  // under the lock: they must not add metrics.
  std::vector<prometheus::MetricFamily> Collect() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    std::vector<prometheus::MetricFamily> collected;
    for (const Family& family : families_) collected.push_back(CollectOne(family));
    return collected;
  }

 private:
  struct Series {
    Labels labels;
    std::function<double()> value;
  };
  struct Family {
    std::string name;
    std::string help;
    prometheus::MetricType type;
    std::vector<Series> series;
  };

  Family& FamilyOf(const Named& wanted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (Family& family : families_) {
      if (family.name == wanted.name) return family;
    }
    return families_.emplace_back(Family{wanted.name, wanted.help, wanted.type, {}});
  }

  static prometheus::MetricFamily CollectOne(const Family& family) {
    prometheus::MetricFamily collected;
    collected.name = family.name;
    collected.help = family.help;
    collected.type = family.type;
    for (const Series& series : family.series) {
      prometheus::ClientMetric metric;
      for (const auto& [name, value] : series.labels) metric.label.push_back({name, value});
      (family.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) =
          series.value();
      collected.metric.push_back(std::move(metric));
    }
    return collected;
  }

  mutable Mutex mutex_;
  std::vector<Family> families_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onced
