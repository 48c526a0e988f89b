// One key under any operations at any times: section 7 of docs/protocol.md.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "server/ledger/decide.h"
#include "server/storage/codec/record_codec.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/targets.h"
#include "tests/support/test_records.h"

namespace onced::fuzz {
namespace {

// What one caller was told that it holds.
struct Grant {
  Token token;
  Fence fence;
  std::string fingerprint;
  std::string request_id;
};

// Plays the shard and its callers, and keeps book of what these were told.
class Play {
 public:
  explicit Play(Draw draw) : draw_(draw) {}

  void Run() {
    while (!draw_.AtEnd() && steps_++ < 500) {
      Step();
      ForgetWhatHasExpired();
      CheckTokens();
      CheckReplay();
    }
  }

 private:
  // ---- What happens ----

  void Step() {
    switch (draw_.Below(12)) {
      case 0:
      case 1:
      case 2:
        return Reserve();
      case 3:
      case 4:
        return Commit();
      case 5:
        return Release();
      case 6:
        return Extend();
      case 7:
        return PassTime();
      case 8:
        return ChangePolicy();
      case 9:
        return Resolve();
      case 10:
        return Evict();
      default:
        return draw_.OneIn(4) ? RestoreBackup() : Restart();
    }
  }
  void PassTime() {
    // To an edge of the lease or the retention, or by any time.
    const absl::Time edges[] = {lease_end_, expire_time_, now_ + SomeTime()};
    absl::Time target = edges[draw_.Below(3)];
    target += absl::Microseconds(1) * (static_cast<int>(draw_.Below(3)) - 1);
    if (target > now_ && target < now_ + absl::Hours(24 * 1000)) now_ = target;
  }
  void ChangePolicy() {
    policy_.on_lapse = draw_.OneIn(2) ? OnLapse::kHold : OnLapse::kRegrant;
    policy_.lapsed_retention = absl::Seconds(17) + SomeTime();
    policy_.retention.min = absl::Seconds(1) + SomeTime();
    policy_.retention.max = policy_.retention.min + SomeTime();
    policy_.retention.preset = policy_.retention.min;
  }
  void Restart() {
    const absl::Time down_since = now_;
    now_ += SomeTime();
    outages_ = EndOutage(outages_, down_since, now_, absl::Seconds(15));
  }
  // What was PENDING is HELD from then on, and its token is dead.
  void RestoreBackup() {
    ++epoch_.value;
    Restart();
  }

  absl::Duration SomeTime() {
    constexpr std::int64_t kScales[] = {1,          1'000,         100'000,
                                        15'000'000, 3'600'000'000, 86'400'000'000};
    return absl::Microseconds(kScales[draw_.Below(6)] * draw_.Int<std::uint8_t>());
  }

  // ---- What is asked ----

  Decision Ask(const Operation& op, const Mint& mint) const {
    return Decide(record_, op, {.now = now_, .epoch = epoch_, .outages = outages_}, policy_, mint);
  }
  // Asked without any consequence.
  Reply Probe(const Operation& op) const { return Ask(op, {.fence = {1}}).reply; }

  Reply Do(const Operation& op) {
    mint_.token = {.epoch = epoch_};
    const auto number = static_cast<std::uint64_t>(steps_);
    for (std::size_t i = 0; i < 8; ++i) {
      mint_.token.bits[i] = static_cast<std::uint8_t>(number >> 8 * i);
    }
    mint_.token.bits[15] = 1;
    mint_.fence = {std::max(last_fence_.value + 1, absl::ToUnixMicros(now_))};
    Decision decision = Ask(op, mint_);
    Demand(Ask(op, mint_) == decision, "another decision from the same");
    if (const auto* write = std::get_if<Write>(&decision.change)) {
      record_ = DecodeRecord(EncodeRecord(write->record)).value();
      Demand(*record_ == write->record, "stored as something else");
      Demand(record_->fence >= last_fence_, "an older fence is stored");
    }
    if (std::holds_alternative<Erase>(decision.change)) record_.reset();
    return std::move(decision.reply);
  }

