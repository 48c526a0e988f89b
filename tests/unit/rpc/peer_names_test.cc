#include "server/rpc/peer_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace onced {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// What gRPC makes of a connection: of a certificate, too, whatever is in it.
class FakePeer final : public grpc::AuthContext {
 public:
  explicit FakePeer(std::multimap<std::string, std::string> properties)
      : properties_(std::move(properties)) {}

  bool IsPeerAuthenticated() const override { return true; }
  std::vector<grpc::string_ref> GetPeerIdentity() const override {
    return FindPropertyValues("x509_common_name");
  }
  std::string GetPeerIdentityPropertyName() const override { return "x509_common_name"; }
  std::vector<grpc::string_ref> FindPropertyValues(const std::string& name) const override {
    std::vector<grpc::string_ref> values;
    const auto [begin, end] = properties_.equal_range(name);
    for (auto at = begin; at != end; ++at) values.emplace_back(at->second);
    return values;
  }
  grpc::AuthPropertyIterator begin() const override { return Iterator(); }
  grpc::AuthPropertyIterator end() const override { return Iterator(); }
  void AddProperty(const std::string&, const grpc::string_ref&) override {}
  bool SetPeerIdentityPropertyName(const std::string&) override { return false; }

 private:
  struct Iterator : grpc::AuthPropertyIterator {};

  const std::multimap<std::string, std::string> properties_;
};

std::vector<std::string> NamesOf(std::multimap<std::string, std::string> properties) {
  return PeerNames(FakePeer(std::move(properties)));
}

TEST(PeerNames, AreUrisThenDnsNamesInSmallLetters) {
  EXPECT_THAT(NamesOf({{"peer_dns", "Pay.Prod.Internal"},
                       {"peer_dns", "a"},
                       {"peer_uri", "spiffe://prod/ns/Pay/sa/worker"},
                       {"peer_uri", "https://pay"}}),
              ElementsAre("spiffe://prod/ns/Pay/sa/worker", "https://pay", "dns:pay.prod.internal",
                          "dns:a"));
}

TEST(PeerNames, AreNothingElseThatACertificateHas) {
  EXPECT_THAT(NamesOf({}), IsEmpty());
  EXPECT_THAT(NamesOf({{"x509_common_name", "spiffe://prod/ns/ops/sa/admin"},
                       {"x509_common_name", "admin"},
                       {"x509_subject", "CN=admin"},
                       {"x509_subject_alternative_name", "spiffe://prod/ns/ops/sa/admin"},
                       {"peer_spiffe_id", "spiffe://prod/ns/ops/sa/admin"},
                       {"peer_email", "spiffe://admin"},
                       {"peer_ip", "10.0.0.1"},
                       {"transport_security_type", "ssl"}}),
              IsEmpty());
}

// What could be taken for an identity of another kind, or for a pattern.
TEST(PeerNames, DoNotPassForOthers) {
  for (const char* uri : {"", "token:admin", "TOKEN:admin", "token://admin", "Token://admin",
                          "dns:host", "dns://host", "DNS://host", "urn:admin", "admin", "*"}) {
    EXPECT_THAT(NamesOf({{"peer_uri", uri}}), IsEmpty()) << uri;
  }
  for (const std::string& dns :
       {std::string(), std::string("*"), std::string("*.prod.internal"), std::string("a b"),
        std::string("a/b"), std::string("a:b"), std::string("a\0b", 3), std::string("b\xc3\xa4"),
        std::string("a\n")}) {
    EXPECT_THAT(NamesOf({{"peer_dns", dns}}), IsEmpty()) << dns;
  }
  EXPECT_THAT(NamesOf({{"peer_dns", "token"}}), ElementsAre("dns:token"));
}

TEST(PeerNames, HaveABoundTogether) {
  std::multimap<std::string, std::string> many;
  for (int i = 0; i < 50; ++i) {
    many.emplace("peer_uri", absl::StrCat("spiffe://prod/", i));
    many.emplace("peer_dns", absl::StrCat("host-", i));
  }
  const std::vector<std::string> names = NamesOf(many);
  EXPECT_THAT(names, SizeIs(64));
  EXPECT_EQ(names[49], "spiffe://prod/49");
  EXPECT_EQ(names[50], "dns:host-0");
}

}  // namespace
}  // namespace onced
