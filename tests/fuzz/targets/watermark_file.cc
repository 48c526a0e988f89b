#include <memory>

#include "rocksdb/env.h"
#include "server/storage/codec/wire.h"
#include "server/storage/rocksdb/watermark.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {
namespace {

constexpr char kDirectory[] = "/store";
constexpr char kFile[] = "/store/WATERMARK";
constexpr std::size_t kSlotStride = 4'096;
constexpr std::size_t kLogsAt = 52;  // In a slot: where the number of logs stands.

// What a slot begins with, and a checksum that fits: a fuzzer can't guess that.
std::string Slot(Draw& draw) {
  WireWriter out;
  const bool first_version = draw.OneIn(4);
  out.Fixed(first_version ? "oncedwm1" : "oncedwm2", 8);
  // Less than the last turn there can be, which at one a millisecond takes for ever.
  out.Int(draw.Int<std::uint64_t>() >> 1);
  const std::size_t numbers = first_version ? 2 : 4;
  for (std::size_t i = 0; i < numbers; ++i) out.Int(draw.Int<std::uint64_t>());
  if (!first_version) {
    static_assert(kLogsAt == 8 + 5 * 8 + 4);
    out.Int(draw.Int<std::uint32_t>());
    const std::size_t logs = draw.Below(256);
    out.Int(static_cast<std::uint32_t>(logs));
    for (std::size_t i = 0; i < 2 * logs; ++i) out.Int(draw.Int<std::uint64_t>());
  }
  std::string slot = std::move(out).Seal();
  slot.resize(kSlotStride);
  return slot;
}

void Put(rocksdb::Env& env, absl::string_view contents) {
  std::unique_ptr<rocksdb::WritableFile> file;
  Demand(env.NewWritableFile(kFile, &file, rocksdb::EnvOptions()).ok(), "can't make the file");
  Demand(file->Append({contents.data(), contents.size()}).ok(), "can't write the file");
}

void Read(rocksdb::Env& env, absl::string_view contents) {
  Put(env, contents);
  const auto before = Watermark::Read(env, kDirectory);
  if (!before.ok()) {
    return Demand(absl::IsDataLoss(before.status()) || absl::IsFailedPrecondition(before.status()),
                  "refused as something else");
  }
  Demand(before->has_value(), "there is a file");
  Demand((*before)->logs.size() <= Watermark::kLogsMax, "too many logs");
}

// What is written is read, whatever the file held before.
void WriteOver(rocksdb::Env& env, Draw draw) {
  auto mark = Watermark::Open(env, kDirectory);
  if (!mark.ok()) return;
  WatermarkValue value{.sequence = draw.Int<std::uint64_t>(), .store = draw.Int<std::uint64_t>()};
  value.manifest = {draw.Int<std::uint64_t>(), draw.Int<std::uint64_t>(),
                    draw.Int<std::uint32_t>()};
  const std::size_t logs = draw.Below(Watermark::kLogsMax + 1);
  for (std::size_t i = 0; i < logs; ++i) {
    value.logs.push_back({draw.Int<std::uint64_t>(), draw.Int<std::uint64_t>()});
  }
  Demand((*mark)->Write(value).ok(), "can't write");
  const auto read = Watermark::Read(env, kDirectory);
  Demand(read.ok() && read->has_value() && **read == value, "read something else back");
}

}  // namespace

void WatermarkFile(absl::string_view bytes) {
  static rocksdb::Env* const env = rocksdb::NewMemEnv(rocksdb::Env::Default());
  static const bool made = env->CreateDirIfMissing(kDirectory).ok();
  Demand(made, "can't make the directory");
  Read(*env, bytes);
  Draw draw(bytes);
  const std::string slots = Slot(draw) + Slot(draw);
  Read(*env, slots);
  WriteOver(*env, draw);
}

}  // namespace onced::fuzz
