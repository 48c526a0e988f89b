// A file system on which no file can be opened any more, once somebody says so:
// what works through many files ends soon, and with an error.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "rocksdb/env.h"

namespace onced {

// Threads: any.
class StoppableEnv final : public rocksdb::EnvWrapper {
 public:
  StoppableEnv(rocksdb::Env& env, const std::atomic<bool>& stop) : EnvWrapper(&env), stop_(stop) {}

  const char* Name() const override { return "StoppableEnv"; }
  rocksdb::Status NewSequentialFile(const std::string& name,
                                    std::unique_ptr<rocksdb::SequentialFile>* file,
                                    const rocksdb::EnvOptions& options) override {
    return stop_ ? Stopped() : EnvWrapper::NewSequentialFile(name, file, options);
  }
  rocksdb::Status NewRandomAccessFile(const std::string& name,
                                      std::unique_ptr<rocksdb::RandomAccessFile>* file,
                                      const rocksdb::EnvOptions& options) override {
    return stop_ ? Stopped() : EnvWrapper::NewRandomAccessFile(name, file, options);
  }
  rocksdb::Status NewWritableFile(const std::string& name,
                                  std::unique_ptr<rocksdb::WritableFile>* file,
                                  const rocksdb::EnvOptions& options) override {
    return stop_ ? Stopped() : EnvWrapper::NewWritableFile(name, file, options);
  }

 private:
  static rocksdb::Status Stopped() { return rocksdb::Status::Aborted("stopping"); }

  const std::atomic<bool>& stop_;
};

}  // namespace onced
