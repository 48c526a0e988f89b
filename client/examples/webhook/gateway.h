// Hands each event on once, however often it is delivered.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "endpoint.h"
#include "onced/client/client.h"
#include "onced/client/types.h"

namespace webhook {

// A POST to /webhooks/SOURCE.
struct Delivery {
  std::string source;
  // The values of webhook-id, or of idempotency-key: as many as there are headers of that name.
  std::vector<std::string> webhook_ids;
  std::vector<std::string> idempotency_keys;
  std::string body;
};

struct Answer {
  int status = 0;
  std::vector<onced::client::Header> headers;
  std::string body;
};

// Promise: while all goes well, and when deliveries come twice, at once or late, an event is handed
//          on once. After a crash or a timeout in the middle of a hand-over nobody knows whether
//          the endpoint has done its work. Once the lease has run out the next delivery hands the
//          event on AGAIN, with Onced-Takeover, so that the endpoint can look: at least once, and
//          never unmarked. Who would rather have at most once gives the namespace the policy
//          `on_lapse: HOLD`: then such an event waits for an operator.
// Threads: any; a delivery blocks until the endpoint has answered.
class Gateway {
 public:
  Gateway(onced::client::Client client, Endpoint endpoint, absl::Duration lease)
      : client_(std::move(client)), endpoint_(std::move(endpoint)), lease_(lease) {}

  // What the provider is told. Providers deliver again after anything but a 2xx.
  //
  // Whoever copies this: verify the provider's signature FIRST. Who can't sign must not be able
  // to occupy an event's id, and the answer of an earlier delivery is told here.
  Answer Receive(const Delivery& delivery) const;

 private:
  const onced::client::Client client_;
  const Endpoint endpoint_;
  // How soon another may take over once this process has died, or nobody knows what became of
  // an event. The hand-over itself may take longer: the lease is extended meanwhile.
  const absl::Duration lease_;
};

// An error in RFC 9457's form. Nothing in the texts has to be escaped in JSON.
Answer Problem(int status, const std::string& title, const std::string& detail);

}  // namespace webhook
