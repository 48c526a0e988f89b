#include <unistd.h>

#include <set>

#include "tests/unit/client/cli_fixture.h"

namespace onced::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

v1::ReserveResponse Fresh() {
  return FromJson<v1::ReserveResponse>(R"({
    "outcome": "OUTCOME_FRESH",
    "reservation": {"token": "secret", "fence": 17, "attempt": 1,
                    "lease_expire_time": "2026-01-31T12:02:00Z"},
    "server_time": "2026-01-31T12:00:00.000001Z"})");
}

v1::ReserveResponse Taken() {
  v1::ReserveResponse response = Fresh();
  *response.mutable_reservation()->mutable_previous() = FromJson<v1::Previous>(R"({
    "fence": 16, "owner": "bob@b", "lapse_time": "2026-01-31T11:59:00Z"})");
  response.mutable_reservation()->set_attempt(2);
  response.mutable_reservation()->mutable_previous()->set_checkpoint("page 3\npage 4\n");
  return response;
}

v1::ReserveResponse Replayed() {
  v1::ReserveResponse response = FromJson<v1::ReserveResponse>(R"({
    "outcome": "OUTCOME_REPLAYED",
    "replay": {"commit_time": "2026-01-31T12:00:00Z", "expire_time": "2026-02-01T12:00:00Z",
               "fence": 17, "result": {"status_code": 201}},
    "server_time": "2026-01-31T12:00:01Z"})");
  v1::Result& result = *response.mutable_replay()->mutable_result();
  for (const auto& [name, value] :
       {std::pair("b", "2"), std::pair("a", "1"), std::pair("b", "\xFF\n")}) {
    result.add_headers()->set_name(name);
    result.mutable_headers()->rbegin()->set_value(value);
  }
  result.set_body("done");
  return response;
}

v1::ReserveResponse Held(v1::Outcome outcome) {
  v1::ReserveResponse response = FromJson<v1::ReserveResponse>(R"({
    "holder": {"state": "STATE_PENDING", "owner": "bob@b", "fence": 17,
               "reserve_time": "2026-01-31T12:00:00Z",
               "lease_expire_time": "2026-01-31T12:02:00Z", "retry_delay": "0.750s"}})");
  response.set_outcome(outcome);
  return response;
}

struct OutcomeRow {
  const char* name;
  v1::ReserveResponse response;
  int code;
  const char* text;
  const char* note;
};

const OutcomeRow kOutcomeRows[] = {
    {"fresh", Fresh(), 0,
     "outcome:           FRESH\n"
     "token:             secret\n"
     "fence:             17\n"
     "attempt:           1\n"
     "lease_expire_time: 2026-01-31T12:02:00Z\n"
     "server_time:       2026-01-31T12:00:00.000001Z\n",
     ""},
    {"takeover", Taken(), 0,
     "outcome:             FRESH\n"
     "token:               secret\n"
     "fence:               17\n"
     "attempt:             2\n"
     "lease_expire_time:   2026-01-31T12:02:00Z\n"
     "previous.fence:      16\n"
     "previous.owner:      bob@b\n"
     "previous.lapse_time: 2026-01-31T11:59:00Z\n"
     "previous.checkpoint: page 3\n"
     "                     page 4\n"
     "server_time:         2026-01-31T12:00:00.000001Z\n",
     "oncectl: note: an earlier holder's lease lapsed: the effect may have happened already\n"},
    {"replayed", Replayed(), 3,
     "outcome:     REPLAYED\n"
     "fence:       17\n"
     "commit_time: 2026-01-31T12:00:00Z\n"
     "expire_time: 2026-02-01T12:00:00Z\n"
     "status_code: 201\n"
     "header:      b: 2\n"
     "header:      a: 1\n"
     "header:      b: \\xff\\x0a\n"
     "body:        done\n"
     "server_time: 2026-01-31T12:00:01Z\n",
     ""},
    {"conflict", Held(v1::OUTCOME_CONFLICT), 4,
     "outcome:           CONFLICT\n"
     "state:             PENDING\n"
     "owner:             bob@b\n"
     "fence:             17\n"
     "reserve_time:      2026-01-31T12:00:00Z\n"
     "lease_expire_time: 2026-01-31T12:02:00Z\n"
     "retry_delay:       750ms\n",
     ""},
    {"mismatch", Held(v1::OUTCOME_MISMATCH), 5, "outcome:           MISMATCH\n", ""},
    {"unresolved", Held(v1::OUTCOME_UNRESOLVED), 6, "outcome:           UNRESOLVED\n", ""},
    {"from_a_newer_server", Held(static_cast<v1::Outcome>(99)), 4, "outcome:           99\n",
     "oncectl: note: this outcome is unknown here, perhaps from a newer server: treated like "
     "CONFLICT\n"},
    {"unspecified", Held(v1::OUTCOME_UNSPECIFIED), 4, "outcome:           UNSPECIFIED\n",
     "oncectl: note: this outcome is unknown here, perhaps from a newer server: treated like "
     "CONFLICT\n"},
};

