// Files of a stopped server are damaged, one at a time, in many places. Then either
// it refuses to start, with a line that says what is damaged; or it serves all that
// was acknowledged, but for records that it says it can't read. It never takes one
// for absent, and never serves another than was committed.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fault/machine/book.h"
#include "tests/fault/machine/faulty_server.h"
#include "tests/integration/server_process.h"

namespace onced::fault {
namespace {

namespace fs = std::filesystem;
using integration::Api;
using integration::ConnectTo;
using integration::TempDir;

constexpr int kSmall = 40;
constexpr int kBig = 6;  // Each fills a shard's write buffer, so that another log begins.
// Longer than the watermark's lag.
constexpr std::chrono::milliseconds kSettled{500};

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void WriteAll(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// ---- Kinds of damage. `at` is a place in the file. ----

using Spoil = std::function<void(const fs::path& path, std::size_t at)>;

void FlipBit(const fs::path& path, std::size_t at) {
  std::string bytes = ReadAll(path);
  bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
  WriteAll(path, bytes);
}
void ZeroBlock(const fs::path& path, std::size_t at) {
  constexpr std::size_t kBlock = 512;
  std::string bytes = ReadAll(path);
  const std::size_t begin = at / kBlock * kBlock;
  const std::size_t end = std::min(begin + kBlock, bytes.size());
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
            bytes.begin() + static_cast<std::ptrdiff_t>(end), '\0');
  WriteAll(path, bytes);
}
void Cut(const fs::path& path, std::size_t at) { fs::resize_file(path, at); }

struct Kind {
  const char* name;
  Spoil spoil;
};
const Kind kInPlaces[] = {{"bit flipped", FlipBit}, {"block zeroed", ZeroBlock}, {"cut", Cut}};

// ---- The store ----

class Damage : public testing::Test {
 protected:
  static std::vector<std::string> Flags() {
    return {"--shards", "16", "--memory-budget", "64MiB", "--restart-grace", "0s"};
  }

  // Several lives, so that the MANIFEST has a history and there are files of data;
  // and at the end several logs that are all needed.
  static void SetUpTestSuite() {
    for (int life = 0; life < 3; ++life) {
      Started server(ServerArgs(integration::ServerBinary(), store_, Flags()));
      ASSERT_TRUE(server.serving());
      Api api(ConnectTo(server.address()));
      Fill(api, life);
      server.process().Signal(SIGKILL);
      server.process().Wait();
    }
    ASSERT_GE(Files("", ".log").size(), 2U);
    ASSERT_GE(Files("", ".sst").size(), 3U);
  }
  static void Fill(Api& api, int life) {
    const auto name = [&](const char* kind, int i) { return absl::StrCat(kind, life, "-", i); };
    for (int i = 0; i < kSmall; ++i) {
      ASSERT_EQ(book_->Grant(api, name("small", i)), Book::kDone);
      if (i % 4 == 0) continue;
      if (i % 8 == 1) {
        ASSERT_EQ(book_->Release(api, name("small", i)), Book::kDone);
      } else {
        ASSERT_EQ(book_->Commit(api, name("small", i), name("body", i)), Book::kDone);
      }
    }
    for (int i = 0; i < kBig; ++i) {
      ASSERT_EQ(book_->Grant(api, name("big", i)), Book::kDone);
      ASSERT_EQ(book_->Commit(api, name("big", i), std::string((1 << 20) - i, 'b')), Book::kDone);
      for (int j = 0; j < kSmall / 4; ++j) {
        ASSERT_EQ(book_->Grant(api, name("between", i * kSmall + j)), Book::kDone);
      }
    }
    Settle(api, absl::StrCat("beyond", life));
  }
  // What comes last may lie beyond the watermark.
  static void Settle(Api& api, const std::string& name) {
    Book beyond;
    const auto until = std::chrono::steady_clock::now() + kSettled;
    for (int i = 0; std::chrono::steady_clock::now() < until; ++i) {
      ASSERT_EQ(beyond.Grant(api, absl::StrCat(name, "-", i)), Book::kDone);
    }
  }

