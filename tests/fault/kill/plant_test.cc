// Servers with a bug planted in their store: the checker has to object.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fault/kill/campaign.h"

namespace onced::fault {
namespace {

using testing::Contains;
using testing::HasSubstr;

struct Planted {
  std::string name;
  // What the checker says of it, in one of these words.
  std::vector<std::string> objections;
};
void PrintTo(const Planted& planted, std::ostream* os) { *os << planted.name; }

std::string NameOf(const testing::TestParamInfo<Planted>& info) {
  std::string name = info.param.name;
  std::erase(name, '-');
  return name;
}

class Plants : public testing::TestWithParam<Planted> {};

TEST_P(Plants, AreFound) {
  Campaign campaign({.flags = {"--plant", GetParam().name, "--seed", absl::StrCat(SeedOrDrawn())},
                     .binary = ONCED_BIN_DIR "/onced_faulty"});
  for (int cycle = 0; cycle < 3; ++cycle) {
    campaign.SomeLoad();
    campaign.Kill();
    campaign.Start();
    campaign.SomeLoad();
  }
  const std::vector<std::string> broken = campaign.Judge().broken;
  std::vector<testing::Matcher<std::string>> expected;
  for (const std::string& words : GetParam().objections) expected.push_back(HasSubstr(words));
  EXPECT_THAT(broken, Contains(testing::AnyOfArray(expected)));
  if (!broken.empty())
    std::printf("%zu objections, such as %s\n", broken.size(), broken[0].c_str());
}

INSTANTIATE_TEST_SUITE_P(
    Each, Plants,
    testing::Values(Planted{"double-grant", {"two live grants"}},
                    Planted{"lost-commit",
                            {"an acknowledged commit is lost", "an acknowledged commit is undone"}},
                    Planted{"lost-release",
                            {"a released grant came back", "a released token succeeded"}},
                    Planted{"fence-back", {"a fence went back"}},
                    Planted{"stale-read", {"an acknowledged", "came back", "fit into no order"}},
                    Planted{"changed-result",
                            {"what is replayed was never committed",
                             "other bytes are replayed than were committed"}}),
    NameOf);

}  // namespace
}  // namespace onced::fault
