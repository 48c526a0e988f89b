// Which certificates a server may show, and which not.
#include "server/identity/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/integration/certificates.h"

namespace onced {
namespace {

using integration::Authority;
using integration::CertificateOptions;
using integration::KeyPair;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kCut[] = "c.pem: has a certificate that is damaged or cut off";
constexpr char kNone[] = "c.pem: has no certificate (PEM)";
constexpr char kNoKey[] = "k.pem: has no private key (PEM, without a password)";
constexpr char kOtherKey[] = "k.pem: is not the key of the certificate in c.pem";
constexpr char kOrder[] =
    "was not issued by the next: the server's own comes first, then who signed it";

// As OpenSSL would write a key under a password: enough for it to ask for one.
constexpr char kEncryptedKey[] =
    "-----BEGIN RSA PRIVATE KEY-----\n"
    "Proc-Type: 4,ENCRYPTED\n"
    "DEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF\n\n"
    "AAAAAAAAAAAAAAAAAAAAAA==\n"
    "-----END RSA PRIVATE KEY-----\n";

class CertificateTest : public testing::Test {
 protected:
  absl::StatusOr<Certificate> Check(const std::string& chain, const std::string& key,
                                    absl::Time now = absl::Now()) const {
    return CheckCertificate({"c.pem", "k.pem", ""}, {chain, key}, now);
  }
  absl::Status CheckCa(const std::string& ca) const {
    return CheckCertificate({"c.pem", "k.pem", "ca.pem"}, {pair_.certificate, pair_.key, ca},
                            absl::Now())
        .status();
  }
  std::string Error(const std::string& chain, const std::string& key) const {
    return std::string(Check(chain, key).status().message());
  }

  const Authority root_{"root"};
  const Authority middle_ = root_.Intermediate("middle");
  const KeyPair pair_ = root_.Issue({});
  const KeyPair below_ = middle_.Issue({});
};

TEST_F(CertificateTest, OneInOrderIsTakenAsItStands) {
  const KeyPair rsa = root_.Issue({.key = CertificateOptions::Key::kRsa});
  const KeyPair for_servers = root_.Issue({.extended_key_usage = "serverAuth,clientAuth"});
  const KeyPair alone = Authority::SelfSigned({});
  const struct {
    const char* name;
    std::string chain;
    std::string key;
  } kRows[] = {
      {"alone", pair_.certificate, pair_.key},
      {"with_the_root", pair_.certificate + root_.certificate(), pair_.key},
      {"with_an_intermediate", below_.certificate + middle_.certificate(), below_.key},
      {"whole_chain", below_.certificate + middle_.certificate() + root_.certificate(), below_.key},
      {"rsa", rsa.certificate, rsa.key},
      {"for_servers_too", for_servers.certificate, for_servers.key},
      {"self_signed", alone.certificate, alone.key},
      {"text_around", "Ours:\n" + pair_.certificate + "\nThe end.\n", "Ours:\n" + pair_.key},
      {"of_windows", absl::StrReplaceAll(pair_.certificate, {{"\n", "\r\n"}}), pair_.key},
      {"in_one_file", pair_.certificate + pair_.key, pair_.key + pair_.certificate},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.name);
    const auto certificate = Check(row.chain, row.key);
    ASSERT_TRUE(certificate.ok()) << certificate.status();
    EXPECT_EQ(certificate->chain, row.chain);
    EXPECT_EQ(certificate->key, row.key);
    EXPECT_EQ(certificate->client_ca, "");
  }
}

TEST_F(CertificateTest, OneThatIsWrongIsToldByFileAndReason) {
  const KeyPair other = root_.Issue({});
  const KeyPair rsa = root_.Issue({.key = CertificateOptions::Key::kRsa});
  const KeyPair client = root_.Issue({.extended_key_usage = "clientAuth"});
  const KeyPair weak = root_.Issue({.key = CertificateOptions::Key::kShortRsa});
  const std::string& whole = pair_.certificate;
  const std::string half = whole.substr(0, whole.size() / 2);
  const std::string chain = below_.certificate + middle_.certificate();
  const struct {
    const char* name;
    std::string chain;
    std::string key;
    std::string error;
  } kRows[] = {
      {"empty", "", pair_.key, kNone},
      {"all_empty", "", "", kNone},
      {"other_text", "not a certificate", pair_.key, kNone},
      {"key_in_its_place", pair_.key, pair_.key, kNone},
      {"null_bytes", std::string(100, '\0'), pair_.key, kNone},
      {"huge", std::string(1 << 20, 'x'), pair_.key, kNone},
      {"cut_off", half, pair_.key, kCut},
      {"cut_off_before_the_end", whole.substr(0, whole.find("-----END")), pair_.key, kCut},
      {"cut_off_in_the_end", whole.substr(0, whole.size() - 10), pair_.key, kCut},
      {"chain_cut_off", chain.substr(0, chain.size() - 200), below_.key, kCut},
      {"base64_damaged", absl::StrReplaceAll(whole, {{"MII", "M!!"}}), pair_.key, kCut},
      {"of_two_pairs", pair_.certificate, other.key, kOtherKey},
      {"ec_key_of_an_rsa_certificate", rsa.certificate, pair_.key, kOtherKey},
      {"rsa_key_of_an_ec_certificate", pair_.certificate, rsa.key, kOtherKey},
      {"key_empty", pair_.certificate, "", kNoKey},
      {"key_is_a_certificate", pair_.certificate, pair_.certificate, kNoKey},
      {"key_cut_off", pair_.certificate, pair_.key.substr(0, pair_.key.size() / 2), kNoKey},
      {"key_under_a_password", pair_.certificate, kEncryptedKey, kNoKey},
      {"out_of_order", middle_.certificate() + below_.certificate, below_.key, kOtherKey},
      {"another_below", pair_.certificate + other.certificate, pair_.key,
       absl::StrCat("c.pem: certificate 1 of 2 ", kOrder)},
      {"intermediate_missing", below_.certificate + root_.certificate(), below_.key,
       absl::StrCat("c.pem: certificate 1 of 2 ", kOrder)},
      {"root_twice", chain + pair_.certificate, below_.key,
       absl::StrCat("c.pem: certificate 2 of 3 ", kOrder)},
      {"for_clients", client.certificate, client.key,
       "c.pem: the first certificate is not one for servers"},
      {"weak", weak.certificate, weak.key, "c.pem: can't be used for TLS: ee key too small"},
  };
  for (const auto& row : kRows) {
    const std::string error = Error(row.chain, row.key);
    EXPECT_EQ(error, row.error) << row.name;
    EXPECT_THAT(error, Not(HasSubstr(pair_.key.substr(40, 40)))) << row.name;
  }
}

// Two authorities of one name, as when its key was changed.
TEST_F(CertificateTest, ThatTheNextIssuedItIsSeenByTheSignature) {
  const Authority renewed = root_.Intermediate("middle");
  EXPECT_EQ(Error(below_.certificate + renewed.certificate(), below_.key),
            absl::StrCat("c.pem: certificate 1 of 2 ", kOrder));
}

TEST_F(CertificateTest, IsOneFromItsFirstSecondToItsLast) {
  const absl::Time now = absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now()));
  const KeyPair brief = root_.Issue({.not_before = -absl::Hours(2), .not_after = absl::Hours(2)});
  const absl::Time end = Check(brief.certificate, brief.key)->not_after;
  // Made a moment after `now`.
  EXPECT_GE(end, now + absl::Hours(2));
  const absl::Time begin = end - absl::Hours(4);
  EXPECT_TRUE(Check(brief.certificate, brief.key, begin).ok());
  EXPECT_TRUE(Check(brief.certificate, brief.key, end).ok());
  const auto shown = [](absl::Time time) {
    return absl::FormatTime("%Y-%m-%d%ET%H:%M:%SZ", time, absl::UTCTimeZone());
  };
  EXPECT_THAT(
      std::string(Check(brief.certificate, brief.key, begin - absl::Seconds(1)).status().message()),
      StartsWith("c.pem: certificate 1 of 1 is not valid before "));
  EXPECT_THAT(
      std::string(Check(brief.certificate, brief.key, end + absl::Seconds(1)).status().message()),
      StartsWith(absl::StrCat("c.pem: certificate 1 of 1 expired at ", shown(end).substr(0, 19))));
}

