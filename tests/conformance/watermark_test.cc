// A damaged store refuses to open, or loses only what was never acknowledged.
#include "server/storage/rocksdb/watermark.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rocksdb/env.h"
#include "server/base/random.h"
#include "server/storage/codec/wire.h"
#include "server/storage/rocksdb/rocks_store.h"
#include "tests/conformance/compact_shard.h"
#include "tests/conformance/store_calls.h"
#include "tests/conformance/temp_dir.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr int kRecords = 40;

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void WriteFile(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}
// Of a directory, without what every opening touches.
std::map<std::string, std::string> Contents(const std::string& directory) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (absl::StartsWith(name, "LOG") || name == "LOCK") continue;
    contents[name] = ReadFile(entry.path());
  }
  return contents;
}
// The newest file of that kind that holds anything.
fs::path Find(const std::string& directory, const std::string& begin, const std::string& end) {
  fs::path found;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    const bool fits = absl::StartsWith(name, begin) && absl::EndsWith(name, end);
    if (fits && entry.file_size() > 0 && entry.path() > found) found = entry.path();
  }
  return found;
}

std::string SealedForTest(const std::string& bytes) {
  WireWriter out;
  out.Fixed(bytes.data(), bytes.size());
  return std::move(out).Seal();
}

class WatermarkTest : public testing::Test {
 protected:
  static Place PlaceOf(int i) { return {{0}, {"ns", absl::StrCat("key-", i)}}; }

  absl::Status Open(const std::string& directory, rocksdb::Env* env = nullptr) {
    store_.reset();
    auto opened = RocksStore::Open({.data_dir = directory,
                                    .shards = 2,
                                    .wall_now = TestStart(),
                                    .random = random_,
                                    .env = env});
    if (opened.ok()) store_ = *std::move(opened);
    return opened.status();
  }
  void Put(int from, int to) {
    for (int i = from; i < to; ++i) {
      ASSERT_TRUE(PutRecord(*store_, PlaceOf(i), FullCommitted()).ok());
    }
  }
  int CountRecords() {
    int found = 0;
    for (int i = 0; i < kRecords; ++i)
      found += FindRecord(*store_, PlaceOf(i))->has_value() ? 1 : 0;
    return found;
  }
  std::string Copy(const std::string& from, const std::string& name) {
    fs::copy(from, temp_.File(name));
    return temp_.File(name);
  }
  // A store with its records in two logs, both of which are needed: the other
  // shard's flush began a new one. `older_log_halfway_` is how the first one was
  // when half of it was written.
  void MakeWithTwoLogs() {
    ASSERT_TRUE(Open(made_).ok());
    ASSERT_TRUE(PutRecord(*store_, {{1}, {"ns", "other"}}, FullCommitted()).ok());
    Put(0, kRecords / 4);
    older_log_halfway_ = ReadFile(Find(made_, "", ".log"));
    Put(kRecords / 4, kRecords / 2);
    ASSERT_TRUE(CompactShard(*store_, {1}).ok());
    Put(kRecords / 2, kRecords);
    store_.reset();
    ASSERT_EQ(Logs(made_).size(), 2);
  }
  static std::vector<fs::path> Logs(const std::string& directory) {
    std::set<fs::path> found;
    for (const auto& entry : fs::directory_iterator(directory)) {
      if (entry.path().extension() == ".log") found.insert(entry.path());
    }
    return {found.begin(), found.end()};
  }

  // A store with all its records in the log, or with half of them in a file.
  // `halfway_` has what was there in between.
  void Make(bool with_file) {
    ASSERT_TRUE(Open(made_).ok());
    Put(0, kRecords / 2);
    if (with_file) {
      ASSERT_TRUE(CompactShard(*store_, {0}).ok());
    }
    store_.reset();
    Copy(made_, "halfway");
    ASSERT_TRUE(Open(made_).ok());
    Put(kRecords / 2, kRecords * 3 / 4);
    log_halfway_ = ReadFile(Find(made_, "", ".log"));
    Put(kRecords * 3 / 4, kRecords);
    store_.reset();
  }

