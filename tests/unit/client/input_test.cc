#include "client/cli/input.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "absl/strings/escaping.h"
#include "client/cpp/digest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/cli_fixture.h"

namespace onced::cli {
namespace {

using testing::HasSubstr;

// Gives some bytes, then fails as a disk does.
class FailingBuffer final : public std::streambuf {
 protected:
  int underflow() override { throw std::ios_base::failure("disk"); }
  std::streamsize xsgetn(char* out, std::streamsize size) override {
    if (std::exchange(failed_, true)) throw std::ios_base::failure("disk");
    std::fill_n(out, size, 'a');
    return size;
  }

 private:
  bool failed_ = false;
};

TEST(Sha256, HasItsPublishedValues) {
  EXPECT_EQ(absl::BytesToHexString(client::Sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(absl::BytesToHexString(client::Sha256("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  client::Sha256Stream stream;
  stream.Add("a");
  stream.Add("bc");
  EXPECT_EQ(stream.Finish(), client::Sha256("abc"));
}

TEST(Input, KeepsUpToTheBound) {
  for (const std::size_t size : {0, 1, 65535, 65536, 65537, 200000}) {
    for (const std::size_t keep_max : {size, size + 1}) {
      const std::string bytes(size, 'x');
      std::istringstream in(bytes);
      const auto blob = Input(in).Read("-", keep_max);
      ASSERT_TRUE(blob.ok()) << blob.status();
      EXPECT_FALSE(blob->too_large);
      EXPECT_EQ(blob->bytes, bytes);
      EXPECT_EQ(blob->size, static_cast<std::int64_t>(size));
      EXPECT_EQ(blob->sha256, client::Sha256(bytes));
    }
  }
}

TEST(Input, MeasuresWhatIsOverTheBound) {
  for (const std::size_t size : {1, 65537, 200000}) {
    const std::string bytes(size, 'x');
    std::istringstream in(bytes);
    const auto blob = Input(in).Read("-", size - 1);
    ASSERT_TRUE(blob.ok()) << blob.status();
    EXPECT_TRUE(blob->too_large);
    EXPECT_EQ(blob->bytes, "");
    EXPECT_EQ(blob->size, static_cast<std::int64_t>(size));
    EXPECT_EQ(blob->sha256, client::Sha256(bytes));
  }
  EXPECT_TRUE(Input::FromText("abc", 2).too_large);
  EXPECT_EQ(Input::FromText("abc", 3).bytes, "abc");
}

TEST(Input, ReadsTheStandardInputOnce) {
  std::istringstream in("abc");
  Input input(in);
  EXPECT_TRUE(input.Read("-", 10).ok());
  EXPECT_EQ(input.Read("-", 10).status().message(), "the standard input can't be read twice");
}

TEST(Input, TakesAFailedReadForAnError) {
  FailingBuffer buffer;
  std::istream in(&buffer);
  const auto blob = Input(in).Read("-", 10);
  EXPECT_EQ(blob.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(blob.status().message()), HasSubstr("can't read the standard input"));
}

using InputFiles = CliTest;

TEST_F(InputFiles, AreReadByteForByte) {
  std::istringstream in;
  const auto blob = Input(in).Read(WriteFile("f", AllBytes()), 1000);
  ASSERT_TRUE(blob.ok()) << blob.status();
  EXPECT_EQ(blob->bytes, AllBytes());
  EXPECT_EQ(absl::BytesToHexString(blob->sha256), kAllBytesSha256);
}

TEST_F(InputFiles, ThatCanNotBeReadAreErrors) {
  std::istringstream in;
  EXPECT_THAT(std::string(Input(in).Read(Path("none"), 10).status().message()),
              HasSubstr("No such file"));
  // A directory opens, but does not read.
  EXPECT_THAT(std::string(Input(in).Read(Path("."), 10).status().message()),
              HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace onced::cli
