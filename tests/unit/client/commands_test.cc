// commit, release, extend and inspect.
#include <fstream>

#include "absl/strings/escaping.h"
#include "client/cpp/digest.h"
#include "tests/unit/client/cli_fixture.h"

namespace onced::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t kBodyMax = 3 * 1024 * 1024;

class CommandTest : public CliTest {
 protected:
  Ran On(const std::string& command, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args = {command, "--namespace", "shop", "--key", "order-1"};
    args.insert(args.end(), more.begin(), more.end());
    return Oncectl(args);
  }
  Ran Commit(std::vector<std::string> more = {}) {
    more.insert(more.begin(), "--token=t");
    return On("commit", more);
  }
  const v1::CommitRequest& committed() const { return server_.commit.requests.back(); }
  const v1::Result& result() const { return committed().result(); }
};

// ---- Tokens. ----

TEST_F(CommandTest, TokenComesFromTheFlagThenTheFileThenTheEnvironment) {
  env_["ONCECTL_TOKEN"] = "from-env";
  const std::string path = WriteFile("token", "from-file\n");
  const auto token = [&](const std::vector<std::string>& flags) {
    for (const char* command : {"commit", "release", "extend"}) {
      const Ran ran = On(command, flags);
      EXPECT_EQ(ran.code, 0) << ran.err;
    }
    EXPECT_EQ(server_.release.requests.back().token(), committed().token());
    EXPECT_EQ(server_.extend.requests.back().token(), committed().token());
    return committed().token();
  };
  EXPECT_EQ(token({}), "from-env");
  EXPECT_EQ(token({"--token-file", path}), "from-file");
  EXPECT_EQ(token({"--token", "from-flag"}), "from-flag");
  stdin_ = "from-stdin\r\n";
  EXPECT_EQ(token({"--token-file", "-"}), "from-stdin");
}

struct TokenRow {
  const char* name;
  std::vector<std::string> flags;
  const char* problem;
};

TEST_F(CommandTest, TokenThatCanNotBeHadIsAUsageError) {
  const TokenRow rows[] = {
      {"none", {}, "one of --token, --token-file and $ONCECTL_TOKEN is missing"},
      {"both",
       {"--token=t", "--token-file=f"},
       "only one can be given of --token and --token-file"},
      {"not_utf8", {"--token=\xFF"}, "--token isn't UTF-8"},
      {"no_file", {"--token-file", Path("none")}, "No such file"},
      {"empty_file", {"--token-file", WriteFile("empty", "\n")}, "doesn't hold one line"},
      {"two_lines", {"--token-file", WriteFile("two", "a\nb\n")}, "doesn't hold one line"},
      {"binary", {"--token-file", WriteFile("binary", AllBytes())}, "doesn't hold one line"},
      {"huge", {"--token-file", WriteFile("huge", std::string(5000, 't'))}, "doesn't hold one"},
  };
  for (const TokenRow& row : rows) {
    for (const char* command : {"commit", "release", "extend"}) {
      const Ran ran = On(command, row.flags);
      EXPECT_EQ(ran.code, 2) << row.name;
      EXPECT_THAT(ran.err, HasSubstr(row.problem)) << row.name;
    }
  }
  env_["ONCECTL_TOKEN"] = "\xFF";
  EXPECT_THAT(On("release").err, HasSubstr("$ONCECTL_TOKEN isn't UTF-8"));
  EXPECT_TRUE(server_.release.requests.empty());
}

TEST_F(CommandTest, TokenIsNotShown) {
  for (const char* command : {"commit", "release", "extend"}) {
    const Ran ran = On(command, {"--token=hush"});
    EXPECT_EQ((ran.out + ran.err).find("hush"), std::string::npos);
  }
}

// ---- commit ----

