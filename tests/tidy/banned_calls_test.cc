// Habits that the compiler doesn't know of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>

#include "tests/tidy/tidy.h"

namespace onced::tidy {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// ---- Calls, each in one place at most ----

// Texts that are whole words at those ends at which they have a letter.
struct Ban {
  const char* name;
  std::vector<std::string> calls;
  std::vector<std::string> under;  // Where it holds: what the paths start with.
  std::set<std::string> but_in;    // Where it doesn't, likewise.
};

const Ban kBans[] = {
    {"time, which comes from Clock",
     {"absl::Now", "GetCurrentTimeNanos", "system_clock::now", "steady_clock::now",
      "high_resolution_clock", "clock_gettime", "gettimeofday", "time(nullptr", "time(NULL",
      "time(0"},
     {"server/"},
     // mutex.h measures a timeout and tells nobody the time.
     {"server/base/clock.cc", "server/base/mutex.h"}},
    {"gRPC's clock, which is for its own deadlines alone",
     {"gpr_now"},
     {"server/"},
     {"server/rpc/grpc_server.cc"}},
    {"random bytes, which come from Random",
     {"getrandom", "getentropy", "random_device", "/dev/random", "/dev/urandom", "BitGen",
      "InsecureBitGen", "mt19937", "mt19937_64", "rand(", "random(", "RAND_bytes",
      "default_random_engine"},
     {"server/"},
     {"server/base/random.cc"}},
    {"sleep: wait for an event",
     {"sleep_for", "sleep_until", "SleepFor", "usleep", "nanosleep", "clock_nanosleep", "sleep("},
     {"server/"},
     {}},
    {"absl::Mutex, which ThreadSanitizer can't see: use server/base/mutex.h",
     {"absl::Mutex", "absl::MutexLock", "absl::CondVar", "absl::ReaderMutexLock",
      "absl::WriterMutexLock", "absl::Notification", "absl::BlockingCounter",
      "absl/synchronization/"},
     {"server/", "client/"},
     // It turns off what gRPC's locks do beside locking.
     {"server/rpc/grpc_server.cc"}},
    {"an unannotated lock: use server/base/mutex.h",
     {"std::mutex", "std::recursive_mutex", "std::shared_mutex", "std::timed_mutex",
      "std::condition_variable", "std::condition_variable_any", "std::lock_guard",
      "std::scoped_lock", "std::unique_lock", "std::shared_lock"},
     {"server/"},
     {"server/base/mutex.h"}},
    {"output past the log",
     {"std::cout", "std::cerr", "std::clog", "printf(", "fprintf(", "vprintf(", "vfprintf(",
      "dprintf(", "puts(", "fputs(", "putchar(", "perror(", "absl::PrintF", "absl::FPrintF"},
     {"server/"},
     {"server/serve.cc", "server/run_restore.cc", "server/base/check.cc", "server/observe/log"}},
    {"default: a new reason must not compile until it is mapped",
     {"default:"},
     {"server/rpc/errors.cc"},
     {}},
};

bool IsLetter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool Contains(const std::string& line, const std::string& call) {
  for (std::size_t at = line.find(call); at != std::string::npos; at = line.find(call, at + 1)) {
    const std::size_t end = at + call.size();
    const bool starts = at == 0 || !IsLetter(call.front()) || !IsLetter(line[at - 1]);
    const bool ends = end == line.size() || !IsLetter(call.back()) || !IsLetter(line[end]);
    if (starts && ends) return true;
  }
  return false;
}

bool Holds(const Ban& ban, const std::string& path) {
  const auto starts = [&path](const std::string& prefix) { return StartsWith(path, prefix); };
  return std::any_of(ban.under.begin(), ban.under.end(), starts) &&
         std::none_of(ban.but_in.begin(), ban.but_in.end(), starts);
}

std::vector<Violation> CheckCalls(const File& file) {
  std::vector<Violation> found;
  if (!IsCpp(file)) return found;
  // Includes and device paths stand in quotes: strings stay.
  const std::vector<std::string> lines = Lines(Blank(file.text, /*strings=*/false));
  for (const Ban& ban : kBans) {
    if (!Holds(ban, file.path)) continue;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto in_line = [&](const std::string& call) { return Contains(lines[i], call); };
      if (std::any_of(ban.calls.begin(), ban.calls.end(), in_line)) {
        found.push_back({file.path, static_cast<int>(i) + 1, ban.name});
      }
    }
  }
  return found;
}

