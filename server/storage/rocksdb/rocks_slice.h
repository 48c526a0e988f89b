// RocksDB's view of bytes as ours: its own conversion is to std::string_view, which
// Debian's Abseil is not.
#pragma once

#include "absl/strings/string_view.h"
#include "rocksdb/slice.h"

namespace onced {

inline absl::string_view ViewOf(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

}  // namespace onced
