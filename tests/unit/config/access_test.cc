// Who may come: what a start is refused for.
#include "server/config/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"

namespace onced {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

absl::StatusOr<Invocation> Load(const std::string& file) {
  const std::vector<std::string> args = {"--data-dir=/d", "--config=c.yaml"};
  return LoadConfig(
      args, [](const std::string&) -> std::optional<std::string> { return std::nullopt; },
      [&](const std::string&) -> absl::StatusOr<std::string> { return file; });
}

std::vector<std::string> Errors(const std::string& file) {
  const auto invocation = Load(file);
  if (invocation.ok()) return {};
  return absl::StrSplit(std::string(invocation.status().message()), '\n');
}

const std::string kAccess =
    "access:\n"
    "- {identity: 'token:shop', namespaces: [shop, 'shop-*'], rights: [use, inspect]}\n";
const std::string kOutside = "listen: 10.0.0.1:1\n";
const std::string kTls = "tls_cert: /c\ntls_key: /k\n";

// ---- Who may come from where ----

const struct {
  const char* name;
  std::string file;
  std::vector<std::string> errors;
} kStarts[] = {
    {"loopback", "listen: 127.0.0.1:1\nadmin_listen: '[::1]:2'\n", {}},
    {"loopback_with_tls", kTls, {}},
    {"loopback_with_tokens", "token_file: /t\n" + kAccess, {}},
    {"loopback_with_all", kTls + "token_file: /t\ntls_client_ca: /a\n" + kAccess, {}},
    {"outside",
     kOutside,
     {"listen: \"10.0.0.1:1\": is not a loopback address: set tls_cert, tls_key and access, with "
      "tls_client_ca or token_file; or insecure: yes, to serve whoever comes"}},
    {"outside_all_addresses",
     "listen: 0.0.0.0:1\n",
     {"listen: \"0.0.0.0:1\": is not a loopback address: set tls_cert, tls_key and access, with "
      "tls_client_ca or token_file; or insecure: yes, to serve whoever comes"}},
    {"outside_by_name",
     "listen: localhost.example.org:1\n",
     {"listen: \"localhost.example.org:1\": is not a loopback address: set tls_cert, tls_key and "
      "access, with tls_client_ca or token_file; or insecure: yes, to serve whoever comes"}},
    {"outside_said_so", kOutside + "insecure: yes\n", {}},
    {"outside_tls_alone",
     kOutside + kTls,
     {"listen: \"10.0.0.1:1\": is not a loopback address: set tls_cert, tls_key and access, with "
      "tls_client_ca or token_file; or insecure: yes, to serve whoever comes"}},
    {"outside_tls_said_so", kOutside + kTls + "insecure: yes\n", {}},
    {"outside_tokens", kOutside + kTls + "token_file: /t\n" + kAccess, {}},
    {"outside_certificates", kOutside + kTls + "tls_client_ca: /a\n" + kAccess, {}},
    {"outside_tokens_in_the_clear",
     kOutside + "token_file: /t\n" + kAccess,
     {"listen: \"10.0.0.1:1\": tokens would be sent in the clear: set tls_cert and tls_key"}},
    {"admin_outside",
     "admin_listen: 10.0.0.1:2\n",
     {"admin_listen: \"10.0.0.1:2\": is not a loopback address: set tls_cert, tls_key and access, "
      "with tls_client_ca or token_file; or insecure: yes, to serve whoever comes"}},
    {"admin_outside_secured",
     "admin_listen: 10.0.0.1:2\n" + kTls + "tls_client_ca: /a\n" + kAccess,
     {}},
    {"admin_outside_said_so", "admin_listen: 10.0.0.1:2\ninsecure: yes\n", {}},
    {"no_key", "tls_cert: /c\n", {"tls_key: is required with tls_cert"}},
    {"no_cert", "tls_key: /k\n", {"tls_cert: is required with tls_key"}},
    {"ca_alone", "tls_client_ca: /a\n" + kAccess, {"tls_client_ca: needs tls_cert and tls_key"}},
    {"auth_alone", kTls + "tls_client_auth: request\n", {"tls_client_auth: needs tls_client_ca"}},
    {"access_alone",
     kTls + kAccess,
     {"access: needs a way to tell who calls: tls_client_ca, token_file, or both"}},
    {"tokens_alone",
     "token_file: /t\n",
     {"token_file: is of no use without access: nobody may do anything"}},
    {"certificates_alone",
     kTls + "tls_client_ca: /a\n",
     {"tls_client_ca: is of no use without access: nobody may do anything"}},
    {"both_ways",
     "insecure: yes\ntoken_file: /t\n" + kAccess,
     {"insecure: must not be set beside access: would it hold or not?"}},
    {"several",
     kOutside + "tls_cert: /c\ntls_client_auth: require\n",
     {"tls_key: is required with tls_cert", "tls_client_auth: needs tls_client_ca",
      "listen: \"10.0.0.1:1\": is not a loopback address: set tls_cert, tls_key and access, with "
      "tls_client_ca or token_file; or insecure: yes, to serve whoever comes"}},
};

TEST(Security, IsWhatAStartIsRefusedFor) {
  for (const auto& row : kStarts) EXPECT_EQ(Errors(row.file), row.errors) << row.name;
}

// ---- The access list ----

// With a way to tell who calls.
std::string With(const std::string& entries) { return "token_file: /t\naccess:\n" + entries; }

TEST(Access, IsReadAsItStands) {
  const auto invocation = Load(
      With("- {identity: spiffe://prod/ns/shop/*, namespaces: [shop, 'shop-*'], rights: [use]}\n"
           "- identity: dns:pay.prod.internal\n"
           "  namespaces: [\"*\"]\n"
           "  rights: [admin, inspect]\n"
           "- {identity: 'token:shop', namespaces: [shop], rights: [use]}\n"
           "- {identity: 'token:shop', namespaces: [pay], rights: [inspect]}\n"));
  ASSERT_TRUE(invocation.ok()) << invocation.status();
  const std::vector<AccessList::Entry> want = {
      {"spiffe://prod/ns/shop/*", {"shop", "shop-*"}, {.use = true}},
      {"dns:pay.prod.internal", {"*"}, {.inspect = true, .admin = true}},
      {"token:shop", {"shop"}, {.use = true}},
      {"token:shop", {"pay"}, {.inspect = true}}};
  EXPECT_EQ(std::get<Config>(*invocation).access, want);
}

TEST(Access, AllThatIsWrongIsToldAtOnceWithItsLine) {
  EXPECT_THAT(
      Errors(With("- {identity: bob, namespaces: [shop], rights: [use]}\n"
                  "- {identity: 'spiffe://a/*/b', namespaces: ['*shop'], rights: [write]}\n"
                  "- {identity: 'token:', namespaces: [], rights: use, color: red}\n"
                  "- [x]\n"
                  "- {}\n"
                  "- {identity: 'dns:*', namespaces: [-a, '', [x]], rights: [USE]}\n"
                  "- {identity: '*', namespaces: ['a**'], rights: [use, '*']}\n")),
      ElementsAre(
          "access[0].identity: \"bob\" (c.yaml:3): must be a URI such as "
          "spiffe://prod/ns/shop/sa/pay, dns:NAME or token:NAME",
          "access[1].identity: \"spiffe://a/*/b\" (c.yaml:4): may have a * at the end of a URI "
          "only, after a /",
          "access[1].namespaces: \"*shop\" (c.yaml:4): must be a namespace, the beginning of some "
          "and a *, or \"*\" for all",
          "access[1].rights: \"write\" (c.yaml:4): must be one of: use, inspect, admin",
          "access[2].identity: \"token:\" (c.yaml:5): must have a name of [A-Za-z0-9._-] after the "
          "colon",
          "access[2].namespaces (c.yaml:5): must be a list, not empty",
          "access[2].rights (c.yaml:5): must be a list, not empty",
          "access[2].color (c.yaml:5): is not a key of an entry",
          "access[3] (c.yaml:6): must be a map of identity, namespaces and rights",
          "access[4].identity (c.yaml:7): is required",
          "access[4].namespaces (c.yaml:7): is required",
          "access[4].rights (c.yaml:7): is required",
          "access[5].identity: \"dns:*\" (c.yaml:8): must have a name of [A-Za-z0-9._-] after the "
          "colon",
          "access[5].namespaces: \"-a\" (c.yaml:8): must be a namespace, the beginning of some "
          "and a *, or \"*\" for all",
          "access[5].namespaces: \"\" (c.yaml:8): must be a namespace, the beginning of some and "
          "a *, or \"*\" for all",
          "access[5].namespaces: \"\" (c.yaml:8): must be a namespace, the beginning of some and "
          "a *, or \"*\" for all",
          "access[5].rights: \"USE\" (c.yaml:8): must be one of: use, inspect, admin",
          "access[6].identity: \"*\" (c.yaml:9): may have a * at the end of a URI only, after a /",
          "access[6].namespaces: \"a**\" (c.yaml:9): must be a namespace, the beginning of some "
          "and a *, or \"*\" for all",
          "access[6].rights: \"*\" (c.yaml:9): must be one of: use, inspect, admin"));
}

TEST(Access, IsAListThatIsNotEmpty) {
  for (const char* text : {"access: []\n", "access: {}\n", "access: all\n", "access:\n"}) {
    EXPECT_THAT(Errors(text),
                ElementsAre("access (c.yaml:1): must be a list of entries, not empty"))
        << text;
  }
}

}  // namespace
}  // namespace onced
