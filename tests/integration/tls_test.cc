// TLS and tokens while they are replaced, and who gets no connection.
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/raw_tls.h"
#include "tests/integration/secured.h"

namespace onced::integration {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kToken = "the-token-of-a-service-0123456789";
const std::string kNextToken = "the-next-token-of-it-0123456789ab";

constexpr char kConfig[] = R"(
access:
- {identity: "token:service", namespaces: ["*"], rights: [use, inspect]}
- {identity: "spiffe://prod/service", namespaces: ["*"], rights: [use, inspect]}
)";

class Secured : public testing::Test {
 protected:
  void Start(const std::vector<std::string>& flags = {}, const std::string& tokens = "") {
    Swap({{"tokens", TokenLine("service", kToken) + tokens}});
    ServerProcess::Options options{
        .flags = {"--tls-cert", folder_.Path("tls.crt"), "--tls-key", folder_.Path("tls.key"),
                  "--tls-client-ca", folder_.Path("ca.crt"), "--token-file", folder_.Path("tokens"),
                  "--reload-interval", "100ms"},
        .config = kConfig};
    options.flags.insert(options.flags.end(), flags.begin(), flags.end());
    server_ = std::make_unique<ServerProcess>(options);
  }
  void StartForTokens(const std::string& tokens = "") {
    Start({"--tls-client-auth", "request"}, tokens);
  }

  void Swap(const std::map<std::string, std::string>& changes) {
    for (const auto& [name, text] : changes) files_[name] = text;
    folder_.Swap(files_);
  }
  std::map<std::string, std::string> FilesOf(const KeyPair& pair) const {
    return {{"tls.crt", pair.certificate}, {"tls.key", pair.key}};
  }

  SecureCaller Caller(const Credentials& credentials) const {
    return SecureCaller(*server_, authority_.certificate(), credentials);
  }
  SecureCaller WithToken(const std::string& token = kToken) const {
    return Caller({.authorization = "Bearer " + token});
  }
  grpc::Status Inspect(const SecureCaller& caller) const {
    v1::Operation operation;
    *operation.mutable_inspect() = InspectOf("k");
    return caller.Call(operation, SecureCaller::Way::kAlone);
  }
  double Reloads(const std::string& file, const std::string& result) const {
    return server_->GetMetrics().at("idempotency_reloads_total{file=\"" + file + "\",result=\"" +
                                    result + "\"}");
  }

  const Authority authority_{"ca"};
  const KeyPair first_ = authority_.Issue({.dns = {"first"}});
  const KeyPair second_ = authority_.Issue({.dns = {"second"}});
  SwappedFolder folder_;
  std::map<std::string, std::string> files_ = {{"tls.crt", first_.certificate},
                                               {"tls.key", first_.key},
                                               {"ca.crt", authority_.certificate()}};
  std::unique_ptr<ServerProcess> server_;
};

// ---- Replacing ----

TEST_F(Secured, FilesAreReplacedUnderLoadAndNoCallFails) {
  StartForTokens(TokenLine("service", kNextToken));
  std::atomic<bool> stop = false;
  std::atomic<int> calls = 0;
  std::atomic<int> failed = 0;
  const auto load = [&](bool connects) {
    auto caller = std::make_unique<SecureCaller>(WithToken(kNextToken));
    while (!stop) {
      if (connects) caller = std::make_unique<SecureCaller>(WithToken(kNextToken));
      const grpc::Status status = Inspect(*caller);
      ++calls;
      if (status.ok()) continue;
      ++failed;
      ADD_FAILURE() << status.error_message();
    }
  };
  std::vector<std::thread> threads;
  for (const bool connects : {true, true, false}) threads.emplace_back(load, connects);
  const auto await_calls = [&] {
    const int before = calls;
    Await("calls", [&] { return calls > before + 20; });
  };
  EXPECT_EQ(ShakeHands(server_->address()).certificate, first_.certificate);
  await_calls();
  double swaps = 0;
  for (const KeyPair* pair : {&second_, &first_, &second_}) {
    Swap(FilesOf(*pair));
    ++swaps;
    Await("the certificate", [&] { return Reloads("certificate", "success") == swaps; });
    for (const std::string& address : {server_->address(), server_->admin_address()}) {
      EXPECT_EQ(ShakeHands(address).certificate, pair->certificate);
    }
    await_calls();
  }
  EXPECT_TRUE(Inspect(WithToken()).ok());
  Swap({{"tokens", TokenLine("service", kNextToken)}});
  Await("the tokens", [&] { return Reloads("tokens", "success") == 1; });
  EXPECT_EQ(Inspect(WithToken()).error_code(), grpc::UNAUTHENTICATED);
  await_calls();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  RecordProperty("calls", calls);
  EXPECT_EQ(Reloads("certificate", "failure"), 0);
  EXPECT_EQ(Reloads("tokens", "failure"), 0);
}

