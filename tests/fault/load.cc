#include "tests/fault/load.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/duration.h"
#include "client/cpp/request_id.h"

namespace onced::fault {
namespace {

using client::ToProto;

constexpr absl::Duration kShortLease = absl::Milliseconds(100);
constexpr absl::Duration kLongLease = absl::Seconds(60);
constexpr absl::Duration kShortRetention = absl::Seconds(1);
constexpr absl::Duration kLongRetention = absl::Hours(1);
// How often a call is sent again before its client gives up on it.
constexpr int kMostTries = 6;
// Grants that a client forgets about, for a while.
constexpr std::size_t kMostKept = 12;

// How keys come and go: by the number of episodes, over all clients, so that the
// history of each stays short enough to be judged.
constexpr std::uint64_t kEpisodesPerKey = 10;  // Before the next one is new.
constexpr std::uint64_t kKeysAtOnce = 5;
constexpr std::uint64_t kEpisodesPerHotKeys = 1'500;  // They live through several servers.
constexpr std::uint64_t kHotKeys = 3;

struct Grant {
  std::string space;
  std::string key;
  v1::Reservation reservation;
};

constexpr std::array kNamespaces = {"regrant", "held", "brief"};
constexpr char kHot[] = "hot-";

bool IsHot(const std::string& key) { return key.starts_with(kHot); }

template <typename Request>
void SetKey(const std::string& space, const std::string& key, Request& request) {
  request.set_namespace_(space);
  request.set_key(key);
}

}  // namespace

std::string LoadConfig() {
  return "namespaces:\n"
         "  regrant: {on_lapse: REGRANT}\n"
         "  held: {on_lapse: HOLD}\n"
         "  brief: {on_lapse: REGRANT, lapsed_retention: 1500ms}\n";
}

Rules LoadRules() {
  return {{"regrant", {}}, {"held", {.hold = true}}, {"brief", {.lapsed_retention = 1'500'000}}};
}

// ---- One client ----

class Load::Client {
 public:
  Client(Load& load, std::int64_t number)
      : load_(load),
        number_(number),
        random_(load.options_.seed * 1'000 + static_cast<std::uint64_t>(number)) {}

  void Run() {
    while (!load_.stopping_) {
      load_.episodes_.fetch_add(1);
      Episode();
    }
  }

  // Of one key, and whether both were answered.
  bool ReadBack(const std::string& full_key) {
    const std::size_t slash = full_key.find('/');
    const std::string space = full_key.substr(0, slash), key = full_key.substr(slash + 1);
    v1::InspectRequest inspect;
    SetKey(space, key, inspect);
    inspect.set_include_result(true);
    const bool seen = Inspect(inspect);
    const auto reserved = Reserve(ReserveOf(space, key, "fp"));
    return seen && reserved.has_value();
  }

 private:
  // ---- Chance ----

  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }
  bool Chance(std::uint64_t percent) { return Below(100) < percent; }

  // ---- What it does ----

  void Episode() {
    if (Chance(10)) return Batch();
    if (Chance(12)) return LookAtSomething();
    if (!kept_.empty() && Chance(20)) return SettleOneKept();
    const auto [space, key] = DrawKey();
    const v1::ReserveRequest request = ReserveOf(space, key, Chance(4) ? "other" : "fp");
    const std::optional<v1::ReserveResponse> response = Reserve(request);
    if (!response.has_value() || !response->has_reservation()) return;
    if (Chance(5)) Reserve(request);  // As if the reply had been lost.
    Work({space, key, response->reservation()});
  }

  void Work(const Grant& grant) {
    const std::uint64_t fate = Below(100);
    if (fate < 15) {
      Extend(grant);
      if (Chance(60)) Commit(grant);
    } else if (fate < 45) {
      Commit(grant);
    } else if (fate < 80) {
      Release(grant);
      if (Chance(10)) Release(grant);
    } else if (kept_.size() < kMostKept) {
      kept_.push_back(grant);
    }
  }

  void SettleOneKept() {
    const Grant grant = kept_[Below(kept_.size())];
    std::erase_if(kept_, [&](const Grant& other) {
      return other.reservation.token() == grant.reservation.token();
    });
    Chance(70) ? Commit(grant) : Chance(50) ? Extend(grant) : Release(grant);
  }

  void LookAtSomething() {
    v1::InspectRequest request;
    const auto [space, key] = DrawKey();
    SetKey(space, key, request);
    request.set_include_result(true);
    Inspect(request);
  }