  // A store whose MANIFEST ends with the file that its records have just come to.
  void MakeFlushed() {
    Make(false);
    ASSERT_TRUE(Open(made_).ok());
    ASSERT_TRUE(CompactShard(*store_, {0}).ok());
    store_.reset();
  }
  static fs::path Manifest(const std::string& directory) { return Find(directory, "MANIFEST", ""); }

  SystemRandom random_;
  const TempDir temp_;
  const std::string made_ = temp_.File("made");
  const std::string halfway_ = temp_.File("halfway");
  std::string log_halfway_;  // Ends with a whole entry.
  std::string older_log_halfway_;
  std::unique_ptr<RocksStore> store_;
};

TEST_F(WatermarkTest, OpensWhatIsWhole) {
  Make(true);
  ASSERT_TRUE(Open(made_).ok());
  EXPECT_EQ(CountRecords(), kRecords);
}

class Damage : public WatermarkTest {
 protected:
  // Refuses in one line, changes nothing, and opens again once the files are
  // put back.
  void ExpectRefused(const std::string& name, const std::function<void(const std::string&)>& damage,
                     const std::string& message, bool untouched = true) {
    SCOPED_TRACE(name);
    const std::string directory = Copy(made_, name);
    damage(directory);
    const auto before = Contents(directory);
    const absl::Status status = Open(directory);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()),
                testing::AllOf(HasSubstr(directory), HasSubstr(message), Not(HasSubstr("\n"))));
    if (untouched) {
      EXPECT_TRUE(Contents(directory) == before)
          << "the evidence was changed";  // Too long to show.
    }
    for (const auto& [file, bytes] : Contents(made_)) WriteFile(directory + "/" + file, bytes);
    ASSERT_TRUE(Open(directory).ok());
    EXPECT_EQ(CountRecords(), kRecords);
    store_.reset();
  }
  static void Flip(const fs::path& path, std::size_t at) {
    std::string bytes = ReadFile(path);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    WriteFile(path, bytes);
  }
};

TEST_F(Damage, OfTheLogIsRefused) {
  Make(false);
  const auto log = [](const std::string& dir) { return Find(dir, "", ".log"); };
  ExpectRefused(
      "deleted", [&](const std::string& dir) { fs::remove(log(dir)); }, "were durable");
  ExpectRefused(
      "emptied", [&](const std::string& dir) { fs::resize_file(log(dir), 0); }, "were durable");
  ExpectRefused(
      "cut at the end of an entry",
      [&](const std::string& dir) { WriteFile(log(dir), log_halfway_); }, "were durable");
  ExpectRefused(
      "cut anywhere",
      [&](const std::string& dir) { fs::resize_file(log(dir), log_halfway_.size() - 7); },
      "durable");
  ExpectRefused(
      "zeroed from the middle on",
      [&](const std::string& dir) {
        std::string bytes = ReadFile(log(dir));
        std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2), bytes.end(), '\0');
        WriteFile(log(dir), bytes);
      },
      "damaged");
}

TEST_F(Damage, OfOneBitOfTheLogIsRefused) {
  Make(false);
  const std::size_t size = fs::file_size(Find(made_, "", ".log"));
  for (std::size_t at = 3; at < size; at += size / 25) {
    ExpectRefused(
        absl::StrCat("bit flipped at ", at),
        [&](const std::string& dir) { Flip(Find(dir, "", ".log"), at); }, ".log: dropping ");
  }
}

// RocksDB goes on with the next log as if nothing had been between them.
TEST_F(Damage, OfAnOlderLogIsRefused) {
  MakeWithTwoLogs();
  const auto older = [](const std::string& dir) { return Logs(dir).front(); };
  const std::size_t size = fs::file_size(older(made_));
  ASSERT_LT(older_log_halfway_.size(), size);
  ExpectRefused(
      "deleted", [&](const std::string& dir) { fs::remove(older(dir)); }, "is missing");
  ExpectRefused(
      "emptied", [&](const std::string& dir) { fs::resize_file(older(dir), 0); }, ".log has 0");
  ExpectRefused(
      "cut at the end of an entry",
      [&](const std::string& dir) { WriteFile(older(dir), older_log_halfway_); }, ".log has ");
  for (std::size_t at = 1; at < size; at += size / 10) {
    ExpectRefused(
        absl::StrCat("cut at ", at),
        [&](const std::string& dir) { fs::resize_file(older(dir), at); }, ".log has ");
  }
  ExpectRefused(
      "the newer one's copy",
      [&](const std::string& dir) {
        fs::copy(Logs(dir).back(), older(dir), fs::copy_options::overwrite_existing);
      },
      "has write number");
}

