// Errors: those that oncectl finds itself, and how all of them are told.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace onced::cli {

// A command line or an input that can't be used: exit code 2.
absl::Status UsageError(absl::string_view message);
// What was asked for can't be given or written: exit code 1.
absl::Status OutputError(absl::string_view message);
// The server's answer breaks its own contract: exit code 1.
absl::Status AnswerError(absl::string_view message);

// For people: a line, and one indented below for each detail.
// `of_key`: of a call on a key, which can be sent again with its request_id or token.
std::string ErrorText(const absl::Status& error, bool of_key = true);
// For scripts, in one line:
//   {"error":{"code":"ABORTED","reason":"SUPERSEDED","domain":"onced",
//    "message":"...","metadata":{"state":"..."},
//    "violations":[{"field":"...","description":"..."}],
//    "retry_delay":"0.250s","outcome_unknown":false}}
// `retry_delay` is there only if the server named one.
std::string ErrorJson(const absl::Status& error);

}  // namespace onced::cli
