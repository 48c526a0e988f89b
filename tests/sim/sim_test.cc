// Many worlds, each from its seed, judged by the checker.
//
//   ONCED_TEST_SEED=n   that one world, and its history if it breaks a rule
//   ONCED_SIM_SEEDS=n   so many worlds
//   ONCED_SIM_STEPS=n   so many steps in each
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/sim/checker.h"
#include "tests/sim/world.h"

namespace onced::sim {
namespace {

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  std::uint64_t value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

int Steps() { return static_cast<int>(FromEnvironment("ONCED_SIM_STEPS", 300)); }

std::string Shown(const History& history) {
  std::string text;
  for (const Call& call : history) text += call.key + " " + Describe(call) + "\n";
  return text;
}

TEST(Simulation, NoWorldBreaksTheContract) {
  const std::uint64_t one = FromEnvironment("ONCED_TEST_SEED", 0);
  const std::uint64_t first = one != 0 ? one : 1;
  const std::uint64_t count = one != 0 ? 1 : FromEnvironment("ONCED_SIM_SEEDS", 200);
  std::map<Said, int> said;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    World world(seed, Lie::kNone);
    world.Run(Steps());
    const std::vector<std::string> problems = world.Problems();
    ASSERT_TRUE(problems.empty()) << "ONCED_TEST_SEED=" << seed << "\n"
                                  << absl::StrJoin(problems, "\n")
                                  << (one != 0 ? "\n" + Shown(world.history()) : "");
    for (const Call& call : world.history()) ++said[call.said];
  }
  if (one != 0) return;
  // A simulation in which something never happens says nothing about it.
  for (int i = 0; i <= static_cast<int>(Said::kNotReserved); ++i) {
    EXPECT_GE(said[static_cast<Said>(i)], 5) << "answer number " << i;
  }
}

TEST(Simulation, ASeedIsAWorld) {
  World one(7, Lie::kNone), same(7, Lie::kNone), other(8, Lie::kNone);
  for (World* world : {&one, &same, &other}) world->Run(100);
  EXPECT_EQ(Shown(one.history()), Shown(same.history()));
  EXPECT_NE(Shown(one.history()), Shown(other.history()));
}

// The checker notices a store that breaks its promises.
struct LieRow {
  const char* name;
  Lie lie;
  int worlds_min;  // Of kLiedTo, those in which it has to be noticed.
};
constexpr std::uint64_t kLiedTo = 40;
class Lies : public testing::TestWithParam<LieRow> {};

TEST_P(Lies, AreNoticed) {
  int noticed = 0;
  for (std::uint64_t seed = 1; seed <= kLiedTo; ++seed) {
    World world(seed, GetParam().lie);
    world.Run(300);
    noticed += !world.Problems().empty();
  }
  EXPECT_GE(noticed, GetParam().worlds_min);
}
// A forgotten mark matters only where it had a lead: as long as the process had lived.
INSTANTIATE_TEST_SUITE_P(, Lies,
                         testing::Values(LieRow{"ForgetsWrites", Lie::kForgetsWrites, 21},
                                         LieRow{"ForgetsTime", Lie::kForgetsTime, 10},
                                         LieRow{"StaleReads", Lie::kStaleReads, 21},
                                         LieRow{"CallsItDurable", Lie::kCallsItDurable, 6},
                                         LieRow{"TellsFirst", Lie::kTellsFirst, 21},
                                         LieRow{"ForgetsUnwritten", Lie::kForgetsUnwritten, 6}),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace onced::sim
