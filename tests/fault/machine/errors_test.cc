// Every kind of file operation that the server makes fails once, on every kind of
// file, with EIO or ENOSPC: while it makes a store, while it starts on one, in
// operation, while it stops.
//
// Then either it ends, soon and not with 0, and acknowledges nothing after the
// failure; or the failure is harmless and all goes on. Whatever had been
// acknowledged is there on a healthy machine.
#include <signal.h>

#include <atomic>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fault/machine/book.h"
#include "tests/fault/machine/faulty_server.h"
#include "tests/integration/server_process.h"

namespace onced::fault {
namespace {

using integration::Api;
using integration::ConnectTo;
using integration::TempDir;

constexpr std::size_t kBodyBytes = 1 << 20;
constexpr int kFewCommits = 2;
constexpr int kBigCommits = 18;  // More than a write buffer of SmallStore() holds.
// In one of which an operation should happen.
constexpr int kLivesMax = 4;
// A server that has to end, for whatever reason.
constexpr std::chrono::seconds kPromptly{10};

enum class Phase { kMake, kStart, kOperation, kStop };
constexpr Phase kPhases[] = {Phase::kMake, Phase::kStart, Phase::kOperation, Phase::kStop};
const char* NameOf(Phase phase) {
  switch (phase) {
    case Phase::kMake:
      return "make";
    case Phase::kStart:
      return "start";
    case Phase::kOperation:
      return "operation";
    case Phase::kStop:
      return "stop";
  }
  return "";
}

std::string BigBody(std::mt19937_64& random) {
  std::string body(kBodyBytes, '\0');
  for (char& byte : body) byte = static_cast<char>(random());
  return body;
}

// What becomes of the server.
enum class End : char {
  kRefusesToStart = 'R',  // With one line.
  kEnds = 'E',            // With 1, soon.
  kGoesOn = 'G',          // To its end, with 0.
};

// What comes of it when the first such operation of a phase fails: an End for each
// of the phases. '-': there is none as a rule, and any of them will do. What RocksDB
// does in the background may come in the next phase as well; so may the watermark,
// which ends a server that still serves.
struct Row {
  const char* operation;
  const char* file_class;
  char ends[std::size(kPhases) + 1];
};
constexpr Row kRows[] = {
    {"append", "manifest", "RRE-"},
    {"append", "options", "GG--"},
    {"append", "sst", "-RE-"},
    {"append", "temp", "RR--"},
    {"append", "wal", "RRE-"},
    {"append", "watermark", "R---"},
    {"close", "manifest", "G--G"},
    {"close", "options", "GG--"},
    {"close", "sst", "-RE-"},
    {"close", "wal", "-GGG"},
    {"close", "watermark", "R---"},
    {"delete", "manifest", "GG--"},
    {"delete", "options", "-G--"},
    {"delete", "sst", "-GG-"},
    {"delete", "wal", "-GG-"},
    {"exists", "current", "RR--"},
    {"exists", "identity", "RR--"},
    {"exists", "manifest", "G---"},
    {"exists", "watermark", "RG--"},
    {"flush", "manifest", "RREG"},
    {"flush", "options", "GG--"},
    {"flush", "sst", "-RE-"},
    {"flush", "wal", "RRE-"},
    {"free-space", "dir", "--GG"},
    {"list", "dir", "GR-G"},
    {"lock", "lock", "RR--"},
    {"mkdir", "dir", "RR--"},
    {"open-again", "wal", "-G--"},
    {"open-dir", "dir", "RR--"},
    {"open-in-place", "watermark", "RR--"},
    {"open-new", "manifest", "RR--"},
    {"open-new", "options", "GG--"},
    {"open-new", "sst", "-RE-"},
    {"open-new", "temp", "RR--"},
    {"open-new", "wal", "RRE-"},
    {"open-new", "watermark", "R---"},
    {"open-random", "current", "RR--"},
    {"open-random", "sst", "-RE-"},
    {"open-random", "watermark", "RR--"},
    {"open-sequential", "current", "RR--"},
    {"open-sequential", "identity", "RR--"},
    {"open-sequential", "manifest", "RR--"},
    {"open-sequential", "options", "GG--"},
    {"open-sequential", "wal", "-R--"},
    {"prefetch", "sst", "-GG-"},
    {"read", "current", "RR--"},
    {"read", "identity", "RR--"},
    {"read", "manifest", "RR--"},
    {"read", "options", "GG--"},
    {"read", "sst", "-RE-"},
    {"read", "wal", "-R--"},
    {"read", "watermark", "RR--"},
    {"rename", "current", "RR--"},
    {"rename", "identity", "R---"},
    {"rename", "options", "GG--"},
    {"shorten", "wal", "-G--"},
    {"size", "manifest", "-G--"},
    {"size", "options", "GR--"},
    {"size", "sst", "-G--"},
    {"size", "wal", "-R--"},
    {"sync", "manifest", "RRE-"},
    {"sync", "options", "GG--"},
    {"sync", "sst", "-RE-"},
    {"sync", "temp", "RR--"},
    {"sync", "wal", "RRE-"},
    {"sync", "watermark", "R-E-"},
    {"sync-dir", "dir", "RRE-"},
    {"unlock", "lock", "-R-G"},
    {"write", "watermark", "R-E-"},
};
const Row* RowOf(const std::string& operation, const std::string& file_class) {
  for (const Row& row : kRows) {
    if (row.operation == operation && row.file_class == file_class) return &row;
  }
  return nullptr;
}

// What a full disk may refuse.
bool NeedsSpace(const std::string& operation) {
  static const std::set<std::string> kAll = {"append", "flush", "open-new", "sync", "write",
                                             "rename", "mkdir", "sync-dir", "close"};
  return kAll.contains(operation);
}

class Errors : public testing::Test {
 protected:
  // A store with a history: of each kind of file several, and enough of the small
  // ones that the next start has something to compact.
  static void SetUpTestSuite() {
    std::mt19937_64 random(1);
    for (int life = 0; life < 4; ++life) {
      Started server(ServerArgs(integration::ServerBinary(), made_.Path("data"), SmallStore()));
      ASSERT_TRUE(server.serving());
      Api api(ConnectTo(server.address()));
      for (int i = 0; i < 3; ++i) {
        const std::string key = "old-" + std::to_string(life) + "-" + std::to_string(i);
        ASSERT_EQ(book_.Grant(api, key), Book::kDone);
        if (i == 0) continue;
        ASSERT_EQ(book_.Commit(api, key, "body of " + key), Book::kDone);
      }
      server.process().Signal(SIGKILL);
      server.process().Wait();
    }
  }

