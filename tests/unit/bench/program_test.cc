#include "tests/bench/peers/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/integration/process.h"

namespace onced::bench {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using Where = ServerUnderTest::SaysItOn;

TEST(FindProgram, FindsWhatEverySystemHas) {
  const absl::StatusOr<std::string> shell = FindProgram("sh");
  ASSERT_TRUE(shell.ok()) << shell.status();
  EXPECT_THAT(*shell, EndsWith("/sh"));
}

TEST(FindProgram, SaysWhatIsNotInstalled) {
  const absl::Status status = FindProgram("no-such-server", {"/nowhere"}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("no-such-server is not installed"));
}

TEST(FreePort, IsOne) { EXPECT_GT(FreePort(), 0); }

TEST(CommandOf, IsTheCommandAlone) {
  EXPECT_THAT(CommandOf({"/bin/true", "x"}, std::nullopt, std::nullopt),
              ElementsAre("/bin/true", "x"));
}

TEST(CommandOf, TakesACore) {
  EXPECT_THAT(CommandOf({"/bin/true"}, std::nullopt, 1),
              ElementsAre(EndsWith("taskset"), "--cpu-list", "1", "/bin/true"));
}

// The servers' mute kin: says a word, then waits for its end.
std::vector<std::string> Script(const std::string& script) {
  return {*FindProgram("sh"), "-c", script};
}

TEST(ServerUnderTest, IsReadyWhenItSaysSo) {
  const auto server =
      ServerUnderTest::Start(Script("echo Ready now; exec sleep 1000"), "Ready", Where::kOutput);
  ASSERT_TRUE(server.ok()) << server.status();
  const int pid = (*server)->pid();
  EXPECT_EQ(kill(pid, 0), 0);
  (*server)->Stop(SIGKILL);
  EXPECT_NE(kill(pid, 0), 0);
}

TEST(ServerUnderTest, ThatEndsAtOnceIsAnErrorWithItsWords) {
  const auto server = ServerUnderTest::Start(Script("echo no room >&2"), "Ready", Where::kErrors);
  ASSERT_FALSE(server.ok());
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("no room"));
}

TEST(UnprivilegedUser, IsThereForRootAlone) {
  const std::optional<User> user = UnprivilegedUser();
  EXPECT_EQ(user.has_value(), geteuid() == 0);
  if (!user.has_value()) return;
  EXPECT_NE(user->uid, 0U);
  const integration::Finished who =
      integration::Run({.argv = CommandOf({*FindProgram("id"), "-u"}, user, std::nullopt)});
  EXPECT_EQ(who.out, std::to_string(user->uid) + "\n");
}

}  // namespace
}  // namespace onced::bench
