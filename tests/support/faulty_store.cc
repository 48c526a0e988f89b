#include "tests/support/faulty_store.h"

namespace onced {

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

void FaultyStore::HoldDurability() {
  MutexLock lock(mutex_);
  holding_ = true;
}

void FaultyStore::ReleaseDurability() {
  std::vector<Held> held;
  {
    MutexLock lock(mutex_);
    holding_ = false;
    held.swap(held_);
  }
  for (Held& outcome : held) std::move(outcome.durable)(outcome.status);
}

int FaultyStore::writes() const {
  MutexLock lock(mutex_);
  return writes_;
}

// The body runs between two units of the real store's, so that this one decides
// what becomes of its changes: one reads, and the other writes if it may. That
// is as good as one, since nobody else runs a unit on the same shard meanwhile.
void FaultyStore::Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) {
  const absl::Status usable = FailedEarlier();
  if (usable.ok()) {
    Load(*work);
  } else {
    for (UnitOfWork::Entry& entry : work->entries()) entry.read_status = usable;
  }
  body(*work);
  absl::Status outcome = usable;
  if (usable.ok() && work->changed()) {
    const std::optional<Landing> fails = CountWrite();
    const absl::Status saved = fails == Landing::kIsLost ? absl::OkStatus() : Save(*work);
    outcome = fails.has_value() ? absl::UnavailableError("fake: the write failed") : saved;
  }
  Tell({std::move(work), std::move(outcome), std::move(durable)});
}

void FaultyStore::Load(UnitOfWork& work) {
  auto reads = std::make_unique<UnitOfWork>();
  std::vector<UnitOfWork::Slot> slots;
  for (const UnitOfWork::Entry& entry : work.entries()) {
    slots.push_back(reads->Want(entry.shard, entry.key));
  }
  real_.Run(
      std::move(reads),
      [&work, &slots](UnitOfWork& read) {
        for (std::size_t i = 0; i < slots.size(); ++i) {
          UnitOfWork::Entry& entry = work.entries()[i];
          entry.read_status = read.ReadStatus(slots[i]);
          entry.record = read.Find(slots[i]);
          const Fence next = read.NextFence(slots[i], absl::UnixEpoch());
          work.SetLastFence(entry.shard, {next.value - 1});
        }
      },
      [](const absl::Status&) {});  // Ignored: nothing was changed.
  MutexLock lock(mutex_);
  for (UnitOfWork::Entry& entry : work.entries()) {
    for (const BadRead& bad : bad_reads_) {
      if (bad.key == entry.key) entry.read_status = bad.status, entry.record.reset();
    }
  }
}

absl::Status FaultyStore::Save(const UnitOfWork& work) {
  auto writes = std::make_unique<UnitOfWork>();
  for (const UnitOfWork::Entry& entry : work.entries()) writes->Want(entry.shard, entry.key);
  absl::Status saved;
  real_.Run(
      std::move(writes),
      [&work](UnitOfWork& write) {
        for (std::size_t i = 0; i < work.entries().size(); ++i) {
          const UnitOfWork::Entry& entry = work.entries()[i];
          if (!entry.changed) continue;
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
  MutexLock lock(mutex_);
  ++writes_;
  if (writes_ != fail_at_) return std::nullopt;
  failed_ = true;
  return landing_;
}

absl::Status FaultyStore::FailedEarlier() const {
  MutexLock lock(mutex_);
  if (!failed_) return absl::OkStatus();
  return absl::UnavailableError("fake: an earlier write failed");
}

void FaultyStore::Tell(Held outcome) {
  {
    MutexLock lock(mutex_);
    if (holding_) return held_.push_back(std::move(outcome));
  }
  std::move(outcome.durable)(outcome.status);
}

absl::Status FaultyStore::RaiseClockMark(absl::Time mark) {
  {
    MutexLock lock(mutex_);
    if (mark <= real_.clock_mark()) return absl::OkStatus();
    if (fail_clock_mark_) failed_ = true;
    if (failed_) return absl::UnavailableError("fake: the clock mark was not written");
  }
  return real_.RaiseClockMark(mark);
}

}  // namespace onced