  // Every operation that the phase has, once; or, `again`, any of them.
  void FailEach(Phase phase);
  void FailOne(Phase phase, const std::string& what, const std::string& error, int number);

  static inline const TempDir made_;
  static inline Book book_;  // What was acknowledged before.
};

// One server's life, in which something may fail.
class Life {
 public:
  // Of a store that is there, or of a new one.
  Life(const std::string& made, Book book) : book_(std::move(book)) {
    CopyDirectory(made, dir_.Path("data"));
  }
  Life() = default;

  End Run(Phase phase, const std::vector<std::string>& flags) {
    std::vector<std::string> all = SmallStore();
    all.insert(all.end(), flags.begin(), flags.end());
    all.insert(all.end(), {"--armed-by", dir_.Path("armed"), "--trace", dir_.Path("trace")});
    if (phase == Phase::kStart || phase == Phase::kMake) Arm();
    Started server(ServerArgs(FaultyBinary(), dir_.Path("data"), all));
    seen_at_[phase == Phase::kMake ? Phase::kMake : Phase::kStart] = Traced();
    const End end = server.serving() ? Serve(phase, server) : Refused(server);
    happened_ = server.process().out().AllText().find("injected:") != std::string::npos;
    return end;
  }
  bool happened() const { return happened_; }

  // Operations on files, as "OP CLASS", and how often.
  std::map<std::string, int> SeenAt(Phase phase) const {
    const auto found = seen_at_.find(phase);
    return found == seen_at_.end() ? std::map<std::string, int>() : found->second;
  }

