// An order, charged once.
#pragma once

#include <string>

#include "onced/client/client.h"

// What an HTTP service would answer with.
struct Answer {
  int status;
  std::string text;

  friend bool operator==(const Answer&, const Answer&) = default;
};

// However often an order is asked for. A charge is a line in the file `charges`, which stands for a
// payment provider.
Answer ChargeOnce(const onced::client::Client& client, const std::string& charges,
                  const std::string& order, const std::string& cents);
