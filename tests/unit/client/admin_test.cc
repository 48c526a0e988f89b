// backup and clock accept.
#include "tests/unit/client/cli_fixture.h"

namespace onced::cli {
namespace {

using testing::HasSubstr;

class AdminCommandTest : public CliTest {};

admin_v1::BackupResponse Made() {
  return FromJson<admin_v1::BackupResponse>(R"({
    "backup_id": "7", "cut_time": "2026-01-31T12:00:00Z", "size_bytes": "4096", "file_count": "9"})");
}

TEST_F(AdminCommandTest, BackupShowsTheAnswer) {
  server_.backup.response = Made();
  const Ran ran = Oncectl({"backup"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "backup_id:  7\n"
            "cut_time:   2026-01-31T12:00:00Z\n"
            "size_bytes: 4096\n"
            "file_count: 9\n");
  EXPECT_EQ(server_.backup.requests.size(), 1U);
  EXPECT_THAT(FromJson<admin_v1::BackupResponse>(Oncectl({"backup", "--json"}).out),
              IsMessage(Made()));
}

TEST_F(AdminCommandTest, BackupWaitsForAnHourUnlessTold) {
  patient_ = false;
  Oncectl({"backup"});
  EXPECT_GT(server_.backup.time_left, std::chrono::minutes(50));
  EXPECT_LE(server_.backup.time_left, std::chrono::minutes(61));
  Oncectl({"backup", "--timeout", "600s"});
  EXPECT_LE(server_.backup.time_left, std::chrono::minutes(11));
}

TEST_F(AdminCommandTest, ClockAcceptShowsTheStep) {
  server_.accept_clock.response = FromJson<admin_v1::AcceptClockResponse>(
      R"({"step": "-3600.5s", "server_time": "2026-01-31T12:00:00Z"})");
  const Ran ran = Oncectl({"clock", "accept"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "step:        -1h0.5s\n"
            "server_time: 2026-01-31T12:00:00Z\n");
  EXPECT_THAT(Oncectl({"clock", "accept", "--json"}).out, HasSubstr("\"step\":\"-3600.500s\""));
  server_.accept_clock.response.clear_step();
  EXPECT_THAT(Oncectl({"clock", "accept"}).out, HasSubstr("step:        0\n"));
}

TEST_F(AdminCommandTest, GoesWhereItIsTold) {
  const std::string target = server_.target();
  EXPECT_EQ(Oncectl({"backup"}).code, 0);
  EXPECT_EQ(admin_connected_to_, target) << "by the environment";
  env_["ONCECTL_ADMIN_SERVER"] = "127.0.0.1:1";
  EXPECT_EQ(Oncectl({"--admin-server", target, "clock", "accept"}).code, 0);
  EXPECT_EQ(admin_connected_to_, target);
  env_["ONCECTL_ADMIN_SERVER"] = "";
  Oncectl({"backup", "--timeout=1ms"});
  EXPECT_EQ(admin_connected_to_, "127.0.0.1:50052");
}

TEST_F(AdminCommandTest, RefusesBadCommandLines) {
  EXPECT_THAT(Oncectl({"backup", "--admin-server="}).err, HasSubstr("--admin-server is empty"));
  EXPECT_THAT(Oncectl({"backup", "--key=k"}).err, HasSubstr("backup has no flag --key"));
  EXPECT_EQ(Oncectl({"clock"}).code, 2);
  EXPECT_TRUE(server_.backup.requests.empty());
}

TEST_F(AdminCommandTest, IsNotSentToADefaultWhenServerWasNamed) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"backup"}, {"clock", "accept"}}) {
    std::vector<std::string> wrong = args;
    wrong.insert(wrong.end(), {"--server", "elsewhere:1"});
    const Ran ran = Oncectl(wrong);
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr("use --admin-server"));
    wrong.push_back("--admin-server=" + server_.target());
    EXPECT_EQ(Oncectl(wrong).code, 2) << "one of the two does nothing";
    EXPECT_TRUE(server_.backup.requests.empty());
    EXPECT_TRUE(server_.accept_clock.requests.empty());
  }
  env_["ONCECTL_SERVER"] = "elsewhere:1";
  EXPECT_EQ(Oncectl({"backup"}).code, 0);
}

TEST_F(AdminCommandTest, ErrorsHaveTheirExitCodes) {
  server_.FailWith({grpc::ABORTED, "another backup is being made"});
  EXPECT_EQ(Oncectl({"backup"}).code, 7);
  server_.FailWith({grpc::RESOURCE_EXHAUSTED, "too little space"});
  EXPECT_EQ(Oncectl({"backup"}).code, 1);
}

TEST_F(AdminCommandTest, AnUnknownOutcomeIsNoReasonToSendItAgain) {
  server_.FailWith({grpc::UNAVAILABLE, "gone"});
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"backup"}, {"clock", "accept"}}) {
    const std::string err = Oncectl(args).err;
    EXPECT_THAT(err, HasSubstr("The call may have been executed all the same.\n"));
    EXPECT_THAT(err, testing::Not(HasSubstr("--request-id")));
  }
}

}  // namespace
}  // namespace onced::cli
