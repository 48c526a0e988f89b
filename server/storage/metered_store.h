// Times what another store makes durable, and tells of its first failure.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "server/base/clock.h"
#include "server/base/telemetry.h"
#include "server/storage/store_wrapper.h"

namespace onced {

// Threads:  as Store. `on_failure` is called on whatever thread hears of it,
//           once for each failed write.
// Lifetime: all that the constructor takes outlives it; it outlives every unit that
//           changes something and is still to be told of.
class MeteredStore final : public StoreWrapper {
 public:
  MeteredStore(Store& store, const Clock& clock, Telemetry& telemetry,
               std::function<void()> on_failure)
      : StoreWrapper(store),
        clock_(clock),
        telemetry_(telemetry),
        on_failure_(std::move(on_failure)) {}

  void Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) override {
    // Shared: set at the body's end, read when durable, which may be later.
    auto written_from = std::make_shared<absl::Time>(absl::InfinitePast());
    real().Run(
        std::move(work),
        [&](UnitOfWork& loaded) {
          body(loaded);
          if (loaded.changed()) *written_from = clock_.Now();
        },
        [this, written_from, durable = std::move(durable)](const absl::Status& status) mutable {
          Report(status, *written_from);
          std::move(durable)(status);
        });
  }

  absl::Status RaiseClockMark(absl::Time mark) override {
    const absl::Time from = clock_.Now();
    absl::Status status = real().RaiseClockMark(mark);
    Report(status, from);
    return status;
  }

 private:
  void Report(const absl::Status& status, absl::Time from) {
    if (from != absl::InfinitePast()) telemetry_.Synced(clock_.Now() - from);
    if (status.ok()) return;
    telemetry_.StoreFailed(status.message());
    on_failure_();
  }

  const Clock& clock_;
  Telemetry& telemetry_;
  const std::function<void()> on_failure_;
};

}  // namespace onced
