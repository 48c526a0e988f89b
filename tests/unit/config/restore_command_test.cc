#include "server/config/restore_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace onced {
namespace {

using testing::HasSubstr;

RestoreCommand Parsed(const std::vector<std::string>& args) {
  const auto parsed = ParseRestore(args);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() ? std::get<RestoreCommand>(*parsed) : RestoreCommand{};
}

TEST(ParseRestore, TakesEachFlagInBothForms) {
  EXPECT_EQ(Parsed({"--from", "/b", "--data-dir=/d"}),
            (RestoreCommand{.from = "/b", .data_dir = "/d"}));
  EXPECT_EQ(Parsed({"--from=/b", "--data-dir", "/d", "--backup-id", "7",
                    "--fence-floor=4611686018427387903"}),
            (RestoreCommand{.from = "/b",
                            .data_dir = "/d",
                            .backup_id = 7,
                            .fence_floor = 4'611'686'018'427'387'903}));
}

TEST(ParseRestore, APathMayLookLikeAFlag) {
  EXPECT_EQ(Parsed({"--from=--b", "--data-dir=/d"}).from, "--b");
}

TEST(ParseRestore, AnswersHelpWhateverElseIsWrong) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"--help"}, {"--from", "/b", "--help"}, {"--nonsense", "--help"}}) {
    EXPECT_TRUE(std::holds_alternative<ShowHelp>(ParseRestore(args).value()));
  }
  for (const char* flag : {"--from", "--data-dir", "--backup-id", "--fence-floor", "--help"}) {
    EXPECT_THAT(RestoreHelpText(), HasSubstr(flag));
  }
}

const struct {
  const char* name;
  std::vector<std::string> args;
  const char* want;
} kRefused[] = {
    {"nothing", {}, "--from: is required\n--data-dir: is required"},
    {"no_value", {"--data-dir=/d", "--from"}, "--from: has no value"},
    {"a_flag_for_a_value", {"--from", "--data-dir", "/x"}, "--from: has no value"},
    {"a_flag_for_a_value_with_equals", {"--from", "--data-dir=/x"}, "--from: has no value"},
    {"empty", {"--data-dir=/d", "--from="}, "--from: \"\": must be a path"},
    {"twice", {"--from=/b", "--data-dir=/d", "--data-dir=/e"}, "--data-dir: is given twice"},
    {"unknown", {"--from=/b", "--data-dir=/d", "--quick"}, "--quick: no such flag"},
    {"a_word", {"--from=/b", "--data-dir=/d", "now"}, "now: no such flag"},
    {"id_zero", {"--from=/b", "--data-dir=/d", "--backup-id=0"}, "from 1 to 4294967295"},
    {"floor_too_high",
     {"--from=/b", "--data-dir=/d", "--fence-floor=4611686018427387904"},
     "from 0 to 4611686018427387903"},
    {"floor_below_zero", {"--from=/b", "--data-dir=/d", "--fence-floor=-1"}, "from 0 to"},
};

TEST(ParseRestore, TellsWhatIsWrong) {
  for (const auto& row : kRefused) {
    const auto parsed = ParseRestore(row.args);
    ASSERT_FALSE(parsed.ok()) << row.name;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(row.want)) << row.name;
  }
}

}  // namespace
}  // namespace onced
