// The tables' names, their titles, and labels that several places use.
#pragma once

namespace onced::bench {

inline constexpr char kFreshTable[] = "fresh";
inline constexpr char kBatchTable[] = "batch";
inline constexpr char kWorkloadTable[] = "workloads";
inline constexpr char kOpenTable[] = "open";
inline constexpr char kWriterTable[] = "writer";
inline constexpr char kSizeTable[] = "size";
inline constexpr char kSweepTable[] = "sweep";
inline constexpr char kInstructionsTable[] = "instructions";

// What isn't a server.
inline constexpr char kDiskPeer[] = "fdatasync";
inline constexpr char kRocksPeer[] = "rocksdb";

// Variants.
inline constexpr char kNoWriter[] = "no writer";
inline constexpr char kOwnWriter[] = "a writer at the same onced";
inline constexpr char kOtherWriter[] = "the same writer at another onced";
inline constexpr char kFewRecords[] = "few live records";
inline constexpr char kManyRecords[] = "many live records";
inline constexpr char kQuiet[] = "quiet";
inline constexpr char kSweeping[] = "sweeper and compaction at work";

}  // namespace onced::bench