// For people, and for scripts.
std::vector<std::vector<std::string>> Formats() { return {{}, {"--json"}}; }

class ReserveTest : public CliTest {
 protected:
  Ran Reserve(const std::vector<std::string>& more = {}) {
    std::vector<std::string> args = {"reserve", "--namespace", "shop", "--key", "order-1"};
    args.insert(args.end(), more.begin(), more.end());
    return Oncectl(args);
  }
  const v1::ReserveRequest& request() const { return server_.reserve.requests.back(); }
};

class ReserveOutcome : public ReserveTest, public testing::WithParamInterface<OutcomeRow> {};

TEST_P(ReserveOutcome, ForPeople) {
  server_.reserve.response = GetParam().response;
  const Ran ran = Reserve();
  EXPECT_EQ(ran.code, GetParam().code);
  EXPECT_THAT(ran.out, StartsWith(GetParam().text));
  EXPECT_EQ(ran.err, GetParam().note);
}

TEST_P(ReserveOutcome, ForScripts) {
  server_.reserve.response = GetParam().response;
  const Ran ran = Reserve({"--json"});
  EXPECT_EQ(ran.code, GetParam().code);
  EXPECT_THAT(FromJson<v1::ReserveResponse>(ran.out), IsMessage(GetParam().response));
  EXPECT_EQ(ran.out.find('\n'), ran.out.size() - 1);
  EXPECT_EQ(ran.err, GetParam().note);
}

