// Starting, and refusing to: one clear line each, and an exit code.
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/raw_call.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// Runs a server that is expected to end by itself.
Finished RunServer(std::vector<std::string> flags, std::vector<std::string> env = {},
                   std::optional<uid_t> user = std::nullopt) {
  flags.insert(flags.begin(), ServerBinary());
  return Run({.argv = std::move(flags), .env = std::move(env), .user = user});
}

std::vector<std::string> GoodFlags(const std::string& data_dir) {
  return {"--listen",       "127.0.0.1:0", "--http-listen", "127.0.0.1:0",
          "--admin-listen", "127.0.0.1:0", "--data-dir",    data_dir};
}
std::vector<std::string> With(std::vector<std::string> flags, std::vector<std::string> more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

// It ended with one line, which has all of `parts`.
void ExpectRefusal(const Finished& run, const std::vector<std::string>& parts) {
  EXPECT_NE(run.exit_code, 0);
  EXPECT_LT(run.exit_code, 126) << "it did not end by itself";
  EXPECT_THAT(LinesOf(run.err), SizeIs(1)) << run.err;
  for (const std::string& part : parts) EXPECT_THAT(run.err, HasSubstr(part));
  EXPECT_EQ(run.out, "");
}

// ---- What it asks for ----

TEST(Startup, HelpAndVersionAreAnswers) {
  const Finished help = RunServer({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.err, "");
  for (const char* flag : {"--listen", "--http-listen", "--admin-listen", "--data-dir", "--config",
                           "--shards", "--executors", "--durability", "fsync", "process"}) {
    EXPECT_THAT(help.out, HasSubstr(flag));
  }
  const Finished version = RunServer({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, testing::MatchesRegex("onced [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Startup, ADataDirIsRequired) {
  ExpectRefusal(RunServer({"--listen", "127.0.0.1:0"}), {"--data-dir"});
}

TEST(Startup, ADataDirIsMade) {
  ServerProcess server;
  struct stat found {};
  ASSERT_EQ(stat(server.data_dir().c_str(), &found), 0);
  EXPECT_TRUE(S_ISDIR(found.st_mode));
  EXPECT_EQ(found.st_mode & 077, 0) << "what callers committed is nobody else's business";
}

TEST(Startup, TheEnvironmentIsReadAndFlagsWin) {
  ServerProcess server({.flags = {"--shards=3"}, .env = {"ONCED_SHARDS=5", "ONCED_EXECUTORS=2"}});
  EXPECT_THAT(server.Log(), HasSubstr("\"shards\":3"));
  EXPECT_THAT(server.Log(), HasSubstr("\"executors\":2"));
}

TEST(Startup, TheFileIsReadAndTheEnvironmentWins) {
  ServerProcess server({.config = "shards: 7\nexecutors: 1\n", .env = {"ONCED_EXECUTORS=2"}});
  EXPECT_THAT(server.Log(), HasSubstr("\"shards\":7"));
  EXPECT_THAT(server.Log(), HasSubstr("\"executors\":2"));
}

// ---- Bad settings ----

TEST(Startup, ABadSettingIsNamed) {
  const TempDir dir;
  const auto yaml = [&](const std::string& text) {
    static int next = 0;
    return dir.Write("c" + std::to_string(++next) + ".yaml", text);
  };
  struct Row {
    const char* name;
    std::vector<std::string> flags;
    std::vector<std::string> env;
    std::vector<std::string> parts;
  };
  const Row rows[] = {
      {"no such flag", {"--shard=4"}, {}, {"--shard"}},
      {"no flag at all", {"serve"}, {}, {"serve"}},
      {"no value", {"--shards"}, {}, {"--shards"}},
      {"no number", {"--shards", "many"}, {}, {"shards", "many"}},
      {"zero shards", {"--shards", "0"}, {}, {"shards", "0", "1"}},
      {"257 shards", {"--shards", "257"}, {}, {"shards", "257", "256"}},
      {"negative executors", {"--executors=-1"}, {}, {"executors", "-1"}},
      {"durability", {"--durability", "maybe"}, {}, {"durability", "maybe", "fsync", "process"}},
      {"listen without a port", {"--listen", "127.0.0.1"}, {}, {"listen", "127.0.0.1"}},
      {"listen with a bad port", {"--listen", "127.0.0.1:65536"}, {}, {"listen", "65536"}},
      {"twice", {"--shards", "1", "--shards", "1"}, {}, {"shards", "twice"}},
      {"grace", {"--restart-grace", "15"}, {}, {"restart_grace", "15"}},
      {"variable", {}, {"ONCED_SHARDS=0"}, {"ONCED_SHARDS", "0"}},
      {"file missing", {"--config", dir.Path("nowhere.yaml")}, {}, {"nowhere.yaml"}},
      {"file is a folder", {"--config", dir.path()}, {}, {dir.path()}},
      {"file with an unknown key", {"--config", yaml("shardz: 3\n")}, {}, {"shardz", "yaml:1"}},
      {"file with a bad value", {"--config", yaml("\nshards: x\n")}, {}, {"shards", "yaml:2"}},
      {"file that is no YAML", {"--config", yaml("a: [1\n")}, {}, {"yaml"}},
      {"file that is a list", {"--config", yaml("- 1\n")}, {}, {"yaml"}},
      {"policy with an unknown key",
       {"--config", yaml("default_policy: {leese: {min: 1s}}\n")},
       {},
       {"default_policy", "leese"}},
      {"policy out of bounds",
       {"--config", yaml("namespaces: {a: {lease: {max: 25h}}}\n")},
       {},
       {"namespaces.a", "lease.max", "25h", "24h"}},
      {"policy against itself",
       {"--config", yaml("namespaces: {a: {lease: {min: 2m, max: 1m}}}\n")},
       {},
       {"lease"}},
      {"policy of a bad namespace", {"--config", yaml("namespaces: {'a b': {}}\n")}, {}, {"a b"}},
      {"on_lapse",
       {"--config", yaml("default_policy: {on_lapse: WAIT}\n")},
       {},
       {"on_lapse", "WAIT"}},
      {"body",
       {"--config", yaml("default_policy: {max_body_bytes: 4MiB}\n")},
       {},
       {"max_body_bytes", "3MiB"}},
  };
  int next = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string data_dir = dir.Path("data" + std::to_string(++next));
    std::vector<std::string> flags = {"--data-dir", data_dir};
    ExpectRefusal(RunServer(With(flags, row.flags), row.env), row.parts);
    EXPECT_NE(access(data_dir.c_str(), F_OK), 0) << "nothing is done before all is checked";
  }
}

TEST(Startup, AllErrorsAreToldAtOnceALineEach) {
  const TempDir dir;
  const std::string file = dir.Write("c.yaml", "queue_max: 0\nnamespaces: {a: {on_lapse: NO}}\n");
  const Finished run = RunServer({"--shards", "0", "--config", file, "--durability", "x"});
  EXPECT_NE(run.exit_code, 0);
  EXPECT_THAT(LinesOf(run.err), SizeIs(5)) << run.err;
  for (const char* name : {"shards", "queue_max", "on_lapse", "durability", "data_dir"}) {
    EXPECT_THAT(run.err, HasSubstr(name));
  }
}

// ---- Ports ----

TEST(Startup, AnAddressInUseIsNamed) {
  const ServerProcess first;
  const TempDir dir;
  ExpectRefusal(RunServer({"--listen", first.address(), "--http-listen", "127.0.0.1:0",
                           "--data-dir", dir.Path("a")}),
                {first.address(), "in use"});
  ExpectRefusal(RunServer({"--listen", "127.0.0.1:0", "--http-listen", first.http_address(),
                           "--data-dir", dir.Path("b")}),
                {first.http_address(), "in use"});
  ExpectRefusal(RunServer({"--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0",
                           "--admin-listen", first.admin_address(), "--data-dir", dir.Path("c")}),
                {"admin_listen", first.admin_address(), "in use"});
  Api api(first.Connect());
  EXPECT_EQ(api.Reserve("k").outcome(), v1::OUTCOME_FRESH) << "the first one is not hurt";
}

TEST(Startup, AnAddressOfSomebodyElseIsNamed) {
  const TempDir dir;
  ExpectRefusal(RunServer({"--listen", "192.0.2.1:0", "--http-listen", "127.0.0.1:0", "--data-dir",
                           dir.Path("a")}),
                {"192.0.2.1:0"});
}

TEST(Startup, OneAddressForBothIsRefused) {
  const TempDir dir;
  ExpectRefusal(RunServer({"--listen", "127.0.0.1:9", "--http-listen", "127.0.0.1:9", "--data-dir",
                           dir.Path("a")}),
                {"http_listen"});
}

// ---- The data directory ----

TEST(Startup, ADataDirThatIsServedIsRefused) {
  const ServerProcess first;
  ExpectRefusal(RunServer(GoodFlags(first.data_dir())), {first.data_dir()});
  Api api(first.Connect());
  EXPECT_EQ(api.Reserve("k").outcome(), v1::OUTCOME_FRESH) << "the first one is not hurt";
}

TEST(Startup, ADataDirThatIsAFileIsRefused) {
  const TempDir dir;
  const std::string file = dir.Write("data", "not a store");
  ExpectRefusal(RunServer(GoodFlags(file)), {file});
  EXPECT_EQ(ReadFile(file), "not a store");
}

TEST(Startup, ADataDirOfSomethingElseIsRefused) {
  const TempDir dir;
  ASSERT_EQ(mkdir(dir.Path("data").c_str(), 0700), 0);
  dir.Write("data/thesis.txt", "all my work");
  ExpectRefusal(RunServer(GoodFlags(dir.Path("data"))), {dir.Path("data")});
  EXPECT_EQ(ReadFile(dir.Path("data/thesis.txt")), "all my work");
}

TEST(Startup, ADataDirThatCanNotBeMadeIsRefused) {
  const TempDir dir;
  const std::string below_a_file = dir.Write("file", "") + "/data";
  ExpectRefusal(RunServer(GoodFlags(below_a_file)), {below_a_file});
}

// Run by root, to whom everything is writable: as another user.
TEST(Startup, ADataDirThatIsNotWritableIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can run the server as another user";
  const passwd* nobody = getpwnam("nobody");
  if (nobody == nullptr) GTEST_SKIP() << "there is no user nobody";
  const TempDir dir;
  ASSERT_EQ(chmod(dir.path().c_str(), 0755), 0);
  if (RunServer({"--version"}, {}, nobody->pw_uid).exit_code != 0) {
    GTEST_SKIP() << "nobody may not run " << ServerBinary();
  }
  ASSERT_EQ(mkdir(dir.Path("data").c_str(), 0755), 0);
  ExpectRefusal(RunServer(GoodFlags(dir.Path("data")), {}, nobody->pw_uid),
                {dir.Path("data"), "ermission denied"});
  ExpectRefusal(RunServer(GoodFlags(dir.Path("new")), {}, nobody->pw_uid),
                {dir.Path("new"), "ermission denied"});

  // One that was made by root.
  ServerProcess server;
  ASSERT_EQ(server.Stop(), 0);
  ExpectRefusal(RunServer(GoodFlags(server.data_dir()), {}, nobody->pw_uid),
                {server.data_dir(), "ermission denied"});
}

TEST(Startup, AnotherNumberOfShardsIsRefusedWithTheWayOut) {
  ServerProcess server({.flags = {"--shards", "4"}});
  const v1::Reservation grant = Api(server.Connect()).Grant("k");
  ASSERT_EQ(server.Stop(), 0);
  ExpectRefusal(RunServer(With(GoodFlags(server.data_dir()), {"--shards", "8"})),
                {"shards", "4", "8", server.data_dir()});
  server.options().flags = {};
  server.Start();
  EXPECT_EQ(Api(server.Connect()).Inspect("k").fence(), grant.fence()) << "as stored";
  EXPECT_EQ(server.Stop(), 0);
  server.options().flags = {"--shards", "4", "--executors", "3"};
  server.Start();
  EXPECT_EQ(Api(server.Connect()).Inspect("k").fence(), grant.fence());
}

TEST(Startup, SixteenShardsAreTheDefault) {
  const ServerProcess server;
  EXPECT_THAT(server.Log(), HasSubstr("\"shards\":16"));
}

// ---- The log ----

// Whatever callers send.
TEST(Log, IsOneJsonObjectALine) {
  ServerProcess server;
  const auto channel = server.Connect();
  for (const std::string& bytes : {Field(1, "\xff"), std::string("\xff\xff"), Field(2, "a\nb")}) {
    EXPECT_FALSE(RawCall(channel, MethodOfApi("Reserve"), bytes).status.ok());
  }
  EXPECT_EQ(server.Stop(), 0);
  const std::vector<std::string> lines = LinesOf(server.process().err().AllText());
  EXPECT_THAT(lines, Not(IsEmpty()));
  for (const std::string& line : lines) {
    EXPECT_THAT(line, AllOf(testing::StartsWith("{"), testing::EndsWith("}"),
                            HasSubstr("\"event\":"), HasSubstr("\"level\":")));
  }
  EXPECT_EQ(server.process().out().AllText(), "");
}

}  // namespace
}  // namespace onced::integration
