#include "server/base/thread_role.h"

#include <gtest/gtest.h>

#include <thread>

#include "server/base/check.h"

namespace onced {
namespace {

TEST(ThreadRole, IsHeldByTheThreadThatAdoptedIt) {
  ThreadRole role;
  std::thread([&role] {
    role.Adopt();
    role.AssertHeld();
  }).join();
}

class ThreadRoleDeathTest : public testing::Test {
 protected:
  // The child starts afresh: threads and fork() don't mix.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ThreadRoleDeathTest, DiesOnAnotherThread) {
  EXPECT_DEATH(
      {
        ThreadRole role;
        std::thread([&role] { role.Adopt(); }).join();
        role.AssertHeld();
      },
      "");
}

TEST_F(ThreadRoleDeathTest, DiesBeforeAnybodyAdoptedIt) {
  const ThreadRole role;
  EXPECT_DEATH(role.AssertHeld(), "");
}

using CheckDeathTest = ThreadRoleDeathTest;

TEST_F(CheckDeathTest, DiesOfWhatDoesNotHoldAndSaysWhat) {
  EXPECT_DEATH(ONCED_CHECK(1 + 1 == 3), "bug: .*thread_role_test.cc:[0-9]+: 1 \\+ 1 == 3");
}

TEST_F(CheckDeathTest, LetsWhatHoldsPassAndLooksOnce) {
  int looked = 0;
  ONCED_CHECK(++looked == 1);
  EXPECT_EQ(looked, 1);
}

}  // namespace
}  // namespace onced
