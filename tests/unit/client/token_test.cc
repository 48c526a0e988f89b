// oncectl token new, and how a token goes with a call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "client/cli/exit_code.h"
#include "client/cpp/digest.h"
#include "tests/unit/client/cli_fixture.h"

namespace onced::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class TokenTest : public CliTest {};

TEST_F(TokenTest, NewMakesATokenAndItsLine) {
  const Ran first = Oncectl({"token", "new", "--identity", "batch"});
  EXPECT_EQ(first.code, 0);
  EXPECT_THAT(first.out, ContainsRegex("token: +[0-9a-f]+\nline: +batch sha256:[0-9a-f]+\n"));
  const std::size_t at = first.out.find_first_not_of(' ', 6);
  const std::string token = first.out.substr(at, first.out.find('\n') - at);
  EXPECT_EQ(token.size(), 64U);
  EXPECT_THAT(first.out, HasSubstr("sha256:" + absl::BytesToHexString(client::Sha256(token))));
  EXPECT_NE(Oncectl({"token", "new", "--identity", "batch"}).out, first.out);
  for (const char* name : {"", "a b", "-a", "a/b"}) {
    EXPECT_EQ(Oncectl({"token", "new", "--identity", name}).code, kExitUsage) << name;
  }
}

TEST_F(TokenTest, FilesThatAreWrongAreUsageErrors) {
  const std::vector<std::string> inspect = {"inspect", "--namespace", "n", "--key", "k"};
  const auto run = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), inspect.begin(), inspect.end());
    return Oncectl(flags);
  };
  EXPECT_EQ(run({"--tls-ca", Path("none")}).code, kExitUsage);
  EXPECT_EQ(run({"--tls-cert", Path("none")}).code, kExitUsage);
  EXPECT_EQ(run({"--tls-ca", "system", "--tls-cert", WriteFile("c", "x")}).code, kExitUsage);
}

}  // namespace
}  // namespace onced::cli
