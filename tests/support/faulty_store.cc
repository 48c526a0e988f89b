#include "tests/support/faulty_store.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace onced {
namespace {

// To that of `from`: perhaps no record has it that is still there.
void RaiseFence(const UnitOfWork& from, ShardId shard, UnitOfWork& to, UnitOfWork::Slot any) {
  for (const auto& [raised, fence] : from.RaisedFences()) {
    if (raised != shard) continue;
    Record record;
    record.fence = fence;
    to.Put(any, record);
  }
}

}  // namespace

void FaultyStore::FailWrite(int nth, Landing landing) {
  MutexLock lock(mutex_);
  fail_at_ = writes_ + nth;
  landing_ = landing;
}

void FaultyStore::FailReads(const RecordKey& key, absl::Status status) {
  MutexLock lock(mutex_);
  bad_reads_.push_back({key, std::move(status)});
}

void FaultyStore::HealReads() {
  MutexLock lock(mutex_);
  bad_reads_.clear();
}

void FaultyStore::FailClockMark() {
  MutexLock lock(mutex_);
  fail_clock_mark_ = true;
}

int FaultyStore::writes() const {
  MutexLock lock(mutex_);
  return writes_;
}

// ---- A slow disk ----

void FaultyStore::HoldDurability() {
  MutexLock lock(mutex_);
  holding_ = true;
}

// Holds on while it writes, so that nothing overtakes what is held.
void FaultyStore::ReleaseDurability() {
  while (true) {
    while (auto unit = Next(std::numeric_limits<Turn>::max())) Finish(*std::move(unit));
    MutexLock lock(mutex_);
    if (!held_.empty()) continue;
    holding_ = false;
    return;
  }
}

bool FaultyStore::ReleaseSome(std::size_t units) {
  const Turn last = TurnOf(units);
  bool told = false;
  while (auto unit = Next(last)) Finish(*std::move(unit)), told = true;
  return told;
}

void FaultyStore::LandSilently(std::size_t units) {
  const Turn last = TurnOf(units);
  MutexLock lock(mutex_);
  if (failed_) return;
  for (const Held& unit : held_) {
    if (unit.turn > last) return;
    // Ignored: nobody asks.
    if (unit.work != nullptr && unit.fails != Landing::kIsLost) Save(*unit.work).IgnoreError();
    if (unit.fails.has_value()) return;
  }
}

std::size_t FaultyStore::held() const {
  MutexLock lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      held_.begin(), held_.end(), [](const Held& unit) { return unit.work != nullptr; }));
}

FaultyStore::Turn FaultyStore::TurnOf(std::size_t units) const {
  MutexLock lock(mutex_);
  Turn last = 0;
  for (const Held& unit : held_) {
    if (unit.work != nullptr && units-- == 0) break;
    last = unit.turn;
  }
  return last;
}

std::optional<FaultyStore::Held> FaultyStore::Next(Turn last) {
  MutexLock lock(mutex_);
  if (held_.empty() || held_.front().turn > last) return std::nullopt;
  Held next = std::move(held_.front());
  held_.pop_front();
  return next;
}

// Its changes are forgotten only when it was told: who sees them before is told after it.
void FaultyStore::Finish(Held unit) {
  absl::Status outcome = FailedEarlier();
  if (outcome.ok() && unit.work != nullptr && unit.fails != Landing::kIsLost) {
    outcome = Save(*unit.work);
  }
  if (unit.fails.has_value()) {
    MutexLock lock(mutex_);
    failed_ = true;
    outcome = absl::UnavailableError("fake: the write failed");
  }
  std::move(unit.durable)(outcome);
  ForgetChanges(unit.turn);
}

void FaultyStore::ForgetChanges(Turn turn) {
  MutexLock lock(mutex_);
  absl::erase_if(changes_, [turn](const auto& change) { return change.second.turn <= turn; });
}

// ---- Units of work ----

// The body runs between two units of the real store's, so that this one decides
// what becomes of its changes: one reads, and the other writes if it may. That
// is as good as one, since nobody else runs a unit on the same shard meanwhile.
void FaultyStore::Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) {
  const absl::Status usable = FailedEarlier();
  Turn found = 0;
  if (usable.ok()) {
    found = Load(*work);
  } else {
    for (UnitOfWork::Entry& entry : work->entries()) entry.read_status = usable;
  }
  body(*work);
  if (!usable.ok()) return std::move(durable)(usable);
  Held unit{.durable = std::move(durable)};
  if (work->changed()) unit.work = std::move(work);
  if (!Keep(unit, found)) Finish(std::move(unit));
}