// A log that RocksDB has retired since the watermark was written is not missed.
TEST_F(WatermarkTest, OpensWithoutLogsThatWereRetired) {
  MakeWithTwoLogs();
  const std::string directory = Copy(made_, "retired");
  const std::string watermark = ReadFile(directory + "/WATERMARK");
  ASSERT_TRUE(Open(directory).ok());
  ASSERT_TRUE(CompactShard(*store_, {0}).ok());
  store_.reset();
  WriteFile(directory + "/WATERMARK", watermark);
  EXPECT_FALSE(fs::exists(fs::path(directory) / Logs(made_).front().filename()));
  ASSERT_TRUE(Open(directory).ok());
  EXPECT_EQ(CountRecords(), kRecords);
}

// Its end lists the newest files: without it, RocksDB opens what was there before.
TEST_F(Damage, OfTheEndOfTheManifestIsRefused) {
  MakeFlushed();
  const std::size_t size = fs::file_size(Manifest(made_));
  for (std::size_t cut = 1; cut < size; cut += 1 + size / 40) {
    ExpectRefused(
        absl::StrCat("cut by ", cut),
        [&](const std::string& dir) { fs::resize_file(Manifest(dir), size - cut); }, "");
  }
}

// RocksDB takes zeros for space that was set aside, and says nothing.
class Zeroed : public Damage {
 protected:
  static void Zero(const fs::path& path, std::size_t from, std::size_t to) {
    std::string bytes = ReadFile(path);
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(from),
              bytes.begin() + static_cast<std::ptrdiff_t>(to), '\0');
    WriteFile(path, bytes);
  }
};

TEST_F(Zeroed, EndOfTheManifestIsRefused) {
  MakeFlushed();
  const std::size_t size = fs::file_size(Manifest(made_));
  for (std::size_t from = 0; from < size; from += 1 + size / 40) {
    ExpectRefused(
        absl::StrCat("from ", from),
        [&](const std::string& dir) { Zero(Manifest(dir), from, size); }, "");
  }
}

TEST_F(Zeroed, OlderLogIsRefused) {
  MakeWithTwoLogs();
  const auto older = [](const std::string& dir) { return Logs(dir).front(); };
  const std::size_t size = fs::file_size(older(made_));
  ExpectRefused(
      "all of it", [&](const std::string& dir) { Zero(older(dir), 0, size); },
      "does not begin with an entry");
  ExpectRefused(
      "its end, from an entry's on",
      [&](const std::string& dir) { Zero(older(dir), older_log_halfway_.size(), size); },
      "are missing");
}

// The entries of a block before which others were: the last one is there.
TEST_F(Zeroed, HoleInTheNewestLogIsRefused) {
  constexpr std::size_t kBlock = 32'768;
  ASSERT_TRUE(Open(made_).ok());
  std::vector<std::size_t> ends;  // Of entries.
  for (int i = 0; i < 400; ++i) {
    ASSERT_TRUE(PutRecord(*store_, PlaceOf(i % kRecords), FullCommitted()).ok());
    ends.push_back(fs::file_size(Find(made_, "", ".log")));
  }
  store_.reset();
  // Where a block begins with an entry, or just padding was before it.
  const auto end = std::find_if(ends.begin(), ends.end(), [](std::size_t at) {
    return at > kBlock && at % kBlock > 0 && at / kBlock >= 1;
  });
  ASSERT_NE(end, ends.end());
  const std::size_t block = *end / kBlock * kBlock;
  ExpectRefused(
      "zeroed up to a block's end",
      [&](const std::string& dir) { Zero(Find(dir, "", ".log"), *(end - 3), block); }, "");
}

// Nothing was written after the flush: the watermark follows it by itself.
TEST_F(WatermarkTest, FollowsAFlush) {
  Make(false);
  ASSERT_TRUE(Open(made_).ok());
  ASSERT_TRUE(CompactShard(*store_, {0}).ok());
  const std::size_t size = fs::file_size(Find(made_, "MANIFEST", ""));
  const auto marked = [&] {
    return Watermark::Read(*rocksdb::Env::Default(), made_).value()->manifest.bytes;
  };
  while (marked() < size) std::this_thread::yield();
  EXPECT_EQ(marked(), size);
}

