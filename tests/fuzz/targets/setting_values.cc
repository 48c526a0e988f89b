#include <limits>

#include "server/config/settings.h"
#include "server/config/values.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {
namespace {

void ReadNumbers(absl::string_view text, std::uint64_t min, std::uint64_t max) {
  const auto whole = ParseWhole(text, min, max);
  if (whole.ok()) {
    Demand(*whole >= min && *whole <= max, "a number out of bounds");
    Demand(ParseWhole(std::to_string(*whole), min, max).value() == *whole, "another number");
  }
  const auto bytes = ParseBytes(text, min, max);
  if (bytes.ok()) {
    Demand(*bytes >= min && *bytes <= max, "a size out of bounds");
    Demand(ParseBytes(BytesToText(*bytes), min, max).value() == *bytes, "another size");
  }
}

void ReadDuration(absl::string_view text, absl::Duration min, absl::Duration max) {
  const auto duration = ParseDuration(text, min, max);
  if (!duration.ok()) return;
  Demand(*duration >= min && *duration <= max, "a duration out of bounds");
  Demand(*duration == absl::Trunc(*duration, absl::Microseconds(1)), "less than a microsecond");
  Demand(ParseDuration(absl::FormatDuration(*duration), min, max).value() == *duration,
         "another duration");
}

void ReadEndpoint(absl::string_view text) {
  const auto endpoint = ParseEndpoint(text);
  if (!endpoint.ok()) return;
  const auto again = ParseEndpoint(ToText(*endpoint));
  Demand(again.ok() && *again == *endpoint, "its own text is another address");
}

}  // namespace

void SettingValues(absl::string_view bytes) {
  Draw draw(bytes);
  const std::uint64_t a = draw.Int<std::uint64_t>();
  const std::uint64_t b = draw.Int<std::uint64_t>();
  const absl::string_view text = draw.Rest();
  ReadNumbers(text, std::min(a, b), std::max(a, b));
  ReadNumbers(text, 0, std::numeric_limits<std::uint64_t>::max());
  ReadDuration(text, absl::ZeroDuration(), absl::Hours(24 * 3650));
  ReadEndpoint(text);
  const auto path = ParsePath(text);
  if (path.ok()) Demand(!path->empty() && path->find('\0') == std::string::npos, "no path");
  for (const Setting& setting : Settings()) {
    Config config;
    const absl::Status set = setting.set(text, config);
    Demand(set.ok() || !set.message().empty(), "refused without a word");
  }
  for (const PolicySetting& setting : PolicySettings()) {
    Policy policy;
    const absl::Status set = setting.set(text, policy);
    Demand(set.ok() || !set.message().empty(), "refused without a word");
  }
}

}  // namespace onced::fuzz
