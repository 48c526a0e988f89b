#include "server/rpc/wire_shape.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "idempotency/v1/idempotency.pb.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;
using Verdict = WireShape::Verdict;

const WireShape& BatchShape() {
  static const WireShape kShape(*v1::BatchRequest::descriptor());
  return kShape;
}
const WireShape& CommitShape() {
  static const WireShape kShape(*v1::CommitRequest::descriptor());
  return kShape;
}
const WireShape& ReserveShape() {
  static const WireShape kShape(*v1::ReserveRequest::descriptor());
  return kShape;
}

std::string Repeat(const std::string& bytes, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += bytes;
  return repeated;
}
// One of that number, with that value, of less than 128 bytes.
std::string Inner(int number, const std::string& value) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(value.size())} + value;
}

v1::CommitRequest WithHeaders(int count) {
  v1::CommitRequest commit;
  commit.set_key("key");
  for (int i = 0; i < count; ++i) {
    commit.mutable_result()->add_headers()->set_name("h" + std::to_string(i));
  }
  commit.mutable_result()->set_body("body");
  commit.mutable_retention_ttl()->set_seconds(5);
  return commit;
}

v1::BatchRequest FullBatch() {
  v1::BatchRequest batch;
  for (int i = 0; i < 256; ++i) {
    v1::ReserveRequest& reserve = *batch.add_operations()->mutable_reserve();
    reserve.set_namespace_("ns");
    reserve.set_key("key" + std::to_string(i));
    reserve.mutable_lease_ttl()->set_seconds(i);
    *batch.add_operations()->mutable_commit() = WithHeaders(64);
    batch.add_operations()->mutable_extend()->set_checkpoint("c");
    batch.add_operations()->mutable_inspect()->set_include_result(true);
  }
  return batch;
}

TEST(WireShape, WhatIsInOrderIsFine) {
  EXPECT_EQ(BatchShape().Look(""), Verdict::kFine);
  EXPECT_EQ(BatchShape().Look(FullBatch().SerializeAsString()), Verdict::kFine);
  EXPECT_EQ(CommitShape().Look(WithHeaders(65).SerializeAsString()), Verdict::kFine);
}

TEST(WireShape, EachBoundIsMet) {
  const std::string empty_operation = Inner(1, "");
  const std::string unknown = {'\x78', '\x01'};  // Field 15, a varint.
  struct Row {
    const char* name;
    const WireShape& shape;
    std::string bytes;
    Verdict want;
  };
  const Row rows[] = {
      {"1025 operations", BatchShape(), Repeat(empty_operation, 1'025), Verdict::kFine},
      {"1026 operations", BatchShape(), Repeat(empty_operation, 1'026), Verdict::kExcess},
      {"4 MiB of operations", BatchShape(), Repeat(empty_operation, 2 << 20), Verdict::kExcess},
      {"64 unknown fields", BatchShape(), Repeat(unknown, 64), Verdict::kFine},
      {"65 unknown fields", BatchShape(), Repeat(unknown, 65), Verdict::kTooManyFields},
      {"64 in an operation", BatchShape(), Inner(1, Repeat(unknown, 60)), Verdict::kFine},
      {"an operation's reserve, many times", ReserveShape(), Repeat(Inner(6, ""), 65),
       Verdict::kTooManyFields},
      {"fields in a duration", ReserveShape(), Inner(6, Repeat(unknown, 63)), Verdict::kFine},
      {"headers", CommitShape(), Inner(4, Repeat(Inner(2, ""), 62)), Verdict::kFine},
      {"too many headers", CommitShape(), WithHeaders(66).SerializeAsString(), Verdict::kExcess},
      {"groups", ReserveShape(), Repeat("\x7b", 65), Verdict::kTooManyFields},
      {"a tag that ends early", ReserveShape(), "\x80", Verdict::kMalformed},
      {"field number 0", ReserveShape(), std::string("\0\0", 2), Verdict::kMalformed},
      {"a wire type that isn't", ReserveShape(), "\x7e", Verdict::kMalformed},
      {"longer than the message", ReserveShape(), "\x0a\x02x", Verdict::kMalformed},
      {"longer than anything", ReserveShape(), "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
       Verdict::kMalformed},
      {"a varint that doesn't end", ReserveShape(), "\x78\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
       Verdict::kMalformed},
      {"eight bytes that are seven", ReserveShape(), "\x79xxxxxxx", Verdict::kMalformed},
      {"malformed inside", ReserveShape(), Inner(6, "\x08"), Verdict::kMalformed},
  };
  for (const Row& row : rows) EXPECT_EQ(row.shape.Look(row.bytes), row.want) << row.name;
}

TEST(WireShape, LeavesOutWhatIsTooMuchAndNothingElse) {
  v1::BatchRequest batch = FullBatch();
  *batch.mutable_operations(1)->mutable_commit() = WithHeaders(1'000);
  const std::string bytes = batch.SerializeAsString();
  ASSERT_EQ(BatchShape().Look(bytes), Verdict::kExcess);
  const std::string kept = BatchShape().WithoutExcess(bytes);
  EXPECT_EQ(BatchShape().Look(kept), Verdict::kFine);
  *batch.mutable_operations(1)->mutable_commit() = WithHeaders(65);
  EXPECT_EQ(kept, batch.SerializeAsString());
}

// Whatever the bytes are: it ends, and what it takes for fine or shortens is read the same
// way by the parser.
TEST(WireShape, AgreesWithTheParserOnDamagedMessages) {
  constexpr int kRounds = 3'000;
  std::mt19937 random(42);
  v1::BatchRequest small;
  *small.add_operations()->mutable_commit() = WithHeaders(80);
  small.add_operations()->mutable_reserve()->mutable_lease_ttl()->set_seconds(5);
  const std::string whole = small.SerializeAsString();
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = whole.substr(0, random() % (whole.size() + 1));
    for (unsigned i = random() % 4; i > 0 && !bytes.empty(); --i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    v1::BatchRequest parsed;
    const bool parses = parsed.ParseFromString(bytes);
    const Verdict verdict = BatchShape().Look(bytes);
    if (parses) {
      EXPECT_NE(verdict, Verdict::kMalformed) << "round " << round;
    }
    if (verdict > Verdict::kExcess) continue;
    const std::string kept = BatchShape().WithoutExcess(bytes);
    EXPECT_LE(kept.size(), bytes.size()) << "round " << round;
    v1::BatchRequest again;
    const bool parses_again = again.ParseFromString(kept);
    if (parses && verdict == Verdict::kFine) {
      EXPECT_TRUE(parses_again);
      EXPECT_EQ(again.SerializeAsString(), parsed.SerializeAsString()) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace onced
