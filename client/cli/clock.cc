// oncectl clock accept: says that the wall clock of the server's machine is right.
#include "client/cli/command.h"
#include "client/cli/describe.h"
#include "client/cli/text.h"
#include "client/cpp/duration.h"

namespace onced::cli {
namespace {

namespace admin_v1 = ::idempotency::admin::v1;

absl::StatusOr<Answer> Run(Context& context) {
  const std::string server = AdminServerOf(context);
  if (absl::Status problems = context.args.Problems(); !problems.ok()) return problems;

  const absl::StatusOr<admin_v1::AcceptClockResponse> response =
      context.connect_admin(server).AcceptClock({}, context.Options());
  if (!response.ok()) return response.status();
  Lines lines;
  lines.Add("step", absl::FormatDuration(client::FromProto(response->step())));
  lines.Add("server_time", TimeText(response->server_time()));
  return Answer{.response = std::make_shared<admin_v1::AcceptClockResponse>(*response),
                .text = lines.Text()};
}

}  // namespace

Command ClockAcceptCommand() {
  return {.name = "clock accept",
          .summary = "Say that the wall clock of the server's machine is right.",
          .flags = {AdminServerFlag()},
          .more =
              "A step ahead that the server did not believe is taken at once: leases and results\n"
              "that end before the new time lapse and expire. Look at the clock first.\n",
          .run = Run};
}

}  // namespace onced::cli
