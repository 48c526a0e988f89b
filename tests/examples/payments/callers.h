// Many callers at once, each of whom asks until it is answered.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client/examples/payments/payer.h"

namespace onced::examples {

// What one caller was told in the end.
struct Heard {
  std::string charge_id;
  std::int64_t cents = 0;
  bool replayed = false;
};

// Operation: every payment is asked for by one caller, some by two at the same time, some once
//            more later; the order and the amounts are drawn from the seed.
// Threads:   as many as callers; the functions from any.
class Callers {
 public:
  Callers(const std::string& address, std::uint64_t seed, std::size_t payments,
          std::size_t callers);
  ~Callers();  // Those who still ask give up.

  // How many callings there are in all: more than payments.
  std::size_t size() const { return callings_.size(); }
  // So many of them may begin.
  void Release(std::size_t count);
  // Waits until so many are answered; throws if nobody is, for a long time.
  void AwaitAnswers(std::size_t count);

  // What is asked for, in the order of the payments.
  const std::vector<payments::v1::ChargeRequest>& asked() const { return asked_; }
  // What was answered, by payment.
  std::map<std::string, std::vector<Heard>> heard() const;
  // Answers that are none which a caller should ever hear.
  std::vector<std::string> wrong() const;

 private:
  void Call(const payments::Payer& payer);
  bool Next(std::size_t& calling);
  void Answered(const payments::v1::ChargeRequest& payment, const grpc::Status& status,
                const payments::Receipt& receipt);

  // Constant after construction.
  std::vector<payments::v1::ChargeRequest> asked_;
  std::vector<std::size_t> callings_;  // Of the payments, by place in asked_.

  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::size_t released_ = 0;
  std::size_t begun_ = 0;
  std::size_t answered_ = 0;
  std::map<std::string, std::vector<Heard>> heard_;
  std::vector<std::string> wrong_;

  std::vector<std::thread> threads_;  // Last: uses what is above.
};

}  // namespace onced::examples
