#include "client/cpp/fingerprint.h"

#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/canonical_json.h"
#include "client/cpp/digest.h"

namespace onced::client {
namespace {

std::string LengthOf(std::string_view field) {
  constexpr int kBytes = 8;
  std::string bytes;
  std::uint64_t rest = field.size();
  for (int i = 0; i < kBytes; ++i, rest >>= 8) bytes.push_back(static_cast<char>(rest & 0xff));
  return bytes;
}

}  // namespace

std::string Fingerprint(std::initializer_list<std::string_view> fields) {
  Sha256Stream digest;
  for (const std::string_view field : fields) {
    digest.Add(LengthOf(field));
    digest.Add({field.data(), field.size()});
  }
  return absl::StrCat("sha256:", absl::BytesToHexString(digest.Finish()));
}

std::string RequestFingerprint(std::string_view method, std::string_view path,
                               std::string_view body) {
  return Fingerprint({method, path, body});
}

absl::StatusOr<std::string> JsonRequestFingerprint(std::string_view method, std::string_view path,
                                                   std::string_view body) {
  const absl::StatusOr<std::string> canonical = CanonicalJson(body);
  if (!canonical.ok()) return canonical.status();
  return RequestFingerprint(method, path, *canonical);
}

}  // namespace onced::client
