// The project of docs/first-service.md, as a newcomer copies it from there.
#include <fstream>

#include "gmock/gmock.h"
#include "tests/integration/proxy.h"
#include "tests/package/project.h"

namespace onced::integration {
namespace {

using testing::HasSubstr;

class FirstServiceTest : public ProjectTest {
 protected:
  // The one block of the page in that language.
  static std::string Block(const std::string& language) {
    const std::string page = ReadFile(ONCED_SOURCE_DIR "/docs/first-service.md");
    const std::string start = "```" + language + "\n";
    const std::size_t at = page.find(start) + start.size();
    EXPECT_EQ(page.find(start, at), std::string::npos) << "two blocks of " << language;
    return page.substr(at, page.find("```", at) - at);
  }
  void Copy() {
    std::filesystem::create_directory(dir_.Path("mailer"));
    std::ofstream(dir_.Path("mailer/CMakeLists.txt")) << Block("cmake");
    std::ofstream(dir_.Path("mailer/mailer.cc")) << Block("cpp");
  }
  // Its outbox is in `dir_`.
  Process Start() {
    return Process({.argv = {"/usr/bin/env", "-C", dir_.path(), dir_.Path("mailer/build/mailer"),
                             proxy_.address(), "127.0.0.1:0"}});
  }
  // Where it listens.
  static std::string AddressOf(Process& mailer) {
    const std::string said = mailer.out().AwaitLine("listening on ").value();
    return "127.0.0.1:" + said.substr(said.rfind(' ') + 1);
  }

  Proxy proxy_{server_.address()};  // Its address stays where the server's changes.
};

TEST_F(FirstServiceTest, DoesWhatThePageSays) {
  ASSERT_NO_FATAL_FAILURE(Install());
  Copy();
  ASSERT_NO_FATAL_FAILURE(Build("mailer"));
  Process mailer = Start();
  const std::string address = AddressOf(mailer);
  const auto post = [&](const std::string& key, const std::string& mail) {
    return HttpPost(address, "/mails", mail, {"Idempotency-Key: " + key});
  };

  const HttpReply sent = post("mail-1", "to=ann&text=hello");
  EXPECT_EQ(sent.status, 202);
  EXPECT_EQ(sent.body, "sent\n");
  EXPECT_THAT(sent.head, Not(HasSubstr("Idempotency-Replayed")));
  const HttpReply again = post("mail-1", "to=ann&text=hello");
  EXPECT_EQ(again.status, 202);
  EXPECT_EQ(again.body, "sent\n");
  EXPECT_THAT(again.head, HasSubstr("Idempotency-Replayed: true"));
  EXPECT_EQ(post("mail-1", "to=ann&text=bye").status, 422);
  EXPECT_EQ(HttpPost(address, "/mails", "to=ann&text=hello").status, 400);
  EXPECT_EQ(HttpGet(address, "/mails").status, 405);

  server_.Stop();
  const HttpReply unreachable = post("mail-2", "to=bob&text=hello");
  EXPECT_EQ(unreachable.status, 503);
  EXPECT_THAT(unreachable.body, HasSubstr("UNAVAILABLE"));
  EXPECT_EQ(ReadFile(dir_.Path("outbox.txt")), "to=ann&text=hello\n");

  server_.Start();
  proxy_.SetTarget(server_.address());
  // A lost connection is tried again every other second.
  Await("the service is reached again",
        [&] { return post("mail-2", "to=bob&text=hello").status == 202; });
  EXPECT_THAT(post("mail-1", "to=ann&text=hello").head, HasSubstr("Idempotency-Replayed: true"));
  EXPECT_EQ(ReadFile(dir_.Path("outbox.txt")), "to=ann&text=hello\nto=bob&text=hello\n");
}

// Before 1.0 a minor version may break what was built by another: CMake says so.
TEST_F(FirstServiceTest, IsOfOneMinorVersion) {
  ASSERT_NO_FATAL_FAILURE(Install());
  const auto configure = [&](const std::string& version) {
    const std::string source = dir_.Path("of-" + version);
    std::filesystem::create_directory(source);
    std::ofstream(source + "/CMakeLists.txt")
        << "cmake_minimum_required(VERSION 3.25)\nproject(of LANGUAGES CXX)\nfind_package(onced "
        << version << " REQUIRED)\n";
    return integration::Run(
        {.argv = {ONCED_CMAKE, "-G", ONCED_GENERATOR, "-S", source, "-B", source + "/build",
                  "-DCMAKE_PREFIX_PATH=" + dir_.Path("prefix"),
                  "-DCMAKE_CXX_COMPILER=" ONCED_COMPILER}});
  };
  const Finished same = configure("0.1");
  EXPECT_EQ(same.exit_code, 0) << same.err;
  const Finished next = configure("0.2");
  EXPECT_NE(next.exit_code, 0);
  EXPECT_THAT(next.err, HasSubstr("requested version \"0.2\""));
}

}  // namespace
}  // namespace onced::integration
