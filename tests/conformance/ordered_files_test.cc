// In which order what a start makes comes to the disk.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "server/base/mutex.h"
#include "server/base/random.h"
#include "server/storage/rocksdb/rocks_store.h"
#include "tests/conformance/store_calls.h"
#include "tests/conformance/temp_dir.h"
#include "tests/support/printers.h"
#include "tests/support/test_records.h"

namespace onced {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

// Notes which files were made since the directory was last synced, whenever CURRENT is
// replaced. The file that takes its place is one itself.
class NotedFiles final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;

  const char* Name() const override { return "NotedFiles"; }
  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    {
      const MutexLock lock(mutex_);
      if (!absl::EndsWith(path, ".dbtmp")) made_.push_back(path);
    }
    return FileSystemWrapper::NewWritableFile(path, options, file, debug);
  }
  IOStatus NewDirectory(const std::string& path, const IOOptions& options,
                        std::unique_ptr<rocksdb::FSDirectory>* directory,
                        IODebugContext* debug) override {
    std::unique_ptr<rocksdb::FSDirectory> real;
    IOStatus status = FileSystemWrapper::NewDirectory(path, options, &real, debug);
    if (status.ok()) *directory = std::make_unique<Directory>(std::move(real), *this);
    return status;
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* debug) override {
    if (absl::EndsWith(to, "/CURRENT")) {
      const MutexLock lock(mutex_);
      ++replaced_;
      unsynced_.insert(unsynced_.end(), made_.begin(), made_.end());
    }
    return FileSystemWrapper::RenameFile(from, to, options, debug);
  }

  int replaced() {
    const MutexLock lock(mutex_);
    return replaced_;
  }
  std::vector<std::string> unsynced() {
    const MutexLock lock(mutex_);
    return unsynced_;
  }

 private:
  class Directory final : public rocksdb::FSDirectoryWrapper {
   public:
    Directory(std::unique_ptr<rocksdb::FSDirectory>&& real, NotedFiles& files)
        : FSDirectoryWrapper(std::move(real)), files_(files) {}
    IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
      files_.Synced();
      return FSDirectoryWrapper::Fsync(options, debug);
    }
    IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                                 const rocksdb::DirFsyncOptions& reason) override {
      files_.Synced();
      return FSDirectoryWrapper::FsyncWithDirOptions(options, debug, reason);
    }

   private:
    NotedFiles& files_;
  };

  void Synced() {
    const MutexLock lock(mutex_);
    made_.clear();
  }

  Mutex mutex_;
  std::vector<std::string> made_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> unsynced_ ABSL_GUARDED_BY(mutex_);
  int replaced_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST(OrderedFiles, WhatCurrentNamesIsThereBeforeIt) {
  const TempDir temp;
  SystemRandom random;
  const auto files = std::make_shared<NotedFiles>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(files);
  for (int start = 0; start < 3; ++start) {
    auto store = RocksStore::Open({.data_dir = temp.File("data"),
                                   .shards = 2,
                                   .wall_now = TestStart(),
                                   .random = random,
                                   .env = env.get()});
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE(PutRecord(**store, {{0}, {"ns", "key"}}, MinimalCommitted("body")).ok());
  }
  EXPECT_GE(files->replaced(), 3);
  EXPECT_THAT(files->unsynced(), testing::IsEmpty());
}

}  // namespace
}  // namespace onced
