// A log line's strings are JSON of one line, whatever a client sent.
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/wrappers.pb.h>

#include <string>

#include "server/observe/json.h"
#include "server/observe/log.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {

void LogText(absl::string_view bytes) {
  std::string json;
  AppendJsonString(bytes, json);
  for (const char c : json) {
    const auto byte = static_cast<unsigned char>(c);
    Demand(byte >= 0x20 && byte != 0x7f, "a control character in a line");
  }
  google::protobuf::StringValue value;
  Demand(google::protobuf::util::JsonStringToMessage(json, &value).ok(), "no JSON");
  google::protobuf::BytesValue as_bytes;
  as_bytes.set_value(std::string(bytes));
  google::protobuf::StringValue as_text;
  // What is text is told as it is.
  if (as_text.ParseFromString(as_bytes.SerializeAsString())) {
    Demand(value.value() == bytes, "another text");
  }
  const std::string hash = KeyHash(bytes);
  Demand(!hash.empty() && hash.find_first_not_of("0123456789abcdef") == std::string::npos,
         "a key's hash is hexadecimal");
  std::string number;
  AppendJsonNumber(static_cast<double>(Draw(bytes).Int<std::int64_t>()), number);
  Demand(!number.empty(), "no number");
}

}  // namespace onced::fuzz
