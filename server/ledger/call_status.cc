#include "server/ledger/call_status.h"

#include <variant>

namespace onced {
namespace {

// No default: a new answer does not compile until it is counted.
struct Counted {
  CallStatus operator()(const Fresh&) const { return CallStatus::kFresh; }
  CallStatus operator()(const Replayed&) const { return CallStatus::kReplayed; }
  CallStatus operator()(const Conflict&) const { return CallStatus::kConflict; }
  CallStatus operator()(const Mismatch&) const { return CallStatus::kMismatch; }
  CallStatus operator()(const Unresolved&) const { return CallStatus::kUnresolved; }
  CallStatus operator()(const Parked&) const { return CallStatus::kError; }
  CallStatus operator()(const CommitDone&) const { return CallStatus::kOk; }
  CallStatus operator()(const ReleaseDone&) const { return CallStatus::kOk; }
  CallStatus operator()(const ExtendDone&) const { return CallStatus::kOk; }
  CallStatus operator()(const Inspected&) const { return CallStatus::kOk; }
  CallStatus operator()(const ResolveDone&) const { return CallStatus::kOk; }
  CallStatus operator()(const EvictDone&) const { return CallStatus::kOk; }
  CallStatus operator()(const Refused&) const { return CallStatus::kError; }
};

}  // namespace

CallStatus CallStatusOf(const Reply& reply) { return std::visit(Counted{}, reply); }

}  // namespace onced
