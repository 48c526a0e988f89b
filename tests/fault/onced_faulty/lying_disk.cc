#include "tests/fault/onced_faulty/lying_disk.h"

#include <variant>
#include <vector>

namespace onced::fault {
namespace {

struct Named {
  const char* name;
  Plant plant;
};
constexpr Named kPlants[] = {
    {"double-grant", Plant::kDoubleGrant}, {"lost-commit", Plant::kLostCommit},
    {"lost-release", Plant::kLostRelease}, {"fence-back", Plant::kFenceBack},
    {"stale-read", Plant::kStaleRead},     {"changed-result", Plant::kChangedResult},
    {"answer-first", Plant::kAnswerFirst},
};

constexpr std::int64_t kHourInMicros = std::int64_t{3'600'000'000};

bool IsPending(const std::optional<Record>& record) {
  return record.has_value() && std::holds_alternative<Pending>(record->phase);
}
bool IsCommitted(const std::optional<Record>& record) {
  return record.has_value() && std::holds_alternative<Committed>(record->phase);
}

void ChangeResult(Record& record) {
  Committed& committed = std::get<Committed>(record.phase);
  Result changed = *committed.result;
  changed.body += "?";
  committed.result = StoredResult(std::move(changed));
}

}  // namespace

std::optional<Plant> PlantNamed(const std::string& name) {
  for (const Named& row : kPlants) {
    if (row.name == name) return row.plant;
  }
  return std::nullopt;
}

std::string PlantNames() {
  std::string names;
  for (const Named& row : kPlants) names += std::string(names.empty() ? "" : ", ") + row.name;
  return names;
}

void LyingDisk::Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) {
  const bool answers_first = plant_ == Plant::kAnswerFirst;
  real().Run(
      std::move(work),
      [&](UnitOfWork& loaded) {
        std::vector<std::optional<Record>> found;
        {
          MutexLock lock(mutex_);
          for (const UnitOfWork::Entry& entry : loaded.entries()) found.push_back(entry.record);
          Before(loaded);
        }
        body(loaded);
        MutexLock lock(mutex_);
        for (std::size_t i = 0; i < found.size(); ++i) {
          const UnitOfWork::Entry& entry = loaded.entries()[i];
          if (entry.changed) older_[entry.key] = found[i];
        }
        After(loaded);
      },
      answers_first ? Durable([](const absl::Status&) {}) : std::move(durable));
  if (answers_first) std::move(durable)(absl::OkStatus());
}

void LyingDisk::Before(UnitOfWork& work) {
  for (UnitOfWork::Entry& entry : work.entries()) {
    if (plant_ == Plant::kDoubleGrant && IsPending(entry.record) && Sometimes()) {
      entry.record.reset();
    }
    if (plant_ == Plant::kStaleRead) GoStale(entry);
    if (plant_ == Plant::kAnswerFirst) entry.durable = true;
    if (plant_ == Plant::kFenceBack) MoveFence(work, entry.shard);
  }
}

void LyingDisk::GoStale(UnitOfWork::Entry& entry) {
  const auto older = older_.find(entry.key);
  if (older != older_.end() && Sometimes()) entry.record = older->second;
}

// What the disk knows is the highest, for it was written: it is told anew each
// time, high or low.
void LyingDisk::MoveFence(UnitOfWork& work, ShardId shard) {
  constexpr std::int64_t kNone = 0;  // The next one is the time.
  const std::int64_t now_us = absl::ToUnixMicros(real().clock_mark());
  work.SetLastFence(shard, {Sometimes() ? now_us + kHourInMicros : kNone});
}

void LyingDisk::After(UnitOfWork& work) {
  for (UnitOfWork::Entry& entry : work.entries()) {
    if (!entry.changed) continue;
    const bool commit = IsCommitted(entry.record);
    const bool lost = (plant_ == Plant::kLostCommit && commit) ||
                      (plant_ == Plant::kLostRelease && !entry.record.has_value());
    if (lost && Sometimes()) entry.changed = false;
    if (plant_ == Plant::kChangedResult && commit && Sometimes()) ChangeResult(*entry.record);
  }
}

}  // namespace onced::fault
