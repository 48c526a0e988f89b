// RocksDB's file system on a machine that may lose its power.
#pragma once

#include <memory>
#include <string>

#include "rocksdb/file_system.h"
#include "tests/fault/onced_faulty/power_journal.h"

namespace onced::fault {

// Passes through, and tells the journal.
//
// Threads:  any.
// Lifetime: `journal` outlives it.
// Limits:   to shorten a file by its name, and to link it, are passed through
//           untold: the server does neither in its data directory.
class PowerlessFiles final : public rocksdb::FileSystemWrapper {
 public:
  PowerlessFiles(const std::shared_ptr<rocksdb::FileSystem>& real, PowerJournal& journal)
      : FileSystemWrapper(real), journal_(journal) {}

  const char* Name() const override { return "PowerlessFiles"; }
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;

 private:
  PowerJournal& journal_;
};

}  // namespace onced::fault