// A chain is as good as its shortest: the root lives a month, the server's own a day.
TEST_F(CertificateTest, ExpiresWithTheFirstOfTheChain) {
  const KeyPair long_lived = root_.Issue({.not_after = absl::Hours(24 * 90)});
  const auto alone = Check(long_lived.certificate, long_lived.key);
  const auto whole = Check(long_lived.certificate + root_.certificate(), long_lived.key);
  ASSERT_TRUE(alone.ok() && whole.ok());
  EXPECT_LT(whole->not_after, alone->not_after);
  EXPECT_THAT(std::string(Check(long_lived.certificate + root_.certificate(), long_lived.key,
                                whole->not_after + absl::Seconds(1))
                              .status()
                              .message()),
              StartsWith("c.pem: certificate 2 of 2 expired at "));
}

// ---- Clients' authorities ----

TEST_F(CertificateTest, AuthoritiesAreReadAsTheyStand) {
  const Authority next("next");
  for (const std::string& ca :
       {root_.certificate(), root_.certificate() + next.certificate(), middle_.certificate()}) {
    EXPECT_EQ(CheckCa(ca), absl::OkStatus());
  }
}

TEST_F(CertificateTest, AuthoritiesThatAreNoneAreTold) {
  const std::string& ca = root_.certificate();
  const struct {
    const char* name;
    std::string text;
    const char* error;
  } kRows[] = {
      {"empty", "", "ca.pem: has no certificate (PEM)"},
      {"key", pair_.key, "ca.pem: has no certificate (PEM)"},
      {"cut_off", ca.substr(0, ca.size() / 2),
       "ca.pem: has a certificate that is damaged or cut off"},
      {"second_cut_off", ca + ca.substr(0, ca.size() / 2),
       "ca.pem: has a certificate that is damaged or cut off"},
      {"no_authority", pair_.certificate,
       "ca.pem: has a certificate that is not one of an authority"},
      {"one_no_authority", ca + pair_.certificate,
       "ca.pem: has a certificate that is not one of an authority"},
  };
  for (const auto& row : kRows) EXPECT_EQ(CheckCa(row.text).message(), row.error) << row.name;
}

TEST_F(CertificateTest, FilesAreThoseThatAreNamed) {
  EXPECT_THAT((CertificatePaths{"c", "k", ""}.files()), testing::ElementsAre("c", "k"));
  EXPECT_THAT((CertificatePaths{"c", "k", "a"}.files()), testing::ElementsAre("c", "k", "a"));
}

}  // namespace
}  // namespace onced
