// That each payment is charged once: by servers that die and freeze, over networks that lose and
// double calls. Who judges is the books, where a second charge would show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <random>

#include "tests/examples/payments/adversary.h"
#include "tests/examples/payments/callers.h"
#include "tests/examples/payments/fleet.h"
#include "tests/examples/payments/ledger.h"
#include "tests/examples/payments/report.h"
#include "tests/examples/payments/staged.h"

namespace onced::examples {
namespace {

using integration::FaultCounts;
using integration::Faults;
using payments::Receipt;
using payments::v1::ChargeRequest;
using std::chrono::milliseconds;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kServers = 3;
constexpr std::size_t kCallers = 32;
// In how many pieces the payments come: something is killed or frozen in each.
constexpr std::size_t kPiecesMin = 9;
constexpr std::size_t kPaymentsAPiece = 200;

const Faults kBadToServers = {.lose_request = 0.05,
                              .lose_reply = 0.05,
                              .duplicate = 0.05,
                              .silence = 0.2,
                              .delay = 0.05,
                              .late_max = milliseconds(200)};
const Faults kBadToOnced = {.lose_request = 0.02,
                            .lose_reply = 0.03,
                            .duplicate = 0.05,
                            .silence = 0.1,
                            .delay = 0.05,
                            .late_max = milliseconds(200)};

std::uint64_t FromEnvironment(const char* name, std::uint64_t preset) {
  const char* text = std::getenv(name);
  return text == nullptr ? preset : std::strtoull(text, nullptr, 10);
}

std::int64_t RefusedIn(const Fleet& fleet) {
  return NumberIn(fleet.books(), "SELECT count(*) FROM refused");
}

TEST(Payments, AWorkerThatIsSlowIsWaitedFor) {
  Fleet fleet(1, 2, {.lease = "1h"});
  AskWhileAWorkerIsSlow(fleet, PaymentOf("order-1", 1999));
  EXPECT_THAT(ChargesIn(fleet.books())["order-1"], SizeIs(1));
  EXPECT_EQ(NumberIn(fleet.books(), "SELECT count(*) FROM takeovers"), 0);
}

TEST(Payments, AWorkerThatWasFrozenIsRefused) {
  Fleet fleet(1, 2);
  FreezeAWorker(fleet, PaymentOf("order-1", 1999));
  EXPECT_THAT(ChargesIn(fleet.books())["order-1"], SizeIs(1));
  EXPECT_EQ(RefusedIn(fleet), 1);
}

TEST(Payments, AChargeThatIsThereIsFound) {
  Fleet fleet(1, 2);
  KillAWorker(fleet, PaymentOf("order-1", 1999));
  EXPECT_THAT(ChargesIn(fleet.books())["order-1"], SizeIs(1));
  EXPECT_EQ(NumberIn(fleet.books(), "SELECT sum(found) FROM takeovers"), 1);
}

// The books have charged it, and the server doesn't hear of it: it must not say that it didn't.
TEST(Payments, AChargeThatNobodyHeardOfIsFound) {
  Fleet fleet(1, 2, {.lose_answers = "1"});
  const ChargeRequest payment = PaymentOf("order-1", 1999);
  const auto ask = [&] {
    const payments::Payer payer(integration::ConnectTo(fleet.server(0).address()),
                                {.attempt_timeout = absl::FromChrono(integration::kPatience),
                                 .retry = {.attempts_max = 1}});
    Receipt none;
    return payer.Pay(payment, none).error_code();
  };
  EXPECT_EQ(ask(), grpc::UNAVAILABLE);
  EXPECT_EQ(ask(), grpc::UNAVAILABLE);
  EXPECT_THAT(ChargesIn(fleet.books())["order-1"], SizeIs(1));
  EXPECT_EQ(NumberIn(fleet.books(), "SELECT sum(found) FROM takeovers"), 1);
}

// Every payment has one charge, of what was asked for, and everybody has heard of that one.
void Judge(const Fleet& fleet, const Callers& callers,
           std::map<std::string, std::vector<Charged>> charges) {
  EXPECT_THAT(callers.wrong(), IsEmpty());
  const auto heard = callers.heard();
  for (const ChargeRequest& payment : callers.asked()) {
    const std::string& id = payment.payment_id();
    const std::vector<Charged> made = charges[id];
    if (made.size() != 1) {
      ADD_FAILURE() << id << " has " << made.size() << " charges\n"
                    << EvidenceIn(fleet.books(), id) << fleet.RecordOf(id);
      charges.erase(id);
      continue;
    }
    EXPECT_EQ(made[0].cents, payment.cents()) << id;
    EXPECT_EQ(made[0].currency, payment.currency()) << id;
    ASSERT_TRUE(heard.contains(id)) << id << " was never answered";
    for (const Heard& answer : heard.at(id)) {
      EXPECT_EQ(answer.charge_id, made[0].id) << id;
      EXPECT_EQ(answer.cents, payment.cents()) << id;
    }
    charges.erase(id);
  }
  for (const auto& [id, made] : charges) ADD_FAILURE() << "nobody asked for " << id;
}

// Asked again when all is quiet, every payment is answered with the charge that it has.
std::int64_t AskAgain(Fleet& fleet, const Callers& callers) {
  const auto charges = ChargesIn(fleet.books());
  const std::vector<ChargeRequest>& asked = callers.asked();
  std::vector<std::future<std::int64_t>> parts;
  for (std::size_t part = 0; part < kServers; ++part) {
    const std::string address = fleet.server(part).address();
    parts.push_back(std::async(std::launch::async, [&, part, address] {
      const payments::Payer payer = PatientPayer(address);
      std::int64_t count = 0;
      for (std::size_t i = part; i < asked.size(); i += kServers, ++count) {
        const Receipt receipt = Pay(payer, asked[i]);
        EXPECT_TRUE(receipt.replayed) << asked[i].payment_id();
        const auto made = charges.find(asked[i].payment_id());
        if (made == charges.end()) continue;  // Judge() has said so.
        EXPECT_EQ(receipt.charge.charge_id(), made->second.at(0).id) << asked[i].payment_id();
      }
      return count;
    }));
  }
  std::int64_t count = 0;
  for (auto& part : parts) count += part.get();
  return count;
}

void Tell(Report& report, const std::string& network, const FaultCounts& counts) {
  report.Add("calls " + network, counts.calls);
  report.Add("  lost before a server had heard of it", counts.lost_requests);
  report.Add("  executed, and the reply lost", counts.lost_replies);
  report.Add("  of these two, without a word to the caller until its deadline", counts.silences);
  report.Add("  sent twice", counts.duplicates);
  report.Add("  late", counts.delays);
}

TEST(Payments, AreEachChargedOnce) {
  const std::uint64_t seed = FromEnvironment("ONCED_TEST_SEED", std::random_device()() % 1'000'000);
  const std::size_t payments = FromEnvironment("ONCED_PAYMENTS", 1'000);
  std::printf("ONCED_TEST_SEED=%llu ONCED_PAYMENTS=%zu\n", static_cast<unsigned long long>(seed),
              payments);
  Fleet fleet(seed, kServers, {.delay = "40ms", .lose_answers = "0.02"});
  FreezeAWorker(fleet, PaymentOf("frozen", 1999));
  KillAWorker(fleet, PaymentOf("killed", 1999));

  fleet.to_servers().SetFaults(kBadToServers);
  fleet.to_onced().SetFaults(kBadToOnced);
  Adversary adversary(fleet, seed);
  Callers callers(fleet.to_servers().address(), seed, payments, kCallers);
  const std::size_t pieces = std::max(kPiecesMin, payments / kPaymentsAPiece);
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const auto at = [&](double pieces_done) {
      return static_cast<std::size_t>(static_cast<double>(callers.size()) * pieces_done /
                                      static_cast<double>(pieces));
    };
    callers.Release(at(static_cast<double>(piece + 1)));
    callers.AwaitAnswers(at(static_cast<double>(piece) + 0.8 * adversary.Fraction()));
    adversary.Act();
  }
  callers.Release(callers.size());
  callers.AwaitAnswers(callers.size());
  fleet.to_servers().SetFaults({});
  fleet.to_onced().SetFaults({});

  std::map<std::string, std::vector<Charged>> charges = ChargesIn(fleet.books());
  for (const char* staged : {"frozen", "killed"}) {
    EXPECT_THAT(charges[staged], SizeIs(1));
    charges.erase(staged);
  }
  Report report;
  report.Add("payments", static_cast<std::int64_t>(payments));
  report.Add("callers", static_cast<std::int64_t>(callers.size()));
  Tell(report, "to the payment servers", fleet.to_servers().counts());
  Tell(report, "to onced", fleet.to_onced().counts());
  report.Add("times onced was killed", adversary.onced_kills());
  report.Add("times a payment server was killed", adversary.server_kills());
  report.Add("times one was frozen for longer than its leases", adversary.freezes());
  report.Add("takeovers", NumberIn(fleet.books(), "SELECT count(*) FROM takeovers"));
  report.Add("  that found the charge there",
             NumberIn(fleet.books(), "SELECT sum(found) FROM takeovers"));
  report.Add("charges refused by the fence", RefusedIn(fleet));
  Judge(fleet, callers, std::move(charges));
  report.Add("payments asked for once more in the end", AskAgain(fleet, callers));
  report.Print();
  EXPECT_THAT(report.Missing(), IsEmpty());
  if (!HasFailure()) {
    std::puts("Each was charged once, and every caller was told of that charge.");
  }
}

}  // namespace
}  // namespace onced::examples
