// The work: ships one parcel, in steps.
#pragma once

#include <string>

#include "carrier.h"
#include "onced/client/run_once.h"

inline constexpr int kSteps = 3;  // A label, an order to fetch it, a mail to the customer.

// What it committed, for good: the status of its result.
inline constexpr int kShipped = 200;
inline constexpr int kDead = 422;  // It never will be.

// Of a first run or of one that takes over. An error says that nobody knows how far it got, or,
// if IsNothingDone(), that nothing happened at all.
absl::StatusOr<onced::client::Result> Ship(Carrier& carrier, const std::string& job_id,
                                           const std::string& payload,
                                           onced::client::WorkContext& context);

// An error of Ship() that is worth another attempt.
bool IsNothingDone(const absl::Status& error);
