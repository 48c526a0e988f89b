// list, resolve, evict, evict-namespace and status.
#include "client/cpp/error.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/unit/client/cli_fixture.h"

namespace onced::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class OperatorTest : public CliTest {
 protected:
  static admin_v1::ListResponse Page(const std::vector<std::string>& keys,
                                     const std::string& next) {
    admin_v1::ListResponse page;
    for (const std::string& key : keys) {
      *page.add_records() = FromJson<admin_v1::ListedRecord>(
          R"({"key": ")" + key + R"(", "state": "STATE_LAPSED", "fence": "30", "attempt": 2,
              "owner": "ann", "reserve_time": "2026-01-31T12:00:00Z",
              "lease_expire_time": "2026-01-31T12:02:00Z", "on_lapse": "ON_LAPSE_HOLD"})");
    }
    page.set_next_page_token(next);
    return page;
  }
  // An error as the server makes it.
  static grpc::Status Busy() {
    google::rpc::Status error;
    error.set_code(grpc::RESOURCE_EXHAUSTED);
    error.set_message("busy");
    google::rpc::ErrorInfo info;
    info.set_domain("onced");
    info.set_reason("BUSY");
    error.add_details()->PackFrom(info);
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_nanos(1'000'000);
    error.add_details()->PackFrom(retry);
    return {grpc::RESOURCE_EXHAUSTED, "busy", error.SerializeAsString()};
  }
};

// ---- list ----