TEST_F(CommandTest, CommitSendsEachFlag) {
  EXPECT_EQ(Commit({"--status-code=-7", "--header", "B: 2", "--header", "a:1", "--header=B:  2 ",
                    "--header", "empty:", "--header", "colons: a:b", "--body", "text",
                    "--retention-ttl", "30d"})
                .code,
            0);
  EXPECT_THAT(committed(), IsMessage(FromJson<v1::CommitRequest>(R"({
    "namespace": "shop", "key": "order-1", "token": "t", "retention_ttl": "2592000s",
    "result": {"status_code": -7, "body": "dGV4dA==",
               "headers": [{"name": "B", "value": "Mg=="}, {"name": "a", "value": "MQ=="},
                           {"name": "B", "value": "IDIg"}, {"name": "empty"},
                           {"name": "colons", "value": "YTpi"}]}})")));
}

TEST_F(CommandTest, CommitHasDefaults) {
  EXPECT_EQ(Commit().code, 0);
  EXPECT_THAT(committed(), IsMessage(FromJson<v1::CommitRequest>(R"({
    "namespace": "shop", "key": "order-1", "token": "t", "result": {"status_code": 200}})")));
}

TEST_F(CommandTest, CommitSendsHeaderValuesAsTheyAre) {
  EXPECT_EQ(Commit({"--header", "x: \xFF\x01"}).code, 0);
  EXPECT_EQ(result().headers(0).value(), "\xFF\x01");
}

TEST_F(CommandTest, CommitReadsTheBodyByteForByte) {
  EXPECT_EQ(Commit({"--body-file", WriteFile("body", AllBytes())}).code, 0);
  EXPECT_EQ(result().body(), AllBytes());
  stdin_ = AllBytes() + "from stdin";
  EXPECT_EQ(Commit({"--body-file", "-"}).code, 0);
  EXPECT_EQ(result().body(), stdin_);
  EXPECT_FALSE(result().body_omitted());
  EXPECT_EQ(Commit({"--body", "-"}).code, 0);
  EXPECT_EQ(result().body(), "-");
}

TEST_F(CommandTest, CommitSendsTheLargestBody) {
  stdin_ = std::string(kBodyMax, 'x');
  const Ran ran = Commit({"--body-file=-"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(result().body(), stdin_);
  EXPECT_EQ(ran.err, "");
}

TEST_F(CommandTest, CommitOmitsALargerBodyAndSaysSo) {
  stdin_ = std::string(kBodyMax + 1, 'x');
  const Ran ran = Commit({"--body-file=-"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(result().body(), "");
  EXPECT_TRUE(result().body_omitted());
  EXPECT_EQ(result().body_size(), static_cast<std::int64_t>(kBodyMax + 1));
  EXPECT_EQ(result().body_sha256(), client::Sha256(stdin_));
  EXPECT_EQ(ran.err,
            "oncectl: note: the body has 3145729 bytes, more than the 3145728 that can be stored: "
            "only its size and SHA-256 were sent\n");
}

TEST_F(CommandTest, CommitTakesTheDigestOfABodyElsewhere) {
  EXPECT_EQ(
      Commit({"--body-omitted", "--body-size=5000000000", "--body-sha256", kAllBytesSha256}).code,
      0);
  EXPECT_TRUE(result().body_omitted());
  EXPECT_EQ(result().body_size(), 5'000'000'000);
  EXPECT_EQ(absl::BytesToHexString(result().body_sha256()), kAllBytesSha256);
}

struct UsageRow {
  std::vector<std::string> flags;
  const char* problem;
};

const UsageRow kCommitUsageRows[] = {
    {{"--status-code=ok"}, "--status-code isn't an integer"},
    {{"--status-code=2147483648"}, "--status-code isn't an integer"},
    {{"--header=none"}, "--header isn't 'Name: value': none"},
    {{"--header=: v"}, "--header isn't 'Name: value': : v"},
    {{"--header=\xFF: v"}, "the name in --header isn't UTF-8"},
    {{"--body=a", "--body-file=b"}, "only one can be given of --body and --body-file"},
    {{"--body=a", "--body-omitted", "--body-size=1", "--body-sha256=00"},
     "only one can be given of --body and --body-omitted"},
    {{"--body-omitted"}, "--body-size is missing; --body-sha256 is missing"},
    {{"--body-omitted", "--body-size=-1", "--body-sha256=00"}, "--body-size isn't an integer"},
    {{"--body-omitted", "--body-size=1", "--body-sha256=xyz"}, "--body-sha256 isn't hexadecimal"},
    {{"--body-size=1"}, "--body-size and --body-sha256 are for --body-omitted"},
    {{"--body-sha256=00"}, "--body-size and --body-sha256 are for --body-omitted"},
    {{"--body-file=/nowhere/at/all"}, "can't open /nowhere/at/all: No such file"},
    {{"--body-file=/"}, "can't read /: Is a directory"},
    {{"--retention-ttl=long"}, "--retention-ttl isn't a duration"},
};

TEST_F(CommandTest, CommitRefusesBadCommandLines) {
  for (const UsageRow& row : kCommitUsageRows) {
    const Ran ran = Commit(row.flags);
    EXPECT_EQ(ran.code, 2) << row.problem;
    EXPECT_THAT(ran.err, HasSubstr(row.problem));
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_TRUE(server_.commit.requests.empty());
}

TEST_F(CommandTest, CommitTakesTheStandardInputForOneThing) {
  stdin_ = "token\n";
  const Ran ran = On("commit", {"--token-file=-", "--body-file=-"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "oncectl: the standard input can't be read twice\n");
}

TEST_F(CommandTest, CommitNeverSendsABodyCutShort) {
  std::ifstream in("/");  // Opens, but does not read.
  std::ostringstream out;
  EXPECT_EQ(
      OncectlOn({"commit", "--namespace=n", "--key=k", "--token=t", "--body-file=-"}, in, out), 2);
  EXPECT_TRUE(server_.commit.requests.empty());
}

TEST_F(CommandTest, CommitShowsTheAnswer) {
  server_.commit.response = FromJson<v1::CommitResponse>(R"({
    "commit_time": "2026-01-31T12:00:00Z", "expire_time": "2026-02-01T12:00:00Z"})");
  EXPECT_EQ(Commit().out,
            "commit_time: 2026-01-31T12:00:00Z\n"
            "expire_time: 2026-02-01T12:00:00Z\n");
  v1::CommitResponse& response = server_.commit.response;
  response.set_already_committed(true);
  response.set_late(true);
  response.set_body_omitted(true);
  response.set_headers_omitted(true);
  EXPECT_EQ(Commit().out,
            "commit_time:       2026-01-31T12:00:00Z\n"
            "expire_time:       2026-02-01T12:00:00Z\n"
            "already_committed: true\n"
            "late:              true\n"
            "body_omitted:      true\n"
            "headers_omitted:   true\n");
  EXPECT_THAT(FromJson<v1::CommitResponse>(Commit({"--json"}).out), IsMessage(response));
}

// ---- release ----

TEST_F(CommandTest, ReleaseSendsAndShows) {
  const Ran absent = On("release", {"--token=t"});
  EXPECT_EQ(absent.code, 0);
  EXPECT_EQ(absent.out, "released: false\n");
  EXPECT_EQ(On("release", {"--token=t", "--json"}).out, "{\"released\":false}\n");
  server_.release.response.set_released(true);
  EXPECT_EQ(On("release", {"--token=t"}).out, "released: true\n");
  EXPECT_THAT(server_.release.requests.back(), IsMessage(FromJson<v1::ReleaseRequest>(R"({
    "namespace": "shop", "key": "order-1", "token": "t"})")));
}

// ---- extend ----

TEST_F(CommandTest, ExtendSendsAndShows) {
  server_.extend.response.mutable_lease_expire_time()->set_seconds(1'769'860'800);
  EXPECT_EQ(On("extend", {"--token=t"}).out, "lease_expire_time: 2026-01-31T12:00:00Z\n");
  EXPECT_THAT(server_.extend.requests.back(), IsMessage(FromJson<v1::ExtendRequest>(R"({
    "namespace": "shop", "key": "order-1", "token": "t"})")));
  EXPECT_EQ(On("extend", {"--token=t", "--lease-ttl=1h", "--checkpoint=page 3", "--json"}).out,
            "{\"lease_expire_time\":\"2026-01-31T12:00:00Z\"}\n");
  EXPECT_THAT(server_.extend.requests.back(), IsMessage(FromJson<v1::ExtendRequest>(R"({
    "namespace": "shop", "key": "order-1", "token": "t", "lease_ttl": "3600s",
    "checkpoint": "cGFnZSAz"})")));
}

TEST_F(CommandTest, ExtendTellsAnEmptyCheckpointFromNone) {
  On("extend", {"--token=t", "--checkpoint="});
  EXPECT_TRUE(server_.extend.requests.back().has_checkpoint());
  On("extend", {"--token=t"});
  EXPECT_FALSE(server_.extend.requests.back().has_checkpoint());
}

TEST_F(CommandTest, ExtendReadsACheckpointByteForByte) {
  On("extend", {"--token=t", "--checkpoint-file", WriteFile("c", AllBytes())});
  EXPECT_EQ(server_.extend.requests.back().checkpoint(), AllBytes());
  stdin_ = "c";
  On("extend", {"--token=t", "--checkpoint-file", "-"});
  EXPECT_EQ(server_.extend.requests.back().checkpoint(), "c");
}

TEST_F(CommandTest, ExtendRefusesBadCommandLines) {
  const std::string large = WriteFile("large", std::string(1024 * 1024 + 1, 'x'));
  const UsageRow rows[] = {
      {{"--checkpoint=a", "--checkpoint-file=b"},
       "only one can be given of --checkpoint and --checkpoint-file"},
      {{"--checkpoint-file", Path("none")}, "No such file"},
      {{"--checkpoint-file", large}, "--checkpoint-file is too large to send"},
      {{"--checkpoint-file", "/dev/zero"}, "--checkpoint-file is too large to send"},
      {{"--lease-ttl=x"}, "--lease-ttl isn't a duration"},
      {{"--output=x"}, "extend has no flag --output"},
  };
  for (const UsageRow& row : rows) {
    std::vector<std::string> flags = row.flags;
    flags.push_back("--token=t");
    const Ran ran = On("extend", flags);
    EXPECT_EQ(ran.code, 2) << row.problem;
    EXPECT_THAT(ran.err, HasSubstr(row.problem));
  }
  EXPECT_TRUE(server_.extend.requests.empty());
}

// ---- inspect ----

v1::InspectResponse Committed() {
  return FromJson<v1::InspectResponse>(R"({
    "record": {"state": "STATE_COMMITTED", "fence": 17, "attempt": 2, "owner": "ann@a",
               "fingerprint": "f", "reserve_time": "2026-01-31T12:00:00Z",
               "expire_time": "2026-02-01T12:00:00Z", "commit_time": "2026-01-31T12:01:00Z",
               "late": true, "result": {"status_code": 201, "body": "ZG9uZQ=="}},
    "server_time": "2026-01-31T12:02:00Z"})");
}

TEST_F(CommandTest, InspectShowsACommittedKey) {
  server_.inspect.response = Committed();
  EXPECT_EQ(On("inspect").out,
            "state:        COMMITTED\n"
            "fence:        17\n"
            "attempt:      2\n"
            "owner:        ann@a\n"
            "fingerprint:  f\n"
            "reserve_time: 2026-01-31T12:00:00Z\n"
            "commit_time:  2026-01-31T12:01:00Z\n"
            "late:         true\n"
            "expire_time:  2026-02-01T12:00:00Z\n"
            "status_code:  201\n"
            "body:         done\n"
            "server_time:  2026-01-31T12:02:00Z\n");
  EXPECT_THAT(FromJson<v1::InspectResponse>(On("inspect", {"--json"}).out), IsMessage(Committed()));
}

TEST_F(CommandTest, InspectShowsAPendingKey) {
  server_.inspect.response = FromJson<v1::InspectResponse>(R"({
    "record": {"state": "STATE_PENDING", "fence": 17, "attempt": 2,
               "reserve_time": "2026-01-31T12:00:00Z",
               "lease_expire_time": "2026-01-31T12:02:00Z", "on_lapse": "ON_LAPSE_HOLD",
               "checkpoint": "/w==", "previous": {"fence": 16}}})");
  EXPECT_EQ(On("inspect").out,
            "state:             PENDING\n"
            "fence:             17\n"
            "attempt:           2\n"
            "reserve_time:      2026-01-31T12:00:00Z\n"
            "lease_expire_time: 2026-01-31T12:02:00Z\n"
            "on_lapse:          HOLD\n"
            "checkpoint:        1 bytes, sha256 "
            "a8100ae6aa1940d0b663bb31cd466142ebbdbd5187131b92d93818987832eb89\n"
            "previous.fence:    16\n");
}

TEST_F(CommandTest, InspectShowsAnAbsentKey) {
  server_.inspect.response.mutable_record()->set_state(v1::STATE_ABSENT);
  const Ran ran = On("inspect");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "state: ABSENT\n");
}

TEST_F(CommandTest, InspectAsksForTheResultOnlyIfTold) {
  server_.inspect.response = Committed();
  On("inspect");
  EXPECT_THAT(server_.inspect.requests.back(), IsMessage(FromJson<v1::InspectRequest>(R"({
    "namespace": "shop", "key": "order-1"})")));
  On("inspect", {"--include-result"});
  EXPECT_TRUE(server_.inspect.requests.back().include_result());
  On("inspect", {"--output", Path("body")});
  EXPECT_TRUE(server_.inspect.requests.back().include_result());
}

TEST_F(CommandTest, InspectWritesTheBodyByteForByte) {
  server_.inspect.response = Committed();
  server_.inspect.response.mutable_record()->mutable_result()->set_body(AllBytes());
  EXPECT_EQ(On("inspect", {"--output", Path("body")}).code, 0);
  EXPECT_EQ(ReadFile(Path("body")), AllBytes());
  const Ran ran = On("inspect", {"--output=-"});
  EXPECT_EQ(ran.out, AllBytes());
  EXPECT_THAT(ran.err, StartsWith("state:        COMMITTED\n"));
}

TEST_F(CommandTest, InspectTellsWhenThereIsNoBodyToWrite) {
  server_.inspect.response.mutable_record()->set_state(v1::STATE_ABSENT);
  Ran ran = On("inspect", {"--output", Path("body")});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.err, "oncectl: the key has no stored result\n");
  server_.inspect.response = Committed();
  server_.inspect.response.mutable_record()->mutable_result()->set_body_omitted(true);
  ran = On("inspect", {"--output", Path("body")});
  EXPECT_EQ(ran.code, 1);
  EXPECT_FALSE(std::filesystem::exists(Path("body")));
}

}  // namespace
}  // namespace onced::cli
