// Stores that older versions made.
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/random.h"
#include "server/shard/shard_map.h"
#include "server/storage/codec/meta_codec.h"
#include "server/storage/rocksdb/rocks_store.h"
#include "tests/conformance/raw_rocks.h"
#include "tests/conformance/store_calls.h"
#include "tests/conformance/temp_dir.h"
#include "tests/support/printers.h"

namespace onced {
namespace {

// What data/format-1.tar.gz holds, made by the last server that wrote format 1,
// with two shards, at 2026-11-29 21:17:09 UTC, and restarted once two seconds later.
const absl::Time kMade = absl::FromUnixSeconds(1'795'987'029);

class OlderFormat : public testing::Test {
 protected:
  void Unpack(const std::string& archive) {
    const std::string command =
        absl::StrCat("mkdir -p '", directory_, "' && tar -xzf '" ONCED_SOURCE_DIR,
                     "/tests/conformance/data/", archive, "' -C '", directory_, "'");
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  absl::Status Open(absl::Time wall_now) {
    store_.reset();
    auto opened =
        RocksStore::Open({.data_dir = directory_, .wall_now = wall_now, .random = random_});
    if (opened.ok()) store_ = *std::move(opened);
    return opened.status();
  }
  std::optional<Record> Find(const std::string& name_space, const std::string& key) {
    const RecordKey record_key{name_space, key};
    const ShardId shard = ShardMap(store_->identity()).ShardOf(record_key);
    return FindRecord(*store_, {shard, record_key}).value();
  }
  State StateAt(absl::Time now, const std::string& name_space, const std::string& key) {
    return StateOf(Find(name_space, key), {now, store_->identity().epoch, store_->outages()});
  }
  std::uint32_t StoredFormat() {
    store_.reset();
    return FormatOf(RawGet(directory_, "default", std::string(kIdentityKey)));
  }

  SystemRandom random_;
  const TempDir temp_;
  const std::string directory_ = temp_.File("data");
  std::unique_ptr<RocksStore> store_;
};

TEST_F(OlderFormat, One) {
  Unpack("format-1.tar.gz");
  ASSERT_EQ(StoredFormat(), 1);
  const absl::Time now = kMade + absl::Hours(1);
  for (int opening = 1; opening <= 2; ++opening) {
    SCOPED_TRACE(opening);
    ASSERT_TRUE(Open(now).ok());
    EXPECT_EQ(store_->identity().shards, 2);
    EXPECT_EQ(store_->identity().epoch.value, 0x96ee569b);
    EXPECT_EQ(store_->outages().size(), 1);

    EXPECT_EQ(StateAt(now, "shop", "committed"), State::kCommitted);
    const Record committed = *Find("shop", "committed");
    EXPECT_EQ(committed.fence.value, 1'795'987'029'657'999);
    const Result& result = *std::get<Committed>(committed.phase).result;
    EXPECT_EQ(result.status_code, 201);
    EXPECT_EQ(result.body, "charge ch_77");

    EXPECT_EQ(StateAt(now, "shop", "pending"), State::kPending);
    const Record pending = *Find("shop", "pending");
    EXPECT_EQ(pending.token.ToText(), "96ee569b-b7a2a74dfe6640dbd063729d6ffce32a");
    EXPECT_EQ(std::get<Pending>(pending.phase).request_id, "r-1");
    EXPECT_EQ(pending.owner, "w1");

    // Format 1 remembers an outage whose grace was cut short: with the next it is one.
    EXPECT_EQ(LeaseEnd(std::get<Pending>(Find("shop", "lapsed")->phase), store_->outages()),
              now + absl::Seconds(15));
    EXPECT_EQ(StateAt(now, "shop", "lapsed"), State::kPending);
    EXPECT_EQ(StateAt(now + absl::Seconds(15), "shop", "lapsed"), State::kLapsed);
    EXPECT_EQ(StateAt(now + absl::Hours(24 * 3650), "held", "held"), State::kLapsed);
    EXPECT_EQ(StateAt(now, "shop", "released"), State::kAbsent);
  }
  EXPECT_EQ(StoredFormat(), kStoreFormat);
}

}  // namespace
}  // namespace onced