TEST_F(OperatorTest, ListIsATable) {
  admin_v1::ListResponse page = Page({"order-1"}, "");
  *page.add_records() = FromJson<admin_v1::ListedRecord>(
      R"({"key": "evil\u001b[2J", "state": "STATE_COMMITTED", "fence": "4711", "attempt": 1,
          "reserve_time": "2026-01-31T12:00:00Z", "expire_time": "2026-02-01T12:00:00Z"})");
  server_.list.response = page;
  const Ran ran = Oncectl({"list", "--namespace=ns"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "STATE          FENCE  ATTEMPT  RESERVED              LEASE ENDS            GONE BY    "
            "           OWNER  KEY\n"
            "LAPSED (held)  30     2        2026-01-31T12:00:00Z  2026-01-31T12:02:00Z  never      "
            "           ann    order-1\n"
            "COMMITTED      4711   1        2026-01-31T12:00:00Z  -                     "
            "2026-02-01T12:00:00Z  -      evil\\x1b[2J\n");
}

TEST_F(OperatorTest, ListSaysWhatIsWanted) {
  Oncectl({"list", "--namespace=ns", "--state=lapsed", "--state", "PENDING", "--key-prefix=ord",
           "--page-token=tok", "--limit=7"});
  ASSERT_THAT(server_.list.requests, SizeIs(1));
  EXPECT_THAT(server_.list.requests[0],
              IsMessage(FromJson<admin_v1::ListRequest>(
                  R"({"namespace": "ns", "states": ["STATE_LAPSED", "STATE_PENDING"],
                      "key_prefix": "ord", "page_token": "tok", "page_size": 7})")));
}

TEST_F(OperatorTest, ListFollowsPagesToTheEnd) {
  server_.list.first = {Page({"a", "b"}, "one"), Page({}, "two"), Page({"c"}, "")};
  const Ran ran = Oncectl({"list", "--namespace=ns", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(FromJson<admin_v1::ListResponse>(ran.out), IsMessage(Page({"a", "b", "c"}, "")));
  ASSERT_THAT(server_.list.requests, SizeIs(3));
  EXPECT_EQ(server_.list.requests[0].page_size(), 1'000);
  EXPECT_EQ(server_.list.requests[1].page_token(), "one");
  EXPECT_EQ(server_.list.requests[2].page_token(), "two");
}

TEST_F(OperatorTest, ListEndsAtItsLimitAndSaysSo) {
  server_.list.first = {Page({"a", "b"}, "one"), Page({"c"}, "two")};
  const Ran ran = Oncectl({"list", "--namespace=ns", "--limit=3"});
  EXPECT_THAT(server_.list.requests, SizeIs(2));
  EXPECT_EQ(server_.list.requests[1].page_size(), 1);
  EXPECT_THAT(ran.err, HasSubstr("--page-token two"));
}

TEST_F(OperatorTest, ListNotesWhatCantBeRead) {
  server_.list.response = FromJson<admin_v1::ListResponse>(
      R"({"unreadable": [{"key": "k\u0007", "shard": 3, "message": "a wrong checksum"},
                         {"shard": 4, "message": "a block"}]})");
  const std::string err = Oncectl({"list", "--namespace=ns"}).err;
  EXPECT_THAT(err, HasSubstr("can't be read: key k\\x07: a wrong checksum\n"));
  EXPECT_THAT(err, HasSubstr("can't be read: the rest of shard 4: a block\n"));
}

TEST_F(OperatorTest, ListWaitsWhileTheServerIsBusy) {
  server_.list.first_statuses = {Busy(), Busy()};
  server_.list.response = Page({"a"}, "");
  EXPECT_EQ(Oncectl({"list", "--namespace=ns"}).code, 0);
  EXPECT_THAT(server_.list.requests, SizeIs(3));
}

TEST_F(OperatorTest, ListIsNotPatientForEver) {
  server_.list.status = Busy();
  EXPECT_EQ(Oncectl({"list", "--namespace=ns", "--timeout=50ms"}).code, 1);
  EXPECT_GE(server_.list.requests.size(), 1U);
}

// ---- resolve ----

TEST_F(OperatorTest, ResolveCommits) {
  server_.resolve.response = FromJson<admin_v1::ResolveResponse>(
      R"({"state": "STATE_COMMITTED", "commit_time": "2026-01-31T12:00:00Z",
          "expire_time": "2026-02-01T12:00:00Z", "late": true})");
  const Ran ran = Oncectl({"resolve", "--namespace=ns", "--key=k", "--fence=30", "--commit",
                           "--status-code=201", "--header=A: 1", "--body=paid",
                           "--retention-ttl=1h", "--comment=seen at the bank"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "state:       COMMITTED\n"
            "commit_time: 2026-01-31T12:00:00Z\n"
            "expire_time: 2026-02-01T12:00:00Z\n"
            "late:        true\n");
  ASSERT_THAT(server_.resolve.requests, SizeIs(1));
  EXPECT_THAT(server_.resolve.requests[0],
              IsMessage(FromJson<admin_v1::ResolveRequest>(
                  R"({"namespace": "ns", "key": "k", "fence": "30", "comment": "seen at the bank",
                      "commit": {"result": {"status_code": 201, "body": "cGFpZA==",
                                            "headers": [{"name": "A", "value": "MQ=="}]},
                                 "retention_ttl": "3600s"}})")));
}

TEST_F(OperatorTest, ResolveReleases) {
  server_.resolve.response.set_state(v1::STATE_ABSENT);
  const Ran ran =
      Oncectl({"resolve", "--namespace=ns", "--key=k", "--fence=30", "--release", "--force"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "state: ABSENT\n");
  EXPECT_TRUE(server_.resolve.requests[0].has_release());
  EXPECT_TRUE(server_.resolve.requests[0].force());
}

TEST_F(OperatorTest, ResolveRefusesBadCommandLines) {
  const struct {
    std::vector<std::string> args;
    const char* problem;
  } rows[] = {
      {{"--fence=1"}, "one of --commit and --release is missing"},
      {{"--fence=1", "--commit", "--release"}, "only one can be given of --commit and --release"},
      {{"--release"}, "--fence"},
      {{"--fence=0", "--release"}, "--fence"},
      {{"--fence=1", "--release", "--body=x"}, "--body is for --commit"},
      {{"--fence=1", "--release", "--retention-ttl=1h"}, "--retention-ttl is for --commit"},
      {{"--fence=1", "--release", "--server=elsewhere:1"}, "use --admin-server"},
  };
  for (const auto& row : rows) {
    std::vector<std::string> args = {"resolve", "--namespace=ns", "--key=k"};
    args.insert(args.end(), row.args.begin(), row.args.end());
    const Ran ran = Oncectl(args);
    EXPECT_EQ(ran.code, 2) << row.problem;
    EXPECT_THAT(ran.err, HasSubstr(row.problem));
  }
  EXPECT_THAT(server_.resolve.requests, IsEmpty());
}

// ---- evict ----

TEST_F(OperatorTest, EvictTellsWhatTheRecordWas) {
  server_.evict.response =
      FromJson<admin_v1::EvictResponse>(R"({"evicted": true, "state": "STATE_COMMITTED"})");
  const Ran ran = Oncectl({"evict", "--namespace=ns", "--key=k", "--fence=30", "--comment=why"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "evicted: true\nstate:   COMMITTED\n");
  EXPECT_THAT(server_.evict.requests[0],
              IsMessage(FromJson<admin_v1::EvictRequest>(
                  R"({"namespace": "ns", "key": "k", "fence": "30", "comment": "why"})")));
  EXPECT_EQ(Oncectl({"evict", "--namespace=ns", "--key=k"}).code, 2);
}

TEST_F(OperatorTest, RefusalsHaveTheirExitCode) {
  for (const grpc::StatusCode code : {grpc::ABORTED, grpc::FAILED_PRECONDITION, grpc::NOT_FOUND}) {
    server_.FailWith({code, "no"});
    EXPECT_EQ(Oncectl({"evict", "--namespace=ns", "--key=k", "--fence=30"}).code, 7);
    EXPECT_EQ(Oncectl({"resolve", "--namespace=ns", "--key=k", "--fence=30", "--release"}).code, 7);
  }
  server_.FailWith({grpc::PERMISSION_DENIED, "no"});
  EXPECT_EQ(Oncectl({"list", "--namespace=ns"}).code, 1);
}

TEST_F(OperatorTest, AnUnknownOutcomeSpeaksOfNoRequestId) {
  server_.FailWith({grpc::UNAVAILABLE, "gone"});
  const std::string err = Oncectl({"evict", "--namespace=ns", "--key=k", "--fence=30"}).err;
  EXPECT_THAT(err, HasSubstr("may have been executed"));
  EXPECT_THAT(err, Not(HasSubstr("--request-id")));
}

// ---- evict-namespace ----

TEST_F(OperatorTest, EvictNamespaceWantsToHearThatItIsMeant) {
  const Ran ran = Oncectl({"evict-namespace", "--namespace=ns"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--yes"));
  EXPECT_THAT(server_.evict_namespace.requests, IsEmpty());
}

TEST_F(OperatorTest, EvictNamespaceFollowsPagesAndAddsUp) {
  server_.evict_namespace.first = {
      FromJson<admin_v1::EvictNamespaceResponse>(
          R"({"evicted": "1000", "skipped_held": "2", "next_page_token": "one"})"),
      FromJson<admin_v1::EvictNamespaceResponse>(
          R"({"evicted": "7", "skipped_changed": "1", "skipped_unreadable": "3"})")};
  const Ran ran =
      Oncectl({"evict-namespace", "--namespace=ns", "--yes", "--force", "--comment=closed"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "evicted:            1007\n"
            "skipped_held:       2\n"
            "skipped_changed:    1\n"
            "skipped_unreadable: 3\n");
  ASSERT_THAT(server_.evict_namespace.requests, SizeIs(2));
  EXPECT_THAT(server_.evict_namespace.requests[1],
              IsMessage(FromJson<admin_v1::EvictNamespaceRequest>(
                  R"({"namespace": "ns", "page_token": "one", "force": true,
                      "comment": "closed"})")));
}

TEST_F(OperatorTest, EvictNamespaceSaysWhatWasDoneBeforeItFailed) {
  server_.evict_namespace.first = {FromJson<admin_v1::EvictNamespaceResponse>(
      R"({"evicted": "1000", "next_page_token": "one"})")};
  server_.evict_namespace.first_statuses = {grpc::Status::OK};
  server_.evict_namespace.status = {grpc::UNAVAILABLE, "the store failed"};
  const Ran ran = Oncectl({"evict-namespace", "--namespace=ns", "--yes"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("the store failed (that is of the last call; 1000 records "
                                 "were evicted by those before it)"));
}

// ---- status ----

TEST_F(OperatorTest, StatusShowsEachPart) {
  server_.server_status.response = FromJson<admin_v1::StatusResponse>(
      R"({"version": "0.1.0", "start_time": "2026-01-31T12:00:00Z", "uptime": "90s", "epoch": 7,
          "shard_count": 16, "executors": [{"queue_depth": "3"}, {}], "waiters": "2",
          "sessions": "1", "clock": {"time": "2026-01-31T12:01:30Z", "step": "-3600s",
          "mark": "2026-01-31T12:01:31Z"}, "store": {"low_on_space": true, "free_bytes": "1024",
          "key_count": "5"}, "last_backup": {"backup_id": "9", "cut_time": "2026-01-31T11:00:00Z",
          "size_bytes": "4096"}})");
  const Ran ran = Oncectl({"status"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "version:                0.1.0\n"
            "start_time:             2026-01-31T12:00:00Z\n"
            "uptime:                 1m30s\n"
            "draining:               no\n"
            "epoch:                  7\n"
            "shard_count:            16\n"
            "queue_depths:           3 0\n"
            "waiters:                2\n"
            "sessions:               1\n"
            "clock.time:             2026-01-31T12:01:30Z\n"
            "clock.step:             -1h\n"
            "clock.mark:             2026-01-31T12:01:31Z\n"
            "store.failed:           no\n"
            "store.low_on_space:     yes\n"
            "store.free_bytes:       1024\n"
            "store.key_count:        5\n"
            "last_backup.backup_id:  9\n"
            "last_backup.cut_time:   2026-01-31T11:00:00Z\n"
            "last_backup.size_bytes: 4096\n");
  EXPECT_THAT(Oncectl({"status", "--json"}).out, HasSubstr("\"shard_count\":16"));
}

}  // namespace
}  // namespace onced::cli
