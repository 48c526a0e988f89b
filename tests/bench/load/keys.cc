#include "tests/bench/load/keys.h"

namespace onced::bench {
namespace {

// Of the number, from the lowest digit.
void AppendHex(std::uint64_t number, int digits, std::string& text) {
  for (int i = 0; i < digits; ++i) text.push_back("0123456789abcdef"[(number >> (4 * i)) & 15]);
}

}  // namespace

Keys::Keys(std::uint64_t seed, std::uint64_t part)
    : run_(std::mt19937_64(seed)()), random_(run_ + part) {}

void Keys::Name(char kind, std::uint64_t number, std::string& key) const {
  key.clear();
  key.push_back(kind);
  AppendHex(run_, 15, key);
  AppendHex(number, 16, key);
}

void Keys::Reserve(char kind, std::uint64_t number, Expect expect, Step& step) {
  step.op = Op::kReserve;
  step.expect = expect;
  Name(kind, number, step.key);
  step.fingerprint.clear();
  AppendHex(run_ ^ number, 16, step.fingerprint);
  AppendHex(number, 16, step.fingerprint);
  step.request_id.clear();
  AppendHex(random_(), 16, step.request_id);
  AppendHex(random_(), 16, step.request_id);
  step.token.clear();
  step.body = nullptr;
}

}  // namespace onced::bench
