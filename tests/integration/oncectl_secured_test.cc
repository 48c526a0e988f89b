// oncectl and a server that asks who calls, both as processes.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/secured.h"

namespace onced::integration {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// docs/oncectl.md.
constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;

const std::string kToken = "the-token-of-a-service-0123456789";
const std::string kNextToken = "the-next-token-of-it-0123456789ab";
const std::string kWrongToken = "a-token-of-nobody-0123456789abcde";

constexpr char kConfig[] = R"(
access:
- {identity: "token:service", namespaces: [shop], rights: [use, inspect]}
- {identity: "token:operator", namespaces: ["*"], rights: [admin]}
- {identity: "spiffe://prod/service", namespaces: [shop], rights: [inspect]}
)";

class SecuredOncectl : public testing::Test {
 protected:
  SecuredOncectl() {
    const KeyPair client = authority_.Issue({.uris = {"spiffe://prod/service"}});
    const KeyPair stranger = other_.Issue({.uris = {"spiffe://prod/service"}});
    const KeyPair server = authority_.Issue({});  // Called 127.0.0.1 alone.
    dir_.Write("server.crt", server.certificate);
    dir_.Write("server.key", server.key);
    dir_.Write("ca.crt", authority_.certificate());
    dir_.Write("other-ca.crt", other_.certificate());
    dir_.Write("client.crt", client.certificate);
    dir_.Write("client.key", client.key);
    dir_.Write("stranger.crt", stranger.certificate);
    dir_.Write("stranger.key", stranger.key);
    dir_.Write("tokens", TokenLine("service", kToken) + TokenLine("operator", kNextToken));
    dir_.Write("token", kToken + "\n");
    dir_.Write("operator", kNextToken + "\n");
    dir_.Write("wrong", kWrongToken + "\n");
    dir_.Write("empty", "");
    dir_.Write("two_lines", kToken + "\n" + kToken + "\n");
  }

  void Start(const std::string& client_auth) {
    server_ = std::make_unique<ServerProcess>(ServerProcess::Options{
        .flags = {"--tls-cert", dir_.Path("server.crt"), "--tls-key", dir_.Path("server.key"),
                  "--tls-client-ca", dir_.Path("ca.crt"), "--tls-client-auth", client_auth,
                  "--token-file", dir_.Path("tokens")},
        .config = kConfig});
  }

  // "@NAME" is the path of that file.
  Finished Run(const std::vector<std::string>& words, const std::vector<std::string>& env = {}) {
    Process::Command command{.argv = {ClientBinary()},
                             .env = {"ONCECTL_SERVER=" + server_->address(),
                                     "ONCECTL_ADMIN_SERVER=" + server_->admin_address()}};
    const auto whole = [&](const std::string& word) {
      return absl::StrReplaceAll(word, {{"@", dir_.path() + "/"}});
    };
    for (const std::string& word : words) command.argv.push_back(whole(word));
    for (const std::string& variable : env) command.env.push_back(whole(variable));
    return integration::Run(command);
  }
  Finished Inspect(const std::vector<std::string>& flags,
                   const std::vector<std::string>& env = {}) {
    std::vector<std::string> words = {"inspect", "--namespace", "shop",
                                      "--key",   "k",           "--timeout=60s"};
    words.insert(words.end(), flags.begin(), flags.end());
    return Run(words, env);
  }
  std::string ByName() const {
    return absl::StrReplaceAll(server_->address(), {{"127.0.0.1", "localhost"}});
  }

  struct Row {
    const char* name;
    std::vector<std::string> flags;
    int exit_code;
    std::string says;  // On the standard error, in its first line; empty: nothing stands there.
  };
  void Check(const Row& row) {
    SCOPED_TRACE(row.name);
    const Finished run = Inspect(row.flags);
    EXPECT_EQ(run.exit_code, row.exit_code) << run.err;
    for (const std::string& token : {kToken, kNextToken, kWrongToken}) {
      EXPECT_THAT(run.out + run.err, Not(HasSubstr(token)));
    }
    const std::vector<std::string> lines = LinesOf(run.err);
    if (row.says.empty()) {
      EXPECT_EQ(run.err, "");
      EXPECT_THAT(run.out, StartsWith("state:"));
      return;
    }
    EXPECT_EQ(run.out, "");
    ASSERT_FALSE(lines.empty());
    EXPECT_THAT(lines[0], StartsWith("oncectl: "));
    EXPECT_THAT(lines[0], HasSubstr(absl::StrReplaceAll(row.says, {{"@", dir_.path() + "/"}})));
    // Of a call that may have been sent, one more says so.
    const bool sent = absl::StartsWith(lines[0], "oncectl: UNAVAILABLE: ");
    EXPECT_EQ(lines.size(), sent ? 2U : 1U) << run.err;
  }