TEST_F(Secured, WhatIsWrongIsToldAndTheLastGoodOneStays) {
  StartForTokens();
  const std::string cut = second_.certificate.substr(0, second_.certificate.size() / 2);
  const KeyPair expired =
      authority_.Issue({.not_before = -absl::Hours(3), .not_after = -absl::Hours(2)});
  const KeyPair early = authority_.Issue({.not_before = absl::Hours(1)});
  const struct {
    const char* name;
    KeyPair pair;
    const char* says;
  } kBroken[] = {
      {"of_two_pairs", {second_.certificate, first_.key}, "is not the key of the certificate"},
      {"cut_off", {cut, second_.key}, "damaged or cut off"},
      {"second_cut_off", {second_.certificate + cut, second_.key}, "damaged or cut off"},
      {"empty", {"", ""}, "has no certificate"},
      {"no_key", {second_.certificate, "secret-not-a-key"}, "has no private key"},
      {"expired", expired, "expired at"},
      {"too_early", early, "is not valid before"},
      {"out_of_order",
       {second_.certificate + first_.certificate, second_.key},
       "was not issued by the next"},
  };
  double failures = 0;
  for (const auto& row : kBroken) {
    SCOPED_TRACE(row.name);
    Swap(FilesOf(row.pair));
    ++failures;
    Await("the failure", [&] { return Reloads("certificate", "failure") == failures; });
    EXPECT_EQ(ShakeHands(server_->address()).certificate, first_.certificate);
    EXPECT_TRUE(Inspect(WithToken()).ok());
    EXPECT_THAT(server_->Log(), HasSubstr(row.says));
  }
  Swap(FilesOf(second_));
  Await("the repair", [&] { return Reloads("certificate", "success") == 1; });
  EXPECT_EQ(ShakeHands(server_->address()).certificate, second_.certificate);

  Swap({{"tokens", "service sha256:12\nother\n"}});
  Await("the failure", [&] { return Reloads("tokens", "failure") == 1; });
  EXPECT_TRUE(Inspect(WithToken()).ok());
  EXPECT_THAT(server_->Log(), HasSubstr("tokens:2: must be NAME sha256:HEX"));
  Swap({{"tokens", "# Being written.\n"}});
  Await("the failure", [&] { return Reloads("tokens", "failure") == 2; });
  EXPECT_TRUE(Inspect(WithToken()).ok());
  EXPECT_THAT(server_->Log(), HasSubstr("tokens: has no token"));

  const Authority old("old", -absl::Hours(2));
  Swap({{"ca.crt", old.certificate()}});
  Await("the failure", [&] { return Reloads("certificate", "failure") == failures + 1; });
  EXPECT_THAT(server_->Log(),
              HasSubstr("has no authority that is valid now: the last one expired"));
  Swap({{"ca.crt", old.certificate() + authority_.certificate()}});
  Await("both", [&] { return Reloads("certificate", "success") == 2; });
  EXPECT_THAT(server_->Log(), Not(HasSubstr("secret-not-a-key")));
}

// ---- Sessions ----

TEST_F(Secured, ASessionEndsAtTheFirstMessageAfterItsTokenWasRevoked) {
  StartForTokens(TokenLine("service", kNextToken));
  const SecureCaller kept = WithToken();
  const SecureCaller revoked = WithToken(kNextToken);
  grpc::ClientContext kept_context;
  grpc::ClientContext revoked_context;
  kept.Prepare(kept_context);
  revoked.Prepare(revoked_context);
  const auto kept_stream = kept.api().Session(&kept_context);
  const auto revoked_stream = revoked.api().Session(&revoked_context);
  v1::SessionRequest request;
  *request.add_operations()->mutable_inspect() = InspectOf("k");
  v1::SessionResponse response;
  for (auto* stream : {kept_stream.get(), revoked_stream.get()}) {
    ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
    EXPECT_TRUE(response.items(0).has_inspect());
  }
  Swap({{"tokens", TokenLine("service", kToken)}});
  Await("the tokens", [&] { return Reloads("tokens", "success") == 1; });
  ASSERT_TRUE(kept_stream->Write(request) && kept_stream->Read(&response));
  EXPECT_TRUE(response.items(0).has_inspect());
  revoked_stream->Write(request);
  EXPECT_FALSE(revoked_stream->Read(&response));
  const grpc::Status status = revoked_stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::UNAUTHENTICATED);
  EXPECT_EQ(ErrorOf(status).reason, "UNAUTHENTICATED");
}

