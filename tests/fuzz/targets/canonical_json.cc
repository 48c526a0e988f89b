// JSON of anybody's, in its one form.
#include "client/cpp/canonical_json.h"

#include <string>

#include "client/cli/text.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {

void CanonicalJsonForm(absl::string_view bytes) {
  const absl::StatusOr<std::string> canonical = client::CanonicalJson({bytes.data(), bytes.size()});
  if (!canonical.ok()) {
    Demand(absl::IsInvalidArgument(canonical.status()), "refused as something else");
    Demand(cli::IsPlainText(canonical.status().message()), "a reason that isn't plain");
    return;
  }
  Demand(cli::IsUtf8(*canonical), "no UTF-8");
  Demand(canonical->find_first_of("\n\t\r") == std::string::npos, "more than a line");
  const absl::StatusOr<std::string> again = client::CanonicalJson(*canonical);
  Demand(again.ok() && *again == *canonical, "not the one form");
  // Spaces mean nothing.
  const absl::StatusOr<std::string> spaced = client::CanonicalJson("\t" + *canonical + "\n ");
  Demand(spaced.ok() && *spaced == *canonical, "spaces mean something");
}

}  // namespace onced::fuzz
