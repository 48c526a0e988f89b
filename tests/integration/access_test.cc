// Who may do what: identities x namespaces x calls.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/secured.h"

namespace onced::integration {
namespace {

using Way = SecureCaller::Way;

constexpr char kSecret[] = "what-a-tenant-must-not-see";
// Keys of which there is a record, and of which there is none.
constexpr char kThere[] = "there";
constexpr char kMissing[] = "missing";

const std::string kTokenA = "token-of-team-a-0123456789abcdef";
const std::string kTokenSeed = "token-of-the-seed-0123456789abcd";
const std::string kTokenOld = "token-of-yesterday-0123456789abc";

// Who calls, and what is expected: the rights in each namespace, by first letters; "!" is
// nobody whom the server knows.
struct Who {
  const char* name;
  std::string authorization;
  CertificateOptions certificate;
  bool has_certificate = false;
  std::map<std::string, std::string> rights;
  std::string admin;  // A pattern of namespaces; empty: none.
};

const std::map<std::string, std::string> kStranger = {{"*", "!"}};

const Who kWho[] = {
    {.name = "anonymous", .rights = kStranger},
    {.name = "wrong_token",
     .authorization = "Bearer not-a-token-of-this-server",
     .rights = kStranger},
    {.name = "short_token", .authorization = "Bearer x", .rights = kStranger},
    {.name = "empty_token", .authorization = "Bearer ", .rights = kStranger},
    {.name = "other_scheme", .authorization = "Basic " + kTokenA, .rights = kStranger},
    {.name = "no_scheme", .authorization = kTokenA, .rights = kStranger},
    {.name = "expired_token", .authorization = "Bearer " + kTokenOld, .rights = kStranger},
    {.name = "team_a_by_token",
     .authorization = "Bearer " + kTokenA,
     .rights = {{"shop", "ui"}, {"shop-eu", "ui"}, {"shop-us", "ui"}}},
    {.name = "team_a_in_capitals",
     .authorization = "BEARER " + kTokenA,
     .rights = {{"shop", "ui"}, {"shop-eu", "ui"}, {"shop-us", "ui"}}},
    {.name = "team_b_by_spiffe",
     .certificate = {.uris = {"spiffe://prod/ns/pay/sa/worker"}},
     .has_certificate = true,
     .rights = {{"pay", "u"}}},
    {.name = "auditor_by_dns",
     .certificate = {.dns = {"Audit.Prod.Internal"}},
     .has_certificate = true,
     .rights = {{"shop", "i"}}},
    {.name = "both_names_count",
     .certificate = {.uris = {"spiffe://prod/ns/pay/sa/worker"}, .dns = {"audit.prod.internal"}},
     .has_certificate = true,
     .rights = {{"pay", "u"}, {"shop", "i"}}},
    {.name = "admin",
     .certificate = {.uris = {"spiffe://prod/ns/ops/sa/admin"}},
     .has_certificate = true,
     .admin = "*"},
    {.name = "admin_of_some_namespaces",
     .certificate = {.uris = {"spiffe://prod/ns/ops/sa/shop-admin"}},
     .has_certificate = true,
     .admin = "shop*"},
    {.name = "in_no_entry",
     .certificate = {.uris = {"spiffe://prod/ns/games/sa/x"}},
     .has_certificate = true},
    {.name = "no_names", .has_certificate = true, .rights = kStranger},
    {.name = "uri_that_looks_like_a_token",
     .certificate = {.uris = {"token:team-a"}},
     .has_certificate = true,
     .rights = kStranger},
    {.name = "uri_that_looks_like_dns",
     .certificate = {.uris = {"dns:audit.prod.internal"}},
     .has_certificate = true,
     .rights = kStranger},
    {.name = "good_certificate_and_wrong_token",
     .authorization = "Bearer not-a-token-of-this-server",
     .certificate = {.uris = {"spiffe://prod/ns/pay/sa/worker"}},
     .has_certificate = true,
     .rights = kStranger},
    {.name = "the_token_counts_alone",
     .authorization = "Bearer " + kTokenA,
     .certificate = {.uris = {"spiffe://prod/ns/pay/sa/worker"}},
     .has_certificate = true,
     .rights = {{"shop", "ui"}, {"shop-eu", "ui"}, {"shop-us", "ui"}}},
};

// "shop-us" is in an entry of the access list, and no namespace; "ghost" is in neither.
const char* const kNamespaces[] = {"shop", "shop-eu", "pay", "shop-us", "ghost"};
const std::set<std::string> kConfigured = {"shop", "shop-eu", "pay"};

constexpr char kConfig[] = R"(
unlisted_namespaces: deny
namespaces: {shop: {}, shop-eu: {}, pay: {}}
access:
- {identity: "token:team-a", namespaces: [shop, "shop-*"], rights: [use, inspect]}
- {identity: "spiffe://prod/ns/pay/*", namespaces: [pay], rights: [use]}
- {identity: "dns:audit.prod.internal", namespaces: [shop], rights: [inspect]}
- {identity: "spiffe://prod/ns/ops/sa/admin", namespaces: ["*"], rights: [admin]}
- {identity: "spiffe://prod/ns/ops/sa/shop-admin", namespaces: ["shop*"], rights: [admin]}
- {identity: "token:seed", namespaces: ["*"], rights: [use, inspect]}
)";

v1::Operation Named(v1::Operation operation, const std::string& name_space) {
  const auto set = [&](auto* message) { message->set_namespace_(name_space); };
  if (operation.has_reserve()) set(operation.mutable_reserve());
  if (operation.has_commit()) set(operation.mutable_commit());
  if (operation.has_release()) set(operation.mutable_release());
  if (operation.has_extend()) set(operation.mutable_extend());
  if (operation.has_inspect()) set(operation.mutable_inspect());
  return operation;
}

struct Call {
  const char* name;
  char right;
  v1::Operation (*make)(const std::string& key);
};
const Call kCalls[] = {
    {"reserve", 'u',
     [](const std::string& key) {
       v1::Operation operation;
       *operation.mutable_reserve() = ReserveOf(key);
       return operation;
     }},
    {"commit", 'u',
     [](const std::string& key) {
       v1::Operation operation;
       *operation.mutable_commit() = CommitOf(key, "a-token", ResultOf(200, "x"));
       return operation;
     }},
    {"release", 'u',
     [](const std::string& key) {
       v1::Operation operation;
       *operation.mutable_release() = ReleaseOf(key, "a-token");
       return operation;
     }},
    {"extend", 'u',
     [](const std::string& key) {
       v1::Operation operation;
       *operation.mutable_extend() = ExtendOf(key, "a-token");
       return operation;
     }},
    {"inspect", 'i',
     [](const std::string& key) {
       v1::Operation operation;
       *operation.mutable_inspect() = InspectOf(key);
       operation.mutable_inspect()->set_include_result(true);
       return operation;
     }},
};
const std::pair<const char*, Way> kWays[] = {
    {"alone", Way::kAlone}, {"batch", Way::kBatch}, {"session", Way::kSession}};

// All that a caller can see of a status.
std::string BytesOf(const grpc::Status& status) {
  return absl::StrCat(status.error_code(), "|", status.error_message(), "|",
                      status.error_details());
}

class AccessMatrix : public testing::Test {
 protected:
  AccessMatrix() {
    folder_.Swap(
        {{"tls.crt", server_pair_.certificate},
         {"tls.key", server_pair_.key},
         {"ca.crt", authority_.certificate()},
         {"tokens", "# Of tests.\n" + TokenLine("team-a", kTokenA) + TokenLine("seed", kTokenSeed) +
                        TokenLine("team-a", kTokenOld, "not_after 2020-01-01T00:00:00Z")}});
    server_ = std::make_unique<ServerProcess>(ServerProcess::Options{
        .flags = {"--tls-cert", folder_.Path("tls.crt"), "--tls-key", folder_.Path("tls.key"),
                  "--tls-client-ca", folder_.Path("ca.crt"), "--tls-client-auth", "request",
                  "--token-file", folder_.Path("tokens")},
        .config = kConfig});
    Seed();
  }

