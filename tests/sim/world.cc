#include "tests/sim/world.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"
#include "server/base/check.h"
#include "tests/sim/translate.h"

namespace onced::sim {
namespace {

constexpr std::size_t kGroups = 2;
constexpr std::size_t kNoExecution = SIZE_MAX;
const absl::Duration kTick = absl::Microseconds(1);
const absl::Duration kRestartGrace = absl::Seconds(2);

// What may go by at once: nothing, a moment, a lease, an outage.
const absl::Duration kSteps[] = {absl::ZeroDuration(),    kTick,
                                 absl::Milliseconds(1),   absl::Milliseconds(40),
                                 absl::Milliseconds(100), absl::Milliseconds(300),
                                 absl::Seconds(1),        absl::Seconds(4)};
const absl::Duration kLeases[] = {absl::Milliseconds(100), absl::Milliseconds(300),
                                  absl::Seconds(1), absl::Seconds(3)};
const absl::Duration kWaits[] = {absl::ZeroDuration(), absl::ZeroDuration(),
                                 absl::Milliseconds(200), absl::Seconds(1), absl::Seconds(5)};
const absl::Duration kRetentions[] = {absl::Seconds(1), absl::Seconds(2), absl::Seconds(5)};

// Small caps and short times, so that each is reached.
Policy MakePolicy(OnLapse on_lapse, absl::Duration lapsed_retention) {
  Policy policy;
  policy.on_lapse = on_lapse;
  policy.lapsed_retention = lapsed_retention;
  policy.waiters_per_key_max = 4;
  policy.waiters_max = 6;
  return policy;
}

Result MakeResult(std::string body) {
  Result result;
  result.status_code = 201;
  result.headers = {{"h", body}, {"h", "2"}};
  result.body_size = static_cast<std::int64_t>(body.size());
  result.body_sha256 = Sha256(body);
  result.body = std::move(body);
  return result;
}

std::string NameOf(const RecordKey& key) { return absl::StrCat(key.name_space, "/", key.key); }

}  // namespace

World::World(std::uint64_t seed, Lie lie) : random_(seed), lie_(lie) {
  policies_["regrant"] = MakePolicy(OnLapse::kRegrant, absl::Seconds(8));
  policies_["hold"] = MakePolicy(OnLapse::kHold, absl::Seconds(8));
  // No less than this. A start after two crashes in a row can't tell a lease that
  // ran out between them from one that did so while the server was down, and
  // gives it grace: a key which was already ABSENT would come back.
  policies_["brief"] = MakePolicy(OnLapse::kRegrant, kRestartGrace + kMarkLeadMax);
  for (const auto& [name, policy] : policies_) {
    for (const char* key : {"a", "b"}) {
      rules_[absl::StrCat(name, "/", key)] = {.hold = policy.on_lapse == OnLapse::kHold,
                                              .lapsed_retention = policy.lapsed_retention};
    }
  }
  Start(clock_.Now());
}

World::~World() { Crash(); }

std::vector<std::string> World::Problems() const {
  std::vector<std::string> all = Check(history_, rules_);
  all.insert(all.end(), problems_.begin(), problems_.end());
  return all;
}

void World::Run(int steps) {
  for (int i = 0; i < steps; ++i) Step();
  Finish();
}

void World::Step() {
  const std::uint64_t dice = Below(100);
  if (dice < 23) return ReserveSomething();
  if (dice < 41) return SettleSomething();
  if (dice < 45) return OperateOnSomething();
  if (dice < 51) return InspectSomething();
  if (dice < 53) return CancelSomething();
  if (dice < 76) return Execute(Below(kGroups));
  if (dice < 88) return PassTime();
  if (dice < 97) return HoldOrRelease();
  if (dice < 98) return SpoilTheDisk();
  Restart(/*crash_percent=*/50);
}

void World::Restart(int crash_percent) {
  if (Chance(crash_percent)) {
    Crash();
  } else {
    Stop();
  }
  // The wall clock of a machine that starts may well be wrong, either way.
  const absl::Duration downtime =
      OneOf(kSteps) - (Chance(30) ? absl::Seconds(2) : absl::ZeroDuration());
  Start(clock_.Now() + downtime);
  if (Chance(70)) LookAtAll();
}

// ---- Clients ----

RecordKey World::SomeKey() {
  const auto rule = std::next(rules_.begin(), static_cast<int>(Below(rules_.size())));
  const std::size_t slash = rule->first.find('/');
  return {rule->first.substr(0, slash), rule->first.substr(slash + 1)};
}

// Mostly a late one.
World::Execution* World::SomeExecution() {
  if (executions_.empty()) return nullptr;
  const std::size_t back = std::min(Below(executions_.size()), Below(executions_.size()));
  return &executions_[executions_.size() - 1 -
                      (Chance(80) ? std::min<std::size_t>(back, 8) : back)];
}

absl::Time World::SomeDeadline() {
  if (Chance(70)) return absl::InfiniteFuture();
  return clock_.Now() + OneOf(kSteps) + absl::Milliseconds(60);
}

void World::ReserveSomething() {
  const Execution* repeated = Chance(35) ? SomeExecution() : nullptr;
  if (repeated == nullptr) {
    executions_.push_back({.key = SomeKey(),
                           .request_id = Chance(3) ? "" : absl::StrCat("r", executions_.size()),
                           .fingerprint = Chance(90) ? "print" : "other"});
    repeated = &executions_.back();
  }
  Send(repeated->key,
       ReserveOp{.fingerprint = repeated->fingerprint,
                 .request_id = repeated->request_id,
                 .owner = "owner",
                 .lease_ttl = OneOf(kLeases),
                 .wait_timeout = OneOf(kWaits)},
       static_cast<std::size_t>(repeated - executions_.data()));
}

void World::SettleSomething() {
  const Execution* execution = SomeExecution();
  if (execution == nullptr || !execution->token.has_value()) return ReserveSomething();
  const Token token = *execution->token;
  const RecordKey key = execution->key;
  const std::uint64_t dice = Below(10);
  if (dice < 5) {
    const std::string body = execution->request_id + (Chance(70) ? "" : "!");
    return Send(key,
                CommitOp{.token = token,
                         .result = StoredResult(MakeResult(body)),
                         .retention_ttl = OneOf(kRetentions)},
                kNoExecution);
  }
  if (dice < 7) return Send(key, ReleaseOp{token}, kNoExecution);
  Send(key, ExtendOp{.token = token, .lease_ttl = OneOf(kLeases)}, kNoExecution);
}

void World::InspectSomething() { Send(SomeKey(), InspectOp{}, kNoExecution); }

// With what an operator may know: the fence of what was there when somebody looked.
void World::OperateOnSomething() {
  const RecordKey key = SomeKey();
  const Fence seen = fences_[NameOf(key)];
  const Fence fence{Chance(85) ? seen.value : seen.value - 1};
  const bool force = Chance(50);
  if (Chance(40)) return Send(key, EvictOp{.fence = fence, .force = force}, kNoExecution);
  ResolveOp resolve{.fence = fence, .force = force};
  if (Chance(60)) {
    resolve.commit.emplace(ResolveOp::Settlement{
        .result = StoredResult(MakeResult(Chance(70) ? "settled" : "settled otherwise")),
        .retention_ttl = OneOf(kRetentions)});
  }
  Send(key, std::move(resolve), kNoExecution);
}

void World::LookAtAll() {
  for (const auto& [name, policy] : policies_) {
    for (const char* key : {"a", "b"}) Send({name, key}, InspectOp{}, kNoExecution);
  }
  ExecuteAll();
}

void World::CancelSomething() {
  if (open_.empty()) return;
  const std::uint64_t call = open_[Below(open_.size())];
  for (Drain& mailbox : server_->mailboxes) mailbox.cancelled.push_back({call + 1});
}

void World::Send(const RecordKey& key, Operation operation, std::size_t execution) {
  const std::size_t index = history_.size();
  Call call{.key = NameOf(key), .sent = position_++};
  FillAsked(operation, call);
  history_.push_back(std::move(call));
  open_.push_back(index);
  const ShardId shard = server_->map->ShardOf(key);
  Request request{.key = key,
                  .operation = std::move(operation),
                  .policy = &policies_[key.name_space],
                  .deadline = SomeDeadline(),
                  .answer =
                      [this, index, execution, process = process_](Answer answer) {
                        // From a process that is no more: the connection is closed.
                        if (process == process_) Hear(index, execution, answer);
                      },
                  .id = {index + 1},
                  .shard = shard,
                  .queued_at = clock_.Now()};
  server_->mailboxes[shard.value % kGroups].requests.push_back(std::move(request));
}

void World::Hear(std::size_t index, std::size_t execution, const Answer& answer) {
  Call& call = history_[index];
  if (call.said != Said::kNothing) problems_.push_back("answered twice: " + Describe(call));
  call.answered = position_++;
  FillAnswer(answer, call);
  if (call.fence.has_value()) fences_[call.key] = {*call.fence};
  if (call.said == Said::kNothing) problems_.push_back("no answer at all: " + Describe(call));
  // Some answers are sent and never arrive.
  if (execution != kNoExecution && call.said == Said::kFresh && Chance(85)) {
    executions_[execution].token = std::get<Fresh>(answer.reply).token;
  }
}

// ---- The server ----

void World::Start(absl::Time wall_now) {
  ONCED_CHECK(server_ == nullptr);
  server_ = std::make_unique<Server>();
  ++process_;
  server_->random = SeededRandom(random_());
  auto opened = MemoryStore::Open(disk_, {.shards = 4,
                                          .restart_grace = kRestartGrace,
                                          .wall_now = wall_now,
                                          .random = server_->random});
  ONCED_CHECK(opened.ok());
  server_->memory = *std::move(opened);
  server_->lying = std::make_unique<LyingStore>(*server_->memory, lie_, random_());
  server_->store = std::make_unique<FaultyStore>(*server_->lying);
  server_->hasty = std::make_unique<HastyStore>(*server_->store, *server_->memory, lie_, random_());
  server_->map = std::make_unique<ShardMap>(server_->memory->identity());
  // Time goes on from where the store says; never from before it.
  clock_.Set(std::max(wall_now, server_->memory->clock_mark()));
  server_->mailboxes.resize(kGroups);
  for (std::size_t i = 0; i < kGroups; ++i) {
    server_->groups.push_back(std::make_unique<ShardGroup>(*server_->hasty, server_->random,
                                                           server_->waiter_count, telemetry_));
    server_->clocks.push_back(std::make_unique<MarkedClock>(clock_, *server_->hasty));
  }
}

void World::Crash() {
  ++process_;  // Nothing is heard of the old one any more.
  FaultyStore& disk = *server_->store;
  if (Chance(50)) disk.LandSilently(1 + Below(disk.held() + 1));
  server_.reset();
  open_.clear();
}

// In order: everything is answered, and the waits end.
void World::Stop() {
  server_->draining = true;
  ExecuteAll();
  server_->store->ReleaseDurability();
  server_->groups.clear();
  for (const std::uint64_t call : open_) {
    if (history_[call].said == Said::kNothing) {
      problems_.push_back("not answered by the end: " + Describe(history_[call]));
    }
  }
  Crash();
}

void World::ExecuteAll() {
  for (std::size_t i = 0; i < kGroups; ++i) Execute(i);
}

void World::Execute(std::size_t index) {
  ShardGroup& group = *server_->groups[index];
  Drain drain = std::exchange(server_->mailboxes[index], {});
  drain.draining = server_->draining;
  const absl::StatusOr<absl::Time> now = server_->clocks[index]->Now();
  if (!now.ok()) return group.Refuse(std::move(drain), clock_.Now(), Refusal::kStoreFailed);
  group.Execute(std::move(drain), *now);
  if (group.NextTimer() <= *now) problems_.push_back("a timer stays in the past");
}

void World::SpoilTheDisk() {
  FaultyStore& store = *server_->store;
  switch (Below(3)) {
    case 0:
      return store.FailWrite(1 + static_cast<int>(Below(3)), FaultyStore::Landing::kLands);
    case 1:
      return store.FailWrite(1 + static_cast<int>(Below(3)), FaultyStore::Landing::kIsLost);
    default:
      return store.FailClockMark();
  }
}

void World::HoldOrRelease() {
  FaultyStore& store = *server_->store;
  if (server_->holding && Chance(60)) {
    store.ReleaseSome(1 + Below(2));
    return;
  }
  if (server_->holding && Chance(50)) return Restart(/*crash_percent=*/100);
  server_->holding = !server_->holding;
  return server_->holding ? store.HoldDurability() : store.ReleaseDurability();
}

void World::PassTime() {
  absl::Time timer = absl::InfiniteFuture();
  for (const auto& group : server_->groups) timer = std::min(timer, group->NextTimer());
  if (timer == absl::InfiniteFuture() || Chance(50)) return clock_.Advance(OneOf(kSteps));
  const absl::Time before = timer - (Chance(30) ? kTick : absl::ZeroDuration());
  if (before > clock_.Now()) clock_.Set(before);
}

// Everyone looks once more at what there is, now and when all is over.
void World::Finish() {
  for (const absl::Duration later : {absl::ZeroDuration(), absl::Seconds(2), absl::Seconds(30)}) {
    if (Chance(50)) {
      Stop();
    } else {
      Crash();
    }
    Start(clock_.Now() + later);
    LookAtAll();
    for (const auto& [name, policy] : policies_) {
      for (const char* key : {"a", "b"}) {
        Send({name, key}, ReserveOp{.fingerprint = "print", .request_id = "last"}, kNoExecution);
      }
    }
    ExecuteAll();
  }
}

}  // namespace onced::sim