  // On a healthy machine: all that was acknowledged.
  void ExpectNothingLost() {
    Started server(ServerArgs(integration::ServerBinary(), dir_.Path("data"), SmallStore()));
    ASSERT_TRUE(server.serving()) << server.process().err().AllText();
    Api api(ConnectTo(server.address()));
    const Book::Findings findings = book_.Check(api);
    EXPECT_THAT(findings.lost, testing::IsEmpty());
    EXPECT_THAT(findings.refused, testing::IsEmpty());
    EXPECT_EQ(book_.Grant(api, "new"), Book::kDone);
    server.process().Signal(SIGTERM);
    EXPECT_EQ(server.process().Wait(), 0);
  }

 private:
  void Arm() const { std::ofstream(dir_.Path("armed")) << "yes"; }

  // Since it was last asked.
  std::map<std::string, int> Traced() {
    std::ifstream in(dir_.Path("trace"));
    in.seekg(static_cast<std::streamoff>(traced_));
    std::map<std::string, int> seen;
    for (std::string line; std::getline(in, line); traced_ += line.size() + 1) ++seen[line];
    return seen;
  }

  End Refused(Started& server) {
    EXPECT_EQ(server.process().Wait(kPromptly), 1);
    EXPECT_THAT(server.Lines(), testing::SizeIs(1));
    return End::kRefusesToStart;
  }

  End Serve(Phase phase, Started& server) {
    if (phase == Phase::kOperation) Arm();
    const bool went_on = Work(server, phase == Phase::kOperation ? kBigCommits : kFewCommits);
    seen_at_[Phase::kOperation] = Traced();
    if (!went_on) {
      EXPECT_EQ(server.process().Wait(kPromptly), 1) << server.process().err().AllText();
      return End::kEnds;
    }
    if (phase == Phase::kStop) Arm();
    server.process().Signal(SIGTERM);
    const int code = server.process().Wait(kPromptly);
    seen_at_[Phase::kStop] = Traced();
    EXPECT_TRUE(code == 0 || code == 1) << code << "\n" << server.process().err().AllText();
    return code == 0 ? End::kGoesOn : End::kEnds;
  }

  // False once something has failed: then nothing is acknowledged any more.
  bool Work(const Started& server, int commits) {
    Api api(ConnectTo(server.address()));
    std::mt19937_64 random(2);
    for (int i = 0; i < commits; ++i) {
      const std::string key = "big-" + std::to_string(i);
      std::string outcome = book_.Grant(api, key);
      if (outcome == Book::kDone) outcome = book_.Commit(api, key, BigBody(random));
      if (outcome != Book::kDone) return ExpectAllRefused(api, outcome);
    }
    return true;
  }
  bool ExpectAllRefused(Api& api, const std::string& first) {
    // 14 is UNAVAILABLE: the server may have gone already.
    const auto is_refusal = testing::AnyOf("OUTCOME_UNKNOWN", "STORE_FAILED", "14");
    EXPECT_THAT(first, is_refusal);
    for (int i = 0; i < 5; ++i) {
      const std::string key = "after-" + std::to_string(i);
      // 1 is CANCELLED, of a call that was in flight when the server went.
      EXPECT_THAT(book_.Grant(api, key), testing::AnyOf(is_refusal, "DRAINING", "1"));
    }
    return false;
  }

