// From the ledger's answers to the API's messages.
#pragma once

#include "idempotency/v1/idempotency.pb.h"
#include "server/ledger/call_status.h"
#include "server/ledger/operation.h"
#include "server/shard/request.h"

namespace onced {

idempotency::v1::State ApiStateOf(State state);
idempotency::v1::OnLapse ApiOnLapseOf(OnLapse on_lapse);

// Each takes the answer to its own kind of request; none takes a refusal.
idempotency::v1::ReserveResponse ReserveResponseOf(const Answer& answer);
idempotency::v1::CommitResponse CommitResponseOf(const Answer& answer);
idempotency::v1::ReleaseResponse ReleaseResponseOf(const Answer& answer);
idempotency::v1::ExtendResponse ExtendResponseOf(const Answer& answer);
idempotency::v1::InspectResponse InspectResponseOf(const Answer& answer, bool include_result);

}  // namespace onced
