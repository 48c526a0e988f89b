// Every target over the files of its corpus: seeds, and what once broke something.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/fuzz/targets.h"
#include "tests/integration/temp_dir.h"

namespace onced::fuzz {
namespace {

namespace fs = std::filesystem;

const fs::path& Corpora() {
  static const fs::path path = fs::path(ONCED_SOURCE_DIR) / "tests/fuzz/corpus";
  return path;
}

std::vector<fs::path> FilesOf(const std::string& target) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(Corpora() / target)) files.push_back(entry);
  std::sort(files.begin(), files.end());
  return files;
}

class Corpus : public testing::TestWithParam<std::size_t> {};

TEST_P(Corpus, BreaksNoPromise) {
  const auto& target = kTargets[GetParam()];
  google::protobuf::SetLogHandler(nullptr);  // As the server does.
  target.run("");
  const std::vector<fs::path> files = FilesOf(target.name);
  EXPECT_FALSE(files.empty()) << target.name << " has no seed";
  for (const fs::path& file : files) {
    const std::string bytes = integration::ReadFile(file);
    try {
      target.run(bytes);
      // What is cut off is as likely to be mishandled as what is whole.
      for (std::size_t parts = 1; parts < 8; ++parts) {
        target.run(absl::string_view(bytes).substr(0, bytes.size() * parts / 8));
      }
    } catch (const std::exception& broken) {
      ADD_FAILURE() << file << ": " << broken.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Corpus, testing::Range(std::size_t{0}, std::size(kTargets)),
                         [](const auto& row) { return std::string(kTargets[row.param].name); });

TEST(Corpora, AreEachATargets) {
  for (const auto& entry : fs::directory_iterator(Corpora())) {
    const std::string name = entry.path().filename();
    EXPECT_TRUE(std::any_of(std::begin(kTargets), std::end(kTargets), [&](const auto& target) {
      return name == target.name;
    })) << name;
  }
}

}  // namespace
}  // namespace onced::fuzz
