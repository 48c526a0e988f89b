// What a request asks for, in a few bytes: the fingerprint of a Reserve.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace onced::client {

// SHA-256 over the fields, each preceded by its length in 8 bytes, little-endian, so that no
// two lists of fields come to the same bytes: {"ab", "c"} and {"a", "bc"} differ. In
// text: "sha256:" and 64 hexadecimal digits. Stable across versions and machines.
std::string Fingerprint(std::initializer_list<std::string_view> fields);

// Of an HTTP request. `path` with its query, if that changes what is asked for. The bytes
// are taken as they are: two bodies that mean the same but differ in spaces are two
// requests.
std::string RequestFingerprint(std::string_view method, std::string_view path,
                               std::string_view body);

// The same of a body in JSON, however it is written: RequestFingerprint() of its canonical form.
// Of a body that has none it is an error: see canonical_json.h.
absl::StatusOr<std::string> JsonRequestFingerprint(std::string_view method, std::string_view path,
                                                   std::string_view body);

}  // namespace onced::client
