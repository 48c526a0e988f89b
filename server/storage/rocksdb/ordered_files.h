// Files that come to the disk before the one that names them.
#pragma once

#include <memory>
#include <string>

#include "rocksdb/file_system.h"

namespace onced {

// At a start RocksDB makes data files and a MANIFEST, has CURRENT name it, and only then syncs
// the directory. A file system that keeps the order of what is done in a directory loses
// nothing by that. One that doesn't, which is all that POSIX promises, may lose the others
// with the power and keep CURRENT. Here the directory is synced before, too.
//
// Threads: any.
class OrderedFiles final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;

  const char* Name() const override { return "OrderedFiles"; }
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override {
    const std::size_t slash = to.rfind('/');
    if (to.substr(slash + 1) == "CURRENT") {
      rocksdb::IOStatus synced = SyncDirectory(to.substr(0, slash), options, debug);
      if (!synced.ok()) return synced;
    }
    return FileSystemWrapper::RenameFile(from, to, options, debug);
  }

 private:
  rocksdb::IOStatus SyncDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                  rocksdb::IODebugContext* debug) {
    std::unique_ptr<rocksdb::FSDirectory> directory;
    rocksdb::IOStatus opened = NewDirectory(path, options, &directory, debug);
    if (!opened.ok()) return opened;
    // Of other reasons RocksDB knows that btrfs needs less.
    const rocksdb::DirFsyncOptions reason(rocksdb::DirFsyncOptions::FsyncReason::kDefault);
    rocksdb::IOStatus synced = directory->FsyncWithDirOptions(options, debug, reason);
    directory->Close(options, debug).PermitUncheckedError();  // Ignored: it was only looked at.
    return synced;
  }
};

}  // namespace onced
