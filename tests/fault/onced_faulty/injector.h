// Which operation on which file fails.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "rocksdb/io_status.h"
#include "server/base/mutex.h"

namespace onced::fault {

// A file's kind by its name, such as "wal" of 000012.log; "dir" of one that has
// none of RocksDB's names.
std::string ClassOf(const std::string& path);

// Operation: before each operation on a file it is asked whether that may happen.
// Threads:   any.
// Limits:    of one kind of failure.
class Injector {
 public:
  struct Failure {
    std::string operation;  // "append", "sync": see failing_files.cc.
    std::string file_class;
    bool no_space = false;    // ENOSPC. Else EIO.
    std::uint64_t first = 1;  // Of those that match, from 1.
    bool all_later = false;   // And not that one alone.
  };
  // "OP:CLASS:EIO:3" is the third one, "OP:CLASS:ENOSPC:3+" that and all later.
  static std::optional<Failure> Parse(const std::string& text);

  struct Options {
    std::optional<Failure> failure;
    // The process kills itself in place of that operation, of any kind; 0: it doesn't.
    std::uint64_t die_at = 0;
    // It is armed while there is this file; empty: always. What happens while it
    // isn't doesn't count.
    std::string armed_by;
    // "OP CLASS" is added to it for every operation; empty: nothing is.
    std::string trace;
  };
  explicit Injector(Options options);
  ~Injector();
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;

  // Not OK: it fails so. The first failure is told on the standard output.
  rocksdb::IOStatus Ask(const std::string& operation, const std::string& path)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Constant after construction.
  const Options options_;
  const int trace_;  // A descriptor, or -1.

  // Shared.
  Mutex mutex_;
  std::uint64_t asked_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t matched_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace onced::fault
