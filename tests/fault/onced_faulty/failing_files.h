// RocksDB's file system, in which one operation or other fails.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/file_system.h"
#include "tests/fault/onced_faulty/injector.h"

namespace onced::fault {

// Passes through what the injector lets happen. What fails is not done, but for an
// append, of which the first half is, and a close, which is done all the same.
//
//   open-sequential, open-random, open-new, open-again, open-in-place, open-dir
//   read, append, write, flush, sync, range-sync, close, shorten, allocate, prefetch
//   rename (the file is the target), delete, link, list, exists, size, time, mkdir,
//   sync-dir, free-space, lock, unlock, same, is-dir, path
//
// Threads:  any.
// Lifetime: `injector` outlives it.
class FailingFiles final : public rocksdb::FileSystemWrapper {
 public:
  FailingFiles(const std::shared_ptr<rocksdb::FileSystem>& real, Injector& injector)
      : FileSystemWrapper(real), injector_(injector) {}

  using Status = rocksdb::IOStatus;
  using Debug = rocksdb::IODebugContext;
  using Options = rocksdb::IOOptions;
  using Opening = rocksdb::FileOptions;

  const char* Name() const override { return "FailingFiles"; }
  Status NewSequentialFile(const std::string& path, const Opening& options,
                           std::unique_ptr<rocksdb::FSSequentialFile>* file, Debug* debug) override;
  Status NewRandomAccessFile(const std::string& path, const Opening& options,
                             std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                             Debug* debug) override;
  Status NewWritableFile(const std::string& path, const Opening& options,
                         std::unique_ptr<rocksdb::FSWritableFile>* file, Debug* debug) override;
  Status ReopenWritableFile(const std::string& path, const Opening& options,
                            std::unique_ptr<rocksdb::FSWritableFile>* file, Debug* debug) override;
  Status NewRandomRWFile(const std::string& path, const Opening& options,
                         std::unique_ptr<rocksdb::FSRandomRWFile>* file, Debug* debug) override;
  Status NewDirectory(const std::string& path, const Options& options,
                      std::unique_ptr<rocksdb::FSDirectory>* directory, Debug* debug) override;
  Status FileExists(const std::string& path, const Options& options, Debug* debug) override;
  Status GetChildren(const std::string& path, const Options& options,
                     std::vector<std::string>* children, Debug* debug) override;
  Status GetChildrenFileAttributes(const std::string& path, const Options& options,
                                   std::vector<rocksdb::FileAttributes>* children,
                                   Debug* debug) override;
  Status DeleteFile(const std::string& path, const Options& options, Debug* debug) override;
  Status Truncate(const std::string& path, std::size_t size, const Options& options,
                  Debug* debug) override;
  Status CreateDir(const std::string& path, const Options& options, Debug* debug) override;
  Status CreateDirIfMissing(const std::string& path, const Options& options, Debug* debug) override;
  Status GetFileSize(const std::string& path, const Options& options, std::uint64_t* size,
                     Debug* debug) override;
  Status GetFileModificationTime(const std::string& path, const Options& options,
                                 std::uint64_t* time, Debug* debug) override;
  Status RenameFile(const std::string& from, const std::string& to, const Options& options,
                    Debug* debug) override;
  Status LinkFile(const std::string& from, const std::string& to, const Options& options,
                  Debug* debug) override;
  Status AreFilesSame(const std::string& one, const std::string& other, const Options& options,
                      bool* same, Debug* debug) override;
  Status LockFile(const std::string& path, const Options& options, rocksdb::FileLock** lock,
                  Debug* debug) override;
  Status UnlockFile(rocksdb::FileLock* lock, const Options& options, Debug* debug) override;
  Status GetFreeSpace(const std::string& path, const Options& options, std::uint64_t* bytes,
                      Debug* debug) override;
  Status IsDirectory(const std::string& path, const Options& options, bool* is,
                     Debug* debug) override;
  Status GetAbsolutePath(const std::string& path, const Options& options, std::string* absolute,
                         Debug* debug) override;

 private:
  Injector& injector_;
};

}  // namespace onced::fault
