#include "tests/hostile/trial.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/integration/sanitized.h"

namespace onced::hostile {
namespace {

using integration::Api;
using integration::kSanitized;
using integration::ServerProcess;
using Clock = std::chrono::steady_clock;

constexpr char kBody[] = "{\"charge\":\"ch_77\"}";
constexpr std::size_t kQuietPairs = 50;  // Before the attack, and as many after it.
constexpr std::size_t kWarmUpPairs = 30;
constexpr std::size_t kLookedAtMax = 100;  // Of the results, in the end.

// A script in place of the server, which becomes it.
std::string WriteLauncher(const integration::TempDir& dir, std::size_t descriptors_max) {
  const std::string path =
      dir.Write("onced", absl::StrCat("#!/bin/sh\nulimit -n ", descriptors_max, "\nexec '",
                                      integration::ServerBinary(), "' \"$@\"\n"));
  chmod(path.c_str(), 0700);
  return path;
}

}  // namespace

double Service::AtShare(double share) const {
  const auto index = static_cast<std::size_t>(share * static_cast<double>(latencies.size() - 1));
  return std::chrono::duration<double, std::milli>(latencies.at(index)).count();
}

void Service::operator+=(const Service& more) {
  latencies.insert(latencies.end(), more.latencies.begin(), more.latencies.end());
  retries += more.retries;
  std::sort(latencies.begin(), latencies.end());
}

double MemoryMib(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/statm"));
  std::size_t all = 0;
  std::size_t resident = 0;
  file >> all >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

std::size_t Descriptors(pid_t pid) {
  namespace fs = std::filesystem;
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(absl::StrCat("/proc/", pid, "/fd")), {}));
}

Trial::Trial(Options options) : options_(std::move(options)) {
  ServerProcess::Options server = options_.server;
  if (options_.descriptors_max > 0) server.binary = WriteLauncher(dir_, options_.descriptors_max);
  server_ = std::make_unique<ServerProcess>(server);
  client_ = std::make_unique<Api>(options_.connect(address()));
}

void Trial::Run(const Attacker& attacker, int threads) {
  // Ignored: its first calls make connections and warm caches.
  (void)Serve(kWarmUpPairs, [] { return true; });
  memory_mib_before_ = MemoryMib(server_->process().pid());
  Service quiet = Serve(kQuietPairs, [] { return true; });

  Attack attack(options_.bounds.rounds);
  std::vector<std::thread> attackers;
  attackers.reserve(threads);
  for (int i = 0; i < threads; ++i) attackers.emplace_back([&, i] { attacker(attack, i); });
  const Service attacked = Serve(1, [&] { return attack.ended(); });
  attack.GiveUp();
  for (std::thread& thread : attackers) thread.join();
  if (testing::Test::HasFailure()) return;
  ExpectServing();
  quiet += Serve(kQuietPairs, [] { return true; });
  ExpectNothingLost();
  memory_mib_after_ = MemoryMib(server_->process().pid());

  Report(quiet, attacked, attack);
  EXPECT_EQ(quiet.retries, 0);
  if (!kSanitized) {
    EXPECT_LE(memory_mib_peak_ - memory_mib_before_, options_.bounds.memory_mib_max);
  }
}

Service Trial::Serve(std::size_t least, const std::function<bool()>& done) {
  const auto give_up = Clock::now() + integration::kPatience;
  Service service;
  while (service.latencies.size() < least || !done()) {
    const auto before = Clock::now();
    ServePair(service);
    service.latencies.push_back(Clock::now() - before);
    if (service.latencies.size() % 8 == 0) NoteUse();
    if (testing::Test::HasFailure()) break;
    if (Clock::now() > give_up) {
      ADD_FAILURE() << options_.name << ": still not done after " << service.latencies.size();
      break;
    }
  }
  NoteUse();
  std::sort(service.latencies.begin(), service.latencies.end());
  return service;
}

