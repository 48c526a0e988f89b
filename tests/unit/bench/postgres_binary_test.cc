#include "tests/bench/peers/postgres_binary.h"

#include <gtest/gtest.h>

namespace onced::bench {
namespace {

// As PostgreSQL's array_send() writes it.
TEST(PgArray, IsAsTheServerReadsIt) {
  PgArray array(kPgBytea);
  array.Append("ab");
  array.Append("");
  array.Append(std::string_view("\0\xff", 2));
  const std::string_view want(
      "\0\0\0\1"
      "\0\0\0\0"
      "\0\0\0\x11"
      "\0\0\0\3"
      "\0\0\0\1"
      "\0\0\0\2ab"
      "\0\0\0\0"
      "\0\0\0\2\0\xff",
      36);
  EXPECT_EQ(array.bytes(), want);
}

TEST(PgArray, CountsBeyondAByte) {
  PgArray array(kPgText);
  for (int i = 0; i < 0x1234; ++i) array.Append("");
  EXPECT_EQ(array.bytes().substr(12, 4), std::string_view("\0\0\x12\x34", 4));
}

}  // namespace
}  // namespace onced::bench