TEST_F(Secured, ASessionEndsAtTheFirstMessageAfterItsTokenExpired) {
  const absl::Time end = absl::Now() + absl::Seconds(5);
  StartForTokens(TokenLine("service", kNextToken,
                           absl::StrCat("not_after ", absl::FormatTime(end, absl::UTCTimeZone()))));
  const SecureCaller caller = WithToken(kNextToken);
  grpc::ClientContext context;
  caller.Prepare(context);
  const auto stream = caller.api().Session(&context);
  v1::SessionRequest request;
  *request.add_operations()->mutable_inspect() = InspectOf("k");
  v1::SessionResponse response;
  stream->Write(request);
  const bool in_time = stream->Read(&response);  // On a slow machine, perhaps not.
  Await("its end", [&] { return Inspect(caller).error_code() == grpc::UNAUTHENTICATED; });
  if (in_time) stream->Write(request);
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::UNAUTHENTICATED);
}

// ---- Certificates that expire while they are used ----

// TLS looks at the time at a first handshake only.
TEST_F(Secured, ALiveConnectionsCertificateCountsForNothingOnceItHasExpired) {
  Start();
  const CertificateOptions brief{.uris = {"spiffe://prod/service"}, .not_after = absl::Seconds(5)};
  const SecureCaller caller = Caller({.certificate = authority_.Issue(brief)});
  grpc::ClientContext context;
  caller.Prepare(context);
  const auto stream = caller.api().Session(&context);
  v1::SessionRequest request;
  *request.add_operations()->mutable_inspect() = InspectOf("k");
  v1::SessionResponse response;
  stream->Write(request);
  const bool in_time = stream->Read(&response);  // On a slow machine, perhaps not.
  Await("its end", [&] { return !Inspect(caller).ok(); });
  if (in_time) {
    EXPECT_EQ(Inspect(caller).error_code(), grpc::UNAUTHENTICATED);
    stream->Write(request);
    EXPECT_FALSE(stream->Read(&response));
    EXPECT_EQ(stream->Finish().error_code(), grpc::UNAUTHENTICATED);
    Await("a line of it in the log",
          [&] { return absl::StrContains(server_->Log(), "\"cause\":\"expired_certificate\""); });
  }
}

// ---- Who gets no connection ----

TEST_F(Secured, OnlyCertificatesOfTheAuthorityGetAConnection) {
  Start();
  const Authority other("other");
  const CertificateOptions service{.uris = {"spiffe://prod/service"}};
  CertificateOptions expired = service;
  expired.not_before = -absl::Hours(3);
  expired.not_after = -absl::Hours(2);
  CertificateOptions early = service;
  early.not_before = absl::Hours(1);
  const struct {
    const char* name;
    KeyPair certificate;
    std::string authorization;
    bool comes_in;
  } kRows[] = {
      {"good", authority_.Issue(service), "", true},
      {"none", {}, "", false},
      {"none_but_a_token", {}, "Bearer " + kToken, false},
      {"expired", authority_.Issue(expired), "", false},
      {"too_early", authority_.Issue(early), "", false},
      {"of_another_authority", other.Issue(service), "", false},
      {"self_signed", Authority::SelfSigned(service), "", false},
      {"self_signed_with_a_token", Authority::SelfSigned(service), "Bearer " + kToken, false},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.name);
    const SecureCaller caller =
        Caller({.authorization = row.authorization, .certificate = row.certificate});
    EXPECT_EQ(Inspect(caller).error_code(), row.comes_in ? grpc::OK : grpc::UNAVAILABLE);
    EXPECT_EQ(caller.AcceptClock().error_code(),
              row.comes_in ? grpc::PERMISSION_DENIED : grpc::UNAVAILABLE);
  }
}

TEST_F(Secured, OldVersionsOfTlsAreRefused) {
  StartForTokens();
  for (const std::string& address : {server_->address(), server_->admin_address()}) {
    for (const TlsVersion version : {TlsVersion::k10, TlsVersion::k11}) {
      const Handshake shaken = ShakeHands(address, version);
      EXPECT_FALSE(shaken.ok);
      // By the server: of a version that isn't offered, OpenSSL has "no protocols available".
      EXPECT_THAT(shaken.error, HasSubstr("unexpected eof"));
    }
    for (const TlsVersion version : {TlsVersion::k12, TlsVersion::k13}) {
      EXPECT_TRUE(ShakeHands(address, version).ok);
    }
  }
}

