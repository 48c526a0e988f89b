#include "server/storage/rocksdb/committer.h"

#include <utility>

#include "rocksdb/db.h"
#include "rocksdb/perf_level.h"
#include "server/base/thread_name.h"
#include "server/base/yield_while_growing.h"
#include "server/storage/rocksdb/rocks_status.h"

namespace onced {
namespace {

// u64 sequence, which RocksDB fills in, and u32 count of changes, little-endian.
constexpr std::size_t kCountAt = 8;
constexpr std::size_t kHeadBytes = 12;

constexpr int kYieldsMax = 8;

void SetCount(std::string& records, std::uint32_t count) {
  for (std::size_t i = 0; i < kHeadBytes - kCountAt; ++i) {
    records[kCountAt + i] = static_cast<char>(count >> (8 * i));
  }
}

}  // namespace

Committer::Committer(rocksdb::DB& db, rocksdb::ColumnFamilyHandle& meta_family, bool sync,
                     AfterWrite after_write, WriteMeter meter)
    : db_(db),
      meta_family_(meta_family),
      sync_(sync),
      after_write_(std::move(after_write)),
      meter_(meter),
      filling_{.ticket = {1}},
      runner_([this] { Run(); }) {}

Committer::~Committer() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  work_.NotifyOne();
  runner_.join();
}

Ticket Committer::Add(const Changes& changes, Told told) {
  Ticket ticket;
  bool was_empty = false;
  {
    const MutexLock lock(mutex_);
    while (!filling_.empty() && filling_.bytes() + changes.records.GetDataSize() > kBytesMax) {
      room_.Wait(mutex_);
    }
    was_empty = filling_.empty();
    Append(changes);
    filling_.told.push_back(std::move(told));
    ticket = filling_.ticket;
  }
  if (was_empty) work_.NotifyOne();
  return ticket;
}

void Committer::Append(const Changes& changes) {
  const std::string& records = changes.records.Data();
  filling_.records.append(records, filling_.records.empty() ? 0 : kHeadBytes, std::string::npos);
  filling_.count += changes.records.Count();
  for (const auto& [key, value] : changes.meta) filling_.meta[key] = value;
}

void Committer::WhenDurable(Ticket ticket, Told told) {
  absl::Status failure;
  if (!IsDurable(ticket)) {
    const MutexLock lock(mutex_);
    if (ticket == filling_.ticket) return filling_.told.push_back(std::move(told));
    failure = failure_;
    if (failure.ok() && !IsDurable(ticket)) return asked_.push_back(std::move(told));
  }
  std::move(told)(failure);
}

absl::Status Committer::AddAndWait(const Changes& changes) {
  Mutex mutex;
  CondVar done;
  bool told = false;
  absl::Status outcome;
  Add(changes, [&](const absl::Status& status) {
    const MutexLock lock(mutex);
    outcome = status;
    told = true;
    done.NotifyOne();
  });
  const MutexLock lock(mutex);
  while (!told) done.Wait(mutex);
  return outcome;
}

void Committer::Run() {
  thread_.Adopt();
  NameThisThread("committer");
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);  // Counters that nobody reads.
  absl::Status status;
  while (TakeBatch()) {
    if (status.ok()) status = Write();
    Tell(status);
  }
}

std::size_t Committer::Added() {
  const MutexLock lock(mutex_);
  return filling_.told.size();
}

bool Committer::TakeBatch() {
  {
    const MutexLock lock(mutex_);
    while (filling_.empty() && !stopping_) work_.Wait(mutex_);
    if (filling_.empty()) return false;
  }
  YieldWhileGrowing(kYieldsMax, [this] { return Added(); });  // One sync less.
  {
    const MutexLock lock(mutex_);
    writing_ = std::exchange(filling_, {.ticket = {filling_.ticket.value + 1}});
  }
  room_.NotifyAll();
  return true;
}

absl::Status Committer::Write() {
  SetCount(writing_.records, writing_.count);
  rocksdb::WriteBatch batch(std::move(writing_.records));
  rocksdb::Status status;
  for (const auto& [key, value] : writing_.meta) {
    if (status.ok()) status = batch.Put(&meta_family_, key, value);
  }
  rocksdb::WriteOptions options;
  options.sync = sync_;
  const std::size_t bytes = batch.GetDataSize();
  const std::uint32_t changes = batch.Count();
  const bool metered = meter_.telemetry != nullptr;
  const absl::Duration from = metered ? meter_.time->Read().monotonic : absl::ZeroDuration();
  if (status.ok()) status = db_.Write(options, &batch);
  if (metered) meter_.telemetry->Wrote(changes, bytes, meter_.time->Read().monotonic - from);
  return after_write_(FromRocks("writing to the store", status));
}

// Those who added first: only then is it known to be durable, and whoever asks is told
// at once. Nobody hears of a change before it was told to those whose it is.
void Committer::Tell(const absl::Status& status) {
  for (Told& told : writing_.told) std::move(told)(status);
  writing_.told.clear();  // Not kept until the next batch.
  std::vector<Told> asked;
  {
    const MutexLock lock(mutex_);
    if (status.ok()) durable_.store(writing_.ticket.value);
    failure_ = status;
    asked.swap(asked_);
  }
  for (Told& told : asked) std::move(told)(status);
}

}  // namespace onced