bool FaultyStore::Keep(Held& unit, Turn found) {
  MutexLock lock(mutex_);
  unit.turn = found;
  if (unit.work != nullptr) {
    unit.fails = CountWrite();
    unit.turn = static_cast<Turn>(writes_);
  }
  if (!holding_ || unit.turn == 0) return false;
  if (unit.work != nullptr) KeepChanges(*unit.work, unit.turn);
  InsertByTurn(std::move(unit));
  return true;
}

void FaultyStore::KeepChanges(const UnitOfWork& work, Turn turn) {
  for (const UnitOfWork::Entry& entry : work.entries()) {
    if (entry.changed) changes_.insert_or_assign(PlaceOf(entry), Change{entry.record, turn});
  }
  for (const auto& [shard, fence] : work.RaisedFences()) fences_[shard.value] = fence;
}

void FaultyStore::InsertByTurn(Held unit) {
  const auto later = std::find_if(held_.begin(), held_.end(),
                                  [&unit](const Held& other) { return other.turn > unit.turn; });
  held_.insert(later, std::move(unit));
}

FaultyStore::Turn FaultyStore::Load(UnitOfWork& work) {
  std::vector<std::size_t> others;
  const Turn found = LoadHeld(work, others);
  Read(work, others);
  return found;
}

// What is no longer held is in the real store: so this comes before that is read.
FaultyStore::Turn FaultyStore::LoadHeld(UnitOfWork& work, std::vector<std::size_t>& others) {
  MutexLock lock(mutex_);
  Turn found = 0;
  for (std::size_t i = 0; i < work.entries().size(); ++i) {
    UnitOfWork::Entry& entry = work.entries()[i];
    work.SetLastFence(entry.shard, fences_[entry.shard.value]);
    const auto change = changes_.find(PlaceOf(entry));
    if (change == changes_.end()) {
      others.push_back(i);
      continue;
    }
    entry.record = change->second.record;
    entry.durable = false;
    found = std::max(found, change->second.turn);
  }
  return found;
}

void FaultyStore::Read(UnitOfWork& work, const std::vector<std::size_t>& which) {
  auto reads = std::make_unique<UnitOfWork>();
  // All of them, for the fences of their shards.
  for (const UnitOfWork::Entry& entry : work.entries()) reads->Want(entry.shard, entry.key);
  real().Run(
      std::move(reads),
      [&](UnitOfWork& read) {
        for (const std::size_t i : which) {
          work.entries()[i].read_status = read.ReadStatus({i});
          work.entries()[i].record = read.Find({i});
        }
        for (std::size_t i = 0; i < work.entries().size(); ++i) {
          const Fence next = std::max(read.NextFence({i}, absl::UnixEpoch()),
                                      work.NextFence({i}, absl::UnixEpoch()));
          work.SetLastFence(work.entries()[i].shard, {next.value - 1});
        }
      },
      [](const absl::Status&) {});  // Ignored: nothing was changed.
  MutexLock lock(mutex_);
  for (const std::size_t i : which) {
    UnitOfWork::Entry& entry = work.entries()[i];
    for (const BadRead& bad : bad_reads_) {
      if (bad.key == entry.key) entry.read_status = bad.status, entry.record.reset();
    }
  }
}

absl::Status FaultyStore::Save(const UnitOfWork& work) {
  auto writes = std::make_unique<UnitOfWork>();
  for (const UnitOfWork::Entry& entry : work.entries()) writes->Want(entry.shard, entry.key);
  absl::Status saved;
  real().Run(
      std::move(writes),
      [&work](UnitOfWork& write) {
        for (std::size_t i = 0; i < work.entries().size(); ++i) {
          const UnitOfWork::Entry& entry = work.entries()[i];
          if (!entry.changed) continue;
          RaiseFence(work, entry.shard, write, {i});
          if (entry.record.has_value()) {
            write.Put({i}, *entry.record);
          } else {
            write.Erase({i});
          }
        }
      },
      [&saved](const absl::Status& status) { saved = status; });
  return saved;
}

std::optional<FaultyStore::Landing> FaultyStore::CountWrite() {
  ++writes_;
  return writes_ == fail_at_ ? std::optional(landing_) : std::nullopt;
}

absl::Status FaultyStore::FailedEarlier() const {
  MutexLock lock(mutex_);
  if (!failed_) return absl::OkStatus();
  return absl::UnavailableError("fake: an earlier write failed");
}

absl::Status FaultyStore::RaiseClockMark(absl::Time mark) {
  {
    MutexLock lock(mutex_);
    if (mark <= real().clock_mark()) return absl::OkStatus();
    if (fail_clock_mark_) failed_ = true;
    if (failed_) return absl::UnavailableError("fake: the clock mark was not written");
  }
  return real().RaiseClockMark(mark);
}

}  // namespace onced
