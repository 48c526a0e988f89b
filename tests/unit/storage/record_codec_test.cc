// Layout, golden bytes and refusals of the record codec.
#include "server/storage/codec/record_codec.h"

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <variant>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"
#include "server/storage/codec/crc32c.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

// What version 1 wrote and every later server reads. Never to be changed: a new
// layout is a new version with golden bytes of its own.
constexpr char kPendingMinimalV1[] =
    "010100ae1c3d380a060004030201101112131415161718191a1b1c1d1e1f07000000000000000100"
    "000000401e18240a0600000000000000000000000000004e451f240a0600010060d71d1400000040"
    "420f0000000000000086a06e1f00000060d71d14000000000000000064f64b2b";
constexpr char kPendingFullV1[] =
    "0101ffffffffffffff7f04030201202122232425262728292a2b2c2d2e2f01401e18240a06000300"
    "000001401e18240a060008000000776f726b65722d330b00000066696e6765727072696e740a0000"
    "00726571756573742d69648003e819240a06000200c0ae3b2800000080841e000000000000208659"
    "3c00000000a493d60000000001c0fd0e18240a060008000000776f726b65722d32c0f4d117240a06"
    "000b000000636865636b00706f696e740897bc01";
constexpr char kCommittedMinimalV1[] =
    "010200a0f535380a060004030201303132333435363738393a3b3c3d3e3f07000000000000000100"
    "000000401e18240a0600000000000000000040822d18240a060000c8000000000000000400000000"
    "00000020000000230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb504"
    "000000626f64796f741b8e";
constexpr char kCommittedFullV1[] =
    "01020040a4b89229060004030201404142434445464748494a4b4c4d4e4f02401e18240a06000400"
    "000000401e18240a060008000000776f726b65722d340b00000066696e6765727072696e7400c7b1"
    "1b240a060007fbffffff030000000a0000007365742d636f6f6b696503000000613d310a00000073"
    "65742d636f6f6b696503000000623dfe05000000656d707479000000000600000000000000200000"
    "0063189caad211837f768d34ac8b28978ade5343ecae47cc0bf96ac8daee491f510600000000ff62"
    "6f6479305cad20";

// Version 2: a trace behind all that version 1 has.
constexpr char kPendingTracedV2[] =
    "020100ae1c3d380a060004030201101112131415161718191a1b1c1d1e1f07000000000000000100"
    "000000401e18240a0600000000000000000000000000004e451f240a0600010060d71d1400000040"
    "420f0000000000000086a06e1f00000060d71d140000000000000000a0a1a2a3a4a5a6a7a8a9aaab"
    "acadaeafb0b1b2b3b4b5b6b7aa9b8b8e";
constexpr char kCommittedTracedV2[] =
    "02020040a4b89229060004030201404142434445464748494a4b4c4d4e4f02401e18240a06000400"
    "000000401e18240a060008000000776f726b65722d340b00000066696e6765727072696e7400c7b1"
    "1b240a060007fbffffff030000000a0000007365742d636f6f6b696503000000613d310a00000073"
    "65742d636f6f6b696503000000623dfe05000000656d707479000000000600000000000000200000"
    "0063189caad211837f768d34ac8b28978ade5343ecae47cc0bf96ac8daee491f510600000000ff62"
    "6f6479a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b71e161280";

struct Golden {
  const char* name;
  const char* hex;
  Record record;
  absl::Time expiry;
};

Record Traced(Record record) {
  for (std::size_t i = 0; i < record.trace.trace_id.size(); ++i) {
    record.trace.trace_id[i] = static_cast<std::uint8_t>(0xa0 + i);
  }
  for (std::size_t i = 0; i < record.trace.span_id.size(); ++i) {
    record.trace.span_id[i] = static_cast<std::uint8_t>(0xb0 + i);
  }
  return record;
}

void PrintTo(const Golden& golden, std::ostream* os) { *os << golden.name; }
std::string BytesOf(const Golden& golden) { return absl::HexStringToBytes(golden.hex); }

class RecordCodecGolden : public testing::TestWithParam<Golden> {};

TEST_P(RecordCodecGolden, IsRead) {
  const absl::StatusOr<Record> record = DecodeRecord(BytesOf(GetParam()));
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(*record, GetParam().record);
}

TEST_P(RecordCodecGolden, IsWritten) {
  EXPECT_EQ(ToHex(EncodeRecord(GetParam().record)), GetParam().hex);
}

TEST_P(RecordCodecGolden, TellsItsExpiryByItsPrefix) {
  EXPECT_EQ(ExpiryOf(BytesOf(GetParam())), GetParam().expiry);
  EXPECT_EQ(ExpiryOf(BytesOf(GetParam()).substr(0, 10)), GetParam().expiry);
}

TEST_P(RecordCodecGolden, IsRefusedCutAnywhere) {
  const std::string bytes = BytesOf(GetParam());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_TRUE(absl::IsDataLoss(DecodeRecord(bytes.substr(0, n)).status())) << n << " bytes";
  }
}

