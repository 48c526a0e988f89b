// What memory the server takes. tests/space/memory.sh asks the same of millions
// of records.
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/sanitized.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

// Keys number `from` to `to`, reserved and committed by batches.
void Fill(Api& api, int from, int to, absl::Duration retention) {
  constexpr int kBatch = 1'000;
  for (int at = from; at < to; at += kBatch) {
    v1::BatchRequest reserves;
    for (int i = at; i < at + kBatch; ++i) {
      *reserves.add_operations()->mutable_reserve() = ReserveOf(absl::StrCat("key-", i));
    }
    const v1::BatchResponse granted = api.Batch(reserves).value();
    ASSERT_EQ(granted.items_size(), kBatch);
    v1::BatchRequest commits;
    for (int i = at; i < at + kBatch; ++i) {
      v1::CommitRequest& commit = *commits.add_operations()->mutable_commit();
      commit =
          CommitOf(absl::StrCat("key-", i), granted.items(i - at).reserve().reservation().token(),
                   ResultOf(201, std::string(100, static_cast<char>('a' + i % 26))));
      commit.mutable_retention_ttl()->set_seconds(absl::ToInt64Seconds(retention));
    }
    const v1::BatchResponse committed = api.Batch(commits).value();
    for (const v1::BatchItem& item : committed.items()) {
      ASSERT_TRUE(item.has_commit()) << item.ShortDebugString();
    }
  }
}

TEST(Memory, OfAnEmptyServerIsSmall) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  ServerProcess server;
  Api api(server.Connect());
  api.Grant("key");
  EXPECT_LT(server.process().PeakMemoryMib(), 150);
}

// docs/space.md: the budget and 88 MiB; on a busy machine what waits takes some more.
TEST(Memory, StaysWithinItsBudgetWithManyRecordsAndSweeps) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  constexpr int kKeys = 300'000;
  ServerProcess server({.flags = {"--memory-budget", "64MiB", "--durability", "process",
                                  "--reclaim-grace", "2s", "--sweep-interval", "1s"}});
  std::vector<std::thread> threads;
  for (int half = 0; half < 2; ++half) {
    threads.emplace_back([&, half] {
      Api api(server.Connect());
      Fill(api, half * kKeys / 2, (half + 1) * kKeys / 2,
           half == 0 ? absl::Seconds(1) : absl::Hours(1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Where less than a quarter of what lies together has expired, it stays.
  Await("the space of what has expired",
        [&] { return server.GetMetrics().at("idempotency_stored_keys") <= 1.5 * kKeys / 2; });
  EXPECT_LT(server.process().PeakMemoryMib(), 64 + 112);
  EXPECT_GT(server.GetMetrics().at("idempotency_sweep_given_back_bytes_total"), 0);
  EXPECT_EQ(server.GetMetrics().at("idempotency_sweep_failures_total"), 0);
}

}  // namespace
}  // namespace onced::integration
