#include "client/cli/flags.h"

#include "client/cli/failure.h"
#include "client/cpp/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onced::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<Flag> kFlags = {
    {"key", Flag::kValue, "KEY", ""},
    {"other", Flag::kValue, "OTHER", ""},
    {"json", Flag::kSwitch, "", ""},
    {"header", Flag::kRepeated, "HEADER", ""},
};

Args Parse(const std::vector<std::string>& args) { return Args::Parse(args, kFlags); }

TEST(Args, TakesFlagsAnywhere) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"clock", "accept", "--key", "k", "--json"},
                                             {"--key", "k", "--json", "clock", "accept"},
                                             {"clock", "--key=k", "--json", "accept"}}) {
    const Args parsed = Parse(args);
    EXPECT_TRUE(parsed.Problems().ok()) << parsed.Problems();
    EXPECT_EQ(parsed.words(), "clock accept");
    EXPECT_EQ(parsed.Text("key"), "k");
    EXPECT_TRUE(parsed.Has("json"));
    EXPECT_FALSE(parsed.Has("other"));
    EXPECT_EQ(parsed.Text("other"), "");
  }
}

TEST(Args, TakesAnyValue) {
  EXPECT_EQ(Parse({"--key=a=b"}).Text("key"), "a=b");
  EXPECT_EQ(Parse({"--key="}).Text("key"), "");
  EXPECT_TRUE(Parse({"--key="}).Has("key"));
  EXPECT_EQ(Parse({"--key", ""}).Text("key"), "");
  EXPECT_EQ(Parse({"--key", "-"}).Text("key"), "-");
  EXPECT_EQ(Parse({"--key", "--json"}).Text("key"), "--json");
  EXPECT_FALSE(Parse({"--key", "--json"}).Has("json"));
}

TEST(Args, KeepsTheOrderOfRepeatedFlags) {
  EXPECT_THAT(Parse({"--header", "b", "--header=a", "--header", "b"}).All("header"),
              ElementsAre("b", "a", "b"));
  EXPECT_THAT(Parse({}).All("header"), IsEmpty());
}

struct ProblemRow {
  std::vector<std::string> args;
  const char* problem;
};

const ProblemRow kProblemRows[] = {
    {{"--nothing"}, "there is no flag --nothing"},
    {{"--nothing=1"}, "there is no flag --nothing"},
    {{"-k"}, "there is no flag -k"},
    {{"-key", "k"}, "there is no flag -key"},
    {{"-"}, "there is no flag -"},
    {{"--"}, "there is no flag --"},
    {{"--\x1B[2J"}, R"(there is no flag --\x1b[2J)"},
    {{"--key"}, "--key needs a value: KEY"},
    {{"--key", "a", "--key", "b"}, "--key is given twice"},
    {{"--json", "--json"}, "--json is given twice"},
    {{"--json=true"}, "--json takes no value"},
};

TEST(Args, SaysWhatIsWrong) {
  for (const ProblemRow& row : kProblemRows) {
    const absl::Status problems = Parse(row.args).Problems();
    EXPECT_EQ(problems.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(problems.message(), row.problem);
    EXPECT_EQ(client::DetailsOf(problems).reason, "USAGE");
  }
}

TEST(Args, SaysAllThatIsWrong) {
  Args args = Parse({"--nothing", "--json=1"});
  args.Required("key");
  EXPECT_EQ(args.Problems().message(),
            "there is no flag --nothing; --json takes no value; --key is missing");
}

struct DurationRow {
  const char* text;
  std::optional<absl::Duration> want;
};

const DurationRow kDurationRows[] = {
    {"0", absl::ZeroDuration()},
    {"0s", absl::ZeroDuration()},
    {"100ms", absl::Milliseconds(100)},
    {"1.5s", absl::Milliseconds(1500)},
    {"2m", absl::Minutes(2)},
    {"1h30m", absl::Minutes(90)},
    {"400d", absl::Hours(24 * 400)},
    // Refusing it is the server's business.
    {"-5s", absl::Seconds(-5)},
    {"", std::nullopt},
    {"5", std::nullopt},
    {"d", std::nullopt},
    {"1.5d", std::nullopt},
    {"1d2h", std::nullopt},
    {"soon", std::nullopt},
    {"inf", std::nullopt},
    // Doesn't fit into a protobuf Duration.
    {"87700000h", std::nullopt},
    {"9223372036854775807d", std::nullopt},
    {"99999999999999999999d", std::nullopt},
};

TEST(Args, ReadsDurations) {
  for (const DurationRow& row : kDurationRows) {
    Args args = Parse({"--key", row.text});
    EXPECT_EQ(args.Duration("key"), row.want) << row.text;
    EXPECT_EQ(args.Problems().ok(), row.want.has_value()) << row.text;
  }
  Args none = Parse({});
  EXPECT_EQ(none.Duration("key"), std::nullopt);
  EXPECT_TRUE(none.Problems().ok());
}

struct IntegerRow {
  const char* text;
  std::optional<std::int64_t> want;
};

const IntegerRow kIntegerRows[] = {
    {"0", 0},
    {"-3", -3},
    {"7", 7},
    {"8", std::nullopt},
    {"-4", std::nullopt},
    {"", std::nullopt},
    {"1.0", std::nullopt},
    {"0x1", std::nullopt},
    {"99999999999999999999", std::nullopt},
};

TEST(Args, ReadsIntegers) {
  for (const IntegerRow& row : kIntegerRows) {
    Args args = Parse({"--key", row.text});
    EXPECT_EQ(args.Integer("key", -3, 7), row.want) << row.text;
    EXPECT_EQ(args.Problems().ok(), row.want.has_value()) << row.text;
  }
}

TEST(Args, ReadsHexadecimal) {
  Args good = Parse({"--key", "00fFa1"});
  EXPECT_EQ(good.Hex("key"), std::string("\0\xFF\xA1", 3));
  EXPECT_TRUE(good.Problems().ok());
  for (const char* text : {"0", "0g", "é"}) {
    Args bad = Parse({"--key", text});
    EXPECT_EQ(bad.Hex("key"), "");
    EXPECT_FALSE(bad.Problems().ok()) << text;
  }
}

TEST(Args, RefusesWhatIsNotUtf8WhereItCanNotTravel) {
  Args args = Parse({"--key", "\xFF"});
  args.Utf8("key");
  EXPECT_EQ(args.Problems().message(), "--key isn't UTF-8");
}

TEST(Args, RefusesFlagsThatExcludeEachOther) {
  Args args = Parse({"--key=a", "--json"});
  args.AtMostOne({"key", "other"});
  EXPECT_TRUE(args.Problems().ok());
  args.AtMostOne({"key", "other", "json"});
  EXPECT_EQ(args.Problems().message(), "only one can be given of --key and --json");
}

TEST(Args, RefusesFlagsOfOtherCommands) {
  Args args = Parse({"--key=a", "--json"});
  args.Only({kFlags[2]}, "inspect");
  EXPECT_EQ(args.Problems().message(), "inspect has no flag --key");
}

}  // namespace
}  // namespace onced::cli
