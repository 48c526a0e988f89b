// What a session may do next.
#pragma once

#include <cstddef>

#include "server/ledger/policy.h"

namespace onced {

// Of one session; section 5 of docs/protocol.md.
namespace session_limits {
// Read, and their answers not yet sent: at any of these, nothing more is read.
inline constexpr std::size_t kMessagesMax = 64;
inline constexpr std::size_t kOperationsMax = 4 * limits::kBatchOperationsMax;
inline constexpr std::size_t kRequestBytesMax = 2 * limits::kMessageBytesMax;
// Of answers that the client has not taken: at the first, nothing more is read;
// beyond the second, results are left out of them.
inline constexpr std::size_t kUnsentBytesPause = limits::kMessageBytesMax;
inline constexpr std::size_t kUnsentBytesMax = 4 * limits::kMessageBytesMax;
}  // namespace session_limits

// What one or more messages of a client take.
struct SessionLoad {
  std::size_t messages = 0;
  std::size_t operations = 0;
  std::size_t bytes = 0;

  void operator+=(const SessionLoad& more) {
    messages += more.messages;
    operations += more.operations;
    bytes += more.bytes;
  }
  void operator-=(const SessionLoad& less) {
    messages -= less.messages;
    operations -= less.operations;
    bytes -= less.bytes;
  }
};

// Operation: whoever has something to tell enters, tells it, and takes steps until
//            there is none. At most one read and one write are on their way.
// Threads:   one at a time: the session's lock guards it.
// Promise:   kFinish is the last step, once, when nothing is in flight any more and
//            nobody else is inside. Messages with a Reserve that waits take at most
//            half of each bound, so that there is always room for a Commit.
// Limits:    session_limits, and one message more, since its size isn't known
//            before it is read.
class SessionFlow {
 public:
  enum class Step { kNothing, kRead, kWrite, kFinish };

  // False, and the caller stays outside, once the session has finished.
  [[nodiscard]] bool Enter();
  // Only inside. kNothing and kFinish also leave; a step is to be taken before the
  // next one is asked for.
  Step Next();

  // ---- What happened; only inside ----

  // Whether that message may wait, if it is begun now.
  bool MayWait(const SessionLoad& message) const;
  // A message was read, and is executed.
  void Began(const SessionLoad& message);
  // A Reserve in it may wait.
  void Waits(const SessionLoad& message) { waiting_ += message; }
  // All that follows from a read was done: there may be another one.
  void ReadHandled() { reading_ = false; }
  // The answer has that size.
  void Answered(const SessionLoad& message, bool waited, std::size_t bytes);
  // A write ended.
  void Wrote(const SessionLoad& message, std::size_t bytes);
  // Nothing more is read. What is in flight is answered.
  void Stop() { stopped_ = true; }
  // The client has gone: nothing more is read or written.
  void Abandon() { stopped_ = abandoned_ = true; }

  bool stopped() const { return stopped_; }
  bool abandoned() const { return abandoned_; }
  // What the results in an answer may take that is made now.
  std::size_t LargeBytesMax() const;

 private:
  bool HasRoom() const;

  SessionLoad in_flight_;  // Read, and the answer not sent.
  SessionLoad waiting_;    // Of those in execution.
  std::size_t executing_ = 0;
  std::size_t unsent_ = 0;  // Answers, with the one that is being written.
  std::size_t unsent_bytes_ = 0;
  std::size_t inside_ = 0;
  bool reading_ = false;
  bool writing_ = false;
  bool stopped_ = false;
  bool abandoned_ = false;
  bool finished_ = false;
};

}  // namespace onced
