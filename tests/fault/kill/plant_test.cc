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

// What the checker objects to in some cycles of a server with that bug.
std::vector<std::string> RunWith(const std::string& bug) {
  Campaign campaign({.flags = {"--plant", bug, "--seed", absl::StrCat(SeedOrDrawn())},
                     .binary = ONCED_BIN_DIR "/onced_faulty"});
  for (int cycle = 0; cycle < 3; ++cycle) {
    campaign.SomeLoad();
    campaign.Kill();
    campaign.Start();
    campaign.SomeLoad();
  }
  return campaign.Judge().broken;
}

class Plants : public testing::TestWithParam<Planted> {};

TEST_P(Plants, AreFound) {
  std::vector<testing::Matcher<std::string>> expected;
  for (const std::string& words : GetParam().objections) expected.push_back(HasSubstr(words));
  const testing::Matcher<std::vector<std::string>> found = Contains(testing::AnyOfArray(expected));
  std::vector<std::string> broken;
  // The slower the machine, the fewer chances the bug has in one run.
  for (int run = 0; run < 10 && !found.Matches(broken); ++run) broken = RunWith(GetParam().name);
  EXPECT_THAT(broken, found);
  if (!broken.empty())
    std::printf("%zu objections, such as %s\n", broken.size(), broken[0].c_str());
}

INSTANTIATE_TEST_SUITE_P(
    Each, Plants,
    testing::Values(
        Planted{"double-grant", {"two live grants"}},
        Planted{"lost-commit",
                {"an acknowledged commit is lost", "an acknowledged commit is undone"}},
        Planted{"lost-release", {"a released grant came back", "a released token succeeded"}},
        Planted{"fence-back", {"a fence went back"}},
        Planted{"stale-read", {"an acknowledged", "came back", "fit into no order"}},
        Planted{"changed-result",
                {"what is replayed was never committed",
                 "other bytes are replayed than were committed"}},
        // What is lost by a kill is what one sync would have written.
        Planted{"answer-first", {"an acknowledged", "two live grants", "fit into no order"}}),
    NameOf);

}  // namespace
}  // namespace onced::fault