namespace {

// The call may have been made, or not: gRPC's own refusals come without an error of ours.
bool IsUnknown(const grpc::Status& status) {
  return status.error_code() == grpc::UNAVAILABLE ||
         (status.error_code() == grpc::RESOURCE_EXHAUSTED && status.error_details().empty());
}

// Makes the call, and again as long as what became of it isn't known.
template <typename Call>
auto MadeAgain(Api& client, Service& service, const Call& call) {
  const auto give_up = Clock::now() + integration::kPatience;
  while (true) {
    auto reply = call();
    if (!IsUnknown(reply.status) || Clock::now() > give_up) return reply;
    ++service.retries;
    client.channel()->WaitForConnected(integration::Soon());
  }
}

}  // namespace

// The answers have to be right, whatever happens beside.
void Trial::ServePair(Service& service) {
  const std::string key = absl::StrCat("victim-", next_key_);
  auto reserve = integration::ReserveOf(key);
  reserve.set_request_id(absl::StrCat("request-", next_key_++));
  const auto granted = MadeAgain(*client_, service, [&] { return client_->Reserve(reserve); });
  ASSERT_TRUE(granted.ok()) << granted.status.error_message();
  ASSERT_EQ(granted.response.outcome(), integration::v1::OUTCOME_FRESH);
  const auto commit = integration::CommitOf(key, granted.response.reservation().token(),
                                            integration::ResultOf(201, kBody));
  const auto committed = MadeAgain(*client_, service, [&] { return client_->Commit(commit); });
  ASSERT_TRUE(committed.ok()) << committed.status.error_message();
}

void Trial::ExpectNothingLost() {
  for (std::size_t i = next_key_ - std::min(next_key_, kLookedAtMax); i < next_key_; ++i) {
    const auto replayed = client_->Reserve(integration::ReserveOf(absl::StrCat("victim-", i)));
    ASSERT_TRUE(replayed.ok()) << replayed.status.error_message();
    ASSERT_EQ(replayed.response.outcome(), integration::v1::OUTCOME_REPLAYED);
    ASSERT_EQ(replayed.response.replay().result().body(), kBody);
  }
}

void Trial::NoteUse() {
  const pid_t pid = server_->process().pid();
  memory_mib_peak_ = std::max(memory_mib_peak_, MemoryMib(pid));
  descriptors_peak_ = std::max(descriptors_peak_, Descriptors(pid));
}

void Trial::ExpectServing() {
  EXPECT_EQ(server_->Get("/livez").status, 200) << server_->Log();
  const auto channel = options_.connect(address());
  // The first try may still be one too many for a bound: it tries again by itself.
  ASSERT_TRUE(channel->WaitForConnected(integration::Soon()));
  Api newcomer(channel);
  const std::string key = "newcomer";
  const auto granted = newcomer.Reserve(integration::ReserveOf(key));
  ASSERT_TRUE(granted.ok()) << granted.status.error_message();
  EXPECT_TRUE(newcomer
                  .Commit(integration::CommitOf(key, granted.response.reservation().token(),
                                                integration::ResultOf(200, "")))
                  .ok());
}

void Trial::Report(const Service& quiet, const Service& attacked, const Attack& attack) const {
  absl::PrintF(
      "%-24s median %7.2f -> %7.2f ms (x %5.2f)  p99 %7.2f -> %7.2f ms (x %5.2f)  %4d pairs  "
      "%d again  memory +%4.0f MiB, +%4.0f after  %4d descriptors  %6d rounds\n",
      options_.name, quiet.MedianMs(), attacked.MedianMs(), attacked.MedianMs() / quiet.MedianMs(),
      quiet.P99Ms(), attacked.P99Ms(), attacked.P99Ms() / quiet.P99Ms(), attacked.latencies.size(),
      attacked.retries, std::max(0.0, memory_mib_peak_ - memory_mib_before_),
      std::max(0.0, memory_mib_after_ - memory_mib_before_), descriptors_peak_, attack.rounds());
  std::fflush(stdout);
}

}  // namespace onced::hostile
