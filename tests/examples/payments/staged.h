// The worst moments, brought about on purpose.
#pragma once

#include "client/examples/payments/payer.h"
#include "tests/examples/payments/fleet.h"

namespace onced::examples {

payments::v1::ChargeRequest PaymentOf(const std::string& id, std::int64_t cents);

// Asks at that address, for as long as it takes.
payments::Payer PatientPayer(const std::string& address);
// The receipt; the test fails if there is none.
payments::Receipt Pay(const payments::Payer& payer, const payments::v1::ChargeRequest& payment);

// A worker freezes after its Reserve and before its charge. Its lease lapses, and another takes
// over and charges. Then the first goes on. Both networks are good.
void FreezeAWorker(Fleet& fleet, const payments::v1::ChargeRequest& payment);

// A worker is slow, and another is asked for the payment meanwhile. For a fleet of long leases.
void AskWhileAWorkerIsSlow(Fleet& fleet, const payments::v1::ChargeRequest& payment);

// A worker dies after its charge and before its commit to onced. Another takes over.
void KillAWorker(Fleet& fleet, const payments::v1::ChargeRequest& payment);

}  // namespace onced::examples
