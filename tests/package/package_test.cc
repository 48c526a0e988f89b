// The client library as it is installed, used by a project of its own.
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/package/project.h"

namespace onced::integration {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

class PackageTest : public ProjectTest {
 protected:
  // The standard output, in which charges.txt is in `dir_`.
  std::string Charge(const std::string& order, const std::string& cents) {
    const Finished finished = integration::Run(
        {.argv = {"/usr/bin/env", "-C", dir_.path(), dir_.Path("charge/build/charge"),
                  server_.address(), order, cents}});
    return finished.out + finished.err;
  }
};

// As the dynamic linker finds them.
std::string LibrariesOf(const std::string& program) {
  const Finished finished = integration::Run({.argv = {"/usr/bin/ldd", program}});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  return finished.out;
}

TEST_F(PackageTest, AProjectOfItsOwnRunsOnce) {
  ASSERT_NO_FATAL_FAILURE(Install());
  EXPECT_TRUE(std::filesystem::exists(dir_.Path("prefix/include/onced/client/run_once.h")));
  EXPECT_TRUE(std::filesystem::exists(dir_.Path("prefix/include/onced/client/fake_server.h")));
  EXPECT_FALSE(std::filesystem::exists(dir_.Path("prefix/include/onced/client/call.h")));
  EXPECT_FALSE(std::filesystem::exists(dir_.Path("prefix/bin")));
  std::filesystem::copy(ONCED_SOURCE_DIR "/client/examples/charge", dir_.Path("charge"));
  ASSERT_NO_FATAL_FAILURE(Build("charge"));
  ASSERT_NO_FATAL_FAILURE(Test("charge"));
  EXPECT_THAT(LibrariesOf(dir_.Path("charge/build/charge_test")),
              Not(AnyOf(HasSubstr("rocksdb"), HasSubstr("yaml"), HasSubstr("civetweb"),
                        HasSubstr("prometheus"), HasSubstr("curl"), HasSubstr("jemalloc"))));
  EXPECT_EQ(Charge("order-1", "1999"), "201 charged 1999\n");
  EXPECT_EQ(Charge("order-1", "1999"), "201 charged 1999 (replayed)\n");
  EXPECT_EQ(Charge("order-1", "2999"), "422 this order was asked for differently before\n");
  EXPECT_EQ(Charge("order-2", "5"), "201 charged 5\n");
  const std::string charges = ReadFile(dir_.Path("charges.txt"));
  EXPECT_EQ(LinesOf(charges).size(), 2u) << charges;
  server_.Stop();
  EXPECT_THAT(Charge("order-3", "5"), HasSubstr("not charged: UNAVAILABLE"));
  EXPECT_EQ(ReadFile(dir_.Path("charges.txt")), charges);
}

// What it does is tested in tests/examples/webhook.
TEST_F(PackageTest, TheWebhookGatewayIsAProjectOfItsOwn) {
  ASSERT_NO_FATAL_FAILURE(Install());
  std::filesystem::copy(ONCED_SOURCE_DIR "/client/examples/webhook", dir_.Path("webhook"));
  ASSERT_NO_FATAL_FAILURE(Build("webhook"));
  const Finished finished = integration::Run({.argv = {dir_.Path("webhook/build/webhook")}});
  EXPECT_THAT(finished.err, HasSubstr("usage: webhook SERVER LISTEN ENDPOINT"));
}

// All that is built below the folder.
std::string SourcesIn(const std::string& folder) {
  std::string all;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(ONCED_SOURCE_DIR + folder)) {
    const std::filesystem::path& path = entry.path();
    const bool source = path.extension() == ".cc" || path.extension() == ".h";
    if (source || path.filename() == "CMakeLists.txt") all += ReadFile(path.string());
  }
  return all;
}

// What the page shows is what is built: by an example or by a test.
TEST(ClientPage, ShowsWhatIsBuilt) {
  const std::string built = SourcesIn("/client/examples") + SourcesIn("/tests");
  const std::string page = ReadFile(ONCED_SOURCE_DIR "/docs/client.md");
  int blocks = 0;
  for (const std::string start : {"```cpp\n", "```cmake\n"}) {
    for (std::size_t at = page.find(start); at != std::string::npos;
         at = page.find(start, at + 1)) {
      const std::size_t code = at + start.size();
      const std::string block = page.substr(code, page.find("```", code) - code);
      EXPECT_NE(built.find(block), std::string::npos) << "is not in any source:\n" << block;
      ++blocks;
    }
  }
  EXPECT_GE(blocks, 8);
}

}  // namespace
}  // namespace onced::integration
