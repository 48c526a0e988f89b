#include <memory>
#include <vector>

#include "rocksdb/env.h"
#include "server/storage/codec/crc32c.h"
#include "server/storage/codec/wire.h"
#include "server/storage/rocksdb/log_walk.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {
namespace {

constexpr char kFile[] = "/store/000007.log";
constexpr std::size_t kBlock = 32'768;
constexpr std::size_t kHeader = 7;

std::uint32_t Mask(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8; }

// One part of an entry, with a checksum that fits.
std::string Part(std::uint8_t type, absl::string_view data) {
  std::string typed(1, static_cast<char>(type));
  typed.append(data.data(), data.size());
  std::string part;
  const auto put = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) part.push_back(static_cast<char>(value >> 8 * i));
  };
  put(Mask(Crc32c(typed)), 4);
  put(static_cast<std::uint32_t>(data.size()), 2);
  return part + typed;
}

LogContent Walk(absl::string_view contents) {
  static rocksdb::Env* const env = rocksdb::NewMemEnv(rocksdb::Env::Default());
  static const bool made = env->CreateDirIfMissing("/store").ok();
  Demand(made, "can't make the directory");
  std::unique_ptr<rocksdb::WritableFile> file;
  Demand(env->NewWritableFile(kFile, &file, rocksdb::EnvOptions()).ok(), "can't make the file");
  Demand(file->Append({contents.data(), contents.size()}).ok(), "can't write the file");
  file.reset();
  const auto content = WalkLog(*env, kFile);
  Demand(content.ok(), "a log can be looked at, whatever it holds");
  return *content;
}

// Parts of any kind and order, cut anywhere, in blocks as long as theirs are.
std::string AnyParts(Draw draw) {
  std::string log;
  while (!draw.AtEnd() && log.size() < 4 * kBlock) {
    const std::size_t left = kBlock - log.size() % kBlock;
    if (left < kHeader) {
      log.append(left, '\0');
      continue;
    }
    const auto type = static_cast<std::uint8_t>(draw.Below(6));
    const std::string data = draw.String(left - kHeader);
    log.append(draw.OneIn(16) ? std::string(data) : Part(type, data));
  }
  return log;
}

// Whole entries that follow each other, cut at the end: one run, up to the cut.
void WalkWholeLog(Draw draw) {
  std::string log;
  std::uint64_t next = 1 + draw.Int<std::uint32_t>();
  const std::uint64_t first = next;
  std::vector<std::pair<std::size_t, std::uint64_t>> ends;  // Where an entry ends, its last write.
  while (!draw.AtEnd() && log.size() + 300 < kBlock) {
    const auto count = static_cast<std::uint32_t>(1 + draw.Below(5));
    WireWriter head;
    head.Int(next);
    head.Int(count);
    std::string data = std::move(head).Seal().substr(0, 12);
    data += std::string(draw.View(draw.Below(200)));
    log += Part(1, data);
    next += count;
    ends.emplace_back(log.size(), next - 1);
  }
  const std::size_t cut = draw.Int<std::uint16_t>() % (log.size() + 1);
  std::uint64_t last = 0;
  for (const auto& [end, write] : ends) last = end <= cut ? write : last;
  const LogContent content = Walk(absl::string_view(log).substr(0, cut));
  if (last == 0) return Demand(content.runs.empty(), "writes out of nothing");
  Demand(content.begins && content.runs == std::vector<WriteRun>{{first, last}}, "another run");
}

}  // namespace

void LogFile(absl::string_view bytes) {
  // Ignored: what can be said of any bytes is that they are looked at to an end.
  (void)Walk(bytes);
  (void)Walk(AnyParts(Draw(bytes)));
  WalkWholeLog(Draw(bytes));
}

}  // namespace onced::fuzz
