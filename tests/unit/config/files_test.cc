// Of the configuration, what touches the machine: files, environment, cores.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "server/config/config.h"
#include "server/config/cores.h"
#include "server/config/settings.h"

namespace onced {
namespace {

class ReadConfigFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "onced_config_XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    dir_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::string Write(const std::string& text) {
    std::ofstream(dir_ / "c.yaml", std::ios::binary) << text;
    return dir_ / "c.yaml";
  }

  std::filesystem::path dir_;
};

TEST_F(ReadConfigFileTest, ReadsWhatIsThere) {
  EXPECT_EQ(ReadConfigFile(Write("a: 1\n")).value(), "a: 1\n");
  EXPECT_EQ(ReadConfigFile(Write("")).value(), "");
  const std::string largest(kConfigBytesMax, '#');
  EXPECT_EQ(ReadConfigFile(Write(largest)).value(), largest);
}

TEST_F(ReadConfigFileTest, SaysWhyItCannot) {
  EXPECT_EQ(ReadConfigFile(dir_ / "none").status().message(), "No such file or directory");
  EXPECT_EQ(ReadConfigFile(dir_).status().message(), "Is a directory");
  EXPECT_EQ(ReadConfigFile(Write(std::string(kConfigBytesMax + 1, '#'))).status().message(),
            "it has over 1048576 bytes");
}

TEST(ReadEnvironment, TellsUnsetFromEmpty) {
  ASSERT_EQ(setenv("ONCED_TEST_EMPTY", "", 1), 0);
  EXPECT_EQ(ReadEnvironment("ONCED_TEST_EMPTY"), "");
  EXPECT_EQ(ReadEnvironment("ONCED_TEST_UNSET"), std::nullopt);
}

TEST(Cores, OfCpuMaxAreRoundedUp) {
  EXPECT_EQ(CoresOfCpuMax("max 100000"), 0u);
  EXPECT_EQ(CoresOfCpuMax("100000 100000\n"), 1u);
  EXPECT_EQ(CoresOfCpuMax("100001 100000"), 2u);
  EXPECT_EQ(CoresOfCpuMax("5000 100000"), 1u);
  EXPECT_EQ(CoresOfCpuMax("400000 100000"), 4u);
  for (const char* bad : {"", "max", "100000", "0 100000", "100000 0", "-1 100000", "a b c"}) {
    EXPECT_EQ(CoresOfCpuMax(bad), 0u) << bad;
  }
}

TEST(Cores, AreAtLeastOneAndNotMoreThanTheMachines) {
  EXPECT_GE(AvailableCores(), 1u);
  EXPECT_LE(AvailableCores(), static_cast<std::uint32_t>(sysconf(_SC_NPROCESSORS_CONF)));
}

TEST(Cores, GiveExecutorsButNotMoreThanShards) {
  EXPECT_EQ(ExecutorCount(0, 4, 16), 4u);
  EXPECT_EQ(ExecutorCount(0, 64, 16), 16u);
  EXPECT_EQ(ExecutorCount(2, 4, 16), 2u);
  EXPECT_EQ(ExecutorCount(8, 4, 16), 8u);
  EXPECT_EQ(ExecutorCount(8, 4, 1), 1u);
}

// The documentation is a reading of the tables: whoever adds a row adds a line.
class ConfigurationDoc : public testing::Test {
 protected:
  void SetUp() override {
    text_ = ReadConfigFile(ONCED_SOURCE_DIR "/docs/configuration.md").value();
  }
  bool Has(const std::string& part) const { return absl::StrContains(text_, part); }

  std::string text_;
};

TEST_F(ConfigurationDoc, HasALineForEachSetting) {
  for (const Setting& setting : Settings()) {
    const std::string preset =
        *setting.preset == '\0' ? " " : std::string(" `") + setting.preset + "` ";
    EXPECT_TRUE(
        Has("| `" + std::string(setting.name) + "` |" + preset + "| " + setting.help + " |\n"))
        << "| `" << setting.name << "` |" << preset << "| " << setting.help << " |";
  }
}

TEST_F(ConfigurationDoc, HasALineForEachSettingOfAPolicy) {
  for (const PolicySetting& setting : PolicySettings()) {
    const std::string line = "| `" + std::string(setting.name) + "` | `" + setting.preset + "` | " +
                             setting.help + " |\n";
    EXPECT_TRUE(Has(line)) << line;
  }
}

// Every table row of the page is one of ours.
TEST_F(ConfigurationDoc, HasNoOtherRows) {
  std::size_t rows = 0;
  for (std::size_t at = text_.find("\n| `"); at != std::string::npos;
       at = text_.find("\n| `", at + 1)) {
    ++rows;
  }
  EXPECT_EQ(rows, Settings().size() + PolicySettings().size());
}

// The page's example is a real file.
TEST_F(ConfigurationDoc, HasAnExampleThatLoads) {
  const std::size_t begin = text_.find("```yaml\n") + 8;
  const std::string example = text_.substr(begin, text_.find("```", begin) - begin);
  const std::string args[] = {"--config=example"};
  const auto loaded = LoadConfig(
      args, [](const std::string&) { return std::nullopt; },
      [&](const std::string&) -> absl::StatusOr<std::string> { return example; });
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(std::get<Config>(*loaded).namespaces.size(), 2u);
}

}  // namespace
}  // namespace onced
