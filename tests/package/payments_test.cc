// The payment example, as somebody takes it away to make something of it.
#include <filesystem>

#include "gmock/gmock.h"
#include "tests/package/project.h"

namespace onced::integration {
namespace {

using testing::HasSubstr;

class PaymentsTest : public ProjectTest {
 protected:
  Process Serve() {
    return Process({.argv = {dir_.Path("payments/build/payments"), "--listen=127.0.0.1:0",
                             "--onced=" + server_.address(), "--books=" + dir_.Path("books.db")}});
  }
  std::string Pay(const std::string& port, const std::string& payment, const std::string& cents) {
    const Finished finished =
        integration::Run({.argv = {dir_.Path("payments/build/pay"), "--to=127.0.0.1:" + port,
                                   "--payment=" + payment, "--cents=" + cents}});
    return finished.out + finished.err;
  }
};

TEST_F(PaymentsTest, AreAProjectOfTheirOwn) {
  if (!ONCED_HAS_SQLITE) GTEST_SKIP() << "no SQLite";
  ASSERT_NO_FATAL_FAILURE(Install());
  std::filesystem::copy(ONCED_SOURCE_DIR "/client/examples/payments", dir_.Path("payments"));
  ASSERT_NO_FATAL_FAILURE(Build("payments"));
  Process payments = Serve();
  const std::string said = payments.out().AwaitLine("payments on port ").value();
  const std::string port = said.substr(said.rfind(' ') + 1);

  const std::string paid = Pay(port, "order-1", "1999");
  EXPECT_THAT(paid, testing::MatchesRegex("ch_[0-9a-f]+ 1999 EUR\n"));
  EXPECT_EQ(Pay(port, "order-1", "1999"), paid.substr(0, paid.size() - 1) + " (replayed)\n");
  EXPECT_THAT(Pay(port, "order-1", "2999"), HasSubstr("FAILED_PRECONDITION"));
  EXPECT_THAT(Pay(port, "", "2999"), HasSubstr("INVALID_ARGUMENT"));
  payments.Signal(SIGTERM);
  EXPECT_EQ(payments.Wait(), 0) << payments.err().AllText();
}

}  // namespace
}  // namespace onced::integration
