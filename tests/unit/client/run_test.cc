// What all commands have in common: errors, exit codes, help.
#include "client/cli/run.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/unit/client/cli_fixture.h"

namespace onced::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::vector<std::vector<std::string>> kCommandLines = {
    {"reserve", "--namespace=n", "--key=k"},
    {"commit", "--namespace=n", "--key=k", "--token=t"},
    {"release", "--namespace=n", "--key=k", "--token=t"},
    {"extend", "--namespace=n", "--key=k", "--token=t"},
    {"inspect", "--namespace=n", "--key=k"},
};

struct CodeRow {
  grpc::StatusCode code;
  const char* name;
  int exit_code;
};

const CodeRow kCodeRows[] = {
    {grpc::StatusCode::CANCELLED, "CANCELLED", 1},
    {grpc::StatusCode::UNKNOWN, "UNKNOWN", 1},
    {grpc::StatusCode::INVALID_ARGUMENT, "INVALID_ARGUMENT", 2},
    {grpc::StatusCode::DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED", 1},
    {grpc::StatusCode::NOT_FOUND, "NOT_FOUND", 7},
    {grpc::StatusCode::ALREADY_EXISTS, "ALREADY_EXISTS", 1},
    {grpc::StatusCode::PERMISSION_DENIED, "PERMISSION_DENIED", 1},
    {grpc::StatusCode::RESOURCE_EXHAUSTED, "RESOURCE_EXHAUSTED", 1},
    {grpc::StatusCode::FAILED_PRECONDITION, "FAILED_PRECONDITION", 7},
    {grpc::StatusCode::ABORTED, "ABORTED", 7},
    {grpc::StatusCode::OUT_OF_RANGE, "OUT_OF_RANGE", 1},
    {grpc::StatusCode::UNIMPLEMENTED, "UNIMPLEMENTED", 1},
    {grpc::StatusCode::INTERNAL, "INTERNAL", 1},
    {grpc::StatusCode::UNAVAILABLE, "UNAVAILABLE", 1},
    {grpc::StatusCode::DATA_LOSS, "DATA_LOSS", 1},
    {grpc::StatusCode::UNAUTHENTICATED, "UNAUTHENTICATED", 1},
};

using RunTest = CliTest;

TEST_F(RunTest, EveryErrorOfEveryCommandHasItsExitCode) {
  for (const CodeRow& row : kCodeRows) {
    server_.FailWith(grpc::Status(row.code, "because"));
    for (std::vector<std::string> args : kCommandLines) {
      const Ran people = Oncectl(args);
      EXPECT_EQ(people.code, row.exit_code) << row.name;
      EXPECT_EQ(people.out, "");
      EXPECT_THAT(people.err, StartsWith(absl::StrCat("oncectl: ", row.name, ": because\n")));
      args.push_back("--json");
      const Ran scripts = Oncectl(args);
      EXPECT_EQ(scripts.code, row.exit_code) << row.name;
      EXPECT_THAT(scripts.out, StartsWith(absl::StrCat("{\"error\":{\"code\":\"", row.name, "\"")));
      EXPECT_EQ(scripts.err, "");
    }
  }
}

grpc::Status Detailed(grpc::StatusCode code, const std::string& reason) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("onced");
  (*info.mutable_metadata())["state"] = "PENDING";
  (*info.mutable_metadata())["fence"] = "12";
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_nanos(250'000'000);
  google::rpc::BadRequest bad;
  auto* violation = bad.add_field_violations();
  violation->set_field("key");
  violation->set_description("is \"empty\"");
  google::rpc::Status status;
  status.add_details()->PackFrom(info);
  status.add_details()->PackFrom(retry);
  status.add_details()->PackFrom(bad);
  return {code, "not \x1B[1mthis\xFF", status.SerializeAsString()};
}

TEST_F(RunTest, ErrorsHaveTheirDetailsForPeople) {
  server_.FailWith(Detailed(grpc::StatusCode::ABORTED, "SUPERSEDED"));
  EXPECT_EQ(Oncectl(kCommandLines[1]).err,
            "oncectl: ABORTED SUPERSEDED: not \\x1b[1mthis\\xff\n"
            "  fence:       12\n"
            "  state:       PENDING\n"
            "  key:         is \"empty\"\n"
            "  retry_delay: 250ms\n");
}

TEST_F(RunTest, ErrorsHaveTheirDetailsForScripts) {
  server_.FailWith(Detailed(grpc::StatusCode::ABORTED, "SUPERSEDED"));
  EXPECT_EQ(Oncectl({"release", "--namespace=n", "--key=k", "--token=t", "--json"}).out,
            "{\"error\":{\"code\":\"ABORTED\",\"reason\":\"SUPERSEDED\",\"domain\":\"onced\","
            "\"message\":\"not \\\\x1b[1mthis\\\\xff\","
            "\"metadata\":{\"fence\":\"12\",\"state\":\"PENDING\"},"
            "\"violations\":[{\"field\":\"key\",\"description\":\"is \\\"empty\\\"\"}],"
            "\"retry_delay\":\"0.250s\",\"outcome_unknown\":false}}\n");
}

