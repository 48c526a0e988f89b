#include "client/cpp/automatic_key.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/digest.h"

namespace onced::client {
namespace {

constexpr std::size_t kScopeBytesMax = 256;
constexpr std::size_t kFieldsMax = 64;
constexpr std::size_t kNameBytesMax = 128;
constexpr std::size_t kValueBytesMax = 65'536;
constexpr absl::Duration kBucketMin = absl::Seconds(1);
constexpr absl::Duration kBucketMax = absl::Hours(24);
constexpr std::size_t kDigitCount = 64;

absl::Status Bad(absl::string_view field, absl::string_view bound) {
  return absl::InvalidArgumentError(absl::StrCat("automatic key: ", field, ": ", bound));
}

// Nothing: no mode.
std::optional<std::string> PrefixOf(KeyMode mode) {
  switch (mode) {
    case KeyMode::kLive:
      return "auto-live-";
    case KeyMode::kTest:
      return "auto-test-";
    case KeyMode::kUnset:
      break;
  }
  return std::nullopt;
}

absl::Status BadMode() { return Bad("mode", "kLive or kTest has to be set"); }

absl::Status CheckFields(const std::vector<std::pair<std::string, std::string>>& sorted) {
  if (sorted.empty() || sorted.size() > kFieldsMax) {
    return Bad("fields", absl::StrCat("there have to be 1 to ", kFieldsMax));
  }
  for (const auto& [name, value] : sorted) {
    if (name.empty() || name.size() > kNameBytesMax) {
      return Bad("fields", absl::StrCat("a name has 1 to ", kNameBytesMax, " bytes"));
    }
    if (value.size() > kValueBytesMax) {
      return Bad(absl::StrCat("fields: ", absl::CHexEscape(name)),
                 absl::StrCat("a value has up to ", kValueBytesMax, " bytes"));
    }
  }
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end(),
                                        [](auto& a, auto& b) { return a.first == b.first; });
  if (twice == sorted.end()) return absl::OkStatus();
  return Bad(absl::StrCat("fields: ", absl::CHexEscape(twice->first)), "is there twice");
}

absl::Status CheckTime(absl::Duration bucket, absl::Time intent_time) {
  const bool bounded = bucket >= kBucketMin && bucket <= kBucketMax;
  if (!bounded || absl::Trunc(bucket, absl::Milliseconds(1)) != bucket) {
    return Bad("bucket", "has to be 1s to 24h, in whole milliseconds");
  }
  if (intent_time < absl::UnixEpoch() || intent_time == absl::InfiniteFuture()) {
    return Bad("intent_time", "has to be a time from 1970 on");
  }
  return absl::OkStatus();
}

// A digest of fields, each after its length, so that no two lists of fields are the same bytes.
class Fields {
 public:
  void Add(std::int64_t number) { Add(absl::StrCat(number)); }
  void Add(absl::string_view field) {
    digest_.Add(absl::StrCat(field.size(), ":"));
    digest_.Add(field);
  }
  std::string Hex() { return absl::BytesToHexString(digest_.Finish()); }

 private:
  Sha256Stream digest_;
};

}  // namespace

// What is digested, each part after its length in decimal and a colon; golden values in the tests
// hold it: "onced automatic key 1", the prefix, the scope, the bucket's length in ms, its number
// since the epoch, and names and values, sorted by name.
absl::StatusOr<AutomaticKey> AutomaticKey::Of(const Intent& intent, absl::Time intent_time) {
  const std::optional<std::string> prefix = PrefixOf(intent.mode);
  if (!prefix.has_value()) return BadMode();
  if (intent.scope.empty() || intent.scope.size() > kScopeBytesMax) {
    return Bad("scope", absl::StrCat("has 1 to ", kScopeBytesMax, " bytes"));
  }
  std::vector<std::pair<std::string, std::string>> sorted = intent.fields;
  std::sort(sorted.begin(), sorted.end());
  if (absl::Status bad = CheckFields(sorted); !bad.ok()) return bad;
  if (absl::Status bad = CheckTime(intent.bucket, intent_time); !bad.ok()) return bad;

  absl::Duration rest = intent_time - absl::UnixEpoch();
  Fields digest;
  digest.Add("onced automatic key 1");
  digest.Add(*prefix);
  digest.Add(intent.scope);
  digest.Add(absl::ToInt64Milliseconds(intent.bucket));
  digest.Add(absl::IDivDuration(rest, intent.bucket, &rest));
  for (const auto& [name, value] : sorted) {
    digest.Add(name);
    digest.Add(value);
  }
  return AutomaticKey(absl::StrCat(*prefix, digest.Hex()));
}

absl::StatusOr<AutomaticKey> AutomaticKey::Kept(KeyMode mode, std::string_view text) {
  const std::optional<std::string> prefix = PrefixOf(mode);
  if (!prefix.has_value()) return BadMode();
  if (!text.starts_with(*prefix)) return Bad("text", absl::StrCat("doesn't begin with ", *prefix));
  const std::string_view digits = text.substr(prefix->size());
  const bool hex = digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (digits.size() != kDigitCount || !hex) {
    return Bad("text", absl::StrCat("doesn't end in ", kDigitCount, " hexadecimal digits"));
  }
  return AutomaticKey(std::string(text));
}

}  // namespace onced::client
