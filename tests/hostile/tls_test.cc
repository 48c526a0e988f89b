// Who begins TLS and doesn't go on, or speaks something else where TLS is spoken.
#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/hostile/http2.h"
#include "tests/hostile/raw_connection.h"
#include "tests/hostile/trial.h"
#include "tests/integration/certificates.h"
#include "tests/integration/secured.h"

namespace onced::hostile {
namespace {

// What a client says first.
std::string ClientHello() {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  &SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context.get()), &SSL_free);
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  SSL_set_bio(tls.get(), in, out);  // Which owns both from then on.
  const unsigned char alpn[] = {2, 'h', '2'};
  SSL_set_alpn_protos(tls.get(), alpn, sizeof alpn);
  SSL_connect(tls.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

class Tls : public testing::Test {
 protected:
  Tls() : hello_(ClientHello()) {
    const integration::KeyPair pair = authority_.Issue({});
    flags_ = {"--tls-cert", dir_.Write("cert", pair.certificate), "--tls-key",
              dir_.Write("key", pair.key)};
  }

  Trial::Options Named(const std::string& name) const {
    return {.name = name,
            .server = {.flags = flags_},
            .connect = [ca = authority_.certificate()](const std::string& address) {
              return integration::ConnectSecurely(address, ca);
            }};
  }

  // Of a client's, which is whole.
  const std::string hello_;

 private:
  const integration::Authority authority_{"tests"};
  const integration::TempDir dir_;
  std::vector<std::string> flags_;
};

// Half of them in the middle of their first word, half of them after it: those have had the
// server's answer, and leave it waiting for theirs.
TEST_F(Tls, HandshakesThatNobodyEndsHurtNobody) {
  constexpr std::size_t kConnections = 200;
  Trial trial(Named("half-open handshakes"));
  trial.Run([&](Attack& attack, int) {
    std::vector<RawConnection> all;
    while (!attack.ended()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      for (RawConnection& connection : all) connection.Take();
      std::erase_if(all, [](const RawConnection& connection) { return !connection.open(); });
      while (all.size() < kConnections) {
        all.emplace_back(trial.address());
        all.back().Send(hello_.substr(0, all.size() % 2 == 0 ? hello_.size() / 2 : hello_.size()));
      }
      attack.CountRound();
    }
  });
}

// Each has the server sign something.
TEST_F(Tls, HandshakesOneAfterTheOtherHurtNobody) {
  Trial trial(Named("handshakes left"));
  trial.Run([&](Attack& attack, int) {
    while (!attack.ended()) {
      RawConnection connection(trial.address());
      connection.Send(hello_);
      connection.Await();
      attack.CountRound();
    }
  });
}

TEST_F(Tls, PlaintextIsEnded) {
  Trial trial(Named("plaintext to TLS"));
  trial.Run([&](Attack& attack, int) {
    while (!attack.ended()) {
      RawConnection connection(trial.address());
      connection.Send(Preface() + Settings() + Call(1, "Reserve"));
      connection.Await();
      attack.CountRound();
    }
  });
}

}  // namespace
}  // namespace onced::hostile
