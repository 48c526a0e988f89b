#include "client/cli/result_flags.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/text.h"

namespace onced::cli {
namespace {

namespace v1 = ::idempotency::v1;

// No policy allows more, and a server receives messages up to 4 MiB.
constexpr std::size_t kBodyMax = 3 * 1024 * 1024;

// "Name: value". One space after the colon isn't part of the value; all else is.
void AddHeader(const std::string& text, Args& args, v1::Result& result) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0) {
    args.AddProblem(absl::StrCat("--header isn't 'Name: value': ", Printable(text)));
    return;
  }
  const bool spaced = colon + 1 < text.size() && text[colon + 1] == ' ';
  v1::Header& header = *result.add_headers();
  header.set_name(text.substr(0, colon));
  header.set_value(text.substr(colon + (spaced ? 2 : 1)));
  if (!IsUtf8(header.name())) {
    args.AddProblem(absl::StrCat("the name in --header isn't UTF-8: ", Printable(text)));
  }
}

// For a caller who has the body elsewhere and says only what it is.
void SetOmittedBody(Args& args, v1::Result& result) {
  result.set_body_omitted(true);
  args.Required("body-size");
  args.Required("body-sha256");
  const auto size = args.Integer("body-size", 0, std::numeric_limits<std::int64_t>::max());
  result.set_body_size(size.value_or(0));
  result.set_body_sha256(args.Hex("body-sha256"));
}

absl::StatusOr<Blob> BodyOf(Context& context) {
  if (!context.args.Has("body-file")) {
    return Input::FromText(context.args.Text("body"), kBodyMax);
  }
  return context.input.Read(context.args.Text("body-file"), kBodyMax);
}

// Returns what there is to say about it.
std::vector<std::string> SetBody(Blob blob, v1::Result& result) {
  if (!blob.too_large) {
    result.set_body(std::move(blob.bytes));
    return {};
  }
  result.set_body_omitted(true);
  result.set_body_size(blob.size);
  result.set_body_sha256(blob.sha256);
  return {absl::StrCat("the body has ", blob.size, " bytes, more than the ", kBodyMax,
                       " that can be stored: only its size and SHA-256 were sent")};
}

}  // namespace

std::vector<Flag> ResultFlags() {
  return {{"status-code", Flag::kValue, "N", "The caller's own, such as HTTP's. Default: 200."},
          {"header", Flag::kRepeated, "'NAME: VALUE'",
           "A header of the result. Order and duplicates are kept. One space after\n"
           "the colon isn't part of the value."},
          {"body", Flag::kValue, "TEXT", "The body of the result. Default: empty."},
          {"body-file", Flag::kValue, "FILE", "Read the body from there; - is the standard input."},
          {"body-omitted", Flag::kSwitch, "",
           "Store only size and digest of a body, which the next two flags give."},
          {"body-size", Flag::kValue, "N", "With --body-omitted: its bytes."},
          {"body-sha256", Flag::kValue, "HEX", "With --body-omitted: its SHA-256."}};
}

Flag RetentionFlag() {
  return {"retention-ttl", Flag::kValue, "DURATION",
          "How long to replay the result.\n"
          "Default: the namespace's, usually 24h."};
}

void TakeResultWithoutBody(Args& args, v1::Result& result) {
  const auto status = args.Integer("status-code", std::numeric_limits<std::int32_t>::min(),
                                   std::numeric_limits<std::int32_t>::max());
  result.set_status_code(static_cast<std::int32_t>(status.value_or(200)));
  for (const std::string& header : args.All("header")) AddHeader(header, args, result);
  args.AtMostOne({"body", "body-file", "body-omitted"});
  if (args.Has("body-omitted")) {
    SetOmittedBody(args, result);
  } else if (args.Has("body-size") || args.Has("body-sha256")) {
    args.AddProblem("--body-size and --body-sha256 are for --body-omitted");
  }
}

absl::StatusOr<std::vector<std::string>> TakeBody(Context& context, v1::Result& result) {
  if (context.args.Has("body-omitted")) return std::vector<std::string>();
  absl::StatusOr<Blob> body = BodyOf(context);
  if (!body.ok()) return body.status();
  return SetBody(*std::move(body), result);
}

}  // namespace onced::cli
