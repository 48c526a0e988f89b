#include "server/storage/rocksdb/file_marks.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "server/storage/codec/crc32c.h"
#include "server/storage/rocksdb/rocks_status.h"

namespace onced {
namespace {

constexpr absl::string_view kManifest = "MANIFEST-";
constexpr absl::string_view kLog = ".log";

std::string LogName(std::uint64_t number) { return absl::StrFormat("%06d.log", number); }
std::string ManifestName(std::uint64_t number) { return absl::StrFormat("MANIFEST-%06d", number); }

std::optional<std::uint64_t> NumberIn(absl::string_view digits) {
  std::uint64_t number = 0;
  if (!absl::SimpleAtoi(digits, &number)) return std::nullopt;
  return number;
}
std::optional<std::uint64_t> NumberOfLog(absl::string_view name) {
  if (!absl::EndsWith(name, kLog)) return std::nullopt;
  return NumberIn(name.substr(0, name.size() - kLog.size()));
}
std::optional<std::uint64_t> NumberOfManifest(absl::string_view path) {
  const std::size_t at = path.rfind(kManifest);
  if (at == absl::string_view::npos) return std::nullopt;
  return NumberIn(path.substr(at + kManifest.size()));
}

bool IsMissing(const rocksdb::Status& status) {
  return status.IsNotFound() || status.IsPathNotFound();
}

// Logs with a smaller number hold nothing that isn't in other files as well.
std::uint64_t OldestLogNeeded(rocksdb::DB& db) {
  std::uint64_t number = 0;
  // Ignored: at 0, all of them count.
  (void)db.GetIntProperty(rocksdb::DB::Properties::kMinLogNumberToKeep, &number);
  return number;
}

// In their order. One that RocksDB retires meanwhile may be missing.
absl::StatusOr<std::vector<FileMark>> LogsFrom(rocksdb::Env& env, const std::string& directory,
                                               std::uint64_t oldest) {
  std::vector<std::string> names;
  const rocksdb::Status listed = env.GetChildren(directory, &names);
  if (!listed.ok()) return FromRocks("listing the logs", listed);
  std::vector<FileMark> logs;
  for (const std::string& name : names) {
    const std::optional<std::uint64_t> number = NumberOfLog(name);
    if (!number.has_value() || *number < oldest) continue;
    FileMark log{.number = *number};
    const rocksdb::Status sized = env.GetFileSize(absl::StrCat(directory, "/", name), &log.bytes);
    if (sized.ok()) logs.push_back(log);
    if (!sized.ok() && !IsMissing(sized)) return FromRocks("looking at a log", sized);
  }
  std::sort(logs.begin(), logs.end(),
            [](const FileMark& a, const FileMark& b) { return a.number < b.number; });
  return logs;
}

// Of its first so many bytes; of fewer, if there are no more.
absl::StatusOr<std::uint32_t> ChecksumOf(rocksdb::Env& env, const std::string& path,
                                         std::uint64_t bytes) {
  std::unique_ptr<rocksdb::SequentialFile> file;
  rocksdb::Status status = env.NewSequentialFile(path, &file, rocksdb::EnvOptions());
  std::string buffer(bytes, '\0');
  rocksdb::Slice read;
  if (status.ok()) status = file->Read(buffer.size(), &read, buffer.data());
  if (!status.ok()) return FromRocks("reading the MANIFEST", status);
  return Crc32c({read.data(), read.size()});
}

absl::StatusOr<ManifestMark> ManifestOf(rocksdb::DB& db, const ManifestMark& last) {
  ManifestMark manifest;
  std::vector<std::string> names;
  const rocksdb::Status listed = db.GetLiveFiles(names, &manifest.bytes, /*flush_memtable=*/false);
  if (!listed.ok()) return FromRocks("listing the files", listed);
  for (const std::string& name : names) {
    manifest.number = NumberOfManifest(name).value_or(manifest.number);
  }
  // It changes rarely, and is read again only then.
  if (manifest.number == last.number && manifest.bytes == last.bytes) return last;
  const auto checksum = ChecksumOf(
      *db.GetEnv(), absl::StrCat(db.GetName(), "/", ManifestName(manifest.number)), manifest.bytes);
  if (!checksum.ok()) return checksum.status();
  manifest.checksum = *checksum;
  return manifest;
}

absl::Status Shorter(absl::string_view name, std::uint64_t is, std::uint64_t was) {
  return absl::DataLossError(absl::StrCat("the file ", name, " has ", is,
                                          " bytes, but of at least ", was,
                                          " it was known that they"
                                          " were durable"));
}

// The file that CURRENT names, as it was for the reading above: RocksDB starts a
// new one at each opening.
absl::Status CheckManifest(rocksdb::DB& db, const ManifestMark& mark) {
  if (mark.number == 0) return absl::OkStatus();
  rocksdb::Env& env = *db.GetEnv();
  std::string current;
  rocksdb::Status read = rocksdb::ReadFileToString(&env, db.GetName() + "/CURRENT", &current);
  if (!read.ok()) return FromRocks("reading CURRENT", read);
  while (!current.empty() && current.back() == '\n') current.pop_back();
  const std::uint64_t number = NumberOfManifest(current).value_or(0);
  if (number > mark.number) return absl::OkStatus();  // Made since, from all that was known.
  if (number < mark.number) {
    return absl::DataLossError(absl::StrCat("the file CURRENT names ", current,
                                            ", which is older than ", ManifestName(mark.number),
                                            ", the one that was in use"));
  }
  std::uint64_t bytes = 0;
  read = env.GetFileSize(absl::StrCat(db.GetName(), "/", ManifestName(number)), &bytes);
  if (!read.ok()) return FromRocks("looking at the MANIFEST", read);
  if (bytes < mark.bytes) return Shorter(ManifestName(number), bytes, mark.bytes);
  const auto checksum =
      ChecksumOf(env, absl::StrCat(db.GetName(), "/", ManifestName(number)), mark.bytes);
  if (!checksum.ok()) return checksum.status();
  if (*checksum == mark.checksum) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the first ", mark.bytes, " bytes of the file ",
                                          ManifestName(number),
                                          " are not those that were durable"));
}

