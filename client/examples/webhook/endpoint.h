// The service behind the gateway, which does what the event asks for.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "onced/client/run_once.h"
#include "onced/client/types.h"

namespace webhook {

struct Event {
  std::string source;
  std::string id;
  std::string body;  // JSON.
};

// Threads: any, many at once.
class Endpoint {
 public:
  Endpoint(std::string url, absl::Duration timeout) : url_(std::move(url)), timeout_(timeout) {}

  // A POST of the event's body, with
  //   Webhook-Source, Webhook-Id    which event
  //   Onced-Fence                   grows with each hand-over of it. Keep the largest one beside
  //                                 what the event changes, and refuse a smaller one: it is of
  //                                 a gateway that was frozen, and goes on too late
  //   Onced-Takeover                nobody knows what became of an earlier hand-over, which had
  //   this
  //                                 fence or a smaller one: look whether its effect is there before
  //                                 you do it again
  //
  // What it answered, whatever that is. UNAVAILABLE: it wasn't reached, so that surely nothing
  // happened. Other errors: nobody knows.
  absl::StatusOr<onced::client::Result> HandOn(const Event& event,
                                               const onced::client::WorkContext& context) const;

 private:
  const std::string url_;
  const absl::Duration timeout_;
};

}  // namespace webhook