  // Several keys at once, of which some come twice.
  void Batch() {
    v1::BatchRequest request;
    const std::uint64_t count = 2 + Below(6);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!kept_.empty() && Chance(30)) {
        const Grant grant = kept_.back();
        kept_.pop_back();
        *request.add_operations()->mutable_commit() = CommitOf(grant);
        if (Chance(50))
          SetKey(grant.space, grant.key, *request.add_operations()->mutable_inspect());
        continue;
      }
      const auto [space, key] = DrawKey();
      v1::ReserveRequest reserve = ReserveOf(space, key, "fp");
      reserve.clear_wait_timeout();
      *request.add_operations()->mutable_reserve() = reserve;
      if (Chance(20)) SetKey(space, key, *request.add_operations()->mutable_inspect());
    }
    Send(request);
  }

  // ---- Requests ----

  std::pair<std::string, std::string> DrawKey() {
    const std::string full = load_.DrawKey(random_);
    const std::size_t slash = full.find('/');
    return {full.substr(0, slash), full.substr(slash + 1)};
  }

  v1::ReserveRequest ReserveOf(const std::string& space, const std::string& key,
                               const std::string& fingerprint) {
    v1::ReserveRequest request;
    SetKey(space, key, request);
    request.set_fingerprint(fingerprint);
    request.set_request_id(client::NewRequestId());
    request.set_owner(absl::StrCat("c", number_, "-", ++drawn_));
    *request.mutable_lease_ttl() = ToProto(Chance(IsHot(key) ? 90 : 60) ? kShortLease : kLongLease);
    if (Chance(25)) {
      *request.mutable_wait_timeout() = ToProto(absl::Milliseconds(20 + Below(300)));
    }
    return request;
  }

  v1::CommitRequest CommitOf(const Grant& grant) {
    v1::CommitRequest request;
    SetKey(grant.space, grant.key, request);
    request.set_token(grant.reservation.token());
    *request.mutable_result() = DrawResult();
    // A key that is committed for long is of no more use to others.
    const bool brief = Chance(IsHot(grant.key) ? 95 : 40);
    *request.mutable_retention_ttl() = ToProto(brief ? kShortRetention : kLongRetention);
    return request;
  }

  v1::Result DrawResult() {
    v1::Result result;
    result.set_status_code(200 + static_cast<int>(Below(300)));
    for (std::uint64_t i = Below(3); i > 0; --i) {
      v1::Header& header = *result.add_headers();
      header.set_name("x-header");
      header.set_value(absl::StrCat(Below(1'000)));
    }
    // All bytes, and now and then more than one block of a log.
    std::string body = absl::StrCat("c", number_, "-", ++drawn_, "-");
    const std::uint64_t size = Chance(2) ? 40'000 : Below(100);
    while (body.size() < size) body.push_back(static_cast<char>(Below(256)));
    result.set_body(body);
    return result;
  }

  // ---- Calls, each until it is answered or given up ----

  std::optional<v1::ReserveResponse> Reserve(const v1::ReserveRequest& request) {
    return Until(85, [&] { return Once(request, &client::RawClient::Reserve); });
  }

  void Commit(const Grant& grant) {
    const v1::CommitRequest request = CommitOf(grant);
    const auto done = Until(85, [&] { return Once(request, &client::RawClient::Commit); });
    if (done.has_value() && Chance(10)) Once(request, &client::RawClient::Commit);
    if (done.has_value() && Chance(5)) Once(CommitOf(grant), &client::RawClient::Commit);
    if (done.has_value() && Chance(5)) Release(grant);
  }

  void Release(const Grant& grant) {
    v1::ReleaseRequest request;
    SetKey(grant.space, grant.key, request);
    request.set_token(grant.reservation.token());
    Until(60, [&] { return Once(request, &client::RawClient::Release); });
  }

  void Extend(const Grant& grant) {
    v1::ExtendRequest request;
    SetKey(grant.space, grant.key, request);
    request.set_token(grant.reservation.token());
    *request.mutable_lease_ttl() = ToProto(Chance(60) ? 3 * kShortLease : kLongLease);
    if (Chance(50)) request.set_checkpoint(absl::StrCat("saved-", number_, "-", ++drawn_));
    Until(60, [&] { return Once(request, &client::RawClient::Extend); });
  }

  bool Inspect(const v1::InspectRequest& request) {
    return Until(50, [&] { return Once(request, &client::RawClient::Inspect); }).has_value();
  }

  // Sends it again, most of the time, after an answer that says nothing.
  template <typename Function>
  auto Until(std::uint64_t percent, const Function& once) -> decltype(once()) {
    for (int tries = 1;; ++tries) {
      auto answer = once();
      if (answer.has_value() || tries == kMostTries) return answer;
      if (last_answer_.status == Status::kOk || !Chance(percent)) return answer;
    }
  }

  // nullopt: an error, of which `last_answer_` tells more.
  template <typename Request, typename Response>
  std::optional<Response> Once(const Request& request,
                               absl::StatusOr<Response> (client::RawClient::*method)(
                                   const Request&, const client::CallOptions&)) {
    const Target target = Connect();
    Call call = CallOf(request);
    call.client = number_;
    const std::uint64_t id = load_.history_.Sent(std::move(call));
    const absl::StatusOr<Response> response =
        (*client_.*method)(request, {.deadline = absl::Now() + load_.options_.call_deadline});
    Heard(id, AnswerOf(response), target);
    if (!response.ok()) return std::nullopt;
    return *response;
  }

  void Send(const v1::BatchRequest& request) {
    const Target target = Connect();
    std::vector<std::uint64_t> ids;
    std::map<std::string, std::uint64_t> last_of_key;
    for (const v1::Operation& operation : request.operations()) {
      Call call = CallOf(operation);
      call.client = number_;
      if (const auto last = last_of_key.find(call.key); last != last_of_key.end()) {
        call.after = last->second;
      }
      const std::string key = call.key;
      ids.push_back(last_of_key[key] = load_.history_.Sent(std::move(call)));
    }
    const absl::StatusOr<v1::BatchResponse> response =
        client_->Batch(request, {.deadline = absl::Now() + load_.options_.call_deadline});
    for (std::size_t i = 0; i < ids.size(); ++i) {
      load_.history_.Answered(ids[i], response.ok() ? AnswerOf(response->items(static_cast<int>(i)))
                                                    : AnswerOf(response.status()));
    }
    if (!response.ok()) return WaitIfLost(AnswerOf(response.status()), target);
    for (int i = 0; i < request.operations_size(); ++i) {
      const v1::BatchItem& item = response->items(i);
      if (!item.reserve().has_reservation() || kept_.size() >= kMostKept) continue;
      const v1::ReserveRequest& reserve = request.operations(i).reserve();
      kept_.push_back({reserve.namespace_(), reserve.key(), item.reserve().reservation()});
    }
  }

  void Heard(std::uint64_t id, Answer answer, const Target& target) {
    last_answer_ = answer;
    load_.history_.Answered(id, std::move(answer));
    WaitIfLost(last_answer_, target);
  }
  // A server that is gone or going is not asked at once again.
  void WaitIfLost(const Answer& answer, const Target& target) const {
    if (answer.status != Status::kOk) load_.AwaitOther(target.generation);
  }

  Target Connect() {
    const Target target = load_.AwaitTarget();
    if (client_ == nullptr || target.generation != connected_to_) {
      client_ = std::make_unique<client::RawClient>(client::RawClient::Connect(target.address));
      connected_to_ = target.generation;
    }
    return target;
  }

  Load& load_;
  const std::int64_t number_;
  std::mt19937_64 random_;
  std::uint64_t drawn_ = 0;
  std::deque<Grant> kept_;
  std::unique_ptr<client::RawClient> client_;
  std::uint64_t connected_to_ = 0;
  Answer last_answer_;
};

// ---- All clients ----

Load::Load(const LoadOptions& options, History& history) : options_(options), history_(history) {}

Load::~Load() { Stop(); }

void Load::ServerStarts() { history_.ServerUp(); }

void Load::ServerUp(const std::string& address) {
  history_.ServerUp();
  {
    const std::lock_guard lock(mutex_);
    target_ = {.generation = target_.generation + 1, .address = address};
  }
  changed_.notify_all();
  if (!threads_.empty() || stopping_) return;
  for (int number = 0; number < options_.clients; ++number) {
    threads_.emplace_back([this, number] { Client(*this, number).Run(); });
  }
}

void Load::ServerDown() {
  history_.ServerDown();
  const std::lock_guard lock(mutex_);
  target_.down = true;
}

bool Load::AwaitAnswers(std::uint64_t count) {
  const std::uint64_t enough = history_.answered() + count;
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (history_.answered() < enough) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void Load::Stop() {
  {
    const std::lock_guard lock(mutex_);  // So that nobody is between looking and waiting.
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool Load::ReadBack() {
  std::map<std::string, bool> answered;
  for (const Call& call : history_.Copy().calls) answered[call.key] = false;
  Client reader(*this, options_.clients);
  return std::all_of(answered.begin(), answered.end(),
                     [&](const auto& key) { return reader.ReadBack(key.first); });
}

Load::Target Load::AwaitTarget() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !target_.down || stopping_; });
  return target_;
}

void Load::AwaitOther(std::uint64_t generation) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(50),
                    [&] { return target_.generation != generation || stopping_; });
}

std::string Load::DrawKey(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  const std::uint64_t episode = episodes_;
  const std::uint64_t kind = below(100);
  std::uint64_t number = episode / kEpisodesPerKey + below(kKeysAtOnce);
  std::string key;
  if (kind < 10) {
    number = below(kHotKeys);
    key = absl::StrCat(kHot, episode / kEpisodesPerHotKeys, "-", number);
  } else {
    if (kind < 20) number = below(number + 1);
    key = absl::StrCat("k", number);
  }
  // By the key alone: a key is in one namespace.
  return absl::StrCat(kNamespaces[number % kNamespaces.size()], "/", key);
}

}  // namespace onced::fault
