// Calls of the admin service that are made page by page.
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "client/cli/command.h"
#include "client/cpp/error.h"

namespace onced::cli {

// Calls until the server isn't busy with the pages of others, for as long as one call may
// take. `call` takes client::CallOptions.
template <typename Call>
auto CallPatiently(const Context& context, Call call) -> decltype(call(client::CallOptions{})) {
  const client::CallOptions options = context.Options();
  for (;;) {
    auto response = call(options);
    if (response.ok()) return response;
    const client::ErrorDetails details = client::DetailsOf(response.status());
    const absl::Duration delay = details.retry_delay.value_or(absl::ZeroDuration());
    const bool again = details.reason == "BUSY" && absl::Now() + delay < options.deadline;
    if (!again) return response;
    absl::SleepFor(delay);
  }
}

}  // namespace onced::cli
