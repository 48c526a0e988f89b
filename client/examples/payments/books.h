// What was charged: the service's own books, which several server processes share.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "database.h"

namespace payments {

// What is asked for.
struct Payment {
  std::string id;
  std::int64_t cents = 0;
  std::string currency;
};

// By what right: what onced has told this run.
struct Grant {
  // Larger than that of every earlier run for this payment.
  std::int64_t fence = 0;
  // An earlier run has ended without a word: it may have charged the payment or not.
  bool takeover = false;
};

// Stands for whatever keeps the money: a line in it is a charge.
// Threads: any.
class Books {
 public:
  explicit Books(const std::string& file);

  // Charges the payment, if that is this run's to do: the id of the charge, which an earlier run
  // may have made. Nothing: a later run has begun, and this one has charged nothing. Throws
  // SqlError: nobody knows.
  std::optional<std::string> Charge(const Payment& payment, const Grant& grant);

 private:
  std::optional<std::int64_t> LastFence(const std::string& payment_id);
  std::optional<std::string> Find(const std::string& payment_id);
  std::string Insert(const Payment& payment, const Grant& grant);

  std::mutex mutex_;
  Database database_;  // Guarded by mutex_.
};

}  // namespace payments
