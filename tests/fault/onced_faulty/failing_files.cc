#include "tests/fault/onced_faulty/failing_files.h"

#include <utility>

namespace onced::fault {
namespace {

using Debug = rocksdb::IODebugContext;
using Options = rocksdb::IOOptions;
using Opening = rocksdb::FileOptions;
using Status = rocksdb::IOStatus;
using rocksdb::Slice;

class Sequential final : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  Sequential(std::unique_ptr<rocksdb::FSSequentialFile> real, Injector& injector, std::string path)
      : FSSequentialFileOwnerWrapper(std::move(real)),
        injector_(injector),
        path_(std::move(path)) {}

  Status Read(std::size_t n, const Options& options, Slice* result, char* scratch,
              Debug* debug) override {
    const Status asked = injector_.Ask("read", path_);
    return asked.ok() ? FSSequentialFileOwnerWrapper::Read(n, options, result, scratch, debug)
                      : asked;
  }
  Status PositionedRead(std::uint64_t offset, std::size_t n, const Options& options, Slice* result,
                        char* scratch, Debug* debug) override {
    const Status asked = injector_.Ask("read", path_);
    if (!asked.ok()) return asked;
    return FSSequentialFileOwnerWrapper::PositionedRead(offset, n, options, result, scratch, debug);
  }

 private:
  Injector& injector_;
  const std::string path_;
};

class RandomAccess final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  RandomAccess(std::unique_ptr<rocksdb::FSRandomAccessFile> real, Injector& injector,
               std::string path)
      : FSRandomAccessFileOwnerWrapper(std::move(real)),
        injector_(injector),
        path_(std::move(path)) {}

  Status Read(std::uint64_t offset, std::size_t n, const Options& options, Slice* result,
              char* scratch, Debug* debug) const override {
    const Status asked = injector_.Ask("read", path_);
    if (!asked.ok()) return asked;
    return FSRandomAccessFileOwnerWrapper::Read(offset, n, options, result, scratch, debug);
  }
  Status MultiRead(rocksdb::FSReadRequest* requests, std::size_t count, const Options& options,
                   Debug* debug) override {
    const Status asked = injector_.Ask("read", path_);
    if (asked.ok())
      return FSRandomAccessFileOwnerWrapper::MultiRead(requests, count, options, debug);
    for (std::size_t i = 0; i < count; ++i) requests[i].status = asked;
    return asked;
  }
  Status Prefetch(std::uint64_t offset, std::size_t n, const Options& options,
                  Debug* debug) override {
    const Status asked = injector_.Ask("prefetch", path_);
    return asked.ok() ? FSRandomAccessFileOwnerWrapper::Prefetch(offset, n, options, debug) : asked;
  }

 private:
  Injector& injector_;
  const std::string path_;
};

