// The command-line client against the server, both as processes.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr absl::Duration kShortest = absl::Milliseconds(100);

// docs/oncectl.md: scripts depend on them.
constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kReplayed = 3;
constexpr int kConflict = 4;
constexpr int kMismatch = 5;
constexpr int kUnresolved = 6;
constexpr int kRefused = 7;

template <typename Message>
Message FromJson(const std::string& json) {
  Message message;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &message);
  EXPECT_TRUE(status.ok()) << status.ToString() << " in " << json;
  return message;
}

// A string below {"error": ...}.
std::string ErrorMember(const std::string& json, const std::string& name) {
  const auto answer = FromJson<google::protobuf::Struct>(json);
  return answer.fields().at("error").struct_value().fields().at(name).string_value();
}

class Oncectl : public testing::Test {
 protected:
  // Runs `oncectl COMMAND --namespace tests --key KEY ...`.
  Finished Run(const std::string& command, const std::string& key,
               const std::vector<std::string>& flags = {}, const std::string& input = "") {
    std::vector<std::string> args = {command, "--namespace", kNamespace, "--key", key};
    args.insert(args.end(), flags.begin(), flags.end());
    return RunRaw(args, input);
  }
  Finished RunRaw(const std::vector<std::string>& args, const std::string& input = "") {
    Process::Command run{.argv = {ClientBinary()}, .env = {"ONCECTL_SERVER=" + server_.address()}};
    run.argv.insert(run.argv.end(), args.begin(), args.end());
    if (!input.empty()) run.stdin_path = dir_.Write("stdin", input);
    return integration::Run(run);
  }
  // Reserves by oncectl, and returns the token.
  std::string Token(const std::string& key, const std::vector<std::string>& flags = {}) {
    std::vector<std::string> all = {"--json"};
    all.insert(all.end(), flags.begin(), flags.end());
    const Finished run = Run("reserve", key, all);
    EXPECT_EQ(run.exit_code, kDone) << run.out << run.err;
    return FromJson<v1::ReserveResponse>(run.out).reservation().token();
  }

  const TempDir dir_;
  ServerProcess server_{{.config = "unlisted_namespaces: deny\n"
                                   "namespaces: {tests: {}, held: {on_lapse: HOLD}}\n"}};
  Api api_{server_.Connect()};
};

// ---- Exit codes ----

TEST_F(Oncectl, TheExitCodeIsTheVerdict) {
  const Finished fresh = Run("reserve", "k", {"--fingerprint", "f", "--owner", "me"});
  EXPECT_EQ(fresh.exit_code, kDone) << fresh.err;
  EXPECT_THAT(fresh.out, HasSubstr("FRESH"));
  const Finished conflict = Run("reserve", "k", {"--fingerprint", "f"});
  EXPECT_EQ(conflict.exit_code, kConflict);
  EXPECT_THAT(conflict.out, HasSubstr("CONFLICT"));
  EXPECT_THAT(conflict.out, HasSubstr("me"));
  EXPECT_EQ(Run("reserve", "k", {"--fingerprint", "g"}).exit_code, kMismatch);

  const std::string token = Token("done");
  EXPECT_EQ(Run("commit", "done", {"--token", token, "--body", "hello"}).exit_code, kDone);
  const Finished replayed = Run("reserve", "done");
  EXPECT_EQ(replayed.exit_code, kReplayed);
  EXPECT_THAT(replayed.out, HasSubstr("REPLAYED"));
  EXPECT_THAT(replayed.out, HasSubstr("hello"));

  const std::vector<std::string> held = {"reserve", "--namespace", "held", "--key",
                                         "k",       "--lease-ttl", "100ms"};
  EXPECT_EQ(RunRaw(held).exit_code, kDone);
  Await("UNRESOLVED", [&] { return RunRaw(held).exit_code == kUnresolved; });
}

TEST_F(Oncectl, TheExitCodeIsTheKindOfError) {
  EXPECT_EQ(Run("commit", "absent", {"--token", "t"}).exit_code, kRefused) << "NOT_FOUND";
  const std::string token = Token("k");
  EXPECT_EQ(Run("extend", "k", {"--token", "wrong"}).exit_code, kRefused) << "ABORTED";
  EXPECT_EQ(Run("commit", "k", {"--token", token}).exit_code, kDone);
  EXPECT_EQ(Run("release", "k", {"--token", token}).exit_code, kRefused) << "FAILED_PRECONDITION";

  EXPECT_EQ(Run("reserve", "").exit_code, kUsage) << "INVALID_ARGUMENT";
  EXPECT_EQ(Run("reserve", "k2", {"--no-such-flag"}).exit_code, kUsage);
  EXPECT_EQ(Run("reserve", "k2", {"--lease-ttl", "soon"}).exit_code, kUsage);
  EXPECT_EQ(Run("reserve", "k2", {"--lease-ttl", "25h"}).exit_code, kUsage) << "INVALID_ARGUMENT";
  EXPECT_EQ(Run("destroy", "k2").exit_code, kUsage);
  EXPECT_EQ(RunRaw({"reserve", "--key", "k2"}).exit_code, kUsage) << "no namespace";
  EXPECT_EQ(RunRaw({}).exit_code, kUsage);
  EXPECT_EQ(Run("commit", "k2").exit_code, kUsage) << "no token";
  EXPECT_EQ(api_.Inspect("k2").state(), v1::STATE_ABSENT);

  EXPECT_EQ(RunRaw({"reserve", "--namespace", "foreign", "--key", "k"}).exit_code, kFailed)
      << "PERMISSION_DENIED";
  EXPECT_EQ(Run("inspect", "k", {"--server", "127.0.0.1:1", "--timeout", "5s"}).exit_code, kFailed)
      << "nobody there";
  EXPECT_EQ(Run("inspect", "k", {"--output", "/nowhere/file"}).exit_code, kFailed)
      << "an answer that can't be written";
}

