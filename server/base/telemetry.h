// What the server tells of itself while it works. The layers report here and
// know nothing of who counts; server/observe does, for Prometheus and the log.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/backup_report.h"
#include "server/base/namespace_id.h"

namespace onced {

enum class Method : std::uint8_t {
  kReserve,
  kCommit,
  kRelease,
  kExtend,
  kInspect,
  kBatch,
  kSession,  // One message of a session.
};
inline constexpr Method kMethods[] = {Method::kReserve, Method::kCommit,  Method::kRelease,
                                      Method::kExtend,  Method::kInspect, Method::kBatch,
                                      Method::kSession};

// How a call ended. The verdicts are Reserve's alone; kOk is the good end of
// all other methods.
enum class CallStatus : std::uint8_t {
  kFresh,
  kReplayed,
  kConflict,
  kMismatch,
  kUnresolved,
  kOk,
  kError
};
inline constexpr CallStatus kCallStatuses[] = {
    CallStatus::kFresh,      CallStatus::kReplayed, CallStatus::kConflict, CallStatus::kMismatch,
    CallStatus::kUnresolved, CallStatus::kOk,       CallStatus::kError};

// What came of a reservation whose lease had run out.
enum class LapseEnd : std::uint8_t {
  kTakeover,  // Another holder was granted it.
  kCommit,    // Its holder committed late, or an operator did.
  kRelease,   // It was released.
  kExtend,    // Its holder extended it late.
};
inline constexpr LapseEnd kLapseEnds[] = {LapseEnd::kTakeover, LapseEnd::kCommit,
                                          LapseEnd::kRelease, LapseEnd::kExtend};

// One method of a gRPC service, counted where it meets the wire, whatever it is for.
// Threads: as Telemetry.
class RpcTelemetry {
 public:
  virtual ~RpcTelemetry() = default;

  // A call came. Handled() is to be told when, by a clock of the implementation's.
  virtual absl::Duration Started() = 0;
  // Messages, of a method that has a stream of them; of others, Handled() knows.
  virtual void Received() = 0;
  virtual void Sent() = 0;
  // It was answered with this code of gRPC's, 0 to 16.
  virtual void Handled(absl::Duration started, int code) = 0;
};

struct RpcName {
  absl::string_view service;  // "package.Service"
  absl::string_view method;
  bool streams = false;  // Both ways.
};

// Threads: all functions from any thread, and cheap: they are on the hot path.
class Telemetry {
 public:
  virtual ~Telemetry() = default;

  // One RPC, or one operation of a batch or of a session's message (kBatch and
  // kSession themselves are counted once more).
  // `latency` is from when the server had the whole request until it answered,
  // without the time for which it was parked, which is `waited`.
  virtual void CallEnded(Method method, CallStatus status, absl::Duration latency,
                         absl::Duration waited) = 0;
  // An error answer, by the reason that it carried, such as "SUPERSEDED".
  virtual void CallRefused(Method method, absl::string_view reason) = 0;

  // One queue was drained: so many requests, of which the oldest had waited so long.
  virtual void Drained(std::size_t requests, absl::Duration queue_wait) = 0;
  // One batch was made durable, or failed to be.
  virtual void Synced(absl::Duration duration) = 0;
  virtual void StoreFailed(absl::string_view what) = 0;
  // A reservation that had lapsed came to this, once for each lapse.
  virtual void LapseEnded(LapseEnd end) = 0;

  // Files of so many bytes were rewritten, since part of them was of no use; it
  // gave back so many.
  virtual void Rewritten(std::uint64_t bytes, std::uint64_t given_back) = 0;
  // A sweep for such files ended, with an error or, if that is empty, without.
  virtual void Swept(absl::string_view error) = 0;

  // ---- What follows, fakes need not count. ----

  // Who counts the calls of this method, as long as this lives; nullptr: nobody.
  virtual RpcTelemetry* OfRpc(const RpcName& /*name*/) { return nullptr; }
  // A Reserve was judged, with one of the five verdicts.
  virtual void Judged(NamespaceId /*name_space*/, CallStatus /*verdict*/) {}
  // It met a reservation whose lease ran out so long ago, and that is held until somebody
  // settles it.
  virtual void MetUnresolved(absl::Duration /*age*/) {}
  // One write to the store's log, of so many changes and bytes, and its sync.
  virtual void Wrote(std::size_t /*changes*/, std::size_t /*bytes*/, absl::Duration /*duration*/) {}

  // ---- What an operator asked for. ----

  // A backup that had begun: the failure's text, or what it is like.
  virtual void BackupFailed(absl::string_view /*what*/, absl::Duration /*duration*/) {}
  virtual void BackupMade(const BackupReport& /*report*/, absl::Duration /*duration*/) {}
  // The wall clock was so far ahead of the time believed.
  virtual void ClockAccepted(absl::Duration /*step*/) {}
};

}  // namespace onced