TEST_F(RunTest, AnUnknownOutcomeIsSaid) {
  const char* const kAdvice = "The call may have been executed all the same.";
  server_.FailWith(Detailed(grpc::StatusCode::UNAVAILABLE, "OUTCOME_UNKNOWN"));
  EXPECT_THAT(Oncectl(kCommandLines[1]).err, HasSubstr(kAdvice));
  server_.FailWith(Detailed(grpc::StatusCode::UNAVAILABLE, "DRAINING"));
  EXPECT_THAT(Oncectl(kCommandLines[1]).err, testing::Not(HasSubstr(kAdvice)));
  server_.FailWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone"));
  EXPECT_THAT(Oncectl({"release", "--namespace=n", "--key=k", "--token=t", "--json"}).out,
              HasSubstr("\"outcome_unknown\":true"));
}

TEST_F(RunTest, UsageErrorsAreJsonToo) {
  const Ran ran = Oncectl({"commit", "--json", "--nothing"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out,
            "{\"error\":{\"code\":\"INVALID_ARGUMENT\",\"reason\":\"USAGE\",\"domain\":\"oncectl\","
            "\"message\":\"there is no flag --nothing; --namespace is missing; --key is missing; "
            "one of --token, --token-file and $ONCECTL_TOKEN is missing\","
            "\"metadata\":{},\"violations\":[],\"outcome_unknown\":false}}\n");
  EXPECT_EQ(ran.err, "");
}

TEST_F(RunTest, NoServerIsAnError) {
  // A path of our own, at which surely nobody listens.
  const Ran ran = Oncectl({"inspect", "--namespace=n", "--key=k", "--server", "unix:" + Path("s")});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, StartsWith("oncectl: UNAVAILABLE: "));
}

TEST_F(RunTest, TheServerComesFromTheFlagThenTheEnvironmentThenTheDefault) {
  server_.inspect.response.mutable_record()->set_state(v1::STATE_ABSENT);
  Oncectl({"--server", server_.target(), "inspect", "--namespace=n", "--key=k"});
  EXPECT_EQ(connected_to_, server_.target());
  env_["ONCECTL_SERVER"] = "unix:" + Path("s");
  EXPECT_EQ(Oncectl(kCommandLines[4]).code, 1);
  EXPECT_EQ(connected_to_, "unix:" + Path("s"));
  EXPECT_EQ(Oncectl({"inspect", "--namespace=n", "--key=k", "--server=" + server_.target()}).code,
            0);
  EXPECT_EQ(connected_to_, server_.target());
  env_["ONCECTL_SERVER"] = "";
  Oncectl({"inspect", "--namespace=n"});  // Fails before it calls anybody.
  EXPECT_EQ(connected_to_, "127.0.0.1:50051");
}

TEST_F(RunTest, EveryCallHasADeadline) {
  patient_ = false;
  if (Oncectl(kCommandLines[4]).code == 0) {
    EXPECT_LE(server_.inspect.time_left, std::chrono::seconds(6));
  }
  Oncectl({"--timeout=100s", "extend", "--namespace=n", "--key=k", "--token=t"});
  EXPECT_GT(server_.extend.time_left, std::chrono::seconds(50));
  EXPECT_LE(server_.extend.time_left, std::chrono::seconds(101));
}