class Writable final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  Writable(std::unique_ptr<rocksdb::FSWritableFile> real, Injector& injector, std::string path)
      : FSWritableFileOwnerWrapper(std::move(real)), injector_(injector), path_(std::move(path)) {}

  Status Append(const Slice& data, const Options& options, Debug* debug) override {
    const Status asked = injector_.Ask("append", path_);
    if (asked.ok()) return FSWritableFileOwnerWrapper::Append(data, options, debug);
    return AppendHalf(data, options, debug, asked);
  }
  Status Append(const Slice& data, const Options& options,
                const rocksdb::DataVerificationInfo& info, Debug* debug) override {
    const Status asked = injector_.Ask("append", path_);
    if (asked.ok()) return FSWritableFileOwnerWrapper::Append(data, options, info, debug);
    return AppendHalf(data, options, debug, asked);
  }
  Status Truncate(std::uint64_t size, const Options& options, Debug* debug) override {
    const Status asked = injector_.Ask("shorten", path_);
    return asked.ok() ? FSWritableFileOwnerWrapper::Truncate(size, options, debug) : asked;
  }
  Status Close(const Options& options, Debug* debug) override {
    const Status asked = injector_.Ask("close", path_);
    const Status closed = FSWritableFileOwnerWrapper::Close(options, debug);
    return asked.ok() ? closed : asked;
  }
  Status Flush(const Options& options, Debug* debug) override {
    const Status asked = injector_.Ask("flush", path_);
    return asked.ok() ? FSWritableFileOwnerWrapper::Flush(options, debug) : asked;
  }
  Status Sync(const Options& options, Debug* debug) override {
    const Status asked = injector_.Ask("sync", path_);
    return asked.ok() ? FSWritableFileOwnerWrapper::Sync(options, debug) : asked;
  }
  Status Fsync(const Options& options, Debug* debug) override {
    const Status asked = injector_.Ask("sync", path_);
    return asked.ok() ? FSWritableFileOwnerWrapper::Fsync(options, debug) : asked;
  }
  Status RangeSync(std::uint64_t offset, std::uint64_t count, const Options& options,
                   Debug* debug) override {
    const Status asked = injector_.Ask("range-sync", path_);
    return asked.ok() ? FSWritableFileOwnerWrapper::RangeSync(offset, count, options, debug)
                      : asked;
  }
  Status Allocate(std::uint64_t offset, std::uint64_t count, const Options& options,
                  Debug* debug) override {
    const Status asked = injector_.Ask("allocate", path_);
    return asked.ok() ? FSWritableFileOwnerWrapper::Allocate(offset, count, options, debug) : asked;
  }

 private:
  Status AppendHalf(const Slice& data, const Options& options, Debug* debug, Status failure) {
    // Ignored: the caller is told of a failure either way.
    FSWritableFileOwnerWrapper::Append(Slice(data.data(), data.size() / 2), options, debug)
        .PermitUncheckedError();
    return failure;
  }

  Injector& injector_;
  const std::string path_;
};

class InPlace final : public rocksdb::FSRandomRWFileOwnerWrapper {
 public:
  InPlace(std::unique_ptr<rocksdb::FSRandomRWFile> real, Injector& injector, std::string path)
      : FSRandomRWFileOwnerWrapper(std::move(real)), injector_(injector), path_(std::move(path)) {}

  Status Write(std::uint64_t offset, const Slice& data, const Options& options,
               Debug* debug) override {
    const Status asked = injector_.Ask("write", path_);
    return asked.ok() ? FSRandomRWFileOwnerWrapper::Write(offset, data, options, debug) : asked;
  }
  Status Read(std::uint64_t offset, std::size_t n, const Options& options, Slice* result,
              char* scratch, Debug* debug) const override {
    const Status asked = injector_.Ask("read", path_);
    if (!asked.ok()) return asked;
    return FSRandomRWFileOwnerWrapper::Read(offset, n, options, result, scratch, debug);
  }
  Status Flush(const Options& options, Debug* debug) override {
    const Status asked = injector_.Ask("flush", path_);
    return asked.ok() ? FSRandomRWFileOwnerWrapper::Flush(options, debug) : asked;
  }
  Status Sync(const Options& options, Debug* debug) override {
    const Status asked = injector_.Ask("sync", path_);
    return asked.ok() ? FSRandomRWFileOwnerWrapper::Sync(options, debug) : asked;
  }
  Status Fsync(const Options& options, Debug* debug) override {
    const Status asked = injector_.Ask("sync", path_);
    return asked.ok() ? FSRandomRWFileOwnerWrapper::Fsync(options, debug) : asked;
  }
  Status Close(const Options& options, Debug* debug) override {
    const Status asked = injector_.Ask("close", path_);
    const Status closed = FSRandomRWFileOwnerWrapper::Close(options, debug);
    return asked.ok() ? closed : asked;
  }

 private:
  Injector& injector_;
  const std::string path_;
};

class Directory final : public rocksdb::FSDirectoryWrapper {
 public:
  Directory(std::unique_ptr<rocksdb::FSDirectory> real, Injector& injector, std::string path)
      : FSDirectoryWrapper(std::move(real)), injector_(injector), path_(std::move(path)) {}

