#include "client/cpp/method_key.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cpp/error.h"
#include "client/cpp/idempotent_method.h"

namespace onced::client {
namespace {

constexpr std::size_t kNameBytesMax = 256;  // Of a key in onced.

absl::Status Refusal(const char* reason, const std::string& problem) {
  return ToAbslStatus(ErrorDetails{.code = absl::StatusCode::kInvalidArgument,
                                   .message = absl::StrCat(kKeyMetadata, ": ", problem),
                                   .reason = reason,
                                   .domain = kMethodDomain,
                                   .violations = {{kKeyMetadata, problem}}});
}

absl::Status Invalid(const std::string& problem) {
  return Refusal("IDEMPOTENCY_KEY_INVALID", problem);
}

bool IsVisible(char c) { return c > 0x20 && c < 0x7f; }

absl::StatusOr<std::string> ReadBare(std::string_view text) {
  const bool fits = std::all_of(text.begin(), text.end(),
                                [](char c) { return IsVisible(c) && c != '"' && c != ','; });
  if (fits) return std::string(text);
  return Invalid("only visible ASCII without quotes and commas; others go into a quoted string");
}

// `text` starts with a quote.
absl::StatusOr<std::string> ReadQuoted(std::string_view text) {
  const absl::Status malformed = Invalid("not a string as of RFC 8941, section 3.3.3");
  std::string key;
  for (std::size_t i = 1; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      if (i + 1 != text.size()) return malformed;
      return key;
    }
    if (c == '\\') {
      if (++i == text.size()) return malformed;
      c = text[i];
      if (c != '"' && c != '\\') return malformed;
    }
    if (c != ' ' && !IsVisible(c)) return malformed;
    key.push_back(c);
  }
  return malformed;
}

std::string_view WithoutSpaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

absl::Status BadScope(const char* problem) {
  return ToAbslStatus(ErrorDetails{.code = absl::StatusCode::kInternal,
                                   .message = absl::StrCat("the scope of the key ", problem),
                                   .reason = "IDEMPOTENCY_REFUSED",
                                   .domain = kMethodDomain});
}

}  // namespace

absl::StatusOr<std::optional<std::string>> ReadKey(
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  const auto [first, end] = metadata.equal_range(kKeyMetadata);
  if (first == end) return std::nullopt;
  if (std::next(first) != end) return Invalid("more than one value");
  const std::string_view text =
      WithoutSpaces(std::string_view(first->second.data(), first->second.size()));
  const bool quoted = !text.empty() && text.front() == '"';
  absl::StatusOr<std::string> key = quoted ? ReadQuoted(text) : ReadBare(text);
  if (!key.ok()) return key.status();
  if (key->empty()) return Invalid("empty");
  return *std::move(key);
}

absl::Status KeyMissing() { return Refusal("IDEMPOTENCY_KEY_REQUIRED", "required metadata"); }

absl::StatusOr<std::string> JoinKey(const std::string& scope, const std::string& key) {
  if (scope.empty()) return BadScope("is empty");
  const std::string start =
      absl::StrCat(absl::StrReplaceAll(scope, {{"%", "%25"}, {"/", "%2F"}}), "/");
  if (start.size() >= kNameBytesMax) return BadScope("is too long");
  const std::size_t key_bytes_max = kNameBytesMax - start.size();
  if (key.size() > key_bytes_max) {
    return Invalid(
        absl::StrCat(key.size(), " bytes; at most ", key_bytes_max, " beside the caller's scope"));
  }
  return start + key;
}

}  // namespace onced::client
