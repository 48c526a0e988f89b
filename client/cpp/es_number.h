// Doubles in text as ECMAScript writes them, and the decimal numbers that literals stand for.
#pragma once

#include <string>
#include <string_view>

namespace onced::client {

// 0.DIGITS times ten to the power of `point`: 19.99 is {"1999", 2}. No digit at either end is
// zero, so that equal numbers are equal here; zero has no digits.
struct Decimal {
  std::string digits;
  int point = 0;

  bool IsWhole() const { return point >= static_cast<int>(digits.size()); }
  friend bool operator==(const Decimal&, const Decimal&) = default;
};

// Of JSON's grammar for numbers, with any byte for the decimal point; its sign is ignored.
Decimal DecimalOf(std::string_view literal);
// The shortest that is read as `value` and as no other double. `value` is finite; its sign is
// ignored.
Decimal ShortestDecimal(double value);

// Number::toString of ECMA-262, to the base of ten. `value` is finite; -0 is "0".
std::string EsNumber(double value);

}  // namespace onced::client