  Status Fsync(const Options& options, Debug* debug) override {
    const Status asked = injector_.Ask("sync-dir", path_);
    return asked.ok() ? FSDirectoryWrapper::Fsync(options, debug) : asked;
  }
  Status FsyncWithDirOptions(const Options& options, Debug* debug,
                             const rocksdb::DirFsyncOptions& why) override {
    const Status asked = injector_.Ask("sync-dir", path_);
    return asked.ok() ? FSDirectoryWrapper::FsyncWithDirOptions(options, debug, why) : asked;
  }

 private:
  Injector& injector_;
  const std::string path_;
};

}  // namespace

Status FailingFiles::NewSequentialFile(const std::string& path, const Opening& options,
                                       std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                       Debug* debug) {
  Status status = injector_.Ask("open-sequential", path);
  if (status.ok()) status = FileSystemWrapper::NewSequentialFile(path, options, file, debug);
  if (status.ok()) *file = std::make_unique<Sequential>(std::move(*file), injector_, path);
  return status;
}

Status FailingFiles::NewRandomAccessFile(const std::string& path, const Opening& options,
                                         std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                         Debug* debug) {
  Status status = injector_.Ask("open-random", path);
  if (status.ok()) status = FileSystemWrapper::NewRandomAccessFile(path, options, file, debug);
  if (status.ok()) *file = std::make_unique<RandomAccess>(std::move(*file), injector_, path);
  return status;
}

Status FailingFiles::NewWritableFile(const std::string& path, const Opening& options,
                                     std::unique_ptr<rocksdb::FSWritableFile>* file, Debug* debug) {
  Status status = injector_.Ask("open-new", path);
  if (status.ok()) status = FileSystemWrapper::NewWritableFile(path, options, file, debug);
  if (status.ok()) *file = std::make_unique<Writable>(std::move(*file), injector_, path);
  return status;
}

Status FailingFiles::ReopenWritableFile(const std::string& path, const Opening& options,
                                        std::unique_ptr<rocksdb::FSWritableFile>* file,
                                        Debug* debug) {
  Status status = injector_.Ask("open-again", path);
  if (status.ok()) status = FileSystemWrapper::ReopenWritableFile(path, options, file, debug);
  if (status.ok()) *file = std::make_unique<Writable>(std::move(*file), injector_, path);
  return status;
}

Status FailingFiles::NewRandomRWFile(const std::string& path, const Opening& options,
                                     std::unique_ptr<rocksdb::FSRandomRWFile>* file, Debug* debug) {
  Status status = injector_.Ask("open-in-place", path);
  if (status.ok()) status = FileSystemWrapper::NewRandomRWFile(path, options, file, debug);
  if (status.ok()) *file = std::make_unique<InPlace>(std::move(*file), injector_, path);
  return status;
}

Status FailingFiles::NewDirectory(const std::string& path, const Options& options,
                                  std::unique_ptr<rocksdb::FSDirectory>* file, Debug* debug) {
  Status status = injector_.Ask("open-dir", path);
  if (status.ok()) status = FileSystemWrapper::NewDirectory(path, options, file, debug);
  if (status.ok()) *file = std::make_unique<Directory>(std::move(*file), injector_, path);
  return status;
}

Status FailingFiles::FileExists(const std::string& path, const Options& options, Debug* debug) {
  const Status asked = injector_.Ask("exists", path);
  return asked.ok() ? FileSystemWrapper::FileExists(path, options, debug) : asked;
}

Status FailingFiles::GetChildren(const std::string& path, const Options& options,
                                 std::vector<std::string>* children, Debug* debug) {
  const Status asked = injector_.Ask("list", path);
  return asked.ok() ? FileSystemWrapper::GetChildren(path, options, children, debug) : asked;
}

Status FailingFiles::GetChildrenFileAttributes(const std::string& path, const Options& options,
                                               std::vector<rocksdb::FileAttributes>* children,
                                               Debug* debug) {
  const Status asked = injector_.Ask("list", path);
  return asked.ok() ? FileSystemWrapper::GetChildrenFileAttributes(path, options, children, debug)
                    : asked;
}

