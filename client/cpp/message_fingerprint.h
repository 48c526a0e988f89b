// What a protobuf request asks for, in a few bytes: the fingerprint of a Reserve.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace google::protobuf {
class Message;
}

namespace onced::client {

// SHA-256 over the message's full type name and its deterministic serialization, as
// Fingerprint() of the two: "sha256:" and 64 hexadecimal digits.
//
// `excluded`: what isn't part of what is asked for, such as a trace id or the time of sending:
// paths of field names, "meta.trace_id". A path goes through every element of a repeated
// field, and through every value of a map; it does not name one of them. It names no extension,
// and nothing inside an Any. INVALID_ARGUMENT: the type has no such path; the error names it. Also
// for a message of 2 GiB or more, which can't be serialized.
//
// Equal are two messages whose fields are equal, map entries in any order. Not equal:
//   - a sub-message that is there but empty, and one that isn't there;
//   - the same unknown fields in another order. They count, since they are part of what was
//     asked for, and can't be excluded.
//
// Limits: as of protobuf's deterministic serialization ("not canonical across languages ... also
//         unstable across different builds with intervening message definition changes, due to
//         unknown fields": google/protobuf/io/coded_stream.h; and
//         protobuf.dev/programming-guides/serialization-not-canonical). So compare fingerprints
//         of programs in C++ only, with one version of the library and the schema. Where those
//         change while a key is stored, a request that is asked again may be taken for another
//         one, and be refused: never the other way round.
absl::StatusOr<std::string> MessageFingerprint(const google::protobuf::Message& message,
                                               const std::vector<std::string>& excluded = {});

}  // namespace onced::client