  const Authority authority_{"ca"};
  const Authority other_{"other"};
  const TempDir dir_;
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(SecuredOncectl, WhereTokensAndCertificatesWill) {
  Start("request");
  const Row kRows[] = {
      {"token", {"--tls-ca=@ca.crt", "--auth-token-file=@token"}, kDone, ""},
      {"certificate",
       {"--tls-ca=@ca.crt", "--tls-cert=@client.crt", "--tls-key=@client.key"},
       kDone,
       ""},
      {"neither",
       {"--tls-ca=@ca.crt"},
       kFailed,
       "oncectl: UNAUTHENTICATED UNAUTHENTICATED: this server wants to know who calls"},
      {"wrong_token",
       {"--tls-ca=@ca.crt", "--auth-token-file=@wrong"},
       kFailed,
       "oncectl: UNAUTHENTICATED UNAUTHENTICATED: this server wants to know who calls"},
      {"wrong_token_beside_a_certificate",
       {"--tls-ca=@ca.crt", "--tls-cert=@client.crt", "--tls-key=@client.key",
        "--auth-token-file=@wrong"},
       kFailed,
       "oncectl: UNAUTHENTICATED UNAUTHENTICATED: this server wants to know who calls"},
      {"may_not",
       {"--tls-ca=@ca.crt", "--auth-token-file=@operator"},
       kFailed,
       "oncectl: PERMISSION_DENIED NAMESPACE_NOT_ALLOWED: "},
      {"wrong_authority",
       {"--tls-ca=@other-ca.crt", "--auth-token-file=@token"},
       kFailed,
       "certificate verify failed"},
      {"machines_authorities",
       {"--tls-ca=system", "--auth-token-file=@token"},
       kFailed,
       "certificate verify failed"},
      {"wrong_name",
       {"--tls-ca=@ca.crt", "--auth-token-file=@token", "--server=" + ByName()},
       kFailed,
       "Peer name localhost is not in peer certificate"},
      {"not_encrypted", {"--auth-token-file=@token"}, kFailed, "oncectl: UNAVAILABLE: "},
      {"strangers_certificate",
       {"--tls-ca=@ca.crt", "--tls-cert=@stranger.crt", "--tls-key=@stranger.key",
        "--auth-token-file=@token"},
       kFailed,
       "oncectl: UNAVAILABLE: "},
      // What can't be read: usage, before anything is sent.
      {"token_file_missing",
       {"--tls-ca=@ca.crt", "--auth-token-file=@none"},
       kUsage,
       "oncectl: @none: can't be read: No such file or directory"},
      {"token_file_empty",
       {"--tls-ca=@ca.crt", "--auth-token-file=@empty"},
       kUsage,
       "oncectl: @empty: doesn't hold one line with a token"},
      {"token_file_with_two",
       {"--tls-ca=@ca.crt", "--auth-token-file=@two_lines"},
       kUsage,
       "oncectl: @two_lines: doesn't hold one line with a token"},
      {"authority_missing",
       {"--tls-ca=@none"},
       kUsage,
       "oncectl: @none: can't be read: No such file or directory"},
      {"authority_is_none",
       {"--tls-ca=@token"},
       kUsage,
       "oncectl: @token: has no certificate (PEM)"},
      {"key_of_another",
       {"--tls-ca=@ca.crt", "--tls-cert=@client.crt", "--tls-key=@stranger.key"},
       kUsage,
       "oncectl: @stranger.key: is not the key (PEM) of the certificate in @client.crt"},
      {"certificate_is_none",
       {"--tls-ca=@ca.crt", "--tls-cert=@token", "--tls-key=@client.key"},
       kUsage,
       "oncectl: @client.key: is not the key (PEM) of the certificate in @token"},
      {"no_key",
       {"--tls-ca=@ca.crt", "--tls-cert=@client.crt"},
       kUsage,
       "oncectl: a client's certificate and its key go together"},
      {"no_authority",
       {"--tls-cert=@client.crt", "--tls-key=@client.key"},
       kUsage,
       "oncectl: --tls-cert and --tls-key need --tls-ca"},
  };
  for (const Row& row : kRows) Check(row);
}

TEST_F(SecuredOncectl, WhereACertificateIsRequired) {
  Start("require");
  const std::vector<std::string> certificate = {"--tls-ca=@ca.crt", "--tls-cert=@client.crt",
                                                "--tls-key=@client.key"};
  Check({"certificate", certificate, kDone, ""});
  Check({"token_alone",
         {"--tls-ca=@ca.crt", "--auth-token-file=@token"},
         kFailed,
         "oncectl: UNAVAILABLE: "});
  // It may inspect, and no more; with the token's rights, it may.
  std::vector<std::string> reserve = {"reserve", "--namespace", "shop", "--key", "k"};
  reserve.insert(reserve.end(), certificate.begin(), certificate.end());
  const Finished denied = Run(reserve);
  EXPECT_EQ(denied.exit_code, kFailed);
  EXPECT_THAT(denied.err, StartsWith("oncectl: PERMISSION_DENIED NAMESPACE_NOT_ALLOWED: "));
  reserve.emplace_back("--auth-token-file=@token");
  EXPECT_EQ(Run(reserve).exit_code, kDone);
}

TEST_F(SecuredOncectl, TheEnvironmentWillDo) {
  Start("require");
  const std::vector<std::string> env = {"ONCECTL_TLS_CA=@ca.crt", "ONCECTL_TLS_CERT=@client.crt",
                                        "ONCECTL_TLS_KEY=@client.key"};
  EXPECT_EQ(Inspect({}, env).exit_code, kDone);
  std::vector<std::string> with_token = env;
  with_token.emplace_back("ONCECTL_AUTH_TOKEN_FILE=@wrong");
  EXPECT_EQ(Inspect({}, with_token).exit_code, kFailed);
  EXPECT_EQ(Inspect({"--auth-token-file=@token"}, with_token).exit_code, kDone);  // Goes first.
  // What asks no server needs none of it.
  EXPECT_EQ(Run({"token", "new", "--identity", "batch"},
                {"ONCECTL_AUTH_TOKEN_FILE=@none", "ONCECTL_TLS_CA=@none"})
                .exit_code,
            kDone);
}

TEST_F(SecuredOncectl, OperatorsShowWhoTheyAre) {
  Start("request");
  const std::vector<std::string> accept = {"clock", "accept", "--tls-ca=@ca.crt"};
  const auto run = [&](const std::string& flag) {
    std::vector<std::string> words = accept;
    if (!flag.empty()) words.push_back(flag);
    return Run(words);
  };
  EXPECT_EQ(run("--auth-token-file=@operator").exit_code, kDone);
  EXPECT_THAT(run("").err, StartsWith("oncectl: UNAUTHENTICATED UNAUTHENTICATED: "));
  const Finished denied = run("--auth-token-file=@token");
  EXPECT_EQ(denied.exit_code, kFailed);
  EXPECT_THAT(denied.err, StartsWith("oncectl: PERMISSION_DENIED NOT_ALLOWED: "));
}

// What it makes, a server takes.
TEST_F(SecuredOncectl, ANewTokenIsOneOfTheServers) {
  Start("request");
  const std::vector<std::string> lines =
      LinesOf(Run({"token", "new", "--identity", "service"}).out);
  ASSERT_EQ(lines.size(), 2U);
  const auto value = [](const std::string& line) {
    return line.substr(line.find_first_not_of(' ', line.find(':') + 1));
  };
  dir_.Write("token", value(lines[0]));
  dir_.Write("tokens", value(lines[1]));
  const std::vector<std::string> flags = {"--tls-ca=@ca.crt", "--auth-token-file=@token"};
  EXPECT_EQ(Inspect(flags).exit_code, kFailed);
  server_->Restart();
  EXPECT_EQ(Inspect(flags).exit_code, kDone);
}

}  // namespace
}  // namespace onced::integration
