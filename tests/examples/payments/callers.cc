#include "tests/examples/payments/callers.h"

#include <algorithm>
#include <random>
#include <stdexcept>

#include "tests/integration/process.h"
#include "tests/integration/server_process.h"

namespace onced::examples {

using payments::Payer;
using payments::Receipt;
using payments::v1::ChargeRequest;

namespace {

// Short, so that a caller has asked another server before a lease of 1 s is over.
const absl::Duration kAttemptTimeout = absl::Milliseconds(1'500);

bool GivesUp(const grpc::Status& status) {
  return status.error_code() == grpc::UNAVAILABLE ||
         status.error_code() == grpc::DEADLINE_EXCEEDED || status.error_code() == grpc::ABORTED;
}

}  // namespace

Callers::Callers(const std::string& address, std::uint64_t seed, std::size_t payments,
                 std::size_t callers) {
  std::mt19937_64 random(seed);
  const auto one_in = [&](int n) { return std::uniform_int_distribution<>(1, n)(random) == 1; };
  std::vector<std::size_t> later;
  for (std::size_t i = 0; i < payments; ++i) {
    ChargeRequest& payment = asked_.emplace_back();
    payment.set_payment_id("order-" + std::to_string(i));
    payment.set_cents(std::uniform_int_distribution<std::int64_t>(1, 1'000'000)(random));
    payment.set_currency("EUR");
    callings_.push_back(i);
    if (one_in(8)) callings_.push_back(i);
    if (one_in(8)) later.push_back(i);
    if (later.size() > 20) {
      std::swap(later.back(), later[random() % later.size()]);
      callings_.push_back(later.back());
      later.pop_back();
    }
  }
  callings_.insert(callings_.end(), later.begin(), later.end());
  for (std::size_t i = 0; i < callers; ++i) {
    threads_.emplace_back([this, address] {
      Call(Payer(integration::ConnectTo(address),
                 {.attempt_timeout = kAttemptTimeout,
                  .retry = {.attempts_max = 4,
                            .backoff_first = absl::Milliseconds(20),
                            .backoff_max = absl::Milliseconds(200)}}));
    });
  }
}

Callers::~Callers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Callers::Release(std::size_t count) {
  const std::lock_guard lock(mutex_);
  released_ = std::min(count, callings_.size());
  changed_.notify_all();
}

void Callers::AwaitAnswers(std::size_t count) {
  std::unique_lock lock(mutex_);
  while (answered_ < count) {
    const std::size_t before = answered_;
    const bool any =
        changed_.wait_for(lock, 2 * integration::kPatience, [&] { return answered_ > before; });
    if (!any) throw std::runtime_error(std::to_string(before) + " answers, and then none");
  }
}

std::map<std::string, std::vector<Heard>> Callers::heard() const {
  const std::lock_guard lock(mutex_);
  return heard_;
}
std::vector<std::string> Callers::wrong() const {
  const std::lock_guard lock(mutex_);
  return wrong_;
}

void Callers::Call(const Payer& payer) {
  for (std::size_t calling = 0; Next(calling);) {
    const ChargeRequest& payment = asked_[callings_[calling]];
    Receipt receipt;
    grpc::Status status;
    do {
      status = payer.Pay(payment, receipt);
    } while (GivesUp(status) && !stop_);
    Answered(payment, status, receipt);
  }
}

bool Callers::Next(std::size_t& calling) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stop_ || begun_ < released_ || begun_ == callings_.size(); });
  if (stop_ || begun_ == callings_.size()) return false;
  calling = begun_++;
  return true;
}

void Callers::Answered(const ChargeRequest& payment, const grpc::Status& status,
                       const Receipt& receipt) {
  const std::lock_guard lock(mutex_);
  ++answered_;
  if (status.ok()) {
    heard_[payment.payment_id()].push_back(
        {receipt.charge.charge_id(), receipt.charge.cents(), receipt.replayed});
  } else {
    wrong_.push_back(payment.payment_id() + ": " + std::to_string(status.error_code()) + " " +
                     status.error_message());
  }
  changed_.notify_all();
}

}  // namespace onced::examples
