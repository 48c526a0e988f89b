#include "server/rpc/session_flow.h"

#include <algorithm>

namespace onced {

using session_limits::kMessagesMax;
using session_limits::kOperationsMax;
using session_limits::kRequestBytesMax;
using session_limits::kUnsentBytesMax;
using session_limits::kUnsentBytesPause;

bool SessionFlow::Enter() {
  if (finished_) return false;
  ++inside_;
  return true;
}

SessionFlow::Step SessionFlow::Next() {
  if (unsent_ > 0 && !writing_ && !abandoned_) {
    writing_ = true;
    return Step::kWrite;
  }
  if (!reading_ && !stopped_ && HasRoom()) {
    reading_ = true;
    return Step::kRead;
  }
  --inside_;
  const bool all_sent = unsent_ == 0 || abandoned_;
  // A read may be on its way: finishing ends it.
  finished_ = stopped_ && executing_ == 0 && all_sent && !writing_ && inside_ == 0;
  return finished_ ? Step::kFinish : Step::kNothing;
}

bool SessionFlow::HasRoom() const {
  return in_flight_.messages < kMessagesMax && in_flight_.operations < kOperationsMax &&
         in_flight_.bytes < kRequestBytesMax && unsent_bytes_ < kUnsentBytesPause;
}

bool SessionFlow::MayWait(const SessionLoad& message) const {
  return waiting_.messages + message.messages <= kMessagesMax / 2 &&
         waiting_.operations + message.operations <= kOperationsMax / 2 &&
         waiting_.bytes + message.bytes <= kRequestBytesMax / 2;
}

void SessionFlow::Began(const SessionLoad& message) {
  in_flight_ += message;
  ++executing_;
}

void SessionFlow::Answered(const SessionLoad& message, bool waited, std::size_t bytes) {
  if (waited) waiting_ -= message;
  --executing_;
  ++unsent_;
  unsent_bytes_ += bytes;
}

void SessionFlow::Wrote(const SessionLoad& message, std::size_t bytes) {
  in_flight_ -= message;
  --unsent_;
  unsent_bytes_ -= bytes;
  writing_ = false;
}

std::size_t SessionFlow::LargeBytesMax() const {
  return kUnsentBytesMax - std::min(unsent_bytes_, kUnsentBytesMax);
}

}  // namespace onced
