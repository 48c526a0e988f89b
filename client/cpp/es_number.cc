#include "client/cpp/es_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace onced::client {
namespace {

// Larger than any exponent that matters to a literal of some megabytes.
constexpr int kExponentMax = 1'000'000'000;

int ExponentOf(std::string_view text) {
  if (text.empty()) return 0;
  const bool negative = text.front() == '-';
  int exponent = 0;
  for (const char c : text) {
    if (c == '-' || c == '+') continue;
    exponent = exponent >= kExponentMax / 10 ? kExponentMax : exponent * 10 + (c - '0');
  }
  return negative ? -exponent : exponent;
}

// Where ECMAScript goes over to exponents.
constexpr int kPlainPointMax = 21;
constexpr int kPlainPointMin = -5;

std::string Unsigned(const Decimal& decimal) {
  const std::string& digits = decimal.digits;
  const int count = static_cast<int>(digits.size());
  const int point = decimal.point;
  if (count == 0) return "0";
  if (decimal.IsWhole() && point <= kPlainPointMax) {
    return absl::StrCat(digits, std::string(point - count, '0'));
  }
  if (point > 0 && point <= kPlainPointMax) {
    return absl::StrCat(digits.substr(0, point), ".", digits.substr(point));
  }
  if (point <= 0 && point >= kPlainPointMin) {
    return absl::StrCat("0.", std::string(-point, '0'), digits);
  }
  const int exponent = point - 1;
  return absl::StrCat(digits.substr(0, 1), count > 1 ? "." : "", digits.substr(1),
                      exponent < 0 ? "e" : "e+", exponent);
}

}  // namespace

Decimal DecimalOf(std::string_view literal) {
  const std::size_t mark = literal.find_first_of("eE");
  const std::string_view mantissa = literal.substr(0, mark);
  Decimal decimal;
  int before_point = 0;
  bool after_point = false;
  for (const char c : mantissa) {
    if (c == '-') continue;
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) {
      after_point = true;
      continue;
    }
    if (!after_point) ++before_point;
    decimal.digits.push_back(c);
  }
  const std::size_t zeros = std::min(decimal.digits.find_first_not_of('0'), decimal.digits.size());
  decimal.digits.erase(0, zeros);
  decimal.digits.erase(decimal.digits.find_last_not_of('0') + 1);
  if (decimal.digits.empty()) return decimal;
  decimal.point = before_point - static_cast<int>(zeros);
  if (mark != std::string_view::npos) decimal.point += ExponentOf(literal.substr(mark + 1));
  return decimal;
}

Decimal ShortestDecimal(double value) {
  char text[32];
  const std::to_chars_result end =
      std::to_chars(text, text + sizeof(text), std::fabs(value), std::chars_format::scientific);
  return DecimalOf({text, static_cast<std::size_t>(end.ptr - text)});
}

std::string EsNumber(double value) {
  return absl::StrCat(value < 0 ? "-" : "", Unsigned(ShortestDecimal(value)));
}

}  // namespace onced::client
