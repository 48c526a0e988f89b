// Fills a server with committed keys, or asks it while it does something else:
//
//   space_load HOST:PORT fill KEYS [retention=60s] [body=100] [threads=4] [prefix=P]
//   space_load HOST:PORT ask SECONDS [keys=KEYS] [threads=4] [prefix=P]
//
// `fill` reserves and commits KEYS keys, by batches as large as the API allows.
// `ask` reserves and commits one key after another, and inspects one of those
// that were filled, for so many seconds; it tells how long the calls took.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/duration.h"
#include "client/cpp/raw_client.h"
#include "client/cpp/request_id.h"

namespace onced::client {
namespace {

// Of a batch: operations, and what its message may have to hold.
constexpr std::int64_t kBatchMax = 1024;
constexpr std::int64_t kBatchBytes = 3 << 20;
constexpr std::int64_t kOtherBytes = 300;  // Of an operation, beside the body.

struct Plan {
  std::string target;
  std::string mode;
  std::int64_t amount = 0;
  std::int64_t keys = 1;
  std::int64_t body = 100;
  std::int64_t threads = 4;
  std::string prefix = "order-";
  absl::Duration retention;  // Zero: the server's default.
};

[[noreturn]] void Die(absl::string_view why) {
  std::fprintf(stderr, "space_load: %s\n", std::string(why).c_str());
  std::exit(1);
}

std::int64_t Whole(absl::string_view text) {
  std::int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < 0) Die(absl::StrCat("not a number: ", text));
  return value;
}

Plan Parse(int argc, char** argv) {
  if (argc < 4) Die("HOST:PORT fill KEYS | HOST:PORT ask SECONDS, then NAME=VALUE");
  Plan plan{.target = argv[1], .mode = argv[2], .amount = Whole(argv[3])};
  for (int i = 4; i < argc; ++i) {
    const std::pair<std::string, std::string> option = absl::StrSplit(argv[i], '=');
    if (option.first == "retention") {
      if (!absl::ParseDuration(option.second, &plan.retention)) Die("retention: not a duration");
    } else if (option.first == "body") {
      plan.body = Whole(option.second);
    } else if (option.first == "threads") {
      plan.threads = std::max<std::int64_t>(Whole(option.second), 1);
    } else if (option.first == "prefix") {
      plan.prefix = option.second;
    } else if (option.first == "keys") {
      plan.keys = std::max<std::int64_t>(Whole(option.second), 1);
    } else {
      Die(absl::StrCat("unknown: ", argv[i]));
    }
  }
  return plan;
}

// A channel of its own, so that threads don't share one connection.
RawClient Connect(const std::string& target, std::int64_t thread) {
  return RawClient::Connect(target, {.user_agent = absl::StrCat("space_load/", thread)});
}

std::string FilledKey(const Plan& plan, std::int64_t i) { return absl::StrCat(plan.prefix, i); }

v1::ReserveRequest ReserveOf(std::string key) {
  v1::ReserveRequest request;
  request.set_namespace_("load");
  request.set_key(std::move(key));
  request.set_fingerprint("sha256:5f2c0f1e9d");
  request.set_request_id(NewRequestId());
  return request;
}

// Bodies that compress as JSON does, not as zeros do.
std::string Body(std::int64_t size, std::mt19937_64& random) {
  std::string body = "{\"charge\":\"";
  while (static_cast<std::int64_t>(body.size()) < size) absl::StrAppend(&body, absl::Hex(random()));
  body.resize(static_cast<std::size_t>(size));
  return body;
}

v1::CommitRequest CommitOf(const Plan& plan, std::string key, const std::string& token,
                           std::mt19937_64& random) {
  v1::CommitRequest request;
  request.set_namespace_("load");
  request.set_key(std::move(key));
  request.set_token(token);
  request.mutable_result()->set_status_code(201);
  request.mutable_result()->set_body(Body(plan.body, random));
  if (plan.retention > absl::ZeroDuration()) {
    *request.mutable_retention_ttl() = ToProto(plan.retention);
  }
  return request;
}

v1::BatchResponse Send(RawClient& client, const v1::BatchRequest& batch) {
  const auto reply = client.Batch(batch);
  if (!reply.ok()) Die(std::string(reply.status().message()));
  return *reply;
}

void FillBatch(const Plan& plan, RawClient& client, std::int64_t from, std::int64_t to,
               std::mt19937_64& random) {
  v1::BatchRequest reserves;
  for (std::int64_t i = from; i < to; ++i) {
    *reserves.add_operations()->mutable_reserve() = ReserveOf(FilledKey(plan, i));
  }
  const v1::BatchResponse granted = Send(client, reserves);
  v1::BatchRequest commits;
  for (std::int64_t i = from; i < to; ++i) {
    const v1::BatchItem& item = granted.items(static_cast<int>(i - from));
    if (!item.reserve().has_reservation()) Die("not granted: " + item.ShortDebugString());
    *commits.add_operations()->mutable_commit() =
        CommitOf(plan, FilledKey(plan, i), item.reserve().reservation().token(), random);
  }
  const v1::BatchResponse committed = Send(client, commits);
  for (const v1::BatchItem& item : committed.items()) {
    if (!item.has_commit()) Die("not committed: " + item.ShortDebugString());
  }
}

void Fill(const Plan& plan) {
  const absl::Time started = absl::Now();
  std::atomic<std::int64_t> next{0};
  const std::int64_t batch =
      std::clamp<std::int64_t>(kBatchBytes / (plan.body + kOtherBytes), 1, kBatchMax);
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < plan.threads; ++t) {
    threads.emplace_back([&, t] {
      RawClient client = Connect(plan.target, t);
      std::mt19937_64 random(static_cast<std::uint64_t>(t));
      for (std::int64_t at = next.fetch_add(batch); at < plan.amount; at = next.fetch_add(batch)) {
        FillBatch(plan, client, at, std::min(at + batch, plan.amount), random);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = absl::ToDoubleSeconds(absl::Now() - started);
  std::printf("filled %lld keys in %.1f s\n", static_cast<long long>(plan.amount), seconds);
}

using Latencies = std::vector<double>;  // Milliseconds.

void AskFor(const Plan& plan, std::int64_t thread, absl::Time end, Latencies& writes,
            Latencies& reads) {
  RawClient client = Connect(plan.target, thread);
  std::mt19937_64 random(static_cast<std::uint64_t>(thread));
  const std::string mine = NewRequestId();
  for (std::int64_t i = 0; absl::Now() < end; ++i) {
    const absl::Time at = absl::Now();
    const std::string key = absl::StrCat("ask-", mine, "-", i);
    const auto granted = client.Reserve(ReserveOf(key));
    if (!granted.ok()) Die(std::string(granted.status().message()));
    const auto committed =
        client.Commit(CommitOf(plan, key, granted->reservation().token(), random));
    if (!committed.ok()) Die(std::string(committed.status().message()));
    const absl::Time between = absl::Now();
    v1::InspectRequest look;
    look.set_namespace_("load");
    look.set_key(FilledKey(plan, static_cast<std::int64_t>(random() % plan.keys)));
    if (const auto seen = client.Inspect(look); !seen.ok()) Die(seen.status().ToString());
    writes.push_back(absl::ToDoubleMilliseconds(between - at));
    reads.push_back(absl::ToDoubleMilliseconds(absl::Now() - between));
  }
}

void Tell(const char* what, const std::vector<Latencies>& parts) {
  Latencies all;
  for (const Latencies& part : parts) all.insert(all.end(), part.begin(), part.end());
  if (all.empty()) Die("nothing was asked");
  std::sort(all.begin(), all.end());
  const auto at = [&](double share) {
    return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
  };
  std::printf("%s count=%zu p50_ms=%.2f p99_ms=%.2f p999_ms=%.2f max_ms=%.2f\n", what, all.size(),
              at(0.5), at(0.99), at(0.999), all.back());
}

void Ask(const Plan& plan) {
  const absl::Time end = absl::Now() + absl::Seconds(plan.amount);
  std::vector<Latencies> writes(static_cast<std::size_t>(plan.threads));
  std::vector<Latencies> reads(writes.size());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < writes.size(); ++t) {
    threads.emplace_back(
        [&, t] { AskFor(plan, static_cast<std::int64_t>(t), end, writes[t], reads[t]); });
  }
  for (std::thread& thread : threads) thread.join();
  Tell("reserve+commit", writes);
  Tell("inspect", reads);
}

}  // namespace
}  // namespace onced::client

int main(int argc, char** argv) {
  const onced::client::Plan plan = onced::client::Parse(argc, argv);
  if (plan.mode == "fill") {
    onced::client::Fill(plan);
  } else if (plan.mode == "ask") {
    onced::client::Ask(plan);
  } else {
    onced::client::Die("fill or ask");
  }
}