  SecureCaller CallerOf(const Who& who) const {
    Credentials credentials{.authorization = who.authorization};
    if (who.has_certificate) credentials.certificate = authority_.Issue(who.certificate);
    return SecureCaller(*server_, authority_.certificate(), credentials);
  }

  // A committed result in every namespace.
  void Seed() const {
    const SecureCaller seed = CallerOf({.name = "seed", .authorization = "Bearer " + kTokenSeed});
    for (const std::string& name_space : kConfigured) {
      v1::ReserveRequest reserve = ReserveOf(kThere);
      reserve.set_namespace_(name_space);
      v1::ReserveResponse reserved;
      grpc::ClientContext first;
      seed.Prepare(first);
      ASSERT_TRUE(seed.api().Reserve(&first, reserve, &reserved).ok());
      v1::CommitRequest commit =
          CommitOf(kThere, reserved.reservation().token(), ResultOf(200, kSecret));
      commit.set_namespace_(name_space);
      v1::CommitResponse committed;
      grpc::ClientContext second;
      seed.Prepare(second);
      ASSERT_TRUE(seed.api().Commit(&second, commit, &committed).ok());
    }
  }

  const Authority authority_{"ca"};
  const KeyPair server_pair_ = authority_.Issue({.dns = {"onced"}});
  SwappedFolder folder_;
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(AccessMatrix, IsAsTheListSaysAndRefusalsTellNothing) {
  std::set<std::string> strangers;  // What they were told, all of them.
  std::set<std::string> denials;
  int readable_across = 0;
  int read = 0;
  for (const Who& who : kWho) {
    const SecureCaller caller = CallerOf(who);
    const bool stranger = who.rights.contains("*");
    for (const std::string name_space : kNamespaces) {
      const auto found = who.rights.find(name_space);
      const std::string rights = found == who.rights.end() ? "" : found->second;
      for (const Call& call : kCalls) {
        const bool allowed =
            !stranger && kConfigured.contains(name_space) && absl::StrContains(rights, call.right);
        for (const auto& [way_name, way] : kWays) {
          for (const char* key : {kThere, kMissing}) {
            SCOPED_TRACE(
                absl::StrCat(who.name, " ", name_space, " ", call.name, " ", way_name, " ", key));
            std::string response;
            const grpc::Status status =
                caller.Call(Named(call.make(key), name_space), way, &response);
            const bool sees = absl::StrContains(response + BytesOf(status), kSecret);
            if (sees && !allowed) ++readable_across;
            if (sees) ++read;
            if (allowed) {
              EXPECT_TRUE(status.ok()) << status.error_message();
            } else if (stranger) {
              EXPECT_EQ(status.error_code(), grpc::UNAUTHENTICATED) << status.error_message();
              strangers.insert(BytesOf(status));
            } else {
              EXPECT_EQ(status.error_code(), grpc::PERMISSION_DENIED) << status.error_message();
              denials.insert(BytesOf(status));
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(readable_across, 0);
  EXPECT_GT(read, 0);  // Else nobody could see anything.
  EXPECT_EQ(strangers.size(), 1U);
  EXPECT_EQ(denials.size(), 1U);
}

// ---- The admin service ----

struct AdminCall {
  const char* name;
  grpc::Status (*call)(admin_v1::AdminService::Stub& stub, grpc::ClientContext* context,
                       const std::string& name_space);
};
template <auto kMethod, typename Request, typename Response>
grpc::Status OnKey(admin_v1::AdminService::Stub& stub, grpc::ClientContext* context,
                   const std::string& name_space) {
  Request request;
  request.set_namespace_(name_space);
  if constexpr (requires { request.set_fence(1); }) {
    request.set_key(kMissing);
    request.set_fence(1);
  }
  if constexpr (requires { request.mutable_release(); }) request.mutable_release();
  Response response;
  return (stub.*kMethod)(context, request, &response);
}
template <auto kMethod, typename Request, typename Response>
grpc::Status OnServer(admin_v1::AdminService::Stub& stub, grpc::ClientContext* context,
                      const std::string& /*name_space*/) {
  Response response;
  return (stub.*kMethod)(context, Request(), &response);
}

using Admin = admin_v1::AdminService::Stub;
const AdminCall kAdminOfNamespace[] = {
    {"list", &OnKey<&Admin::List, admin_v1::ListRequest, admin_v1::ListResponse>},
    {"resolve", &OnKey<&Admin::Resolve, admin_v1::ResolveRequest, admin_v1::ResolveResponse>},
    {"evict", &OnKey<&Admin::Evict, admin_v1::EvictRequest, admin_v1::EvictResponse>},
    {"evict_namespace", &OnKey<&Admin::EvictNamespace, admin_v1::EvictNamespaceRequest,
                               admin_v1::EvictNamespaceResponse>},
};
const AdminCall kAdminOfServer[] = {
    {"status", &OnServer<&Admin::Status, admin_v1::StatusRequest, admin_v1::StatusResponse>},
    {"backup", &OnServer<&Admin::Backup, admin_v1::BackupRequest, admin_v1::BackupResponse>},
    {"accept_clock",
     &OnServer<&Admin::AcceptClock, admin_v1::AcceptClockRequest, admin_v1::AcceptClockResponse>},
};

// Whether it was let in, whatever came of that. A list or a backup may still be running.
bool WasLetIn(const grpc::Status& status) {
  return status.ok() || status.error_code() == grpc::NOT_FOUND ||
         status.error_code() == grpc::ABORTED || ErrorOf(status).reason == "BUSY" ||
         ErrorOf(status).reason == "BACKUP_NOT_CONFIGURED";
}

TEST_F(AccessMatrix, TheAdminServiceIsForAdmins) {
  const int methods = admin_v1::ListRequest::descriptor()
                          ->file()
                          ->FindServiceByName("AdminService")
                          ->method_count();
  EXPECT_EQ(std::size(kAdminOfNamespace) + std::size(kAdminOfServer), methods);
  int let_in = 0;
  for (const Who& who : kWho) {
    const SecureCaller caller = CallerOf(who);
    const auto check = [&](const AdminCall& call, const std::string& name_space, bool may,
                           const char* denial) {
      SCOPED_TRACE(absl::StrCat(who.name, " ", call.name, " ", name_space));
      grpc::ClientContext context;
      caller.Prepare(context);
      const grpc::Status status = call.call(caller.admin(), &context, name_space);
      if (may) {
        EXPECT_TRUE(WasLetIn(status)) << status.error_code() << status.error_message();
        ++let_in;
        return;
      }
      const bool stranger = who.rights.contains("*");
      EXPECT_EQ(status.error_code(), stranger ? grpc::UNAUTHENTICATED : grpc::PERMISSION_DENIED);
      EXPECT_EQ(ErrorOf(status).reason, stranger ? "UNAUTHENTICATED" : denial);
    };
    for (const std::string name_space : kNamespaces) {
      const bool may = who.admin == "*" || (who.admin == "shop*" && name_space.starts_with("shop"));
      for (const AdminCall& call : kAdminOfNamespace) {
        check(call, name_space, may, "NAMESPACE_NOT_ALLOWED");
      }
    }
    for (const AdminCall& call : kAdminOfServer) {
      check(call, "", who.admin == "*", "NOT_ALLOWED");
    }
  }
  EXPECT_EQ(let_in, 5 * 4 + 3 + 3 * 4);
}

TEST_F(AccessMatrix, WhatWasDeniedDidNothing) {
  const SecureCaller seed = CallerOf({.name = "seed", .authorization = "Bearer " + kTokenSeed});
  const auto look = [&](const std::string& name_space, const char* key) {
    v1::InspectRequest inspect = InspectOf(key);
    inspect.set_namespace_(name_space);
    inspect.set_include_result(true);
    v1::InspectResponse found;
    grpc::ClientContext context;
    seed.Prepare(context);
    EXPECT_TRUE(seed.api().Inspect(&context, inspect, &found).ok());
    return found.record();
  };
  std::map<std::string, v1::Record> before;
  for (const std::string& name_space : kConfigured) before[name_space] = look(name_space, kThere);
  for (const Who& who : kWho) {
    const SecureCaller caller = CallerOf(who);
    for (const std::string& name_space : kConfigured) {
      if (who.rights.contains(name_space)) continue;
      for (const Call& call : kCalls) {
        for (const auto& [way_name, way] : kWays) {
          for (const char* key : {kThere, kMissing}) {
            EXPECT_FALSE(caller.Call(Named(call.make(key), name_space), way).ok());
          }
        }
      }
    }
  }
  for (const std::string& name_space : kConfigured) {
    EXPECT_EQ(look(name_space, kThere).SerializeAsString(), before[name_space].SerializeAsString());
    EXPECT_EQ(look(name_space, kMissing).state(), v1::STATE_ABSENT) << name_space;
  }
}

// Which of two headers would count? Neither: whoever checked one of them on the way, a proxy
// say, may have looked at the other. The certificate doesn't step in, either.
TEST_F(AccessMatrix, TwoAuthorizationHeadersAreRefused) {
  const std::string good = "Bearer " + kTokenA;
  const std::vector<std::string> kHeaders[] = {
      {good, good},
      {good, "Bearer " + kTokenSeed},
      {good, "Bearer not-a-token-of-this-server"},
      {"Bearer not-a-token-of-this-server", good},
      {"Basic dXNlcjpwYXNz", good},
      {good, ""},
      {good + ", " + good},  // What two of them are in HTTP, joined.
      {good + "," + good},
  };
  const Who kCallers[] = {
      {.name = "without a certificate"},
      {.name = "with one",
       .certificate = {.uris = {"spiffe://prod/ns/pay/sa/worker"}},
       .has_certificate = true},
  };
  v1::InspectRequest inspect = InspectOf(kThere);
  for (const Who& who : kCallers) {
    const SecureCaller caller = CallerOf(who);
    for (const char* name_space : {"shop", "pay"}) {
      inspect.set_namespace_(name_space);
      for (const std::vector<std::string>& headers : kHeaders) {
        SCOPED_TRACE(absl::StrCat(who.name, ", ", name_space, ": ", absl::StrJoin(headers, " | ")));
        grpc::ClientContext context;
        for (const std::string& header : headers) context.AddMetadata("authorization", header);
        context.set_deadline(Soon());
        v1::InspectResponse found;
        EXPECT_EQ(caller.api().Inspect(&context, inspect, &found).error_code(),
                  grpc::UNAUTHENTICATED);
        EXPECT_EQ(found.ByteSizeLong(), 0);
      }
    }
  }
  // Each of them alone is good.
  inspect.set_namespace_("shop");
  v1::InspectResponse found;
  grpc::ClientContext context;
  const SecureCaller alone = CallerOf({.name = "alone", .authorization = good});
  alone.Prepare(context);
  EXPECT_TRUE(alone.api().Inspect(&context, inspect, &found).ok());
}

TEST_F(AccessMatrix, FailuresAreCountedAndLoggedByCause) {
  for (const Who& who : kWho) {
    CallerOf(who).Call(Named(kCalls[4].make(kThere), "shop"), Way::kAlone);
  }
  const Metrics metrics = server_->GetMetrics();
  const auto count = [&](const std::string& cause) {
    return metrics.at("idempotency_auth_failures_total{cause=\"" + cause + "\"}");
  };
  EXPECT_EQ(count("no_credentials"), 4);  // One anonymous, three without usable names.
  EXPECT_EQ(count("malformed_header"), 2);
  EXPECT_EQ(count("unknown_token"), 4);
  EXPECT_EQ(count("expired_token"), 1);
  EXPECT_GT(metrics.at("idempotency_tls_certificate_expiry_time_seconds"),
            absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  const std::string log = server_->Log();
  EXPECT_THAT(log, testing::HasSubstr("\"event\":\"auth_failed\",\"cause\":\"expired_token\""));
  EXPECT_THAT(log, testing::HasSubstr("\"peer\":\"ipv4:127.0.0.1:"));
}

}  // namespace
}  // namespace onced::integration
