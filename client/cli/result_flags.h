// The result of the work, as commands take it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/command.h"
#include "idempotency/v1/idempotency.pb.h"

namespace onced::cli {

// --status-code, --header, and those of the body.
std::vector<Flag> ResultFlags();
// --retention-ttl.
Flag RetentionFlag();

// What the flags say, but for the body; what is wrong with them is a problem of `args`.
void TakeResultWithoutBody(Args& args, ::idempotency::v1::Result& result);
// The body, from where the flags say it is: to be read once there are no problems. Returns
// what there is to say about it.
absl::StatusOr<std::vector<std::string>> TakeBody(Context& context,
                                                  ::idempotency::v1::Result& result);

}  // namespace onced::cli