TEST_F(Damage, OfOtherFilesIsRefused) {
  Make(true);
  const auto remove = [](const std::string& begin, const std::string& end) {
    return [=](const std::string& dir) { fs::remove(Find(dir, begin, end)); };
  };
  const auto halve = [](const std::string& begin, const std::string& end) {
    return [=](const std::string& dir) {
      const fs::path path = Find(dir, begin, end);
      fs::resize_file(path, fs::file_size(path) / 2);
    };
  };
  ExpectRefused("no CURRENT", remove("CURRENT", ""), "no file CURRENT");
  ExpectRefused(
      "empty CURRENT", [](const std::string& dir) { fs::resize_file(dir + "/CURRENT", 0); },
      "CURRENT");
  ExpectRefused("no MANIFEST", remove("MANIFEST", ""), "MANIFEST");
  ExpectRefused("half a MANIFEST", halve("MANIFEST", ""), "");
  ExpectRefused("no SST", remove("", ".sst"), "No such file");
  ExpectRefused("half an SST", halve("", ".sst"), ".sst");
  ExpectRefused(
      "an older MANIFEST and CURRENT",
      [&](const std::string& dir) {
        fs::remove(Find(dir, "MANIFEST", ""));
        for (const auto& entry : fs::directory_iterator(halfway_)) {
          const std::string name = entry.path().filename();
          if (name == "CURRENT" || absl::StartsWith(name, "MANIFEST")) {
            fs::copy(entry, dir + "/" + name, fs::copy_options::overwrite_existing);
          }
        }
      },
      "", /*untouched=*/false);  // RocksDB sees it, but only while it opens.
}