  const TempDir dir_;
  Book book_;
  bool happened_ = false;
  std::size_t traced_ = 0;
  std::map<Phase, std::map<std::string, int>> seen_at_;
};

void Errors::FailOne(Phase phase, const std::string& what, const std::string& error, int number) {
  const std::size_t space = what.find(' ');
  const std::string operation = what.substr(0, space), file_class = what.substr(space + 1);
  const std::string flag =
      operation + ":" + file_class + ":" + error + ":" + std::to_string(number);
  SCOPED_TRACE(std::string(NameOf(phase)) + " " + flag);
  const Row* row = RowOf(operation, file_class);
  const char wanted = row == nullptr ? '-' : row->ends[static_cast<int>(phase)];
  const bool is_new = phase == Phase::kMake;
  EXPECT_NE(row, nullptr) << "the server does what this test has no row for";
  bool happened = false;
  // What is done in the background may not have come to it before the end.
  for (int lives = 0; lives < kLivesMax && !happened; ++lives) {
    Life life = is_new ? Life() : Life(made_.Path("data"), book_);
    const End end = life.Run(phase, {"--inject", flag});
    life.ExpectNothingLost();
    happened = life.happened();
    std::cout << NameOf(phase) << " " << flag << " " << static_cast<char>(end)
              << (happened ? "" : ", it never happened") << std::endl;
    if (number > 1 || wanted == '-') return;  // One may be vital, and another not.
    if (happened) {
      EXPECT_EQ(static_cast<char>(end), wanted);
    }
  }
  EXPECT_TRUE(happened);
}

void Errors::FailEach(Phase phase) {
  const std::uint64_t seed = RunSeed();
  std::cout << "ONCED_FAULT_SEED=" << seed << std::endl;
  std::mt19937_64 random(seed);
  const bool is_new = phase == Phase::kMake;
  Life healthy = is_new ? Life() : Life(made_.Path("data"), book_);
  ASSERT_EQ(healthy.Run(phase, {}), End::kGoesOn);
  const std::map<std::string, int> seen = healthy.SeenAt(phase);
  ASSERT_THAT(seen, testing::Not(testing::IsEmpty()));
  const int more = RunCycles(0);
  for (const auto& [what, count] : seen) {
    const bool needs_space = NeedsSpace(what.substr(0, what.find(' ')));
    const char* const errors[] = {"EIO", needs_space ? "ENOSPC" : "EIO"};
    const std::uint64_t first = random() % 2;
    FailOne(phase, what, errors[first], 1);
    // By ONCED_FAULT_CYCLES the other error too, and those that come later.
    if (more > 0 && needs_space) FailOne(phase, what, errors[1 - first], 1);
    for (int i = 0; i < more && count > 1; ++i) {
      const int number = 2 + static_cast<int>(random() % static_cast<std::uint64_t>(count - 1));
      FailOne(phase, what, errors[random() % 2], number);
    }
  }
}

TEST_F(Errors, WhileAStoreIsMade) { FailEach(Phase::kMake); }
TEST_F(Errors, AtTheStart) { FailEach(Phase::kStart); }
TEST_F(Errors, InOperation) { FailEach(Phase::kOperation); }
TEST_F(Errors, AtTheEnd) { FailEach(Phase::kStop); }

// Many callers at the moment at which the log can't be synced any more.
TEST_F(Errors, OfTheLogsSyncEndEverything) {
  constexpr int kCallers = 8;
  const TempDir dir;
  Started server(ServerArgs(FaultyBinary(), dir.Path("data"),
                            {"--inject", "sync:wal:EIO:1+", "--armed-by", dir.Path("armed")}));
  ASSERT_TRUE(server.serving());
  std::vector<Book> books(kCallers);
  std::vector<std::vector<std::string>> errors(kCallers);
  std::atomic<int> granted{0}, late{0};
  const auto call = [&](int caller) {
    Api api(ConnectTo(server.address()));
    // The second one that fails is of a server that has heard of it.
    for (int i = 0; errors[caller].size() < 2; ++i) {
      const bool failed = server.process().out().Text().find("injected") != std::string::npos;
      const std::string key = std::to_string(caller) + "-" + std::to_string(i);
      const std::string outcome = books[caller].Grant(api, key);
      if (outcome != Book::kDone) errors[caller].push_back(outcome);
      if (outcome == Book::kDone) ++(failed ? late : granted);
    }
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) callers.emplace_back(call, i);
  integration::Await("enough grants", [&] { return granted > 10 * kCallers; });
  std::ofstream(dir.Path("armed")) << "yes";
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(server.process().Wait(kPromptly), 1);
  EXPECT_EQ(late, 0) << "acknowledged after the failure";
  int unknown = 0;
  for (const auto& mine : errors) {
    unknown += mine.front() == "OUTCOME_UNKNOWN" ? 1 : 0;
    for (const std::string& error : mine) {
      EXPECT_THAT(error, testing::AnyOf("OUTCOME_UNKNOWN", "STORE_FAILED", "DRAINING", "14", "1"));
    }
  }
  EXPECT_GT(unknown, 0);

  Started again(ServerArgs(integration::ServerBinary(), dir.Path("data"), {}));
  ASSERT_TRUE(again.serving());
  Api api(ConnectTo(again.address()));
  for (const Book& book : books) EXPECT_THAT(book.Check(api).lost, testing::IsEmpty());
}

}  // namespace
}  // namespace onced::fault