// Whether the logs that are needed hold all writes from the first one in them to
// number `last`.
absl::Status CheckNoHole(const std::string& name, const LogContent& log, std::uint64_t last,
                         std::optional<std::uint64_t>& next) {
  for (const WriteRun& run : log.runs) {
    if (next.has_value() && run.first != *next && *next <= last) {
      return absl::DataLossError(absl::StrCat("the writes from number ", *next, " on, before ",
                                              run.first, " in the file ", name, ", are missing"));
    }
    next = run.last + 1;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MarkFiles(rocksdb::DB& db, const ManifestMark& last, WatermarkValue& value) {
  absl::StatusOr<std::vector<FileMark>> logs =
      LogsFrom(*db.GetEnv(), db.GetName(), OldestLogNeeded(db));
  if (!logs.ok()) return logs.status();
  const absl::StatusOr<ManifestMark> manifest = ManifestOf(db, last);
  if (!manifest.ok()) return manifest.status();
  value.logs = *std::move(logs);
  value.manifest = *manifest;
  return absl::OkStatus();
}

absl::StatusOr<LogContents> WalkLogs(rocksdb::Env& env, const std::string& directory,
                                     std::uint64_t oldest) {
  const absl::StatusOr<std::vector<FileMark>> logs = LogsFrom(env, directory, oldest);
  if (!logs.ok()) return logs.status();
  LogContents contents;
  std::uint64_t last = 0;
  for (const FileMark& log : *logs) {
    const std::string name = LogName(log.number);
    absl::StatusOr<LogContent> content = WalkLog(env, absl::StrCat(directory, "/", name));
    if (!content.ok()) return content.status();
    for (const WriteRun& run : content->runs) {
      if (run.first <= last) {
        return absl::DataLossError(absl::StrCat("the file ", name, " has write number ", run.first,
                                                " after number ", last));
      }
      last = run.last;
    }
    contents[log.number] = *std::move(content);
  }
  return contents;
}

absl::Status CheckFiles(rocksdb::DB& db, const WatermarkValue& value, const LogContents& logs) {
  const absl::Status manifest = CheckManifest(db, value.manifest);
  if (!manifest.ok()) return manifest;
  const std::uint64_t oldest = OldestLogNeeded(db);
  for (const FileMark& log : value.logs) {
    if (log.number < oldest) continue;
    std::uint64_t bytes = 0;
    const std::string name = LogName(log.number);
    const rocksdb::Status sized =
        db.GetEnv()->GetFileSize(absl::StrCat(db.GetName(), "/", name), &bytes);
    if (IsMissing(sized)) {
      return absl::DataLossError(absl::StrCat("the file ", name, " is missing"));
    }
    if (!sized.ok()) return FromRocks("looking at a log", sized);
    if (bytes < log.bytes) return Shorter(name, bytes, log.bytes);
    const auto found = logs.find(log.number);
    if (log.bytes > 0 && found != logs.end() && !found->second.begins) {
      return absl::DataLossError(absl::StrCat("the file ", name, " does not begin with an entry"));
    }
  }
  std::optional<std::uint64_t> next;
  for (auto log = logs.lower_bound(oldest); log != logs.end(); ++log) {
    const absl::Status whole = CheckNoHole(LogName(log->first), log->second, value.sequence, next);
    if (!whole.ok()) return whole;
  }
  return absl::OkStatus();
}

}  // namespace onced