  std::string SomeText() { return std::string(1, static_cast<char>('a' + draw_.Below(3))); }
  Token SomeToken() {
    if (grants_.empty() || draw_.OneIn(16)) return Token::FromText("garbage");
    return grants_[grants_.size() - 1 - draw_.Below(std::min<std::size_t>(grants_.size(), 4))]
        .token;
  }
  Result SomeResult() {
    Result result{.status_code = static_cast<std::int32_t>(draw_.Below(2)), .body = SomeText()};
    result.body_size = 1;
    result.body_sha256 = std::string(32, result.body[0]);
    return result;
  }

  void Reserve() {
    ReserveOp op{.fingerprint = draw_.OneIn(6) ? SomeText() : "a",
                 .request_id = draw_.OneIn(4) ? "" : SomeText(),
                 .owner = SomeText(),
                 .lease_ttl = absl::Milliseconds(100) + SomeTime(),
                 .wait_timeout = draw_.OneIn(4) ? absl::Seconds(1) : absl::ZeroDuration()};
    const Reply reply = Do(op);
    if (std::holds_alternative<Parked>(reply)) {
      Demand(op.wait_timeout > absl::ZeroDuration(), "parked who did not want to wait");
    }
    if (std::holds_alternative<Replayed>(reply)) Demand(committed_.has_value(), "replays nothing");
    const auto* fresh = std::get_if<Fresh>(&reply);
    if (fresh == nullptr) return;
    Demand(!committed_.has_value(), "grants what was committed");
    if (fresh->token != mint_.token) {
      Demand(holder_.has_value() && fresh->token == holder_->token, "grants another's token");
      Demand(!op.request_id.empty() && op.request_id == holder_->request_id, "to a stranger");
      Demand(fresh->fence == holder_->fence && fresh->lease_expire_time >= lease_end_,
             "less again");
      return;
    }
    Demand(fresh->fence > last_fence_, "a fence that does not grow");
    Demand(!holder_.has_value() || now_ >= lease_end_ || !IsAlive(holder_->token),
           "granted within another's lease");
    Demand(fresh->previous.has_value() == (fresh->attempt > 1), "a takeover says so");
    last_fence_ = fresh->fence;
    holder_ = Grant{fresh->token, fresh->fence, op.fingerprint, op.request_id};
    grants_.push_back(*holder_);
    lease_end_ = fresh->lease_expire_time;
  }
  void Commit() {
    const CommitOp op{SomeToken(), StoredResult(SomeResult()),
                      draw_.OneIn(2) ? std::optional<absl::Duration>(SomeTime()) : std::nullopt};
    const Reply reply = Do(op);
    const auto* done = std::get_if<CommitDone>(&reply);
    if (done == nullptr) return;
    Demand(holder_.has_value() && op.token == holder_->token, "committed by a stranger");
    Demand(done->already_committed == committed_.has_value(), "committed twice");
    if (committed_.has_value()) {
      Demand(SameResult(*op.result, *committed_), "another result took its place");
      return Demand(done->expire_time == expire_time_, "the retention moved");
    }
    Demand(IsAlive(op.token), "committed by a token from before a restore");
    Demand(done->late == (now_ >= lease_end_) || !outages_.empty(), "late, or not");
    Demand(done->expire_time > now_, "committed for no time");
    committed_ = *op.result;
    expire_time_ = done->expire_time;
  }
  void Release() {
    const Token token = SomeToken();
    const Reply reply = Do(ReleaseOp{token});
    const auto* done = std::get_if<ReleaseDone>(&reply);
    if (done == nullptr || !done->released) return;
    Demand(!committed_.has_value(), "undid a commit");
    Demand(holder_.has_value() && token == holder_->token && IsAlive(token), "by a stranger");
    holder_.reset();
  }
  void Extend() {
    ExtendOp op{SomeToken(), absl::Milliseconds(100) + SomeTime(), std::nullopt};
    if (draw_.OneIn(2)) op.checkpoint = SomeText();
    const Reply reply = Do(op);
    const auto* done = std::get_if<ExtendDone>(&reply);
    if (done == nullptr) return;
    Demand(!committed_.has_value(), "extended what was committed");
    Demand(holder_.has_value() && op.token == holder_->token && IsAlive(op.token), "by a stranger");
    Demand(done->lease_expire_time >= lease_end_, "a lease got shorter");
    lease_end_ = done->lease_expire_time;
  }

