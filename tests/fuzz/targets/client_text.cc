// What oncectl puts on a terminal moves no cursor, and its JSON is JSON.
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/wrappers.pb.h>

#include "client/cli/input.h"
#include "client/cli/text.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {
namespace {

bool IsProtobufText(absl::string_view bytes) {
  google::protobuf::BytesValue as_bytes;
  as_bytes.set_value(std::string(bytes));
  google::protobuf::StringValue as_text;
  return as_text.ParseFromString(as_bytes.SerializeAsString());
}

}  // namespace

void ClientText(absl::string_view bytes) {
  Demand(cli::IsUtf8(bytes) == IsProtobufText(bytes), "protobuf sees it otherwise");
  const std::string printable = cli::Printable(bytes);
  Demand(cli::IsPlainText(printable), "not fit for a terminal");
  Demand(printable.find_first_of("\n\t") == std::string::npos, "more than a line");

  const std::string json = cli::JsonString(bytes);
  google::protobuf::StringValue value;
  Demand(google::protobuf::util::JsonStringToMessage(json, &value).ok(), "no JSON");
  Demand(json.find('\n') == std::string::npos, "JSON of more than a line");
  Demand(value.value() == (cli::IsUtf8(bytes) ? bytes : absl::string_view(printable)),
         "another text");

  Draw draw(bytes);
  const absl::Duration duration = absl::Milliseconds(draw.Int<std::int32_t>());
  Demand(!cli::DurationJson(duration).empty(), "no duration");
  cli::Lines lines;
  while (!draw.AtEnd()) lines.Add(cli::Printable(draw.String(20)), cli::Printable(draw.String(40)));
  Demand(cli::IsPlainText(lines.Text(draw.Below(4))), "lines not fit for a terminal");

  const std::size_t keep_max = bytes.size() / 2;
  const cli::Blob blob = cli::Input::FromText(std::string(bytes), keep_max);
  Demand(blob.size == static_cast<std::int64_t>(bytes.size()), "not all of it was measured");
  Demand(blob.too_large == (bytes.size() > keep_max), "kept too much, or too little");
}

}  // namespace onced::fuzz