TEST_F(Oncectl, HelpAndVersionAreAnswers) {
  for (const char* word : {"--help", "help", "--version"}) {
    const Finished run = RunRaw({word});
    EXPECT_EQ(run.exit_code, 0) << word;
    EXPECT_THAT(run.out, HasSubstr("oncectl")) << word;
    EXPECT_EQ(run.err, "") << word;
  }
}

// ---- JSON ----

TEST_F(Oncectl, JsonIsTheApisAnswerInOneLine) {
  const Finished fresh = Run("reserve", "k", {"--json"});
  EXPECT_THAT(LinesOf(fresh.out), SizeIs(1));
  const auto grant = FromJson<v1::ReserveResponse>(fresh.out);
  EXPECT_EQ(grant.outcome(), v1::OUTCOME_FRESH);
  EXPECT_EQ(grant.reservation().fence(), api_.Inspect("k").fence());
  EXPECT_THAT(fresh.out, HasSubstr("\"lease_expire_time\""));

  const std::string token = grant.reservation().token();
  const Finished extended = Run("extend", "k", {"--json", "--token", token, "--lease-ttl", "1h"});
  EXPECT_TRUE(Same(FromJson<v1::ExtendResponse>(extended.out).lease_expire_time(),
                   api_.Inspect("k").lease_expire_time()));
  const Finished committed = Run("commit", "k", {"--json", "--token", token});
  EXPECT_FALSE(FromJson<v1::CommitResponse>(committed.out).already_committed());
  const Finished inspected = Run("inspect", "k", {"--json", "--include-result"});
  EXPECT_EQ(FromJson<v1::InspectResponse>(inspected.out).record().state(), v1::STATE_COMMITTED);
  EXPECT_EQ(FromJson<v1::InspectResponse>(inspected.out).record().result().status_code(), 200);
  const Finished released = Run("release", "absent", {"--json", "--token", "t"});
  EXPECT_THAT(released.out, HasSubstr("\"released\":false"));
}

TEST_F(Oncectl, JsonErrorsCarryTheReason) {
  const std::string token = Token("k");
  const Finished superseded = Run("commit", "k", {"--json", "--token", "wrong"});
  EXPECT_EQ(superseded.exit_code, kRefused);
  EXPECT_THAT(LinesOf(superseded.out), SizeIs(1));
  EXPECT_EQ(ErrorMember(superseded.out, "code"), "ABORTED");
  EXPECT_EQ(ErrorMember(superseded.out, "reason"), "SUPERSEDED");
  EXPECT_EQ(ErrorMember(superseded.out, "domain"), "onced");
  const Finished invalid = Run("reserve", "a\nb", {"--json"});
  EXPECT_EQ(ErrorMember(invalid.out, "reason"), "INVALID_FIELD");
  EXPECT_THAT(invalid.out, HasSubstr("\"field\":\"key\""));
  const Finished usage = Run("reserve", "k", {"--json", "--nonsense"});
  EXPECT_EQ(ErrorMember(usage.out, "domain"), "oncectl");
}

TEST_F(Oncectl, ErrorsForPeopleGoToTheStandardError) {
  Token("k");
  const Finished run = Run("commit", "k", {"--token", "wrong"});
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("SUPERSEDED"));
  EXPECT_THAT(run.err, HasSubstr("PENDING"));
}

// ---- Bodies ----

TEST_F(Oncectl, ABodyComesBackByteForByte) {
  const std::string body = AwkwardResult().body() + "\r\n\n";
  const std::string file = dir_.Write("body", body);
  struct Row {
    const char* key;
    std::vector<std::string> flags;
    std::string input;
  };
  for (const Row& row : {Row{"from a file", {"--body-file", file}, ""},
                         Row{"from the standard input", {"--body-file", "-"}, body}}) {
    SCOPED_TRACE(row.key);
    std::vector<std::string> flags = {"--token", Token(row.key)};
    flags.insert(flags.end(), row.flags.begin(), row.flags.end());
    const Finished commit = Run("commit", row.key, flags, row.input);
    ASSERT_EQ(commit.exit_code, kDone) << commit.err;
    const std::string out = dir_.Path("out");
    EXPECT_EQ(Run("reserve", row.key, {"--output", out}).exit_code, kReplayed);
    EXPECT_EQ(ReadFile(out), body);
    const Finished raw = Run("reserve", row.key, {"--output", "-"});
    EXPECT_EQ(raw.exit_code, kReplayed);
    EXPECT_EQ(raw.out, body) << "nothing else on the standard output";
    EXPECT_THAT(raw.err, HasSubstr("REPLAYED"));
    EXPECT_EQ(Run("inspect", row.key, {"--output", out}).exit_code, kDone);
    EXPECT_EQ(ReadFile(out), body);
  }
}

