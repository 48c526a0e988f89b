// Runs command lines against a FakeServer, over a real connection.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "client/cli/run.h"
#include "gmock/gmock.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "tests/unit/client/fake_server.h"

namespace onced::cli {

struct Ran {
  int code;
  std::string out;
  std::string err;
};

// Field by field, with the differences in the failure's text.
MATCHER_P(IsMessage, want, "") {
  std::string differences;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&differences);
  const bool same = differencer.Compare(want, arg);
  *result_listener << differences;
  return same;
}

template <typename Message>
Message FromJson(const std::string& json) {
  Message message;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &message);
  EXPECT_TRUE(status.ok()) << status.ToString() << " in " << json;
  return message;
}

class CliTest : public testing::Test {
 protected:
  CliTest() {
    dir_ = testing::TempDir() + "/oncectl_XXXXXX";
    EXPECT_NE(mkdtemp(dir_.data()), nullptr);
  }
  ~CliTest() override { std::filesystem::remove_all(dir_); }

  // With --server of the fake one, unless the test has set ONCECTL_SERVER.
  Ran Oncectl(const std::vector<std::string>& args) {
    std::istringstream in(stdin_);
    std::ostringstream out;
    const int code = OncectlOn(args, in, out);
    return {code, out.str(), err_.str()};
  }

  int OncectlOn(std::vector<std::string> args, std::istream& in, std::ostream& out) {
    env_.try_emplace("ONCECTL_SERVER", server_.target());
    env_.try_emplace("ONCECTL_ADMIN_SERVER", server_.target());
    const bool timed = std::any_of(args.begin(), args.end(), [](const std::string& arg) {
      return arg.rfind("--timeout", 0) == 0;
    });
    if (!timed && patient_) args.insert(args.begin(), "--timeout=600s");
    err_.str("");
    return cli::Run(args, {.env = env_,
                           .in = in,
                           .out = out,
                           .err = err_,
                           .connect =
                               [this](auto& to, auto& options) {
                                 connected_to_ = to;
                                 return client::NewStub(to, options);
                               },
                           .connect_admin =
                               [this](auto& to, auto& options) {
                                 admin_connected_to_ = to;
                                 return client::NewAdminStub(to, options);
                               }});
  }

  std::string Path(const std::string& name) const { return dir_ + "/" + name; }

  std::string WriteFile(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }

  static std::string ReadFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  FakeServer server_;
  std::map<std::string, std::string> env_ = {{"USER", "ann"}};
  std::string stdin_;
  std::string connected_to_;
  std::string admin_connected_to_;
  bool patient_ = true;  // A loaded machine isn't to reach the default timeout.
  std::ostringstream err_;

 private:
  std::string dir_;
};

// Every byte there is, and a digest known from elsewhere.
inline std::string AllBytes() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  return bytes;
}
inline constexpr char kAllBytesSha256[] =
    "40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880";

}  // namespace onced::cli
