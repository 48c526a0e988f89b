#include "client/cpp/request_id.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "absl/strings/escaping.h"

namespace onced::client {

std::string NewRequestId() {
  std::string bits(16, '\0');
  if (getentropy(bits.data(), bits.size()) != 0) {
    // Only a kernel without getrandom(2): going on with a guessable name would
    // give a grant away.
    std::perror("getentropy");
    std::abort();
  }
  return absl::BytesToHexString(bits);
}

}  // namespace onced::client