TEST_F(Secured, WhoMistakesThePortHurtsNobody) {
  StartForTokens();
  const SecureCaller good = WithToken();
  ASSERT_TRUE(Inspect(good).ok());
  const std::string preface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
  for (const std::string& bytes :
       {preface, std::string("GET / HTTP/1.1\r\n\r\n"),
        std::string("\x16\x03\x01\xff\xff", 5) + std::string(300, 'x')}) {
    SendBytes(server_->address(), bytes);
    EXPECT_TRUE(Inspect(good).ok());
  }
  Api plain(server_->Connect());
  EXPECT_EQ(plain.Inspect(InspectOf("k")).status.error_code(), grpc::UNAVAILABLE);
  EXPECT_TRUE(Inspect(WithToken()).ok());

  const ServerProcess unsecured;
  Api to_plain(unsecured.Connect());
  EXPECT_TRUE(to_plain.Inspect(InspectOf("k")).ok());
  EXPECT_FALSE(ShakeHands(unsecured.address()).ok);
  EXPECT_EQ(Inspect(SecureCaller(unsecured, authority_.certificate(), {})).error_code(),
            grpc::UNAVAILABLE);
  EXPECT_TRUE(to_plain.Inspect(InspectOf("k")).ok());
}

// ---- Starting ----

TEST_F(Secured, AStartIsRefusedForFilesThatAreWrong) {
  Swap({{"tokens", TokenLine("service", kToken)},
        {"bad_tokens", "service sha256:zz\n\nservice\n"},
        {"other.key", second_.key},
        {"empty", ""}});
  const struct {
    const char* name;
    std::vector<std::string> files;  // Certificate, key, authority, tokens.
    const char* says;
  } kRows[] = {
      {"no_certificate", {"none", "tls.key", "ca.crt", "tokens"}, "none: can't be read: No such"},
      {"other_key",
       {"tls.crt", "other.key", "ca.crt", "tokens"},
       "other.key: is not the key of the certificate in "},
      {"empty_authority", {"tls.crt", "tls.key", "empty", "tokens"}, "empty: has no certificate"},
      {"server_as_authority",
       {"tls.crt", "tls.key", "tls.crt", "tokens"},
       "tls.crt: has a certificate that is not one of an authority"},
      {"no_tokens", {"tls.crt", "tls.key", "ca.crt", "none"}, "none: can't be read: No such"},
      {"bad_tokens",
       {"tls.crt", "tls.key", "ca.crt", "bad_tokens"},
       "bad_tokens:1: the digest must be sha256: and 64 hexadecimal digits\n"},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.name);
    const TempDir dir;
    const Finished run = integration::Run(
        {.argv = {ServerBinary(), "--data-dir", dir.Path("data"), "--listen", "127.0.0.1:0",
                  "--admin-listen", "off", "--http-listen", "127.0.0.1:0", "--config",
                  dir.Write("c.yaml", kConfig), "--tls-cert", folder_.Path(row.files[0]),
                  "--tls-key", folder_.Path(row.files[1]), "--tls-client-ca",
                  folder_.Path(row.files[2]), "--token-file", folder_.Path(row.files[3])}});
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_THAT(run.err, HasSubstr(row.says));
  }
}

TEST(Unsecured, BeyondLoopbackItMustBeSaidAndIsSaidAgain) {
  const TempDir dir;
  const std::vector<std::string> argv = {ServerBinary(), "--data-dir",    dir.Path("data"),
                                         "--listen",     "0.0.0.0:0",     "--admin-listen",
                                         "0.0.0.0:0",    "--http-listen", "127.0.0.1:0"};
  const Finished refused = integration::Run({.argv = argv});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(LinesOf(refused.err).size(), 2U);  // One for each port.
  std::vector<std::string> insecure = argv;
  insecure.insert(insecure.end(), {"--insecure", "yes"});
  Process process({.argv = insecure});
  EXPECT_TRUE(process.err().AwaitLine("\"event\":\"anybody_may_call\"").has_value());
  EXPECT_TRUE(process.err().AwaitLine("\"event\":\"serving\"").has_value());
}

TEST(Unsecured, OnLoopbackTheLogSaysThatAnybodyMayCall) {
  const ServerProcess server;
  EXPECT_THAT(server.Log(),
              HasSubstr("\"level\":\"warn\",\"event\":\"anybody_may_call\",\"reason\":"
                        "\"only this machine can reach it\",\"encrypted\":false"));
}

// ---- Core dumps ----

TEST(CoreDumps, AreOffUnlessAskedFor) {
  const auto limit = [](const ServerProcess& server) {
    const std::string limits =
        ReadFile("/proc/" + std::to_string(server.process().pid()) + "/limits");
    const std::size_t at = limits.find("Max core file size");
    return limits.substr(at, limits.find('\n', at) - at);
  };
  const std::string own = [] {
    const std::string limits = ReadFile("/proc/self/limits");
    const std::size_t at = limits.find("Max core file size");
    return limits.substr(at, limits.find('\n', at) - at);
  }();
  EXPECT_THAT(limit(ServerProcess()), testing::ContainsRegex("size +[01] +[01] "));
  EXPECT_EQ(limit(ServerProcess({.flags = {"--core-dumps", "yes"}})), own);
}

}  // namespace
}  // namespace onced::integration