  // ---- An operator's ----

  Fence SomeFence() { return draw_.OneIn(4) ? Fence{1} : last_fence_; }
  bool IsHeldNow() const {
    return record_.has_value() &&
           StateOf(record_, {.now = now_, .epoch = epoch_, .outages = outages_}) == State::kPending;
  }
  void Resolve() {
    ResolveOp op{.fence = SomeFence(), .force = draw_.OneIn(2)};
    if (draw_.OneIn(2)) op.commit = ResolveOp::Settlement{StoredResult(SomeResult()), SomeTime()};
    const bool held = IsHeldNow();
    const Reply reply = Do(op);
    const auto* done = std::get_if<ResolveDone>(&reply);
    if (done == nullptr) return;
    Demand(holder_.has_value() && op.fence == holder_->fence, "another than was looked at");
    Demand(op.force || !held, "taken from its holder without force");
    Demand(done->committed.has_value() == op.commit.has_value(), "settled otherwise");
    if (committed_.has_value()) {
      return Demand(op.commit.has_value() && SameResult(*op.commit->result, *committed_),
                    "an operator undid a commit");
    }
    if (!op.commit.has_value()) return holder_.reset();
    committed_ = *op.commit->result;
    expire_time_ = done->committed->expire_time;
    Demand(expire_time_ > now_, "committed for no time");
  }
  void Evict() {
    const EvictOp op{.fence = SomeFence(), .force = draw_.OneIn(2)};
    const bool held = IsHeldNow();
    const Reply reply = Do(op);
    const auto* done = std::get_if<EvictDone>(&reply);
    if (done == nullptr || done->evicted == State::kAbsent) return;
    Demand(op.fence == last_fence_ && (op.force || !held), "another, or without force");
    Demand(!record_.has_value(), "evicted and still there");
    holder_.reset();
    committed_.reset();
  }

  // ---- What always holds ----

  bool IsAlive(const Token& token) const { return token.epoch == epoch_; }

  void ForgetWhatHasExpired() {
    if (!committed_.has_value() || now_ < expire_time_) return;
    committed_.reset();
    holder_.reset();
  }
  // At most one token is good for anything.
  void CheckTokens() const {
    for (std::size_t i = grants_.size(); i > 0 && i + 4 > grants_.size(); --i) {
      const Token& token = grants_[i - 1].token;
      if (holder_.has_value() && token == holder_->token && IsAlive(token)) continue;
      const Reply extended = Probe(ExtendOp{token, absl::Seconds(1), std::nullopt});
      Demand(!std::holds_alternative<ExtendDone>(extended), "two live tokens");
      const Reply released = Probe(ReleaseOp{token});
      const auto* done = std::get_if<ReleaseDone>(&released);
      Demand(done == nullptr || !done->released, "released by a dead token");
    }
  }
  void CheckReplay() const {
    if (!committed_.has_value()) return;
    const Reply reply =
        Probe(ReserveOp{.fingerprint = holder_->fingerprint, .lease_ttl = absl::Milliseconds(100)});
    const auto* replayed = std::get_if<Replayed>(&reply);
    Demand(replayed != nullptr && *replayed->result == *committed_, "a commit is undone");
    const Reply other = Probe(ReserveOp{.fingerprint = "other", .lease_ttl = absl::Seconds(1)});
    Demand(std::holds_alternative<Mismatch>(other), "replayed to another fingerprint");
  }

  Draw draw_;
  int steps_ = 0;

  // The server's.
  std::optional<Record> record_;
  absl::Time now_ = TestStart();
  Epoch epoch_{1};
  Outages outages_;
  Policy policy_;
  Mint mint_;

  // What the callers were told.
  std::vector<Grant> grants_;
  Fence last_fence_;
  std::optional<Grant> holder_;  // The last grant, unless released.
  absl::Time lease_end_ = absl::InfinitePast();
  std::optional<Result> committed_;
  absl::Time expire_time_ = absl::InfinitePast();
};

}  // namespace

void Decisions(absl::string_view bytes) { Play(Draw(bytes)).Run(); }

}  // namespace onced::fuzz