TEST_F(Damage, OfTheWatermarkIsRefused) {
  Make(false);
  const TempDir other;
  ASSERT_TRUE(Open(other.File("data")).ok());
  store_.reset();
  ExpectRefused(
      "deleted", [](const std::string& dir) { fs::remove(dir + "/WATERMARK"); },
      "WATERMARK is missing");
  ExpectRefused(
      "both slots",
      [](const std::string& dir) {
        Flip(dir + "/WATERMARK", 9);
        Flip(dir + "/WATERMARK", 4'096 + 9);
      },
      "WATERMARK is damaged");
  ExpectRefused(
      "of another store",
      [&](const std::string& dir) {
        fs::copy(other.File("data") + "/WATERMARK", dir + "/WATERMARK",
                 fs::copy_options::overwrite_existing);
      },
      "another store");
}

TEST_F(Damage, OfOneSlotOfTheWatermarkIsSurvived) {
  Make(false);
  for (const std::size_t at : {std::size_t{9}, std::size_t{4'096 + 9}}) {
    const std::string directory = Copy(made_, absl::StrCat("slot-", at));
    Flip(directory + "/WATERMARK", at);
    ASSERT_TRUE(Open(directory).ok());
    EXPECT_EQ(CountRecords(), kRecords);
  }
}

// What a crash leaves behind: the tail was never acknowledged.
TEST_F(WatermarkTest, OpensWithATornTail) {
  Make(false);
  const std::string log = ReadFile(Find(made_, "", ".log"));
  const std::string tails[] = {std::string(3, 'x'), std::string(100, '\0'), log.substr(0, 40),
                               std::string(5'000, 'x')};
  for (std::size_t i = 0; i < std::size(tails); ++i) {
    SCOPED_TRACE(i);
    const std::string directory = Copy(made_, absl::StrCat("tail-", i));
    WriteFile(Find(directory, "", ".log"), log + tails[i]);
    ASSERT_TRUE(Open(directory).ok());
    EXPECT_EQ(CountRecords(), kRecords);
  }
}

// Damage that lies beyond the watermark: only what came after it may be lost.
TEST_F(WatermarkTest, OpensUpToDamageBeyondIt) {
  Make(false);
  const std::string directory = Copy(made_, "beyond");
  fs::copy(halfway_ + "/WATERMARK", directory + "/WATERMARK", fs::copy_options::overwrite_existing);
  std::string log = ReadFile(Find(directory, "", ".log"));
  log[log.size() - 100] = static_cast<char>(log[log.size() - 100] ^ 1);
  WriteFile(Find(directory, "", ".log"), log);
  ASSERT_TRUE(Open(directory).ok());
  EXPECT_GE(CountRecords(), kRecords * 3 / 4);
  EXPECT_LT(CountRecords(), kRecords);
}

// As the first version wrote it: it knew neither the MANIFEST nor the logs.
TEST_F(WatermarkTest, ReadsTheFirstVersion) {
  const std::string slot("oncedwm1\x02\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x4d\0\0\0\0\0\0\0", 32);
  fs::create_directories(made_);
  WriteFile(made_ + "/WATERMARK", SealedForTest(slot));
  EXPECT_EQ(Watermark::Read(*rocksdb::Env::Default(), made_).value(),
            (WatermarkValue{.sequence = 7, .store = 77}));
}

// As it is written now: the bytes may only change with the version.
TEST_F(WatermarkTest, HasTheseBytes) {
  fs::create_directories(made_);
  const WatermarkValue value{
      .sequence = 7, .store = 77, .manifest = {4, 1'000}, .logs = {{5, 60}, {6, 0}}};
  ASSERT_TRUE(Watermark::Open(*rocksdb::Env::Default(), made_).value()->Write(value).ok());
  std::string slot = ReadFile(made_ + "/WATERMARK");
  if (slot.compare(0, 8, "oncedwm2") != 0) slot.erase(0, 4096);
  EXPECT_EQ(absl::BytesToHexString(slot.substr(0, 92)),
            "6f6e636564776d32"
            "010000000000000007000000000000004d00000000000000"
            "0400000000000000e803000000000000"
            "0000000002000000"
            "05000000000000003c0000000000000006000000000000000000000000000000"
            "00e79e9e");
}

TEST_F(WatermarkTest, OfANewerVersionIsNotTaken) {
  fs::create_directories(made_);
  WriteFile(made_ + "/WATERMARK", "oncedwm3 and whatever it holds");
  const absl::Status status = Watermark::Read(*rocksdb::Env::Default(), made_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("newer version"));
}

TEST_F(WatermarkTest, NamesTheNewestLogsIfThereAreTooMany) {
  fs::create_directories(made_);
  rocksdb::Env& env = *rocksdb::Env::Default();
  WatermarkValue value{.sequence = 1, .store = 77, .manifest = {4, 1'000}};
  for (std::uint64_t i = 1; i <= Watermark::kLogsMax + 1; ++i) value.logs.push_back({i, 10 * i});
  ASSERT_TRUE(Watermark::Open(env, made_).value()->Write(value).ok());
  value.logs.erase(value.logs.begin());
  EXPECT_EQ(Watermark::Read(env, made_).value(), value);
}

TEST_F(WatermarkTest, IsWrittenInTurnAndSurvivesATornWrite) {
  rocksdb::Env& env = *rocksdb::Env::Default();
  fs::create_directories(made_);
  EXPECT_EQ(Watermark::Read(env, made_).value(), std::nullopt);
  auto file = Watermark::Open(env, made_).value();
  for (std::uint64_t i = 1; i <= 5; ++i) {
    ASSERT_TRUE(file->Write({.sequence = i, .store = 77}).ok());
    EXPECT_EQ(Watermark::Read(env, made_).value(), (WatermarkValue{.sequence = i, .store = 77}));
  }
  file = Watermark::Open(env, made_).value();
  ASSERT_TRUE(file->Write({.sequence = 6, .store = 77}).ok());
  EXPECT_EQ(Watermark::Read(env, made_).value(), (WatermarkValue{.sequence = 6, .store = 77}));
  std::string bytes = ReadFile(made_ + "/WATERMARK");
  bytes[20] = static_cast<char>(bytes[20] ^ 1);  // Turn 6 is in the first slot.
  WriteFile(made_ + "/WATERMARK", bytes);
  EXPECT_EQ(Watermark::Read(env, made_).value(), (WatermarkValue{.sequence = 5, .store = 77}));
}

}  // namespace
}  // namespace onced