  // Names, in the order of their numbers.
  static std::vector<std::string> Files(const std::string& begin, const std::string& end) {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(store_)) {
      const std::string name = entry.path().filename();
      const bool fits = absl::StartsWith(name, begin) && absl::EndsWith(name, end);
      if (fits && entry.file_size() > 0) found.push_back(name);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  // Places in a file: its ends, its middle, and some by chance.
  std::vector<std::size_t> PlacesIn(const std::string& file) {
    const std::size_t size = fs::file_size(store_ + "/" + file);
    std::vector<std::size_t> places = {0, size / 2, size - 1};
    for (int i = RunCycles(1); i > 0; --i) places.push_back(random_() % size);
    return places;
  }

  // Where the entries of a log or MANIFEST end, as RocksDB frames them.
  static std::vector<std::size_t> EntryEnds(const std::string& file) {
    constexpr std::size_t kBlock = 32'768, kHeader = 7, kFull = 1, kLast = 4;
    const std::string bytes = ReadAll(store_ + "/" + file);
    std::vector<std::size_t> ends;
    std::size_t at = 0;
    while (at + kHeader <= bytes.size()) {
      const std::size_t left = kBlock - at % kBlock;
      if (left < kHeader) {
        at += left;
        continue;
      }
      const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
      const std::size_t length = byte(4) + 256U * byte(5);
      const bool ends_here = byte(6) == kFull || byte(6) == kLast;
      at += kHeader + length;
      if (ends_here && at < bytes.size()) ends.push_back(at);
    }
    return ends;
  }
  // No checksum tells of these.
  void CutAtEntries(const std::string& file) {
    std::vector<std::size_t> ends = EntryEnds(file);
    ASSERT_GE(ends.size(), 4U);
    std::vector<std::size_t> chosen = {ends.front(), ends[ends.size() - 2], ends.back()};
    for (int i = RunCycles(3); i > 0; --i) chosen.push_back(ends[random_() % ends.size()]);
    for (const std::size_t at : chosen) {
      Expect(absl::StrCat(file, ": cut at an entry's end, ", at), file,
             [&](const fs::path& dir) { Cut(dir / file, at); });
    }
  }

  void SpoilEverywhere(const std::string& file) {
    for (const Kind& kind : kInPlaces) {
      for (const std::size_t at : PlacesIn(file)) {
        Expect(absl::StrCat(file, ": ", kind.name, " at ", at), file,
               [&](const fs::path& dir) { kind.spoil(dir / file, at); });
      }
    }
    Expect(file + ": deleted", file, [&](const fs::path& dir) { fs::remove(dir / file); });
  }
  void Swap(const std::string& one, const std::string& other) {
    Expect(absl::StrCat(one, ": swapped with ", other), one, [&](const fs::path& dir) {
      fs::rename(dir / one, dir / "swap");
      fs::rename(dir / other, dir / one);
      fs::rename(dir / "swap", dir / other);
    });
  }

  // One damage, and what the server makes of it.
  void Expect(const std::string& what, const std::string& file,
              const std::function<void(const fs::path& dir)>& damage) {
    SCOPED_TRACE(what);
    const TempDir dir;
    CopyDirectory(store_, dir.Path("data"));
    damage(dir.Path("data"));
    Started server(ServerArgs(integration::ServerBinary(), dir.Path("data"),
                              {"--memory-budget", "64MiB", "--restart-grace", "0s"}));
    std::cout << what << ": ";
    if (!server.serving()) return ExpectRefusal(server, dir.Path("data"), file);
    Api api(ConnectTo(server.address()));
    const Book::Findings findings = book_->Check(api);
    std::cout << "served";
    if (!findings.refused.empty()) std::cout << ", but " << findings.refused.size() << " keys";
    if (!findings.lost.empty()) std::cout << ", LOST " << findings.lost.size() << " records";
    std::cout << std::endl;
    EXPECT_TRUE(findings.lost.empty()) << "such as " << findings.lost.front().substr(0, 200);
    const bool may_be_unreadable = absl::EndsWith(file, ".sst");
    EXPECT_TRUE(may_be_unreadable || findings.refused.empty());
    for (const std::string& refused : findings.refused) {
      if (absl::EndsWith(refused, "STORE_FAILED")) continue;
      // Or the damage was met by what RocksDB does by itself, and that was the end.
      EXPECT_EQ(server.process().Wait(), 1) << refused;
      EXPECT_THAT(server.process().err().AllText(), testing::HasSubstr("store_failed"));
      std::cout << "  it ended" << std::endl;
      return;
    }
  }
  static void ExpectRefusal(Started& server, const std::string& directory,
                            const std::string& file) {
    const int code = server.process().Wait();
    const std::vector<std::string> lines = server.Lines();
    std::cout << "refused: " << (lines.empty() ? "" : lines.front()) << std::endl;
    EXPECT_EQ(code, 1);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_THAT(lines.front(), testing::HasSubstr(directory));
    // By its name, by its number, or by what it does.
    const std::string number = file.substr(0, file.find('.'));
    EXPECT_THAT(lines.front(), testing::AnyOf(testing::HasSubstr(file), testing::HasSubstr(number),
                                              testing::HasSubstr("damaged")));
  }

  static inline const TempDir made_;
  static inline const std::string several_logs_ = made_.Path("data");
  static inline Book book_of_several_logs_;
  // Of the test.
  static inline std::string store_ = several_logs_;
  static inline Book* book_ = &book_of_several_logs_;
  const std::uint64_t seed_ = [] {
    const std::uint64_t seed = RunSeed();
    std::cout << "ONCED_FAULT_SEED=" << seed << std::endl;
    return seed;
  }();
  std::mt19937_64 random_{seed_};
};

TEST_F(Damage, OfNothingIsServed) {
  Expect("nothing", "", [](const fs::path&) {});
}
TEST_F(Damage, OfTheNewestLog) { SpoilEverywhere(Files("", ".log").back()); }
TEST_F(Damage, OfAnOlderLog) { SpoilEverywhere(Files("", ".log").front()); }
// The newest one's last entries may lie beyond the watermark.
TEST_F(Damage, OfAnOlderLogsEnd) { CutAtEntries(Files("", ".log").front()); }
TEST_F(Damage, OfTheManifestsEnd) { CutAtEntries(Files("MANIFEST-", "").back()); }
TEST_F(Damage, OfDataFiles) {
  const std::vector<std::string> files = Files("", ".sst");
  SpoilEverywhere(files.front());
  SpoilEverywhere(files.back());
}
TEST_F(Damage, OfTheManifest) { SpoilEverywhere(Files("MANIFEST-", "").back()); }
// Its last entries tell of the file that took the place of a log, which is gone.
TEST_F(Damage, OfTheManifestsEndAfterARestart) {
  Book book;
  store_ = made_.Path("restarted");
  book_ = &book;
  for (const char* life : {"first", "second"}) {
    Started server(ServerArgs(integration::ServerBinary(), store_, SmallStore()));
    ASSERT_TRUE(server.serving());
    Api api(ConnectTo(server.address()));
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(book.Grant(api, absl::StrCat(life, i)), Book::kDone);
      ASSERT_EQ(book.Commit(api, absl::StrCat(life, i), life), Book::kDone);
    }
    Settle(api, absl::StrCat("beyond ", life));
    server.process().Signal(SIGKILL);
    server.process().Wait();
  }
  CutAtEntries(Files("MANIFEST-", "").back());
  store_ = several_logs_;
  book_ = &book_of_several_logs_;
}
TEST_F(Damage, OfCurrent) { SpoilEverywhere("CURRENT"); }
TEST_F(Damage, OfTheWatermark) { SpoilEverywhere("WATERMARK"); }
TEST_F(Damage, OfOptions) { SpoilEverywhere(Files("OPTIONS-", "").back()); }
TEST_F(Damage, OfTheIdentity) { SpoilEverywhere("IDENTITY"); }
TEST_F(Damage, ByTwoFilesInEachOthersPlace) {
  const std::vector<std::string> logs = Files("", ".log"), tables = Files("", ".sst");
  Swap(logs.front(), logs.back());
  Swap(tables.front(), tables.back());
  Swap(logs.front(), tables.front());
  Swap("CURRENT", Files("MANIFEST-", "").back());
  Swap("WATERMARK", "IDENTITY");
  Swap(Files("OPTIONS-", "").back(), "IDENTITY");
}

}  // namespace
}  // namespace onced::fault
