#include "tests/fault/onced_faulty/powerless_files.h"

#include <atomic>
#include <utility>

namespace onced::fault {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

class Appended final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  Appended(std::unique_ptr<rocksdb::FSWritableFile> real, PowerJournal& journal, ino_t inode,
           std::uint64_t size)
      : FSWritableFileOwnerWrapper(std::move(real)),
        journal_(journal),
        inode_(inode),
        size_(size) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    return Grown(FSWritableFileOwnerWrapper::Append(data, options, debug), data);
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& info, IODebugContext* debug) override {
    return Grown(FSWritableFileOwnerWrapper::Append(data, options, info, debug), data);
  }
  IOStatus Truncate(std::uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    IOStatus status = FSWritableFileOwnerWrapper::Truncate(size, options, debug);
    if (status.ok()) size_ = size;
    return status;
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    const std::uint64_t size = size_;
    IOStatus status = FSWritableFileOwnerWrapper::Sync(options, debug);
    if (status.ok()) journal_.Synced(inode_, size);
    return status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    const std::uint64_t size = size_;
    IOStatus status = FSWritableFileOwnerWrapper::Fsync(options, debug);
    if (status.ok()) journal_.Synced(inode_, size);
    return status;
  }

 private:
  IOStatus Grown(IOStatus status, const Slice& data) {
    if (status.ok()) size_ += data.size();
    return status;
  }

  PowerJournal& journal_;
  const ino_t inode_;
  std::atomic<std::uint64_t> size_;
};

class Overwritten final : public rocksdb::FSRandomRWFileOwnerWrapper {
 public:
  Overwritten(std::unique_ptr<rocksdb::FSRandomRWFile> real, PowerJournal& journal, ino_t inode)
      : FSRandomRWFileOwnerWrapper(std::move(real)), journal_(journal), inode_(inode) {}

  IOStatus Write(std::uint64_t offset, const Slice& data, const IOOptions& options,
                 IODebugContext* debug) override {
    std::string buffer(data.size(), '\0');
    Slice old_bytes;
    IOStatus status = FSRandomRWFileOwnerWrapper::Read(offset, buffer.size(), options, &old_bytes,
                                                       buffer.data(), debug);
    if (!status.ok()) return status;
    journal_.WillOverwrite(inode_, offset, old_bytes.ToString());
    return FSRandomRWFileOwnerWrapper::Write(offset, data, options, debug);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return Told(FSRandomRWFileOwnerWrapper::Sync(options, debug));
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Told(FSRandomRWFileOwnerWrapper::Fsync(options, debug));
  }

 private:
  // Files that are written in place keep their size.
  IOStatus Told(IOStatus status) {
    if (status.ok()) journal_.Synced(inode_, 0);
    return status;
  }

  PowerJournal& journal_;
  const ino_t inode_;
};

class Entries final : public rocksdb::FSDirectoryWrapper {
 public:
  Entries(std::unique_ptr<rocksdb::FSDirectory> real, PowerJournal& journal)
      : FSDirectoryWrapper(std::move(real)), journal_(journal) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Told([&] { return FSDirectoryWrapper::Fsync(options, debug); });
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions& why) override {
    return Told([&] { return FSDirectoryWrapper::FsyncWithDirOptions(options, debug, why); });
  }

 private:
  IOStatus Told(const std::function<IOStatus()>& sync) {
    IOStatus status;
    journal_.SyncDirectory([&] { return (status = sync()).ok(); });
    return status;
  }

  PowerJournal& journal_;
};

}  // namespace

IOStatus PowerlessFiles::NewWritableFile(const std::string& path, const FileOptions& options,
                                         std::unique_ptr<rocksdb::FSWritableFile>* file,
                                         IODebugContext* debug) {
  if (!journal_.Knows(path)) return FileSystemWrapper::NewWritableFile(path, options, file, debug);
  IOStatus status;
  journal_.Create(path, [&] {
    status = FileSystemWrapper::NewWritableFile(path, options, file, debug);
    return status.ok();
  });
  if (status.ok()) {
    *file = std::make_unique<Appended>(std::move(*file), journal_, InodeOf(path), 0);
  }
  return status;
}

IOStatus PowerlessFiles::ReopenWritableFile(const std::string& path, const FileOptions& options,
                                            std::unique_ptr<rocksdb::FSWritableFile>* file,
                                            IODebugContext* debug) {
  if (!journal_.Knows(path)) {
    return FileSystemWrapper::ReopenWritableFile(path, options, file, debug);
  }
  if (InodeOf(path) == 0) return NewWritableFile(path, options, file, debug);
  std::uint64_t size = 0;
  IOStatus status = GetFileSize(path, {}, &size, debug);
  if (status.ok()) status = FileSystemWrapper::ReopenWritableFile(path, options, file, debug);
  if (!status.ok()) return status;
  journal_.Opened(InodeOf(path), size);
  *file = std::make_unique<Appended>(std::move(*file), journal_, InodeOf(path), size);
  return status;
}

IOStatus PowerlessFiles::ReuseWritableFile(const std::string& path, const std::string& old_path,
                                           const FileOptions& /*options*/,
                                           std::unique_ptr<rocksdb::FSWritableFile>* /*file*/,
                                           IODebugContext* /*debug*/) {
  return IOStatus::NotSupported("the server does not recycle its logs", old_path + " " + path);
}

IOStatus PowerlessFiles::NewRandomRWFile(const std::string& path, const FileOptions& options,
                                         std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                         IODebugContext* debug) {
  IOStatus status = FileSystemWrapper::NewRandomRWFile(path, options, file, debug);
  if (!status.ok() || !journal_.Knows(path)) return status;
  std::uint64_t size = 0;
  status = GetFileSize(path, {}, &size, debug);
  if (!status.ok()) return status;
  journal_.Opened(InodeOf(path), size);
  *file = std::make_unique<Overwritten>(std::move(*file), journal_, InodeOf(path));
  return status;
}

IOStatus PowerlessFiles::NewDirectory(const std::string& path, const IOOptions& options,
                                      std::unique_ptr<rocksdb::FSDirectory>* directory,
                                      IODebugContext* debug) {
  IOStatus status = FileSystemWrapper::NewDirectory(path, options, directory, debug);
  if (status.ok() && journal_.Knows(path + "/x")) {
    *directory = std::make_unique<Entries>(std::move(*directory), journal_);
  }
  return status;
}

IOStatus PowerlessFiles::DeleteFile(const std::string& path, const IOOptions& options,
                                    IODebugContext* debug) {
  if (!journal_.Knows(path)) return FileSystemWrapper::DeleteFile(path, options, debug);
  IOStatus status;
  journal_.Delete(
      path, [&] { return (status = FileSystemWrapper::DeleteFile(path, options, debug)).ok(); });
  return status;
}

IOStatus PowerlessFiles::RenameFile(const std::string& from, const std::string& to,
                                    const IOOptions& options, IODebugContext* debug) {
  if (!journal_.Knows(from)) return FileSystemWrapper::RenameFile(from, to, options, debug);
  IOStatus status;
  journal_.Rename(from, to, [&] {
    return (status = FileSystemWrapper::RenameFile(from, to, options, debug)).ok();
  });
  return status;
}

}  // namespace onced::fault
