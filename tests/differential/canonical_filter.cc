// CanonicalJson() for programs in other languages. Reads documents, each after a line with its size
// in bytes; writes for each a line "ok SIZE" and its canonical form, or "no SIZE" and the reason.
#include <iostream>
#include <string>

#include "client/cpp/canonical_json.h"

int main() {
  std::ios::sync_with_stdio(false);
  std::string line;
  while (std::getline(std::cin, line)) {
    std::string text(std::stoull(line), '\0');
    if (!std::cin.read(text.data(), static_cast<std::streamsize>(text.size()))) return 1;
    const absl::StatusOr<std::string> canonical = onced::client::CanonicalJson(text);
    const std::string answer =
        canonical.ok() ? *canonical : std::string(canonical.status().message());
    std::cout << (canonical.ok() ? "ok " : "no ") << answer.size() << "\n" << answer;
  }
}