TEST_F(Oncectl, HeadersKeepTheirOrder) {
  const std::string token = Token("k");
  Run("commit", "k",
      {"--token", token, "--status-code", "201", "--header", "b: 2", "--header", "a: 1", "--header",
       "b: 2", "--header", "c:", "--header", "d:  two: spaces "});
  const v1::Result result = api_.Reserve("k").replay().result();
  EXPECT_EQ(result.status_code(), 201);
  std::vector<std::string> headers;
  for (const v1::Header& header : result.headers()) {
    headers.push_back(header.name() + "=" + header.value());
  }
  EXPECT_THAT(headers, testing::ElementsAre("b=2", "a=1", "b=2", "c=", "d= two: spaces "));
}

TEST_F(Oncectl, ABodyOver3MibIsSentAsItsDigest) {
  const std::string token = Token("k");
  const Finished commit = Run("commit", "k", {"--token", token, "--body-file", "-", "--json"},
                              std::string((3 << 20) + 1, 'b'));
  EXPECT_EQ(commit.exit_code, kDone) << commit.err;
  EXPECT_TRUE(FromJson<v1::CommitResponse>(commit.out).body_omitted());
  EXPECT_EQ(api_.Reserve("k").replay().result().body_size(), (3 << 20) + 1);
  EXPECT_EQ(Run("reserve", "k", {"--output", dir_.Path("out")}).exit_code, kFailed)
      << "there is nothing to write";
}

TEST_F(Oncectl, ABodyThatCanNotBeReadIsNotCommitted) {
  const std::string token = Token("k");
  EXPECT_EQ(Run("commit", "k", {"--token", token, "--body-file", "/nowhere"}).exit_code, kUsage);
  EXPECT_EQ(api_.Inspect("k").state(), v1::STATE_PENDING);
}

TEST_F(Oncectl, WithoutAReplayTheFileIsLeftAlone) {
  const std::string out = dir_.Write("out", "untouched");
  EXPECT_EQ(Run("reserve", "k", {"--output", out}).exit_code, kDone);
  EXPECT_EQ(Run("reserve", "k", {"--output", out}).exit_code, kConflict);
  EXPECT_EQ(ReadFile(out), "untouched");
}

// ---- The rest of a day's work ----

TEST_F(Oncectl, TheTokenMayComeFromAFileOrTheInput) {
  const std::string first = Token("k");
  EXPECT_EQ(Run("release", "k", {"--token-file", "-"}, first + "\n").exit_code, kDone);
  const std::string second = Token("k");
  EXPECT_EQ(Run("release", "k", {"--token-file", dir_.Write("token", second)}).exit_code, kDone);
  EXPECT_EQ(api_.Inspect("k").state(), v1::STATE_ABSENT);
}

TEST_F(Oncectl, ARequestIdRegainsTheGrant) {
  const std::vector<std::string> mine = {"--request-id", "0123456789abcdef0123456789abcdef"};
  EXPECT_EQ(Token("k", mine), Token("k", mine));
}

TEST_F(Oncectl, WithoutARequestIdEachRunHasItsOwn) {
  EXPECT_EQ(Run("reserve", "k").exit_code, kDone);
  EXPECT_EQ(Run("reserve", "k").exit_code, kConflict);
}

TEST_F(Oncectl, ATakeoverIsHandedTheCheckpoint) {
  const v1::Reservation grant = api_.Grant("k", WithLease(kShortest));
  EXPECT_EQ(Run("extend", "k",
                {"--token", grant.token(), "--lease-ttl", "100ms", "--checkpoint", "step 2"})
                .exit_code,
            kDone);
  api_.AwaitState("k", v1::STATE_LAPSED);
  const Finished run = Run("reserve", "k");
  EXPECT_EQ(run.exit_code, kDone);
  EXPECT_THAT(run.out, HasSubstr("step 2"));
  EXPECT_THAT(run.err, HasSubstr("may have happened"));
}

TEST_F(Oncectl, AReserveMayWait) {
  const v1::Reservation grant = api_.Grant("k", WithLease(absl::Milliseconds(500)));
  const Finished run = Run("reserve", "k", {"--wait-timeout", "60s", "--json"});
  EXPECT_EQ(run.exit_code, kDone) << run.out;
  EXPECT_EQ(FromJson<v1::ReserveResponse>(run.out).reservation().previous().fence(), grant.fence());
}

}  // namespace
}  // namespace onced::integration
