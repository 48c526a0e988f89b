// How the load talks to one kind of server.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace onced::bench {

using Clock = std::chrono::steady_clock;

enum class Op : std::uint8_t { kReserve, kCommit };

// What the answer has to be. Another one makes the run invalid: errors are fast.
enum class Expect : std::uint8_t {
  kFresh,
  kReplayed,            // With the body that was committed, where the step names one.
  kConflictOrReplayed,  // Somebody else has the key, or had it.
  kCommitted,
  kAny,  // Any verdict, but no error.
};

// One operation on one key. A driver may be given several for one message (a Batch,
// a message of a Session, a pipeline).
struct Step {
  Op op = Op::kReserve;
  Expect expect = Expect::kFresh;
  std::string key;
  std::string fingerprint;
  std::string request_id;
  std::string token;                  // Of a kCommit: what the reserve of this key was given.
  const std::string* body = nullptr;  // Of a kCommit, and of a kReplayed. The workload's.
};

struct Outcome {
  bool as_expected = false;
  std::string token;  // Of a fresh reserve.
};

struct Completion {
  int caller = 0;
  std::vector<Outcome> outcomes;  // One a step, in their order.
};

struct DriverOptions {
  std::string address;  // host:port, or a Unix socket's path.
  int callers = 1;      // They are numbered from 0.
  int connections = 1;  // Caller i uses connection i % connections.
};

// Threads:  one, which never waits but in Poll().
// Lifetime: what was started is either completed or given up by the destructor.
// Promise:  every Start() is followed by one Completion with an outcome a step; a
//           failed call's are not as expected.
// Limits:   each caller has at most one message in flight.
class Driver {
 public:
  virtual ~Driver() = default;
  // The steps may be changed as soon as it returns.
  virtual void Start(int caller, const std::vector<Step>& steps) = 0;
  // Waits until something has completed or `until` has passed, and appends all that
  // has completed by then.
  virtual void Poll(Clock::time_point until, std::vector<Completion>& done) = 0;
};

}  // namespace onced::bench
