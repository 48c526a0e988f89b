// A store that changes a part of what another one does.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "server/storage/store.h"

namespace onced {

// Passes everything through: who derives from it says what is different.
//
// Threads:  as Store.
// Lifetime: `real` outlives it.
class StoreWrapper : public Store {
 public:
  void Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) override {
    real_.Run(std::move(work), body, std::move(durable));
  }
  absl::StatusOr<Scanned> Scan(const ScanRange& range, ScanVisitor visit) const override {
    return real_.Scan(range, visit);
  }
  const StoreIdentity& identity() const override { return real_.identity(); }
  const Outages& outages() const override { return real_.outages(); }
  absl::Time clock_mark() const override { return real_.clock_mark(); }
  absl::Status RaiseClockMark(absl::Time mark) override { return real_.RaiseClockMark(mark); }
  bool LowOnSpace() const override { return real_.LowOnSpace(); }
  std::uint64_t EstimateKeys() const override { return real_.EstimateKeys(); }

 protected:
  explicit StoreWrapper(Store& real) : real_(real) {}
  Store& real() { return real_; }
  const Store& real() const { return real_; }

 private:
  Store& real_;
};

}  // namespace onced
