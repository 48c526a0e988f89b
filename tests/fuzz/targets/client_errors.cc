// What a server, or whoever stands between, may put into an error's details.
#include "client/cli/failure.h"
#include "client/cli/text.h"
#include "client/cpp/error.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {

void ClientErrors(absl::string_view bytes) {
  Draw draw(bytes);
  const auto code = static_cast<grpc::StatusCode>(draw.Below(18));
  const std::string message = draw.String(200);
  const absl::Status error =
      client::ToAbslStatus(grpc::Status(code, message, std::string(draw.Rest())));
  const client::ErrorDetails details = client::DetailsOf(error);
  if (error.ok()) return;
  if (details.domain == client::kDomain) {
    Demand(details.OutcomeUnknown() == (details.reason == "OUTCOME_UNKNOWN"), "ours says it");
  }
  Demand(cli::IsPlainText(cli::ErrorText(error)), "an error not fit for a terminal");
  const std::string json = cli::ErrorJson(error);
  Demand(cli::IsPlainText(json) && json.find('\n') == json.size() - 1, "more or less than a line");

  const client::ErrorDetails again = client::DetailsOf(client::ToAbslStatus(details));
  Demand(again.reason == details.reason && again.metadata.size() == details.metadata.size(),
         "details got lost");
}

}  // namespace onced::fuzz