INSTANTIATE_TEST_SUITE_P(Table, ReserveOutcome, testing::ValuesIn(kOutcomeRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_F(ReserveTest, NamesJsonFieldsAsTheApiDoes) {
  server_.reserve.response = Fresh();
  EXPECT_EQ(Reserve({"--json"}).out,
            "{\"outcome\":\"OUTCOME_FRESH\",\"reservation\":{\"token\":\"secret\",\"fence\":\"17\","
            "\"attempt\":1,\"lease_expire_time\":\"2026-01-31T12:02:00Z\"},"
            "\"server_time\":\"2026-01-31T12:00:00.000001Z\"}\n");
}

TEST_F(ReserveTest, SendsEachFlag) {
  server_.reserve.response = Fresh();
  EXPECT_EQ(Reserve({"--fingerprint", "f", "--request-id=r", "--owner", "o", "--lease-ttl=90s",
                     "--wait-timeout", "1.5s"})
                .code,
            0);
  EXPECT_THAT(request(), IsMessage(FromJson<v1::ReserveRequest>(R"({
    "namespace": "shop", "key": "order-1", "fingerprint": "f", "request_id": "r", "owner": "o",
    "lease_ttl": "90s", "wait_timeout": "1.5s"})")));
}

TEST_F(ReserveTest, LeavesTheServersDefaultsToTheServer) {
  server_.reserve.response = Fresh();
  EXPECT_EQ(Reserve().code, 0);
  EXPECT_FALSE(request().has_lease_ttl());
  EXPECT_FALSE(request().has_wait_timeout());
  EXPECT_EQ(request().fingerprint(), "");
}

TEST_F(ReserveTest, DrawsARequestIdAndKeepsItSecret) {
  server_.reserve.response = Fresh();
  std::set<std::string> seen;
  for (const std::vector<std::string>& format : Formats()) {
    const Ran ran = Reserve(format);
    const std::string id = request().request_id();
    EXPECT_THAT(id, MatchesRegex("[0-9a-f]{32}"));
    EXPECT_TRUE(seen.insert(id).second);
    EXPECT_EQ((ran.out + ran.err).find(id), std::string::npos);
  }
  EXPECT_EQ(Reserve({"--request-id", ""}).code, 0);
  EXPECT_EQ(request().request_id(), "");
}

TEST_F(ReserveTest, NamesAnOwner) {
  server_.reserve.response = Fresh();
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  const std::string at = "@" + std::string(host);

  Reserve();
  EXPECT_EQ(request().owner(), "ann" + at);
  env_ = {{"LOGNAME", "bob"}};
  Reserve();
  EXPECT_EQ(request().owner(), "bob" + at);
  env_ = {};
  Reserve();
  EXPECT_EQ(request().owner(), "uid-" + std::to_string(getuid()) + at);
  Reserve({"--owner="});
  EXPECT_EQ(request().owner(), "");
}

TEST_F(ReserveTest, NamesAnOwnerThatTheServerTakes) {
  server_.reserve.response = Fresh();
  for (const std::string& user :
       {std::string(200, 'u'), std::string("\x1B"), std::string("\xFF")}) {
    env_["USER"] = user;
    EXPECT_EQ(Reserve().code, 0);
    EXPECT_EQ(request().owner(), "oncectl");
  }
}

TEST_F(ReserveTest, GivesTheCallTimeBeyondTheWait) {
  server_.reserve.response = Fresh();
  Reserve({"--timeout=100s", "--wait-timeout=50s"});
  EXPECT_LE(server_.reserve.time_left, std::chrono::seconds(151));
  EXPECT_GE(server_.reserve.time_left, std::chrono::seconds(101));
  Reserve({"--timeout=100s", "--wait-timeout=-50s"});
  EXPECT_GE(server_.reserve.time_left, std::chrono::seconds(51));
}

TEST_F(ReserveTest, SendsABadValueToTheServerToJudge) {
  server_.reserve.response = Fresh();
  EXPECT_EQ(Oncectl({"reserve", "--namespace=", "--key=", "--lease-ttl=-1s"}).code, 0);
  EXPECT_EQ(request().lease_ttl().seconds(), -1);
}

struct UsageRow {
  const char* name;
  std::vector<std::string> args;
  const char* problem;
};

const UsageRow kUsageRows[] = {
    {"nothing", {}, "--namespace is missing; --key is missing"},
    {"key_not_utf8", {"--namespace=n", "--key=\xFF"}, "--key isn't UTF-8"},
    {"namespace_not_utf8", {"--namespace=\xFF", "--key=k"}, "--namespace isn't UTF-8"},
    {"fingerprint_not_utf8",
     {"--namespace=n", "--key=k", "--fingerprint=\xFF"},
     "--fingerprint isn't UTF-8"},
    {"request_id_not_utf8",
     {"--namespace=n", "--key=k", "--request-id=\xFF"},
     "--request-id isn't UTF-8"},
    {"owner_not_utf8", {"--namespace=n", "--key=k", "--owner=\xFF"}, "--owner isn't UTF-8"},
    {"lease", {"--namespace=n", "--key=k", "--lease-ttl=5"}, "--lease-ttl isn't a duration"},
    {"wait", {"--namespace=n", "--key=k", "--wait-timeout=x"}, "--wait-timeout isn't a duration"},
    {"token", {"--namespace=n", "--key=k", "--token=t"}, "reserve has no flag --token"},
    {"json_and_raw",
     {"--namespace=n", "--key=k", "--json", "--output=-"},
     "--json and --output - both want the standard output"},
};

TEST_F(ReserveTest, RefusesBadCommandLines) {
  for (const UsageRow& row : kUsageRows) {
    std::vector<std::string> args = row.args;
    args.insert(args.begin(), "reserve");
    const Ran ran = Oncectl(args);
    EXPECT_EQ(ran.code, 2) << row.name;
    EXPECT_THAT(ran.out + ran.err, HasSubstr(row.problem)) << row.name;
  }
  EXPECT_TRUE(server_.reserve.requests.empty());
}

TEST_F(ReserveTest, RefusesAnswersWithNothingInThem) {
  server_.reserve.response.set_outcome(v1::OUTCOME_FRESH);
  Ran ran = Reserve();
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.err, "oncectl: the server's answer is FRESH, but has no token\n");
  server_.reserve.response.set_outcome(v1::OUTCOME_REPLAYED);
  ran = Reserve({"--json"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("\"reason\":\"BAD_ANSWER\""));
}

// ---- The body of a replay. ----

struct BodyRow {
  const char* name;
  std::string body;
  std::string line;
};

const BodyRow kBodyRows[] = {
    {"empty", "", "body:\n"},
    {"lines", "a\nb\n", "body:        a\n             b\n"},
    {"longest_text", std::string(1024, 'x'), "body:        " + std::string(1024, 'x') + "\n"},
    {"longer_text", std::string(1025, 'x'),
     "body:        1025 bytes, sha256 "
     "c6d8e9905300876046729949cc95c2385221270d389176f7234fe7ac00c4e430\n"},
    {"binary", AllBytes(), std::string("body:        256 bytes, sha256 ") + kAllBytesSha256 + "\n"},
};

TEST_F(ReserveTest, ShowsOnlyShortPlainBodies) {
  for (const BodyRow& row : kBodyRows) {
    server_.reserve.response = Replayed();
    server_.reserve.response.mutable_replay()->mutable_result()->set_body(row.body);
    EXPECT_THAT(Reserve().out, HasSubstr(row.line)) << row.name;
  }
}

TEST_F(ReserveTest, ShowsWhatIsKnownOfAnOmittedBody) {
  server_.reserve.response = Replayed();
  v1::Result& result = *server_.reserve.response.mutable_replay()->mutable_result();
  result.clear_body();
  result.set_body_omitted(true);
  result.set_headers_omitted(true);
  result.set_body_size(5'000'000);
  result.set_body_sha256("\x01\xAB");
  EXPECT_THAT(Reserve().out, HasSubstr("headers_omitted: true\n"
                                       "body:            omitted, 5000000 bytes, sha256 01ab\n"));
}

TEST_F(ReserveTest, WritesTheBodyByteForByte) {
  server_.reserve.response = Replayed();
  server_.reserve.response.mutable_replay()->mutable_result()->set_body(AllBytes());
  const std::string path = WriteFile("body", "what was there before, and is longer");
  for (std::vector<std::string> flags : Formats()) {
    flags.push_back("--output=" + path);
    std::filesystem::resize_file(path, 400);
    const Ran ran = Reserve(flags);
    EXPECT_EQ(ran.code, 3);
    EXPECT_EQ(ReadFile(path), AllBytes());
    EXPECT_THAT(ran.out, HasSubstr("REPLAYED"));
  }
}

TEST_F(ReserveTest, WritesTheBodyAloneToTheStandardOutput) {
  server_.reserve.response = Replayed();
  server_.reserve.response.mutable_replay()->mutable_result()->set_body(AllBytes());
  const Ran ran = Reserve({"--output", "-"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.out, AllBytes());
  EXPECT_THAT(ran.err, StartsWith("outcome:     REPLAYED\n"));
}

TEST_F(ReserveTest, WritesNothingElseToTheStandardOutput) {
  server_.reserve.response = Fresh();
  const Ran ran = Reserve({"--output", "-"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("token:             secret\n"));
}

TEST_F(ReserveTest, LeavesTheFileAloneWithoutAReplay) {
  const std::string path = WriteFile("body", "before");
  server_.reserve.response = Fresh();
  EXPECT_EQ(Reserve({"--output", path}).code, 0);
  EXPECT_EQ(ReadFile(path), "before");
}

TEST_F(ReserveTest, TellsWhenTheBodyIsNotThereToWrite) {
  const std::string path = WriteFile("body", "before");
  server_.reserve.response = Replayed();
  v1::Result& result = *server_.reserve.response.mutable_replay()->mutable_result();
  result.set_body_omitted(true);
  result.set_body_size(7);
  const Ran ran = Reserve({"--output", path});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("without its body, of 7 bytes"));
  EXPECT_EQ(ReadFile(path), "before");
}

TEST_F(ReserveTest, TellsWhenTheFileCanNotBeWritten) {
  server_.reserve.response = Replayed();
  EXPECT_THAT(Reserve({"--output", Path("none/body")}).err, HasSubstr("No such file"));
  EXPECT_THAT(Reserve({"--output", "/dev/full"}).err, HasSubstr("No space left"));
  const Ran ran = Reserve({"--output", "/dev/full", "--json"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("\"reason\":\"OUTPUT_FAILED\""));
}

TEST_F(ReserveTest, TellsWhenTheAnswerCanNotBeWritten) {
  server_.reserve.response = Fresh();
  for (std::vector<std::string> args : Formats()) {
    args.insert(args.end(), {"reserve", "--namespace=n", "--key=k"});
    std::ofstream full("/dev/full");
    std::istringstream in;
    EXPECT_EQ(OncectlOn(args, in, full), 1);
    EXPECT_THAT(err_.str(), HasSubstr("can't write to the standard output: No space left"));
    EXPECT_THAT(err_.str(), HasSubstr("the call itself was executed"));
  }
}

TEST_F(ReserveTest, KeepsControlCharactersOffTheTerminal) {
  server_.reserve.response = Held(v1::OUTCOME_CONFLICT);
  server_.reserve.response.mutable_holder()->set_owner("\x1B]0;x\x07\nstate: COMMITTED");
  EXPECT_THAT(Reserve().out, HasSubstr("owner:             \\x1b]0;x\\x07\\x0astate: COMMITTED\n"));
}

}  // namespace
}  // namespace onced::cli
