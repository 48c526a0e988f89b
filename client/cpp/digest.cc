#include "client/cpp/digest.h"

#include <openssl/evp.h>

#include <cstdio>
#include <cstdlib>

namespace onced::client {
namespace {

// SHA-256 fails only without memory, or where a local policy of OpenSSL took it
// away. A wrong digest would be replayed to callers for ever.
void DieUnless(int done) {
  if (done == 1) return;
  std::fputs("onced client: OpenSSL has no working SHA-256\n", stderr);
  std::abort();
}

}  // namespace

struct Sha256Stream::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                  &EVP_MD_CTX_free};
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) {
  DieUnless(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr));
}

Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::Add(absl::string_view bytes) {
  DieUnless(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()));
}

std::string Sha256Stream::Finish() {
  std::string digest(32, '\0');
  DieUnless(EVP_DigestFinal_ex(state_->context.get(),
                               reinterpret_cast<unsigned char*>(digest.data()), nullptr));
  return digest;
}

std::string Sha256(absl::string_view bytes) {
  Sha256Stream stream;
  stream.Add(bytes);
  return stream.Finish();
}

}  // namespace onced::client
