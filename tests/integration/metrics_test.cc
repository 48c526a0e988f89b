// /metrics after known traffic, and what must never be seen there or in the log.
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/async_reserve.h"
#include "tests/integration/server_process.h"
#include "tests/integration/session.h"

namespace onced::integration {
namespace {

using testing::HasSubstr;
using testing::Not;

class MetricsTest : public testing::Test {
 protected:
  std::string Requests(const std::string& method, const std::string& status) {
    return "idempotency_requests_total{method=\"" + method + "\",status=\"" + status + "\"}";
  }
  std::string Errors(const std::string& method, const std::string& reason) {
    return "idempotency_errors_total{method=\"" + method + "\",reason=\"" + reason + "\"}";
  }

  ServerProcess server_{
      {.config = "namespaces:\n  held: {on_lapse: HOLD}\n  tests: {waiters_per_key_max: 1}\n"}};
  Api api_{server_.Connect()};
};

TEST_F(MetricsTest, EverySeriesIsThereFromTheStart) {
  const Metrics metrics = server_.GetMetrics();
  const auto is_zero = [&](const std::string& series) {
    const auto found = metrics.find(series);
    return found != metrics.end() && found->second == 0;
  };
  for (const char* status : {"fresh", "replayed", "conflict", "mismatch", "unresolved", "error"}) {
    EXPECT_TRUE(is_zero(Requests("reserve", status))) << status;
  }
  for (const char* method : {"commit", "release", "extend", "inspect", "batch", "session"}) {
    EXPECT_TRUE(is_zero(Requests(method, "ok"))) << method;
    EXPECT_TRUE(is_zero(Requests(method, "error"))) << method;
  }
  for (const char* method :
       {"reserve", "commit", "release", "extend", "inspect", "batch", "session"}) {
    const std::string labels = "{method=\"" + std::string(method) + "\"}";
    EXPECT_TRUE(is_zero("idempotency_request_duration_seconds_count" + labels)) << method;
    EXPECT_TRUE(is_zero(Errors(method, "SUPERSEDED"))) << method;
    EXPECT_TRUE(is_zero(Errors(method, "INVALID_FIELD"))) << method;
  }
  EXPECT_TRUE(is_zero("idempotency_waiters"));
  EXPECT_TRUE(is_zero("idempotency_sessions"));
  EXPECT_TRUE(is_zero("idempotency_queue_depth{executor=\"0\"}"));
  EXPECT_TRUE(metrics.contains("idempotency_store_sync_duration_seconds_count"));
  EXPECT_TRUE(metrics.contains("idempotency_stored_keys"));
  EXPECT_GT(metrics.at("process_start_time_seconds"), 1.6e9);
}

TEST_F(MetricsTest, BuildInfoNamesTheVersion) {
  EXPECT_THAT(server_.Get("/metrics").body,
              testing::ContainsRegex(
                  "idempotency_build_info\\{[^}]*version=\"[0-9]+\\.[0-9]+\\.[0-9]+\"[^}]*\\} 1"));
}

TEST_F(MetricsTest, CountsAreExact) {
  const v1::Reservation a = api_.Grant("a", WithFingerprint("f"));      // fresh
  const v1::Reservation b = api_.Grant("b");                            // fresh
  for (int i = 0; i < 3; ++i) api_.Reserve("b");                        // conflict x 3
  api_.Reserve("a", WithFingerprint("g"));                              // mismatch
  api_.Commit("a", a.token(), {});                                      // ok
  for (int i = 0; i < 4; ++i) api_.Reserve("a", WithFingerprint("f"));  // replayed x 4
  EXPECT_FALSE(api_.Reserve(ReserveOf("")).ok());                       // error
  EXPECT_FALSE(api_.Commit(CommitOf("b", "wrong", {})).ok());           // error
  EXPECT_FALSE(api_.Commit(CommitOf("absent", "wrong", {})).ok());      // error
  api_.Extend("b", b.token(), absl::Minutes(1));                        // ok
  EXPECT_FALSE(api_.Extend(ExtendOf("a", a.token())).ok());             // error
  api_.Release("b", b.token());                                         // ok
  api_.Release("b", b.token());                                         // ok
  api_.Inspect("a");                                                    // ok
  v1::ReserveRequest held = ReserveOf("h");
  held.set_namespace_("held");
  WithLease(absl::Milliseconds(100))(held);
  api_.Reserve(held);  // fresh
  WithWait(absl::Seconds(60))(held);
  EXPECT_EQ(api_.Reserve(held).value().outcome(), v1::OUTCOME_UNRESOLVED);  // unresolved

  Metrics metrics = server_.GetMetrics();
  EXPECT_EQ(metrics[Requests("reserve", "fresh")], 3);
  EXPECT_EQ(metrics[Requests("reserve", "replayed")], 4);
  EXPECT_EQ(metrics[Requests("reserve", "conflict")], 3);
  EXPECT_EQ(metrics[Requests("reserve", "mismatch")], 1);
  EXPECT_EQ(metrics[Requests("reserve", "unresolved")], 1);
  EXPECT_EQ(metrics[Requests("reserve", "error")], 1);
  EXPECT_EQ(metrics[Requests("commit", "ok")], 1);
  EXPECT_EQ(metrics[Requests("commit", "error")], 2);
  EXPECT_EQ(metrics[Requests("extend", "ok")], 1);
  EXPECT_EQ(metrics[Requests("extend", "error")], 1);
  EXPECT_EQ(metrics[Requests("release", "ok")], 2);
  EXPECT_EQ(metrics[Requests("inspect", "ok")], 1);
  EXPECT_EQ(metrics[Errors("reserve", "INVALID_FIELD")], 1);
  EXPECT_EQ(metrics[Errors("commit", "SUPERSEDED")], 1);
  EXPECT_EQ(metrics[Errors("commit", "NOT_RESERVED")], 1);
  EXPECT_EQ(metrics[Errors("extend", "ALREADY_COMMITTED")], 1);
  EXPECT_EQ(metrics["idempotency_request_duration_seconds_count{method=\"reserve\"}"], 13);
  EXPECT_GT(metrics["idempotency_request_duration_seconds_sum{method=\"reserve\"}"], 0);
  EXPECT_GE(metrics["idempotency_store_sync_duration_seconds_count"], 6) << "one a change";
  EXPECT_GT(metrics["idempotency_stored_keys"], 0);
}

TEST_F(MetricsTest, ABatchCountsItsOperationsAndItself) {
  v1::BatchRequest batch;
  *batch.add_operations()->mutable_reserve() = ReserveOf("k");
  *batch.add_operations()->mutable_reserve() = ReserveOf("k");
  *batch.add_operations()->mutable_inspect() = InspectOf("k");
  *batch.add_operations()->mutable_inspect() = InspectOf("");
  ASSERT_TRUE(api_.Batch(batch).ok());
  EXPECT_FALSE(api_.Batch(v1::BatchRequest{}).ok());
  Metrics metrics = server_.GetMetrics();
  EXPECT_EQ(metrics[Requests("reserve", "fresh")], 1);
  EXPECT_EQ(metrics[Requests("reserve", "conflict")], 1);
  EXPECT_EQ(metrics[Requests("inspect", "ok")], 1);
  EXPECT_EQ(metrics[Requests("inspect", "error")], 1);
  EXPECT_EQ(metrics[Errors("inspect", "INVALID_FIELD")], 1);
  EXPECT_EQ(metrics[Requests("batch", "ok")], 1);
  EXPECT_EQ(metrics[Requests("batch", "error")], 1);
}

TEST_F(MetricsTest, AWaitIsCountedApartFromTheLatency) {
  const v1::Reservation grant = api_.Grant("k");
  v1::ReserveRequest request = ReserveOf("k");
  WithWait(absl::Milliseconds(500))(request);
  EXPECT_EQ(api_.Reserve(request).value().outcome(), v1::OUTCOME_CONFLICT);
  Metrics metrics = server_.GetMetrics();
  EXPECT_EQ(metrics["idempotency_wait_duration_seconds_count"], 1);
  EXPECT_GE(metrics["idempotency_wait_duration_seconds_sum"], 0.5);
  WithWait(absl::Seconds(60))(request);
  AsyncReserve waiter(api_, request);
  server_.AwaitWaiters(1);
  api_.Release("k", grant.token());
  EXPECT_EQ(waiter.Outcome(), v1::OUTCOME_FRESH);
  server_.AwaitWaiters(0);
}

TEST_F(MetricsTest, RpcsAreCountedByMethodAndCode) {
  const auto series = [](const char* name, const char* method, const std::string& code = "") {
    return std::string(name) + "{" + (code.empty() ? "" : "grpc_code=\"" + code + "\",") +
           "grpc_method=\"" + method +
           "\",grpc_service=\"idempotency.v1.IdempotencyService\",grpc_type=\"" +
           (std::string(method) == "Session" ? "bidi_stream" : "unary") + "\"}";
  };
  const v1::Reservation grant = api_.Grant("k");
  EXPECT_FALSE(api_.Commit(CommitOf("k", "wrong", {})).ok());
  api_.Commit("k", grant.token(), {});
  {
    SessionStream session(api_);
    session.Send(1, ReserveOf("k"));
    session.Read();
    session.HalfClose();
    EXPECT_TRUE(session.Finish().ok());
  }
  Metrics metrics = server_.GetMetrics();
  EXPECT_EQ(metrics.at(series("grpc_server_started_total", "Reserve")), 1);
  EXPECT_EQ(metrics.at(series("grpc_server_handled_total", "Reserve", "OK")), 1);
  EXPECT_EQ(metrics.at(series("grpc_server_handled_total", "Commit", "OK")), 1);
  EXPECT_EQ(metrics.at(series("grpc_server_handled_total", "Commit", "Aborted")), 1);
  EXPECT_EQ(metrics.at(series("grpc_server_handled_total", "Session", "OK")), 1);
  EXPECT_EQ(metrics.at(series("grpc_server_msg_received_total", "Session")), 1);
  EXPECT_EQ(metrics.at(series("grpc_server_msg_sent_total", "Session")), 1);
  EXPECT_EQ(metrics.at(series("grpc_server_handled_total", "Extend", "OK")), 0);
  EXPECT_EQ(metrics.at(series("grpc_server_handling_seconds_count", "Commit")), 2);
  EXPECT_EQ(
      metrics.at("idempotency_namespace_verdicts_total{namespace=\"tests\",verdict=\"fresh\"}"), 1);
  EXPECT_EQ(
      metrics.at("idempotency_namespace_verdicts_total{namespace=\"tests\",verdict=\"replayed\"}"),
      1);
}

TEST_F(MetricsTest, TheStoreTellsOfItself) {
  const Metrics before = server_.GetMetrics();
  api_.Grant("k");
  const Metrics after = server_.GetMetrics();
  for (const char* grows :
       {"idempotency_store_write_changes_sum", "idempotency_store_write_bytes_sum",
        "idempotency_store_write_duration_seconds_count",
        "idempotency_store_log_written_bytes_total"}) {
    EXPECT_GT(after.at(grows), before.at(grows)) << grows;
  }
  for (const char* there :
       {"idempotency_store_memtable_bytes", "idempotency_store_log_bytes",
        "idempotency_store_block_cache_capacity_bytes", "idempotency_clock_time_seconds",
        "idempotency_clock_mark_seconds", "idempotency_clock_followed"}) {
    EXPECT_GT(after.at(there), 0) << there;
  }
  for (const char* quiet :
       {"idempotency_store_write_stopped", "idempotency_store_delayed_write_bytes_per_second",
        "idempotency_store_background_errors", "idempotency_store_stall_seconds_total"}) {
    EXPECT_EQ(after.at(quiet), 0) << quiet;
  }
}

TEST_F(MetricsTest, ATakeoverIsCounted) {
  api_.Grant("k", WithLease(absl::Milliseconds(100)));
  api_.AwaitState("k", v1::STATE_LAPSED);
  api_.Grant("k");
  EXPECT_EQ(server_.GetMetrics()["idempotency_lapses_total{end=\"takeover\"}"], 1);
}

TEST_F(MetricsTest, EveryMetricHasOneTypeAndOneHelp) {
  std::set<std::string> seen;
  int types = 0;
  for (const std::string& line : LinesOf(server_.Get("/metrics").body)) {
    if (line.rfind("# ", 0) == 0) {
      const std::string head = line.substr(0, line.find(' ', 7));  // "# TYPE name"
      EXPECT_TRUE(seen.insert(head).second) << "twice: " << head;
      types += head.rfind("# TYPE", 0) == 0;
    } else {
      EXPECT_THAT(line, testing::ContainsRegex("^(idempotency|process|grpc_server)_"));
    }
  }
  EXPECT_GE(types, 10);
}

TEST_F(MetricsTest, NoSecretAndNoKeyIsSeenAnywhere) {
  server_.options().flags = {"--log-level", "debug"};
  server_.Restart();
  Api api(server_.Connect());
  const std::string key = "customer-4711-key";
  const auto mine = [](v1::ReserveRequest& request) {
    request.set_request_id("request-id-0815");
    request.set_owner("owner-0815");
    request.set_fingerprint("fingerprint-0815");
  };
  const v1::Reservation grant = api.Grant(key, mine);
  api.Reserve(key, mine);
  api.Reserve(key);
  EXPECT_FALSE(api.Commit(CommitOf(key, "wrong-token-0815", {})).ok());
  EXPECT_FALSE(api.Reserve(ReserveOf(key + "\n")).ok());
  EXPECT_FALSE(api.Reserve(ReserveOf(key + std::string(300, 'x'))).ok());
  api.Commit(key, grant.token(), ResultOf(200, "body-0815"));
  EXPECT_FALSE(api.Release(ReleaseOf(key, grant.token())).ok());
  const std::string metrics = server_.Get("/metrics").body;
  EXPECT_EQ(server_.Stop(), 0);
  const std::string log = server_.Log() + server_.process().err().AllText();
  for (const std::string& secret :
       {key, grant.token(), std::string("request-id-0815"), std::string("wrong-token-0815"),
        std::string("fingerprint-0815"), std::string("body-0815"), std::string("owner-0815")}) {
    EXPECT_THAT(metrics, Not(HasSubstr(secret)));
    EXPECT_THAT(log, Not(HasSubstr(secret)));
  }
}

}  // namespace
}  // namespace onced::integration
