// A unary method of your own gRPC service that is done once, however often it is called.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/classify.h"
#include "client/cpp/client.h"
#include "client/cpp/run_once.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/status.h"

namespace google::protobuf {
class Descriptor;
class Message;
}  // namespace google::protobuf

namespace onced::client {

// Metadata of the call: the client's key.
inline constexpr char kKeyMetadata[] = "idempotency-key";
// Trailing metadata of the answer, "true": it is an earlier call's.
inline constexpr char kReplayedMetadata[] = "idempotency-replayed";
// The domain of the reasons in the ErrorInfo of a refusal: see docs/client.md.
inline constexpr char kMethodDomain[] = "onced.method";

// By the code that the handler returned:
//   OK                                            commit
//   INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS,  commit: it would be refused again
//   PERMISSION_DENIED, FAILED_PRECONDITION,
//   OUT_OF_RANGE, UNIMPLEMENTED
//   all others                                    unknown: they say little about the effect
// Right for a handler that returns the codes of the second line before it has had any effect.
// It releases nothing: UNAUTHENTICATED and RESOURCE_EXHAUSTED, too, may be those of a service that
// the handler called, and gRPC's own client makes the latter of an answer that is too large.
// Where you know that nothing happened, have a classifier of your own.
Verdict ByGrpcStatus(const grpc::Status& status, const google::protobuf::Message& response);

struct MethodOptions {
  // The namespace in onced. Required.
  std::string name_space = {};
  // Whose keys these are: the tenant, the account, as your own authentication says. Callers of
  // different scopes never share a key, so that nobody is told another's response by guessing its
  // key. An error refuses the call with that status. Not empty; UTF-8 without control
  // characters. Required: for a service that has but one, return a constant.
  std::function<absl::StatusOr<std::string>(const grpc::ServerContextBase& context)> scope = {};
  // What the handler's outcome means for the key: see Verdict. Required: no rule is right for all
  // methods. ByGrpcStatus is one. `response` is of interest if `status` is OK.
  std::function<Verdict(const grpc::Status& status, const google::protobuf::Message& response)>
      classifier = {};

  // What isn't part of what is asked for: paths as of MessageFingerprint().
  std::vector<std::string> excluded_fields = {};
  // False: a call without a key is simply handled, as if this weren't here. One with a
  // malformed key is refused all the same.
  bool key_required = true;

  // As in RunOptions.
  std::string owner = {};
  std::optional<absl::Duration> lease_ttl = {};
  std::optional<absl::Duration> wait_timeout = {};
  std::optional<absl::Duration> retention_ttl = {};
  absl::Duration settle_timeout = absl::Minutes(1);
  absl::Duration keep_max = absl::Hours(24);
  // Nothing: without onced the handler isn't run, and the call fails as UNAVAILABLE.
  std::optional<FailOpen> fail_open = {};

  // Told what came of each call that reached onced, before it is answered: for logs and
  // metrics. An error says more than the caller is told. Exceptions of it are ignored.
  std::function<void(const absl::StatusOr<RunOutcome>& outcome)> observer = {};
};

// Operation: Run() takes the key from the call's metadata and does by RunOnce() what the handler
//            would have done: runs it, and stores its status and response; or replays these;
//            or refuses, as twins of 400, 409 and 422 in the draft of the HTTP header
//            Idempotency-Key.
// Threads:   any, many calls at once. Run() blocks, as RunOnce() does: call it on the thread
//            of a synchronous service. In a callback service never on gRPC's own threads: start
//            one, and finish the reactor from there.
// Lifetime:  a handle: copies share all. Of the descriptor that it was made of.
// Promise:   the handler doesn't run again once it was committed. It runs once at a time for a
//            key, but where a run outlasts its lease (a service out of reach, a process that was
//            stopped, `keep_max`) or goes on without one (`fail_open`): see WorkContext::lost().
//            What a handler threw is answered as UNKNOWN, and leaves this as an answer.
// Limits:    the message of a failure is stored up to 4 KiB, its details up to what is left of 16
//            KiB; those that don't fit aren't replayed. Metadata that the handler adds isn't
//            stored. The key and its escaped scope have 255 bytes together. Unary methods only.
class IdempotentMethod {
 public:
  // `name`: "/package.Service/Method"; it is part of what is asked for, as are the fields of
  // `request` but for the excluded ones. INVALID_ARGUMENT: `options` lack what is required, or
  // name a field that isn't there.
  static absl::StatusOr<IdempotentMethod> Create(Client client, std::string name,
                                                 const google::protobuf::Descriptor& request,
                                                 MethodOptions options);

  // Fills the response that Run() was given. `work` knows of a takeover and of its fence; for a
  // call without a key it is `unprotected()`.
  using Handler = std::function<grpc::Status(WorkContext& work)>;

  // What to return from the method. The call's deadline ends the Reserve and the wait, and so does
  // its cancellation where there is a `wait_timeout`. Once the handler runs they end nothing.
  //
  // `context` is of a synchronous or a callback service. (gRPC ends the process if a call of its
  // asynchronous API without AsyncNotifyWhenDone() is asked whether it is cancelled.)
  grpc::Status Run(grpc::ServerContextBase& context, const google::protobuf::Message& request,
                   google::protobuf::Message& response, const Handler& handler) const;

 private:
  class Call;
  struct State;

  explicit IdempotentMethod(std::shared_ptr<const State> state);

  std::shared_ptr<const State> state_;  // Constant; shared by the copies.
};

}  // namespace onced::client