Status FailingFiles::DeleteFile(const std::string& path, const Options& options, Debug* debug) {
  const Status asked = injector_.Ask("delete", path);
  return asked.ok() ? FileSystemWrapper::DeleteFile(path, options, debug) : asked;
}

Status FailingFiles::Truncate(const std::string& path, std::size_t size, const Options& options,
                              Debug* debug) {
  const Status asked = injector_.Ask("shorten", path);
  return asked.ok() ? FileSystemWrapper::Truncate(path, size, options, debug) : asked;
}

Status FailingFiles::CreateDir(const std::string& path, const Options& options, Debug* debug) {
  const Status asked = injector_.Ask("mkdir", path);
  return asked.ok() ? FileSystemWrapper::CreateDir(path, options, debug) : asked;
}

Status FailingFiles::CreateDirIfMissing(const std::string& path, const Options& options,
                                        Debug* debug) {
  const Status asked = injector_.Ask("mkdir", path);
  return asked.ok() ? FileSystemWrapper::CreateDirIfMissing(path, options, debug) : asked;
}

Status FailingFiles::GetFileSize(const std::string& path, const Options& options,
                                 std::uint64_t* size, Debug* debug) {
  const Status asked = injector_.Ask("size", path);
  return asked.ok() ? FileSystemWrapper::GetFileSize(path, options, size, debug) : asked;
}

Status FailingFiles::GetFileModificationTime(const std::string& path, const Options& options,
                                             std::uint64_t* time, Debug* debug) {
  const Status asked = injector_.Ask("time", path);
  return asked.ok() ? FileSystemWrapper::GetFileModificationTime(path, options, time, debug)
                    : asked;
}

Status FailingFiles::RenameFile(const std::string& from, const std::string& to,
                                const Options& options, Debug* debug) {
  const Status asked = injector_.Ask("rename", to);
  return asked.ok() ? FileSystemWrapper::RenameFile(from, to, options, debug) : asked;
}

Status FailingFiles::LinkFile(const std::string& from, const std::string& to,
                              const Options& options, Debug* debug) {
  const Status asked = injector_.Ask("link", to);
  return asked.ok() ? FileSystemWrapper::LinkFile(from, to, options, debug) : asked;
}

Status FailingFiles::AreFilesSame(const std::string& one, const std::string& other,
                                  const Options& options, bool* same, Debug* debug) {
  const Status asked = injector_.Ask("same", one);
  return asked.ok() ? FileSystemWrapper::AreFilesSame(one, other, options, same, debug) : asked;
}

Status FailingFiles::LockFile(const std::string& path, const Options& options,
                              rocksdb::FileLock** lock, Debug* debug) {
  const Status asked = injector_.Ask("lock", path);
  return asked.ok() ? FileSystemWrapper::LockFile(path, options, lock, debug) : asked;
}

Status FailingFiles::UnlockFile(rocksdb::FileLock* lock, const Options& options, Debug* debug) {
  const Status asked = injector_.Ask("unlock", "LOCK");
  return asked.ok() ? FileSystemWrapper::UnlockFile(lock, options, debug) : asked;
}

Status FailingFiles::GetFreeSpace(const std::string& path, const Options& options,
                                  std::uint64_t* bytes, Debug* debug) {
  const Status asked = injector_.Ask("free-space", path);
  return asked.ok() ? FileSystemWrapper::GetFreeSpace(path, options, bytes, debug) : asked;
}

Status FailingFiles::IsDirectory(const std::string& path, const Options& options, bool* is,
                                 Debug* debug) {
  const Status asked = injector_.Ask("is-dir", path);
  return asked.ok() ? FileSystemWrapper::IsDirectory(path, options, is, debug) : asked;
}

Status FailingFiles::GetAbsolutePath(const std::string& path, const Options& options,
                                     std::string* absolute, Debug* debug) {
  const Status asked = injector_.Ask("path", path);
  return asked.ok() ? FileSystemWrapper::GetAbsolutePath(path, options, absolute, debug) : asked;
}

}  // namespace onced::fault
