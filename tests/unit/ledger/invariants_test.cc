// Section 7 of docs/protocol.md, on one key and a long random history: callers with lost replies
// and old tokens, time that jumps to the edges of leases, changes of policy, outages and restores.
// ONCED_TEST_SEED repeats a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"
#include "server/ledger/decide.h"
#include "tests/unit/ledger/ledger_builders.h"

namespace onced::ledger_test {
namespace {

constexpr int kSteps = 30'000;
constexpr std::size_t kTokensTried = 8;  // The latest ones, after every step.
const char* const kFingerprints[] = {"fp", "other", ""};

std::uint64_t Seed() {
  const char* given = std::getenv("ONCED_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

// What one caller was granted, or would have been had the reply arrived.
struct Grant {
  Token token;
  Fence fence;
  std::string request_id;
  std::string fingerprint;
};

// What the callers were told, and so may rely on.
struct Told {
  std::optional<Grant> holder;  // The last grant, unless released.
  absl::Time lease_end = absl::InfinitePast();
  bool committed = false;
  Result result;
  absl::Time expire_time;
};

// The server's side.
struct World {
  std::optional<Record> record;
  absl::Time now = kNow;
  Epoch epoch{1};
  Outages outages;
  Policy policy = PolicyOfTheGrant();

  View view() const { return {now, epoch, outages}; }
};

class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed) {}

  // Does one thing, and checks what was said to it.
  void Step() {
    switch (Below(16)) {
      case 0:
      case 1:
      case 2:
        return PassTime();
      case 3:
        return ChangePolicy();
      case 4:
        if (Below(6) == 0) Restart();
        return;
      case 5:
        if (Below(6) == 0) backup_ = Backup{world_.record, told_};
        return;
      case 6:
        return Below(20) == 0 ? Restore() : Settle();
      case 7:
      case 8:
        return Commit();
      case 9:
        if (Below(2) == 0) Release();
        return;
      case 10:
      case 11:
        return Extend();
      default:
        return Reserve();
    }
  }

  // Asks without changing anything, as often as it likes.
  void CheckInvariants() {
    if (told_.committed && world_.now >= told_.expire_time) told_ = {};
    CheckTokens();
    if (told_.committed) CheckReplay();
    if (told_.holder && !told_.committed && world_.now < told_.lease_end) CheckLease();
  }

  const std::map<std::string, int>& seen() const { return seen_; }

 private:
  struct Backup {
    std::optional<Record> record;
    Told told;
  };

  std::uint64_t Below(std::uint64_t n) { return random_() % n; }
  bool Alive(const Token& token) const { return token.epoch == world_.epoch; }

  Mint NextMint() {
    Token token{.epoch = world_.epoch};
    for (auto& byte : token.bits) byte = static_cast<std::uint8_t>(random_());
    const std::int64_t fence = std::max(last_fence_.value + 1, absl::ToUnixMicros(world_.now));
    return {token, {fence}, 0.5};
  }
  Decision Ask(const Operation& op, const Mint& mint) const {
    return Decide(world_.record, op, world_.view(), world_.policy, mint);
  }
  Decision Ask(const Operation& op) const { return Ask(op, kMint); }

  // Decides, and does it.
  Reply Do(const Operation& op) {
    mint_ = NextMint();
    Decision decision = Ask(op, mint_);
    if (auto* write = std::get_if<Write>(&decision.change)) world_.record = write->record;
    if (std::holds_alternative<Erase>(decision.change)) world_.record.reset();
    return std::move(decision.reply);
  }

  // ---- What happens ----

  absl::Duration SomeTime() {
    const absl::Duration scales[] = {kTick, absl::Milliseconds(100), absl::Seconds(5),
                                     absl::Minutes(10), absl::Hours(2)};
    return scales[Below(5)] * static_cast<std::int64_t>(Below(10));
  }
  void PassTime() {
    // The edges are where mistakes are.
    const absl::Time edge = Below(2) == 0 ? told_.lease_end : told_.expire_time;
    const absl::Time target = edge + kTick * (static_cast<std::int64_t>(Below(3)) - 1);
    if (Below(3) == 0 && target > world_.now && target < world_.now + absl::Hours(9)) {
      world_.now = target;
    } else {
      world_.now += SomeTime();
    }
  }
  void ChangePolicy() {
    world_.policy = Below(2) == 0 ? PolicyOfTheGrant() : PolicyOfLater();
    world_.policy.on_lapse = Below(3) == 0 ? OnLapse::kHold : OnLapse::kRegrant;
  }
  void Restart() {
    const absl::Time last_used = world_.now;
    world_.now += SomeTime();
    world_.outages = EndOutage(world_.outages, last_used, world_.now, absl::Seconds(15));
  }
  // What was told after the backup's cut is lost, and the tokens from before it are dead.
  void Restore() {
    if (!backup_.has_value()) return;
    world_.record = backup_->record;
    told_ = backup_->told;
    world_.epoch.value += 1;
    backup_.reset();
    Restart();
    ++seen_["restore"];
  }

  // An operator releases what is held: nothing else would ever end that.
  void Settle() {
    if (!told_.holder || told_.committed) return;
    if (StateOf(world_.record, world_.view()) != State::kLapsed) return;
    if (OnLapseOf(*world_.record, world_.epoch) != OnLapse::kHold) return;
    world_.record.reset();
    told_ = {};
    ++seen_["settled"];
  }

  // ---- What callers ask ----

  const Grant* SomeGrant() {
    if (grants_.empty()) return nullptr;
    return &grants_[grants_.size() - 1 - Below(std::min(grants_.size(), kTokensTried))];
  }
  Token SomeToken() {
    if (told_.holder && Below(2) == 0) return told_.holder->token;
    const Grant* grant = SomeGrant();
    return grant == nullptr || Below(10) == 0 ? kGarbage : grant->token;
  }
  Result SomeResult() {
    if (told_.committed && Below(2) == 0) return told_.result;
    Result result = MakeResult(std::string(Below(20), static_cast<char>(random_())));
    result.status_code = static_cast<std::int32_t>(Below(3));
    return result;
  }

  void Reserve() {
    ReserveOp op{.fingerprint = kFingerprints[Below(10) < 8 ? 0 : 1 + Below(2)],
                 .request_id = absl::StrCat("id", random_()),
                 .owner = "owner",
                 .lease_ttl = absl::Milliseconds(100 + static_cast<std::int64_t>(Below(9000))),
                 .wait_timeout = absl::Seconds(static_cast<std::int64_t>(Below(3) / 2))};
    if (Below(10) == 0) op.request_id.clear();
    // Its reply was lost, it thinks, and asks again.
    if (const Grant* grant = SomeGrant(); grant != nullptr && Below(4) == 0) {
      op.request_id = grant->request_id;
      op.fingerprint = grant->fingerprint;
    }
    const Reply reply = Do(op);
    if (const auto* fresh = std::get_if<Fresh>(&reply)) OnFresh(op, *fresh);
    if (std::holds_alternative<Conflict>(reply)) ++seen_["conflict"];
    if (std::holds_alternative<Parked>(reply)) ++seen_["parked"];
    if (std::holds_alternative<Mismatch>(reply)) ++seen_["mismatch"];
    if (std::holds_alternative<Unresolved>(reply)) ++seen_["unresolved"];
    if (std::holds_alternative<Replayed>(reply)) ++seen_["replayed"];
  }
  void OnFresh(const ReserveOp& op, const Fresh& fresh) {
    ASSERT_FALSE(told_.committed) << "granted what was committed";
    if (fresh.token != mint_.token) return OnRepeat(op, fresh);
    ++seen_[fresh.previous ? "takeover" : "fresh"];
    ASSERT_GT(fresh.fence, last_fence_) << "invariant 4";
    ASSERT_FALSE(told_.holder && Alive(told_.holder->token) && world_.now < told_.lease_end)
        << "invariant 3: granted within another's lease";
    last_fence_ = fresh.fence;
    grants_.push_back({fresh.token, fresh.fence, op.request_id, op.fingerprint});
    told_ = {.holder = grants_.back(), .lease_end = fresh.lease_expire_time};
  }
  void OnRepeat(const ReserveOp& op, const Fresh& fresh) {
    ++seen_["repeat"];
    ASSERT_TRUE(told_.holder.has_value()) << "granted again what nobody holds";
    ASSERT_TRUE(fresh.token == told_.holder->token && fresh.fence == told_.holder->fence);
    ASSERT_EQ(op.request_id, told_.holder->request_id);
    ASSERT_NE(op.request_id, "");
    ASSERT_GE(fresh.lease_expire_time, told_.lease_end);
  }

  void Commit() {
    const CommitOp op{SomeToken(), StoredResult(SomeResult()), SomeTime()};
    const Reply reply = Do(op);
    if (const auto* refused = std::get_if<Refused>(&reply)) return OnRefused(*refused);
    const auto& done = std::get<CommitDone>(reply);
    ASSERT_TRUE(told_.holder && op.token == told_.holder->token) << "invariant 5";
    ASSERT_EQ(done.already_committed, told_.committed);
    ++seen_[done.already_committed ? "already" : done.late ? "late" : "commit"];
    if (done.already_committed) {
      ASSERT_TRUE(SameResult(*op.result, told_.result)) << "invariant 2";
      ASSERT_EQ(done.expire_time, told_.expire_time) << "invariant 2";
    } else {
      ASSERT_TRUE(Alive(op.token)) << "committed by a token from before a restore";
      ASSERT_FALSE(done.late && world_.now < told_.lease_end);
    }
    told_.committed = true;
    told_.result = *std::get<Committed>(world_.record->phase).result;
    ASSERT_TRUE(told_.result == *op.result) << "stored something else";
    told_.expire_time = done.expire_time;
  }
  void Release() {
    const Token token = SomeToken();
    const Reply reply = Do(ReleaseOp{token});
    if (const auto* refused = std::get_if<Refused>(&reply)) return OnRefused(*refused);
    if (!std::get<ReleaseDone>(reply).released) return;
    ++seen_["released"];
    ASSERT_TRUE(told_.holder && token == told_.holder->token && Alive(token)) << "invariant 5";
    ASSERT_FALSE(told_.committed) << "invariant 2: a release undid a commit";
    told_ = {};
  }
  void Extend() {
    ExtendOp op{.token = SomeToken(), .lease_ttl = SomeTime() + absl::Milliseconds(100)};
    if (Below(2) == 0) op.checkpoint = absl::StrCat("at ", random_());
    const Reply reply = Do(op);
    if (const auto* refused = std::get_if<Refused>(&reply)) return OnRefused(*refused);
    ++seen_["extended"];
    const absl::Time end = std::get<ExtendDone>(reply).lease_expire_time;
    ASSERT_TRUE(told_.holder && op.token == told_.holder->token && Alive(op.token))
        << "invariant 5";
    ASSERT_FALSE(told_.committed);
    ASSERT_GE(end, std::max(told_.lease_end, world_.now + op.lease_ttl)) << "a lease got shorter";
    told_.lease_end = end;
  }
  void OnRefused(const Refused& refused) {
    ++seen_[absl::StrCat("refused ", static_cast<int>(refused.reason))];
  }

  // ---- Invariants ----

  // 1 and 5: none but the last grant's token is good for anything.
  void CheckTokens() {
    const StoredResult result(MakeResult("probe"));
    for (std::size_t i = 0; i < std::min(grants_.size(), kTokensTried); ++i) {
      const Token& token = grants_[grants_.size() - 1 - i].token;
      if (told_.holder && token == told_.holder->token && Alive(token)) continue;
      const Reply commit = Ask(CommitOp{token, result, std::nullopt}).reply;
      EXPECT_FALSE(std::holds_alternative<CommitDone>(commit)) << Show(commit);
      const Reply extend = Ask(ExtendOp{token, absl::Hours(1), std::nullopt}).reply;
      EXPECT_FALSE(std::holds_alternative<ExtendDone>(extend)) << Show(extend);
      const Reply release = Ask(ReleaseOp{token}).reply;
      const auto* released = std::get_if<ReleaseDone>(&release);
      EXPECT_FALSE(released != nullptr && released->released) << Show(release);
    }
  }
  // 2: replayed byte for byte to those who ask for the same, and to nobody else.
  void CheckReplay() {
    for (const char* fingerprint : kFingerprints) {
      const Reply reply = Ask(ReserveOp{.fingerprint = fingerprint, .lease_ttl = kTick}).reply;
      if (fingerprint != told_.holder->fingerprint) {
        EXPECT_TRUE(std::holds_alternative<Mismatch>(reply)) << Show(reply);
        continue;
      }
      const auto* replayed = std::get_if<Replayed>(&reply);
      ASSERT_NE(replayed, nullptr) << Show(reply);
      EXPECT_TRUE(*replayed->result == told_.result) << Show(reply);
      EXPECT_EQ(replayed->expire_time, told_.expire_time);
      EXPECT_EQ(replayed->fence, told_.holder->fence);
    }
  }
  // 3: what was granted until then holds until then; after a restore, nobody else gets it.
  void CheckLease() {
    const Reply reply =
        Ask(ReserveOp{.fingerprint = told_.holder->fingerprint, .lease_ttl = kTick}).reply;
    if (Alive(told_.holder->token)) {
      EXPECT_TRUE(std::holds_alternative<Conflict>(reply)) << Show(reply);
    } else {
      EXPECT_TRUE(std::holds_alternative<Unresolved>(reply)) << Show(reply);
    }
  }

  std::mt19937_64 random_;
  World world_;
  Told told_;
  std::optional<Backup> backup_;
  std::vector<Grant> grants_;
  Fence last_fence_;
  Mint mint_;
  std::map<std::string, int> seen_;
};

TEST(Invariants, HoldOverARandomHistory) {
  const std::uint64_t seed = Seed();
  SCOPED_TRACE(absl::StrCat("ONCED_TEST_SEED=", seed));
  std::cout << "ONCED_TEST_SEED=" << seed << std::endl;
  RecordProperty("seed", absl::StrCat(seed));
  History history(seed);
  for (int step = 0; step < kSteps; ++step) {
    history.Step();
    history.CheckInvariants();
    ASSERT_FALSE(testing::Test::HasFailure()) << "at step " << step;
  }
  // A history in which nothing happens proves nothing.
  for (const char* event :
       {"fresh",    "takeover",  "repeat",    "conflict",  "parked",    "mismatch", "unresolved",
        "replayed", "commit",    "late",      "already",   "released",  "extended", "restore",
        "settled",  "refused 0", "refused 1", "refused 2", "refused 3", "refused 4"}) {
    EXPECT_TRUE(history.seen().contains(event)) << event << " never happened";
  }
}

}  // namespace
}  // namespace onced::ledger_test
