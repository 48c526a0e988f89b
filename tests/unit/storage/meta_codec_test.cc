// Layout, golden bytes and refusals of what a store keeps beside its records.
#include "server/storage/codec/meta_codec.h"

#include <map>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "server/storage/codec/store_meta.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

// Never to be changed: every later server reads them.
constexpr char kIdentityV1[] = "0100000010000000000102030405060708090a0b0c0d0e0f0d0c0b0aa87f7fb3";
constexpr char kTimeV1[] = "00401e18240a0600a5785fc7";
constexpr char kOutageV1[] = "00401e18240a060000c7b11b240a0600c0a8961c240a0600801ecada";
constexpr char kNoOutageV1[] = "ffffffffffffff7f00000000000000800000000000000080526e5de1";
constexpr char kFenceV1[] = "2a0000000000000087296b51";
constexpr char kIdentityV2[] = "0200000010000000000102030405060708090a0b0c0d0e0f0d0c0b0a0594ad50";
constexpr char kOutagesV2[] =
    "0200000000401e18240a060000c7b11b240a0600c0a8961c240a0600"
    "00401e18240a060000c7b11b240a0600c0a8961c240a06005beee7d1";
// The format of a server to come: only its first and last 4 bytes are known.
constexpr char kNewerIdentity[] = "03000000776861746576657247ec832f";

StoreIdentity TestIdentity() {
  StoreIdentity identity{.shards = 16, .epoch = {0x0a0b0c0d}};
  for (std::uint8_t i = 0; i < 16; ++i) identity.hash_seed[i] = i;
  return identity;
}
Outage TestOutage() {
  return {.down_since = TestStart(),
          .serving_since = TestStart() + absl::Minutes(1),
          .grace_until = TestStart() + absl::Seconds(75)};
}

template <typename T>
void ExpectGolden(const char* hex, const T& value, std::string (*encode)(T),
                  absl::StatusOr<T> (*decode)(absl::string_view)) {
  const std::string bytes = absl::HexStringToBytes(hex);
  EXPECT_EQ(ToHex(encode(value)), hex);
  const absl::StatusOr<T> read = decode(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, value);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_TRUE(absl::IsDataLoss(decode(bytes.substr(0, n)).status())) << n << " bytes";
  }
  EXPECT_TRUE(absl::IsDataLoss(decode(bytes + "tail").status()));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(absl::IsDataLoss(decode(flipped).status())) << "bit " << bit;
  }
}

TEST(MetaCodec, IdentityIsGolden) {
  ExpectGolden<StoreIdentity>(
      kIdentityV2, TestIdentity(), [](StoreIdentity v) { return EncodeIdentity(v); },
      DecodeIdentity);
}
TEST(MetaCodec, TimeIsGolden) {
  ExpectGolden<absl::Time>(kTimeV1, TestStart(), EncodeTime, DecodeTime);
}
TEST(MetaCodec, OutagesAreGolden) {
  ExpectGolden<Outages>(
      kOutagesV2, {TestOutage(), TestOutage()}, [](Outages v) { return EncodeOutages(v); },
      [](absl::string_view bytes) { return DecodeOutages(bytes, 2); });
}
TEST(MetaCodec, ReadsTheOneOutageOfFormat1) {
  EXPECT_EQ(DecodeOutages(absl::HexStringToBytes(kOutageV1), 1).value(), Outages{TestOutage()});
  EXPECT_EQ(DecodeOutages(absl::HexStringToBytes(kNoOutageV1), 1).value(), Outages{});
  EXPECT_TRUE(absl::IsDataLoss(DecodeOutages(absl::HexStringToBytes(kOutageV1), 2).status()));
}
TEST(MetaCodec, ReadsTheIdentityOfFormat1) {
  const std::string bytes = absl::HexStringToBytes(kIdentityV1);
  EXPECT_EQ(DecodeIdentity(bytes).value(), TestIdentity());
  EXPECT_EQ(FormatOf(bytes), 1);
}
TEST(MetaCodec, RefusesMoreOutagesThanItKeeps) {
  EXPECT_TRUE(DecodeOutages(EncodeOutages(Outages(kOutagesMax)), 2).ok());
  EXPECT_TRUE(absl::IsDataLoss(DecodeOutages(EncodeOutages(Outages(kOutagesMax + 1)), 2).status()));
}
TEST(MetaCodec, FenceIsGolden) { ExpectGolden<Fence>(kFenceV1, {42}, EncodeFence, DecodeFence); }

TEST(MetaCodec, KeepsThatThereWasNoOutage) {
  EXPECT_EQ(DecodeOutages(EncodeOutages({}), 2).value(), Outages{});
}

