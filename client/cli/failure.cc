#include "client/cli/failure.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/text.h"
#include "client/cpp/error.h"

namespace onced::cli {
namespace {

constexpr char kOwnDomain[] = "oncectl";

absl::Status OwnError(absl::StatusCode code, std::string reason, absl::string_view message) {
  return client::ToAbslStatus(client::ErrorDetails{.code = code,
                                                   .message = std::string(message),
                                                   .reason = std::move(reason),
                                                   .domain = kOwnDomain});
}

bool IsOwn(const client::ErrorDetails& details) { return details.domain == kOwnDomain; }

bool MayHaveHappened(const client::ErrorDetails& details) {
  return !IsOwn(details) && details.OutcomeUnknown();
}

std::string Headline(const client::ErrorDetails& details) {
  const std::string message = Printable(details.message);
  if (IsOwn(details)) return absl::StrCat("oncectl: ", message);
  const std::string code = absl::StatusCodeToString(details.code);
  if (details.reason.empty()) return absl::StrCat("oncectl: ", code, ": ", message);
  return absl::StrCat("oncectl: ", code, " ", Printable(details.reason), ": ", message);
}

std::string Quoted(absl::string_view name, absl::string_view value) {
  return absl::StrCat(JsonString(name), ":", JsonString(value));
}

std::string MetadataJson(const client::ErrorDetails& details) {
  std::vector<std::string> members;
  for (const auto& [name, value] : details.metadata) members.push_back(Quoted(name, value));
  return absl::StrCat("{", absl::StrJoin(members, ","), "}");
}

std::string ViolationsJson(const client::ErrorDetails& details) {
  std::vector<std::string> items;
  for (const client::FieldViolation& violation : details.violations) {
    items.push_back(absl::StrCat("{", Quoted("field", violation.field), ",",
                                 Quoted("description", violation.description), "}"));
  }
  return absl::StrCat("[", absl::StrJoin(items, ","), "]");
}

}  // namespace

absl::Status UsageError(absl::string_view message) {
  return OwnError(absl::StatusCode::kInvalidArgument, "USAGE", message);
}

absl::Status OutputError(absl::string_view message) {
  return OwnError(absl::StatusCode::kUnknown, "OUTPUT_FAILED", message);
}

absl::Status AnswerError(absl::string_view message) {
  return OwnError(absl::StatusCode::kUnknown, "BAD_ANSWER", message);
}

std::string ErrorText(const absl::Status& error, bool of_key) {
  const client::ErrorDetails details = client::DetailsOf(error);
  Lines lines;
  for (const auto& [name, value] : details.metadata) lines.Add(Printable(name), Printable(value));
  for (const client::FieldViolation& violation : details.violations) {
    lines.Add(Printable(violation.field), Printable(violation.description));
  }
  if (details.retry_delay.has_value()) {
    lines.Add("retry_delay", absl::FormatDuration(*details.retry_delay));
  }
  std::string text = absl::StrCat(Headline(details), "\n", lines.Text(/*indent=*/2));
  if (MayHaveHappened(details)) {
    absl::StrAppend(
        &text, "The call may have been executed all the same.",
        of_key ? " Sending it again with the same --request-id or token is safe.\n" : "\n");
  }
  return text;
}

std::string ErrorJson(const absl::Status& error) {
  const client::ErrorDetails details = client::DetailsOf(error);
  std::vector<std::string> members = {
      Quoted("code", absl::StatusCodeToString(details.code)),
      Quoted("reason", details.reason),
      Quoted("domain", details.domain),
      Quoted("message", details.message),
      absl::StrCat(JsonString("metadata"), ":", MetadataJson(details)),
      absl::StrCat(JsonString("violations"), ":", ViolationsJson(details)),
  };
  if (details.retry_delay.has_value()) {
    members.push_back(Quoted("retry_delay", DurationJson(*details.retry_delay)));
  }
  members.push_back(absl::StrCat(JsonString("outcome_unknown"), ":",
                                 MayHaveHappened(details) ? "true" : "false"));
  return absl::StrCat("{\"error\":{", absl::StrJoin(members, ","), "}}\n");
}

}  // namespace onced::cli
