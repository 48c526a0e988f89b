#include "server/config/errors.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onced {
namespace {

constexpr std::size_t kShownBytesMax = 80;

// So that whatever was given stays on one line and harmless to a terminal.
std::string Shown(absl::string_view text) {
  if (text.size() <= kShownBytesMax) return absl::CHexEscape(text);
  return absl::StrCat(absl::CHexEscape(text.substr(0, kShownBytesMax)), "...");
}

std::string Origin(absl::string_view source) {
  return source.empty() ? "" : absl::StrCat(" (", Shown(source), ")");
}

}  // namespace

void ConfigErrors::Add(absl::string_view name, absl::string_view source, absl::string_view value,
                       absl::string_view problem) {
  lines_.push_back(
      absl::StrCat(Shown(name), ": \"", Shown(value), "\"", Origin(source), ": ", problem));
  names_.insert(std::string(name));
}

void ConfigErrors::Add(absl::string_view name, absl::string_view source,
                       absl::string_view problem) {
  lines_.push_back(absl::StrCat(Shown(name), Origin(source), ": ", problem));
  names_.insert(std::string(name));
}

absl::Status ConfigErrors::ToStatus() const {
  if (lines_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(lines_, "\n"));
}

}  // namespace onced
