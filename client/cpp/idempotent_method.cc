#include "client/cpp/idempotent_method.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "client/cpp/cancel_watch.h"
#include "client/cpp/client_core.h"
#include "client/cpp/error.h"
#include "client/cpp/excluded_fields.h"
#include "client/cpp/fingerprint.h"
#include "client/cpp/method_answer.h"
#include "client/cpp/method_key.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace onced::client {

using google::protobuf::Descriptor;
using google::protobuf::Message;

struct IdempotentMethod::State {
  Client client;
  std::string name;
  const Descriptor& request;
  MethodOptions options;
  ExcludedFields excluded;
};

namespace {

absl::Status Check(const std::string& name, const MethodOptions& options) {
  const auto missing = [](const char* what) { return absl::InvalidArgumentError(what); };
  if (name.empty()) return missing("name is empty");
  if (options.name_space.empty()) return missing("name_space is empty");
  if (options.scope == nullptr) return missing("scope is not set");
  if (options.classifier == nullptr) return missing("classifier is not set");
  if (options.fail_open.has_value() && options.fail_open->report == nullptr) {
    return missing("fail_open.report is not set");
  }
  if (options.settle_timeout <= absl::ZeroDuration()) {
    return missing("settle_timeout is not positive");
  }
  if (options.keep_max < absl::ZeroDuration()) return missing("keep_max is negative");
  return absl::OkStatus();
}

absl::Time DeadlineOf(const grpc::ServerContextBase& context) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return absl::InfiniteFuture();
  return absl::FromChrono(deadline);
}

std::string MetadataOf(const grpc::ServerContextBase& context, const char* name) {
  const auto found = context.client_metadata().find(name);
  if (found == context.client_metadata().end()) return "";
  return {found->second.data(), found->second.size()};
}

// As gRPC itself answers.
grpc::Status Threw() { return {grpc::UNKNOWN, "Unexpected error in RPC handling"}; }

}  // namespace

// One Run().
class IdempotentMethod::Call {
 public:
  Call(const State& state, grpc::ServerContextBase& context, const Message& request,
       Message& response, const Handler& handler)
      : state_(state),
        options_(state.options),
        core_(state.client.core()),
        context_(context),
        request_(request),
        response_(response),
        handler_(handler) {}

  grpc::Status operator()() {
    if (request_.GetDescriptor() != &state_.request) {
      return {grpc::INTERNAL, absl::StrCat(state_.name, " was made for requests of another type")};
    }
    if (handler_ == nullptr) return {grpc::INTERNAL, absl::StrCat(state_.name, " has no handler")};
    const absl::StatusOr<std::optional<std::string>> sent = ReadKey(context_.client_metadata());
    if (!sent.ok()) return ToGrpcStatus(sent.status());
    if (sent->has_value()) return Keyed(**sent);
    if (options_.key_required) return ToGrpcStatus(KeyMissing());
    WorkContext work(nullptr, nullptr, std::nullopt);
    return handler_(work);
  }

 private:
  grpc::Status Keyed(const std::string& key) {
    const absl::StatusOr<std::string> scope = options_.scope(context_);
    if (!scope.ok()) return ToGrpcStatus(scope.status());
    const absl::StatusOr<std::string> name = JoinKey(*scope, key);
    if (!name.ok()) return ToGrpcStatus(name.status());
    const absl::StatusOr<std::string> asked = state_.excluded.Fingerprint(request_);
    if (!asked.ok()) return ToGrpcStatus(asked.status());
    return Once({options_.name_space, *name}, Fingerprint({state_.name, *asked}));
  }

  grpc::Status Once(const Key& key, const std::string& fingerprint) {
    const bool waits = options_.wait_timeout.value_or(absl::ZeroDuration()) > absl::ZeroDuration();
    if (waits) watch_.emplace(context_, core_);
    const RunOptions options = OptionsOfRun();
    const absl::StatusOr<RunOutcome> outcome = RunOnce(
        state_.client, key, fingerprint, options, [this](WorkContext& work) { return Work(work); });
    const bool callers_end = !core_.CallersEnd(options.call).ok();
    watch_.reset();
    Tell(outcome);
    if (!outcome.ok()) return AnswerTo(outcome.status(), callers_end);
    return std::visit([this](const auto& came) { return Answer(came); }, *outcome);
  }

  RunOptions OptionsOfRun() {
    RunOptions options{.classifier =
                           [this](const absl::StatusOr<Result>&) {
                             return options_.classifier(status_, response_);
                           },
                       .owner = options_.owner,
                       .lease_ttl = options_.lease_ttl,
                       .wait_timeout = options_.wait_timeout,
                       .retention_ttl = options_.retention_ttl,
                       .call = {.deadline = DeadlineOf(context_),
                                .traceparent = MetadataOf(context_, "traceparent"),
                                .tracestate = MetadataOf(context_, "tracestate")},
                       .settle_timeout = options_.settle_timeout,
                       .keep_max = options_.keep_max,
                       .fail_open = options_.fail_open};
    if (watch_.has_value()) options.call.stop = watch_->token();
    return options;
  }

  absl::StatusOr<Result> Work(WorkContext& work) {
    watch_.reset();  // From here on the handler may ask whether it is cancelled.
    status_ = Threw();
    status_ = handler_(work);
    return StoredOf(status_, response_);
  }

  void Tell(const absl::StatusOr<RunOutcome>& outcome) const {
    if (options_.observer == nullptr) return;
    try {
      options_.observer(outcome);
    } catch (...) {
      // What was done is answered all the same.
    }
  }

  // Where the handler ran here, it is its own; the effect has happened, stored or not.
  grpc::Status Answer(const Done&) const { return status_; }
  grpc::Status Answer(const NotCommitted&) const { return status_; }
  grpc::Status Answer(const NothingDone&) const { return status_; }
  grpc::Status Answer(const Undecided&) const { return status_; }
  grpc::Status Answer(const Unprotected&) const { return status_; }
  grpc::Status Answer(const Replayed& replayed) const {
    context_.AddTrailingMetadata(kReplayedMetadata, "true");
    return Replay(replayed.result, response_);
  }
  template <typename Refused>
  grpc::Status Answer(const Refused& refused) const {
    return AnswerTo(refused);
  }

  const State& state_;
  const MethodOptions& options_;
  ClientCore& core_;
  grpc::ServerContextBase& context_;
  const Message& request_;
  Message& response_;
  const Handler& handler_;

  std::optional<CancelWatch> watch_;  // Until the handler runs.
  grpc::Status status_;               // The handler's.
};

IdempotentMethod::IdempotentMethod(std::shared_ptr<const State> state) : state_(std::move(state)) {}

absl::StatusOr<IdempotentMethod> IdempotentMethod::Create(Client client, std::string name,
                                                          const Descriptor& request,
                                                          MethodOptions options) {
  if (absl::Status problem = Check(name, options); !problem.ok()) return problem;
  absl::StatusOr<ExcludedFields> excluded = ExcludedFields::Find(request, options.excluded_fields);
  if (!excluded.ok()) return excluded.status();
  return IdempotentMethod(std::make_shared<const State>(State{.client = std::move(client),
                                                              .name = std::move(name),
                                                              .request = request,
                                                              .options = std::move(options),
                                                              .excluded = *std::move(excluded)}));
}

grpc::Status IdempotentMethod::Run(grpc::ServerContextBase& context, const Message& request,
                                   Message& response, const Handler& handler) const {
  try {
    return Call(*state_, context, request, response, handler)();
  } catch (...) {
    return Threw();
  }
}

}  // namespace onced::client