int Occurrences(const std::string& path, const std::string& call) {
  int count = 0;
  for (const File& file : Tree()) {
    if (file.path != path) continue;
    const std::string text = Blank(file.text, /*strings=*/true);
    for (std::size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1)) {
      ++count;
    }
  }
  return count;
}

TEST(BannedCalls, AreNotMade) { EXPECT_THAT(CheckTree(CheckCalls), IsEmpty()); }

TEST(BannedCalls, TheTimeOfDayAndRandomBytesAreEachTakenOnce) {
  EXPECT_EQ(Occurrences("server/base/clock.cc", "absl::Now("), 1);
  EXPECT_EQ(Occurrences("server/base/clock.cc", "clock_gettime("), 1);
  EXPECT_EQ(Occurrences("server/base/random.cc", "getrandom("), 1);
}

// ---- shared_ptr says why ----

// Who holds one, or names the type, says why. Who is merely handed one needn't.
std::vector<Violation> CheckSharing(const File& file) {
  constexpr int kNear = 4;  // Lines above.
  static const std::regex kHeld("shared_ptr<.*>\\s*([A-Za-z_]\\w*\\s*[;={]|;)");
  std::vector<Violation> found;
  if (!StartsWith(file.path, "server/") || !IsCpp(file)) return found;
  const std::vector<std::string> lines = Lines(file.text);
  const std::vector<std::string> code = Lines(Blank(file.text, /*strings=*/true));
  for (int i = 0; i < static_cast<int>(code.size()); ++i) {
    if (code[i].find("shared_ptr<") == std::string::npos) continue;
    if (!std::regex_search(code[i], kHeld)) continue;
    bool said = false;
    for (int j = std::max(0, i - kNear); j <= i; ++j) {
      said = said || lines[j].find("// Shared") != std::string::npos;
    }
    if (!said) found.push_back({file.path, i + 1, "shared_ptr without a \"// Shared\": why?"});
  }
  return found;
}

TEST(Sharing, SaysWhy) { EXPECT_THAT(CheckTree(CheckSharing), IsEmpty()); }

// ---- Lengths ----

std::vector<Violation> CheckLength(const File& file) {
  constexpr std::size_t kLinesMax = 500;  // Past that, there surely is a second subject.
  const bool ours = StartsWith(file.path, "server/") || StartsWith(file.path, "client/");
  if (!ours || !IsCpp(file) || Lines(file.text).size() < kLinesMax) return {};
  return {{file.path, 0, "500 lines or more: look for the second subject"}};
}

TEST(Length, IsLessThan500Lines) { EXPECT_THAT(CheckTree(CheckLength), IsEmpty()); }

// ---- Words ----

// In pieces, so that this file doesn't hold what it looks for.
const std::string kUnfinished[] = {
    "TO"
    "DO",
    "FIX"
    "ME",
    "XX"
    "X"};
const std::string kRegistries[] = {
    "proxy.go"
    "lang.org",
    "sum.go"
    "lang.org",
    "registry.npm"
    "js.org",
    "registry.yarn"
    "pkg.com",
    "py"
    "pi.org",
    "files.python"
    "hosted.org",
    "static.cra"
    "tes.io",
    "index.cra"
    "tes.io",
    "repo.ma"
    "ven.org",
    "repo1.ma"
    "ven.org",
    "repo.ma"
    "ven.apache.org",
    "ruby"
    "gems.org",
    "deb.deb"
    "ian.org",
    "security.deb"
    "ian.org",
    "ftp.deb"
    "ian.org",
};

