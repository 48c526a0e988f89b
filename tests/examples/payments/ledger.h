// The example's books, read by who doesn't share its code.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace onced::examples {

struct Charged {
  std::string id;
  std::int64_t cents = 0;
  std::string currency;
};

// All charges, by payment. `file` may be in use. Throws what SQLite says.
std::map<std::string, std::vector<Charged>> ChargesIn(const std::string& file);

// All that the books say of a payment, one line a row: for who has to find out what went wrong.
std::string EvidenceIn(const std::string& file, const std::string& payment_id);

// A number that a statement has for an answer.
std::int64_t NumberIn(const std::string& file, const std::string& sql);

}  // namespace onced::examples