TEST_F(RunTest, ACallBelongsToATrace) {
  const std::string given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const std::string of_env = "00-0af7651916cd43dd8448eb211c80319c-aaaaaaaaaaaaaaaa-00";
  Oncectl(kCommandLines[4]);
  EXPECT_EQ(server_.inspect.traceparent, "");
  env_["TRACEPARENT"] = of_env;
  env_["TRACESTATE"] = "a=b";
  Oncectl(kCommandLines[4]);
  EXPECT_EQ(server_.inspect.traceparent, of_env);
  EXPECT_EQ(server_.inspect.tracestate, "a=b");
  Oncectl({"inspect", "--namespace=n", "--key=k", "--traceparent", given});
  EXPECT_EQ(server_.inspect.traceparent, given);
  env_["TRACESTATE"] = "a=" + std::string(1'022, 'b');
  Oncectl(kCommandLines[4]);
  EXPECT_EQ(server_.inspect.tracestate, env_["TRACESTATE"]);
  env_["TRACESTATE"] += "b";  // One more than goes along.
  Oncectl(kCommandLines[4]);
  EXPECT_EQ(server_.inspect.traceparent, of_env);
  EXPECT_EQ(server_.inspect.tracestate, "");
  env_["TRACESTATE"] = "a=b";
  env_["TRACEPARENT"] = "somebody else's";
  Oncectl(kCommandLines[4]);
  EXPECT_EQ(server_.inspect.traceparent, "");
  EXPECT_EQ(server_.inspect.tracestate, "");
}

struct UsageRow {
  std::vector<std::string> args;
  const char* problem;
};

const UsageRow kUsageRows[] = {
    {{}, "oncectl: which command? see oncectl --help\n"},
    {{"frob"}, "oncectl: there is no command frob; see oncectl --help\n"},
    {{"inspect", "more", "--namespace=n"}, "oncectl: there is no command inspect more"},
    {{"help", "frob"}, "oncectl: there is no command frob\n"},
    {{"frob", "--help"}, "oncectl: there is no command frob\n"},
    {{"frob", "1", "--bad", "x"}, "oncectl: there is no flag --bad\n"},
    {{"inspect", "--namespace=n", "--key=k", "--traceparent=00-AB"},
     "oncectl: --traceparent isn't a W3C trace context: 00-AB\n"},
    {{"inspect", "--namespace=n", "--key=k", "--timeout=0s"},
     "oncectl: --timeout isn't positive\n"},
    {{"inspect", "--namespace=n", "--key=k", "--timeout=x"}, "oncectl: --timeout isn't a duration"},
    {{"inspect", "--namespace=n", "--key=k", "--server="}, "oncectl: --server is empty\n"},
    {{"inspect", "--namespace=n", "--key=k", "--body=b"}, "oncectl: inspect has no flag --body\n"},
};

TEST_F(RunTest, RefusesBadCommandLines) {
  for (const UsageRow& row : kUsageRows) {
    const Ran ran = Oncectl(row.args);
    EXPECT_EQ(ran.code, 2) << row.problem;
    EXPECT_THAT(ran.out + ran.err, StartsWith(row.problem));
  }
}

// ---- Help. ----

TEST_F(RunTest, HelpNamesEveryCommandFlagAndExitCode) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"--help"}, {"help"}, {"help", "--json"}}) {
    const Ran ran = Oncectl(args);
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.err, "");
    for (const Command& command : Commands()) EXPECT_THAT(ran.out, HasSubstr(command.summary));
    for (const Flag& flag : GlobalFlags()) EXPECT_THAT(ran.out, HasSubstr("  --" + flag.name));
    for (int code = 0; code <= 7; ++code)
      EXPECT_THAT(ran.out, HasSubstr(absl::StrCat("\n  ", code)));
  }
}

TEST_F(RunTest, HelpOfACommandNamesItsFlags) {
  for (const Command& command : Commands()) {
    const Ran ran = Oncectl({"help", command.name});
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(Oncectl({command.name, "--help"}).out, ran.out);
    for (const Flag& flag : command.flags) {
      EXPECT_THAT(ran.out, HasSubstr("\n  --" + flag.name));
      EXPECT_FALSE(flag.help.empty()) << flag.name;
      EXPECT_EQ(flag.value.empty(), flag.kind == Flag::kSwitch) << flag.name;
    }
  }
}

TEST_F(RunTest, HelpFitsOnATerminal) {
  for (const std::string topic : {"", "reserve", "commit", "release", "extend", "inspect"}) {
    std::istringstream lines(Oncectl({"--help", topic.empty() ? "help" : topic}).out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST_F(RunTest, VersionIsTold) {
  const Ran ran = Oncectl({"--version"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, testing::MatchesRegex("oncectl [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_F(RunTest, HelpThatCanNotBeWrittenIsAnError) {
  std::ofstream full("/dev/full");
  std::istringstream in;
  EXPECT_EQ(OncectlOn({"--help"}, in, full), 1);
  EXPECT_THAT(err_.str(), HasSubstr("No space left"));
}

// A value is told from a word before the command is known.
TEST(Flags, MeanTheSameInEveryCommand) {
  std::map<std::string, Flag::Kind> kinds;
  for (const Flag& flag : GlobalFlags()) kinds.emplace(flag.name, flag.kind);
  for (const Command& command : Commands()) {
    std::set<std::string> names;
    for (const Flag& flag : GlobalFlags()) names.insert(flag.name);
    for (const Flag& flag : command.flags) {
      EXPECT_TRUE(names.insert(flag.name).second)
          << command.name << " has --" << flag.name << " twice";
      EXPECT_EQ(kinds.emplace(flag.name, flag.kind).first->second, flag.kind) << flag.name;
    }
  }
}

TEST(Docs, NameEveryCommandFlagAndExitCode) {
  std::ifstream file(std::string(ONCED_SOURCE_DIR) + "/docs/oncectl.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const Command& command : Commands()) {
    EXPECT_THAT(page, HasSubstr("## oncectl " + command.name));
    for (const Flag& flag : command.flags) EXPECT_THAT(page, HasSubstr("`--" + flag.name));
  }
  for (const Flag& flag : GlobalFlags()) EXPECT_THAT(page, HasSubstr("`--" + flag.name));
  for (int code = 0; code <= 7; ++code)
    EXPECT_THAT(page, HasSubstr(absl::StrCat("\n| ", code, " |")));
}

}  // namespace
}  // namespace onced::cli
