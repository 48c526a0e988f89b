#include "server/storage/rocksdb/sweeper.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace onced {
namespace {

// What is worth a rewrite, neighbours together.
std::vector<SpacePiece> Choose(std::vector<SpacePiece> pieces) {
  std::vector<SpacePiece> chosen;
  bool neighbour = false;
  for (SpacePiece& piece : pieces) {
    const bool worth = piece.useless_share() >= Sweep::kUselessShareMin;
    if (worth && neighbour && chosen.back().bytes + piece.bytes <= Sweep::kPieceBytes) {
      chosen.back().to = std::move(piece.to);
      chosen.back().bytes += piece.bytes;
      chosen.back().useless_bytes += piece.useless_bytes;
      chosen.back().paths.insert(chosen.back().paths.end(), piece.paths.begin(), piece.paths.end());
    } else if (worth) {
      chosen.push_back(std::move(piece));
    }
    neighbour = worth;
  }
  return chosen;
}

std::uint64_t UselessBytes(const std::vector<SpacePiece>& pieces) {
  std::uint64_t bytes = 0;
  for (const SpacePiece& piece : pieces) bytes += piece.useless_bytes;
  return bytes;
}

}  // namespace

Sweep::Sweep(RocksStore& disk, Store& store, const Clock& clock, Telemetry& telemetry,
             std::uint64_t bytes_per_second)
    : disk_(disk), store_(store), clock_(clock), telemetry_(telemetry), space_(disk.space()) {
  space_.SetRate(bytes_per_second);
}

absl::Status Sweep::Run() {
  absl::Status status = disk_.FailedEarlier();
  if (status.ok()) status = space_.FlushIdle();
  if (status.ok()) status = store_.RaiseClockMark(clock_.Now());
  Left left;
  for (std::uint32_t shard = 0; status.ok() && shard < space_.shards(); ++shard) {
    status = stopped_ ? absl::CancelledError("stopped") : SweepShard({shard}, left);
  }
  if (!status.ok()) return status;
  useless_bytes_ = left.useless_bytes;
  last_ended_us_ = absl::ToUnixMicros(clock_.Now());
  if (absl::IsDataLoss(left.unread)) {
    return absl::DataLossError(absl::StrCat(left.unread.message(), ": restore a backup"));
  }
  if (!left.unread.ok()) return left.unread;
  if (left.for_want_of_room == 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("no room to rewrite ", left.for_want_of_room, " bytes of files"));
}

absl::Status Sweep::SweepShard(ShardId shard, Left& left) {
  auto pieces = space_.Look(shard);
  if (!pieces.ok()) return Leave(pieces.status(), left);
  left.useless_bytes += UselessBytes(*pieces);
  for (const SpacePiece& piece : Choose(*std::move(pieces))) {
    // What is rewritten would only take more, as long as a backup holds the old files.
    if (disk_.backing_up()) return absl::CancelledError("a backup is being made");
    // Asked each time: others write meanwhile.
    if (!disk_.HasRoomFor(piece.bytes)) {
      left.for_want_of_room += piece.bytes;
      continue;
    }
    const absl::Status verified = space_.Verify(piece);
    if (!verified.ok()) {
      const absl::Status cancelled = Leave(verified, left);
      if (!cancelled.ok()) return cancelled;
      continue;
    }
    const std::uint64_t before = space_.BytesOf(shard);
    const absl::Status rewritten = space_.Rewrite(piece);
    if (!rewritten.ok()) return rewritten;
    const std::uint64_t after = space_.BytesOf(shard);
    telemetry_.Rewritten(piece.bytes, before - std::min(before, after));
    left.useless_bytes -= piece.useless_bytes;
  }
  return absl::OkStatus();
}

// Of what was only read: what else is there is swept all the same.
absl::Status Sweep::Leave(const absl::Status& failure, Left& left) {
  if (absl::IsCancelled(failure)) return failure;
  const bool graver = absl::IsDataLoss(failure) && !absl::IsDataLoss(left.unread);
  if (left.unread.ok() || graver) left.unread = failure;
  return absl::OkStatus();
}

void Sweep::Stop() {
  stopped_ = true;
  space_.Stop();
}

Sweeper::Sweeper(absl::Duration interval, Sweep& sweep, Telemetry& telemetry)
    : sweep_(sweep), worker_(interval, [&sweep, &telemetry] {
        const absl::Status swept = sweep.Run();
        if (!absl::IsCancelled(swept)) telemetry.Swept(swept.message());
      }) {}

}  // namespace onced
