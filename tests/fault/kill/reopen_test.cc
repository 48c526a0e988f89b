// How long a store takes to open after a kill -9.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/duration.h"
#include "client/cpp/raw_client.h"
#include "client/cpp/request_id.h"
#include "tests/integration/server_process.h"

namespace onced::fault {
namespace {

namespace v1 = ::idempotency::v1;
using integration::ServerProcess;

constexpr int kInABatch = 500;
constexpr auto kMost = std::chrono::seconds(10);

// ONCED_FAULT_RECORDS, for more than a test of every day has time for.
int Records() {
  const char* text = std::getenv("ONCED_FAULT_RECORDS");
  int records = 20'000;
  return text != nullptr && absl::SimpleAtoi(text, &records) ? records : 20'000;
}

std::string KeyOf(int number) { return absl::StrCat("order-", number); }

template <typename Request>
Request* Named(int number, Request* request) {
  request->set_namespace_("reopen");
  request->set_key(KeyOf(number));
  return request;
}

// Reserves the keys from `first` on, and commits every second one.
void MakeBatch(client::RawClient& client, int first) {
  v1::BatchRequest reserves, commits;
  for (int number = first; number < first + kInABatch; ++number) {
    v1::ReserveRequest& reserve = *Named(number, reserves.add_operations()->mutable_reserve());
    reserve.set_fingerprint("sha256:0123456789abcdef0123456789abcdef");
    reserve.set_request_id(client::NewRequestId());
    reserve.set_owner("worker");
    *reserve.mutable_lease_ttl() = client::ToProto(absl::Hours(24));
  }
  const auto reserved = client.Batch(reserves);
  ASSERT_TRUE(reserved.ok()) << reserved.status();
  for (int i = 0; i < kInABatch; i += 2) {
    v1::CommitRequest& commit = *Named(first + i, commits.add_operations()->mutable_commit());
    commit.set_token(reserved->items(i).reserve().reservation().token());
    commit.mutable_result()->set_status_code(200);
    commit.mutable_result()->set_body(std::string(200, 'b'));
  }
  const auto committed = client.Batch(commits);
  ASSERT_TRUE(committed.ok()) << committed.status();
  for (const v1::BatchItem& item : committed->items()) ASSERT_TRUE(item.has_commit());
}

void Fill(const ServerProcess& server, int records) {
  std::vector<std::thread> threads;
  constexpr int kThreads = 4;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      client::RawClient client = client::RawClient::Connect(server.address());
      for (int first = thread * kInABatch; first < records; first += kThreads * kInABatch) {
        MakeBatch(client, first);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Reopen, AfterAKill9IsFast) {
  const int records = Records();
  ServerProcess server;
  Fill(server, records);
  ASSERT_FALSE(HasFatalFailure());
  server.Kill9();
  const auto begin = std::chrono::steady_clock::now();
  server.Start();
  const auto took = std::chrono::steady_clock::now() - begin;
  std::printf(
      "%d records: serving %lld ms after its start\n", records,
      static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  EXPECT_LT(took, kMost);
  client::RawClient client = client::RawClient::Connect(server.address());
  for (const int number : {0, 1, records / 2, records / 2 + 1, records - 2, records - 1}) {
    v1::InspectRequest inspect;
    const auto seen = client.Inspect(*Named(number, &inspect));
    ASSERT_TRUE(seen.ok()) << seen.status();
    EXPECT_EQ(seen->record().state(), number % 2 == 0 ? v1::STATE_COMMITTED : v1::STATE_PENDING);
  }
}

}  // namespace
}  // namespace onced::fault