TEST(MetaCodec, RefusesANewerFormatInWords) {
  const absl::Status status = DecodeIdentity(absl::HexStringToBytes(kNewerIdentity)).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "format 3")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "up to 2")) << status;
}

TEST(MetaCodec, RefusesIdentitiesThatNoStoreHas) {
  StoreIdentity no_shards = TestIdentity();
  no_shards.shards = 0;
  StoreIdentity too_many = TestIdentity();
  too_many.shards = kShardsMax + 1;
  StoreIdentity no_epoch = TestIdentity();
  no_epoch.epoch = Epoch{};
  for (const StoreIdentity& identity : {no_shards, too_many, no_epoch}) {
    EXPECT_TRUE(absl::IsDataLoss(DecodeIdentity(EncodeIdentity(identity)).status()));
  }
}

TEST(MetaCodec, NamesFencesByShard) { EXPECT_EQ(FenceKey({7}), "fence-0007"); }

// ---- store_meta.h ----

class CountingRandom final : public Random {
 public:
  void Fill(void* out, std::size_t size) override {
    for (std::size_t i = 0; i < size; ++i) static_cast<std::uint8_t*>(out)[i] = next_++;
  }

 private:
  std::uint8_t next_ = 1;
};

MetaReader ReaderOf(const std::map<std::string, std::string>& entries) {
  return [&entries](const std::string& key) -> absl::StatusOr<std::optional<std::string>> {
    const auto found = entries.find(key);
    if (found == entries.end()) return std::nullopt;
    return found->second;
  };
}

StoreMeta TestMeta() {
  CountingRandom random;
  StoreMeta meta = NewMeta(3, random, TestStart());
  meta.fences = {{5}, {6}, {7}};
  return meta;
}

TEST(StoreMeta, IsReadAsItWasWritten) {
  const StoreMeta meta = TestMeta();
  std::map<std::string, std::string> entries;
  for (const auto& [key, value] : EncodeMeta(meta)) entries[key] = value;
  const auto read = ReadMeta(ReaderOf(entries));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(read->has_value());
  EXPECT_TRUE(**read == meta);
}

TEST(StoreMeta, IsNewWithoutAnIdentityAndDamagedWithoutAnythingElse) {
  const MetaEntries all = EncodeMeta(TestMeta());
  for (const auto& [missing, ignored] : all) {
    std::map<std::string, std::string> entries(all.begin(), all.end());
    entries.erase(missing);
    const auto read = ReadMeta(ReaderOf(entries));
    if (missing == kIdentityKey) {
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_FALSE(read->has_value());
    } else {
      EXPECT_TRUE(absl::IsDataLoss(read.status())) << missing;
    }
  }
}

TEST(StoreMeta, WritesTheIdentityLast) {
  EXPECT_EQ(EncodeMeta(TestMeta()).back().first, kIdentityKey);
}

TEST(StoreMeta, OfANewStoreHasAnEpochASeedAndNoOutage) {
  const StoreMeta meta = TestMeta();
  EXPECT_NE(meta.identity.epoch, Epoch{});
  EXPECT_NE(meta.identity.hash_seed, (StoreIdentity{}.hash_seed));
  EXPECT_EQ(meta.outages, Outages{});
  EXPECT_EQ(meta.clock_mark, TestStart());
}

TEST(StoreMeta, ResumesAtTheWallClock) {
  StoreMeta meta = TestMeta();
  Resume(TestStart() + absl::Hours(1), absl::Seconds(15), meta);
  EXPECT_EQ(meta.clock_mark, TestStart() + absl::Hours(1));
  EXPECT_EQ(meta.outages,
            (Outages{{.down_since = TestStart() - absl::Seconds(1),
                      .serving_since = TestStart() + absl::Hours(1),
                      .grace_until = TestStart() + absl::Hours(1) + absl::Seconds(15)}}));
}

TEST(StoreMeta, NeverResumesBelowTheMark) {
  StoreMeta meta = TestMeta();
  Resume(TestStart() - absl::Hours(1), absl::Seconds(15), meta);
  EXPECT_EQ(meta.clock_mark, TestStart());
  EXPECT_EQ(meta.outages.back().serving_since, TestStart());
}

TEST(StoreMeta, SaysHowToOpenAStoreOfOtherShards) {
  const StoreIdentity stored = TestIdentity();
  EXPECT_TRUE(CheckShards(std::nullopt, stored, "here").ok());
  EXPECT_TRUE(CheckShards(16, stored, "here").ok());
  const absl::Status status = CheckShards(8, stored, "here");
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  for (const char* part : {"here", "16", "8", "--shards"}) {
    EXPECT_TRUE(absl::StrContains(status.message(), part)) << status;
  }
}

}  // namespace
}  // namespace onced