std::vector<Violation> CheckWords(const File& file) {
  std::vector<Violation> found;
  int number = 0;
  for (const std::string& line : Lines(file.text)) {
    ++number;
    for (const std::string& word : kUnfinished) {
      if (!Contains(line, word)) continue;
      found.push_back({file.path, number, "unfinished: do it, or write an issue"});
    }
    for (const std::string& host : kRegistries) {
      if (!Contains(line, host)) continue;
      found.push_back({file.path, number, "names a registry's host: that is the user's setting"});
    }
  }
  return found;
}

TEST(Words, AreOfFinishedWorkAndNameNoRegistry) { EXPECT_THAT(CheckTree(CheckWords), IsEmpty()); }

// ---- Planted ----

struct Planted {
  const char* name;
  Rule rule;
  const char* path;
  std::string text;
  std::size_t violations;
};

const Planted kPlanted[] = {
    {"now", CheckCalls, "server/shard/a.cc", "auto t = absl::Now();", 1},
    {"now_in_clock", CheckCalls, "server/base/clock.cc", "auto t = absl::Now();", 0},
    {"now_in_a_comment", CheckCalls, "server/shard/a.cc", "// absl::Now() is banned.", 0},
    {"now_in_a_long_comment", CheckCalls, "server/shard/a.cc", "/* absl::Now()\nabsl::Now() */", 0},
    {"now_in_tests", CheckCalls, "tests/unit/a.cc", "auto t = absl::Now();", 0},
    {"system_clock", CheckCalls, "server/rpc/a.cc", "std::chrono::system_clock::now()", 1},
    {"system_clock_s_type", CheckCalls, "server/rpc/a.cc", "system_clock::time_point t;", 0},
    {"steady_clock", CheckCalls, "server/shard/a.h", "std::chrono::steady_clock::now()", 1},
    {"time", CheckCalls, "server/shard/a.cc", "time(nullptr)", 1},
    {"a_time_of_ours", CheckCalls, "server/shard/a.cc", "expire_time(record)", 0},
    {"grpcs_clock", CheckCalls, "server/rpc/a.cc", "gpr_now(GPR_CLOCK_MONOTONIC)", 1},
    {"random", CheckCalls, "server/shard/a.cc", "std::random_device device;", 1},
    {"random_file", CheckCalls, "server/shard/a.cc", "open(\"/dev/urandom\")", 1},
    {"random_engine", CheckCalls, "server/shard/a.cc", "absl::BitGen bits;", 1},
    {"sleep", CheckCalls, "server/shard/a.cc", "absl::SleepFor(d);", 1},
    {"sleep_of_the_thread", CheckCalls, "server/a.cc", "std::this_thread::sleep_for(d);", 1},
    {"mutex", CheckCalls, "server/shard/a.h", "absl::Mutex mutex_;", 1},
    {"mutex_included", CheckCalls, "client/cpp/a.h", "#include \"absl/synchronization/mutex.h\"",
     1},
    {"std_mutex", CheckCalls, "server/shard/a.h", "std::mutex mutex_;", 1},
    {"std_mutex_wrapped", CheckCalls, "server/base/mutex.h", "std::mutex mutex_;", 0},
    {"cout", CheckCalls, "server/shard/a.cc", "std::cout << 1;", 1},
    {"printf", CheckCalls, "server/shard/a.cc", "printf(\"x\");", 1},
    {"fprintf", CheckCalls, "server/shard/a.cc", "std::fprintf(stderr, \"x\");", 1},
    {"printf_in_std", CheckCalls, "server/shard/a.cc", "std::printf(\"x\");", 1},
    {"snprintf", CheckCalls, "server/shard/a.cc", "snprintf(to, n, \"x\");", 0},
    {"printf_in_serve", CheckCalls, "server/serve.cc", "std::fprintf(stderr, \"x\");", 0},
    {"default", CheckCalls, "server/rpc/errors.cc", "switch (x) { default: return; }", 1},
    {"default_elsewhere", CheckCalls, "server/rpc/a.cc", "switch (x) { default: return; }", 0},
    {"defaulted", CheckCalls, "server/rpc/errors.cc", "A() = default;", 0},
    {"after_a_separator", CheckCalls, "server/a.cc", "int n = 1'000;\nint m = absl::Now() + 1'0;",
     1},
    {"after_a_quote", CheckCalls, "server/a.cc", "char c = '\"'; absl::Now(); c = '\"';", 1},
    {"after_a_slash_in_a_string", CheckCalls, "server/a.cc", "f(\"http://x\"); absl::Now();", 1},
    {"shared", CheckSharing, "server/a.h", "std::shared_ptr<A> a;", 1},
    {"shared_with_a_reason", CheckSharing, "server/a.h", "// Shared: by two.\nshared_ptr<A> a;", 0},
    {"shared_far_below", CheckSharing, "server/a.h", "// Shared: x.\n\n\n\n\nshared_ptr<A> a;", 1},
    {"shared_alias", CheckSharing, "server/a.h", "using P = std::shared_ptr<A>;", 1},
    {"shared_many", CheckSharing, "server/a.h", "std::vector<std::shared_ptr<A>> all_;", 1},
    {"shared_with", CheckSharing, "server/a.h", "std::shared_ptr<A> a;  // Shared with gRPC.", 0},
    {"shared_argument", CheckSharing, "server/a.h", "void F(std::shared_ptr<A> a);", 0},
    {"shared_result", CheckSharing, "server/a.h", "std::shared_ptr<A> Make();", 0},
    {"shared_in_words", CheckSharing, "server/a.h", "// No shared_ptr here.", 0},
    {"short", CheckLength, "server/a.cc", std::string(499, '\n'), 0},
    {"long", CheckLength, "server/a.cc", std::string(500, '\n'), 1},
    {"long_header", CheckLength, "client/cpp/a.h", std::string(500, '\n'), 1},
    {"long_test", CheckLength, "tests/a.cc", std::string(500, '\n'), 0},
    {"to_do", CheckWords, "README.md",
     "// TO"
     "DO: all of it",
     1},
    {"fix_me", CheckWords, "server/a.cc",
     "// FIX"
     "ME(me)",
     1},
    {"three_x", CheckWords, "proto/a.proto",
     "// XX"
     "X",
     1},
    {"many_x", CheckWords, "tests/a.cc", "mkdtemp(\"/tmp/XXXXXX\")", 0},
    {"registry", CheckWords, ".ci/run",
     "GOPROXY=https://proxy.go"
     "lang.org",
     1},
    {"mirror", CheckWords, "deploy/image/Dockerfile",
     "http://deb.deb"
     "ian.org/debian",
     1},
    {"another_host", CheckWords, "docs/a.md", "https://example.org", 0},
};

TEST(Planted, IsFound) {
  for (const Planted& row : kPlanted) {
    EXPECT_THAT(row.rule({row.path, row.text}), SizeIs(row.violations)) << row.name;
  }
}

TEST(Planted, IsFoundOnItsLine) {
  const std::vector<Violation> found = CheckCalls({"server/a.cc", "int a;\n/*\n*/ absl::Now();\n"});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].line, 3);
}

TEST(Tree, IsThere) {
  EXPECT_GT(Tree().size(), 30U);
  EXPECT_TRUE(std::any_of(Tree().begin(), Tree().end(), [](const File& file) {
    return file.path == "server/ledger/decide.cc" && !file.text.empty();
  }));
}

}  // namespace
}  // namespace onced::tidy