TEST_P(RecordCodecGolden, IsRefusedWithATail) {
  for (const char* tail : {"x", "\xff", "four", "eight by"}) {
    EXPECT_TRUE(absl::IsDataLoss(DecodeRecord(BytesOf(GetParam()) + tail).status())) << tail;
  }
}

TEST_P(RecordCodecGolden, IsRefusedWithAnyBitFlipped) {
  const std::string bytes = BytesOf(GetParam());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(absl::IsDataLoss(DecodeRecord(flipped).status())) << "bit " << bit;
  }
}

INSTANTIATE_TEST_SUITE_P(
    V1, RecordCodecGolden,
    testing::Values(Golden{"pending_minimal", kPendingMinimalV1, MinimalPending(),
                           TestStart() + absl::Minutes(2) + absl::Hours(24)},
                    Golden{"pending_full", kPendingFullV1, FullPending(), absl::InfiniteFuture()},
                    Golden{"committed_minimal", kCommittedMinimalV1, MinimalCommitted("body"),
                           TestStart() + absl::Hours(24)},
                    Golden{"committed_full", kCommittedFullV1, FullCommitted(),
                           TestStart() + absl::Hours(24 * 400)}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    V2, RecordCodecGolden,
    testing::Values(Golden{"pending_traced", kPendingTracedV2, Traced(MinimalPending()),
                           TestStart() + absl::Minutes(2) + absl::Hours(24)},
                    Golden{"committed_traced", kCommittedTracedV2, Traced(FullCommitted()),
                           TestStart() + absl::Hours(24 * 400)}),
    [](const auto& row) { return row.param.name; });

// Bytes with a checksum that holds, so that the rules behind it are reached.
std::string Resealed(std::string bytes, std::size_t at, std::string with) {
  bytes.replace(at, with.size(), with);
  bytes.resize(bytes.size() - 4);
  std::uint32_t checksum = Crc32c(bytes);
  for (int i = 0; i < 4; ++i, checksum >>= 8) bytes.push_back(static_cast<char>(checksum & 0xff));
  return bytes;
}

// Where fields of the golden records lie.
constexpr std::size_t kVersionAt = 0;
constexpr std::size_t kStateAt = 1;
constexpr std::size_t kExpiryAt = 2;
constexpr std::size_t kOwnerLengthAt = 50;
constexpr std::size_t kMinimalOnLapseAt = 70;
constexpr std::size_t kMinimalHasPreviousAt = 103;
constexpr std::size_t kTracedTraceAt = 108;
constexpr std::size_t kMinimalFlagsAt = 66;
constexpr std::size_t kMinimalHeaderCountAt = 71;

struct Forged {
  const char* name;
  const char* hex;
  std::size_t at;
  std::string with;
};

void PrintTo(const Forged& forged, std::ostream* os) { *os << forged.name; }

class RecordCodecForged : public testing::TestWithParam<Forged> {};

TEST_P(RecordCodecForged, IsRefusedThoughItsChecksumHolds) {
  const std::string bytes = absl::HexStringToBytes(GetParam().hex);
  ASSERT_TRUE(DecodeRecord(Resealed(bytes, 0, "")).ok());  // Else the row proves nothing.
  const std::string forged = Resealed(bytes, GetParam().at, GetParam().with);
  EXPECT_TRUE(absl::IsDataLoss(DecodeRecord(forged).status()));
}

INSTANTIATE_TEST_SUITE_P(
    , RecordCodecForged,
    testing::Values(
        Forged{"version_0", kPendingMinimalV1, kVersionAt, std::string(1, '\0')},
        Forged{"version_2_without_a_trace", kPendingMinimalV1, kVersionAt, "\x02"},
        Forged{"version_1_with_a_trace", kPendingTracedV2, kVersionAt, "\x01"},
        Forged{"version_2_with_no_trace_in_it", kPendingTracedV2, kTracedTraceAt,
               std::string(24, '\0')},
        Forged{"version_3", kPendingTracedV2, kVersionAt, "\x03"},
        Forged{"state_0", kPendingMinimalV1, kStateAt, std::string(1, '\0')},
        Forged{"state_3", kPendingMinimalV1, kStateAt, "\x03"},
        Forged{"state_of_the_other", kPendingMinimalV1, kStateAt, "\x02"},
        Forged{"expiry_not_that_of_the_lease", kPendingMinimalV1, kExpiryAt, "\x01"},
        Forged{"expiry_under_hold", kPendingFullV1, kExpiryAt, "\x01"},
        Forged{"length_over_the_end", kPendingMinimalV1, kOwnerLengthAt, "\xff"},
        Forged{"length_of_4_gib", kPendingMinimalV1, kOwnerLengthAt, "\xff\xff\xff\xff"},
        Forged{"on_lapse_0", kPendingMinimalV1, kMinimalOnLapseAt, std::string(1, '\0')},
        Forged{"on_lapse_3", kPendingMinimalV1, kMinimalOnLapseAt, "\x03"},
        Forged{"has_previous_2", kPendingMinimalV1, kMinimalHasPreviousAt, "\x02"},
        Forged{"has_previous_without_one", kPendingMinimalV1, kMinimalHasPreviousAt, "\x01"},
        Forged{"unknown_flag", kCommittedMinimalV1, kMinimalFlagsAt, "\x08"},
        Forged{"headers_that_are_not_there", kCommittedMinimalV1, kMinimalHeaderCountAt, "\x01"},
        Forged{"headers_by_the_billion", kCommittedMinimalV1, kMinimalHeaderCountAt,
               "\xff\xff\xff\xff"}),
    [](const auto& row) { return row.param.name; });

// A run that failed is repeated by ONCED_TEST_SEED=<what it printed>.
std::uint64_t Seed() {
  const char* given = std::getenv("ONCED_TEST_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::cout << "ONCED_TEST_SEED=" << seed << std::endl;
  return seed;
}

TEST(RecordCodec, GivesBackWhatWasWritten) {
  std::mt19937_64 random(Seed());
  for (int i = 0; i < 2'000; ++i) {
    const Record record = AnyRecord(random);
    const std::string bytes = EncodeRecord(record);
    const absl::StatusOr<Record> read = DecodeRecord(bytes);
    ASSERT_TRUE(read.ok()) << read.status() << " " << testing::PrintToString(record);
    ASSERT_EQ(*read, record);
    ASSERT_EQ(EncodeRecord(*read), bytes);
  }
}

TEST(RecordCodec, NeverAcceptsWhatItWouldWriteOtherwise) {
  std::mt19937_64 random(Seed());
  for (int i = 0; i < 20'000; ++i) {
    Record record = i % 2 == 0 ? MinimalPending() : FullCommitted();
    if (i % 3 == 0) record = Traced(std::move(record));
    std::string bytes = EncodeRecord(record);
    const std::size_t at = random() % (bytes.size() - 4);
    bytes = Resealed(bytes, at, std::string(1, static_cast<char>(random())));
    const absl::StatusOr<Record> read = DecodeRecord(bytes);
    if (read.ok()) {
      ASSERT_EQ(ToHex(EncodeRecord(*read)), ToHex(bytes)) << "byte " << at;
    }
  }
}

TEST(RecordCodec, KeepsMicrosecondsAndNothingBelow) {
  Record record = MinimalPending();
  record.reserve_time = TestStart() + absl::Nanoseconds(1'999);
  const absl::StatusOr<Record> read = DecodeRecord(EncodeRecord(record));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->reserve_time, TestStart() + absl::Microseconds(1));
}

TEST(ExpiryOf, IsNeverForHold) {
  Record record = MinimalPending();
  std::get<Pending>(record.phase).on_lapse = OnLapse::kHold;
  EXPECT_EQ(ExpiryOf(EncodeRecord(record)), absl::InfiniteFuture());
}

TEST(ExpiryOf, SaturatesForARetentionWithoutEnd) {
  for (const std::int64_t micros :
       {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max() - 1}) {
    Record record = MinimalPending();
    std::get<Pending>(record.phase).lapsed_retention = absl::Microseconds(micros);
    EXPECT_EQ(ExpiryOf(EncodeRecord(record)), absl::InfiniteFuture());
    EXPECT_TRUE(DecodeRecord(EncodeRecord(record)).ok());
  }
}

TEST(ExpiryOf, IsNeverForDamage) {
  const std::string bytes = EncodeRecord(MinimalPending());
  const std::string damaged[] = {"", "x", bytes.substr(0, 9), "\x03" + bytes.substr(1),
                                 bytes.substr(0, 1) + "\x09" + bytes.substr(2)};
  for (const std::string& each : damaged) {
    EXPECT_EQ(ExpiryOf(each), absl::InfiniteFuture()) << ToHex(each);
  }
}

TEST(KeyCodec, IsNamespaceZeroKey) {
  EXPECT_EQ(EncodeKey({"ns", "key"}), std::string("ns\0key", 6));
}

TEST(KeyCodec, GivesBackWhatWasWritten) {
  const RecordKey keys[] = {
      {"a", "b"}, {"a.b-c_d", std::string(256, 'k')}, {"ns", "Schl\xc3\xbcssel"}, {"ns", "a/b c"}};
  for (const RecordKey& key : keys) {
    const absl::StatusOr<RecordKey> read = DecodeKey(EncodeKey(key));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, key);
  }
}

TEST(KeyCodec, TellsNamespaceFromKey) { EXPECT_NE(EncodeKey({"a", "bc"}), EncodeKey({"ab", "c"})); }

TEST(KeyCodec, RefusesWhatHasNoNamespace) {
  EXPECT_TRUE(absl::IsDataLoss(DecodeKey("key").status()));
}

// Vectors of RFC 3720, B.4, and the usual check value.
TEST(Crc32c, IsTheOneOfTheRfc) {
  std::string rising;
  for (int i = 0; i < 32; ++i) rising.push_back(static_cast<char>(i));
  EXPECT_EQ(Crc32c(""), 0U);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(Crc32c(rising), 0x46dd794eU);
}

}  // namespace
}  // namespace onced
