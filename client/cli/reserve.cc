// oncectl reserve: asks for the right to do the work.
#include <unistd.h>

#include <array>

#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/describe.h"
#include "client/cli/failure.h"
#include "client/cpp/duration.h"
#include "client/cpp/request_id.h"

namespace onced::cli {
namespace {

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string DefaultOwner(const Context& context) {
  std::string user = context.Env("USER");
  if (user.empty()) user = context.Env("LOGNAME");
  if (user.empty()) user = absl::StrCat("uid-", getuid());
  const std::string owner = absl::StrCat(user, "@", HostName());
  // A name of nobody's choice must not make the call fail.
  return owner.size() <= 128 && Printable(owner) == owner ? owner : "oncectl";
}

v1::ReserveRequest RequestOf(Context& context) {
  Args& args = context.args;
  v1::ReserveRequest request;
  request.set_namespace_(args.RequiredUtf8("namespace"));
  request.set_key(args.RequiredUtf8("key"));
  request.set_fingerprint(args.Utf8("fingerprint"));
  request.set_request_id(args.Has("request-id") ? args.Utf8("request-id") : client::NewRequestId());
  request.set_owner(args.Has("owner") ? args.Utf8("owner") : DefaultOwner(context));
  if (const auto ttl = args.Duration("lease-ttl"); ttl.has_value()) {
    *request.mutable_lease_ttl() = client::ToProto(*ttl);
  }
  if (const auto wait = args.Duration("wait-timeout"); wait.has_value()) {
    *request.mutable_wait_timeout() = client::ToProto(*wait);
  }
  return request;
}

// An answer on which a script would go on with nothing in its hands.
absl::Status CheckComplete(const v1::ReserveResponse& response) {
  if (response.outcome() == v1::OUTCOME_FRESH && response.reservation().token().empty()) {
    return AnswerError("the server's answer is FRESH, but has no token");
  }
  if (response.outcome() == v1::OUTCOME_REPLAYED && !response.replay().has_result()) {
    return AnswerError("the server's answer is REPLAYED, but has no result");
  }
  return absl::OkStatus();
}

std::string TextOf(const v1::ReserveResponse& response) {
  Lines lines;
  lines.Add("outcome", OutcomeText(response.outcome()));
  if (response.has_reservation()) Describe(response.reservation(), lines);
  if (response.has_replay()) Describe(response.replay(), lines);
  if (response.has_holder()) Describe(response.holder(), lines);
  if (response.has_server_time()) lines.Add("server_time", TimeText(response.server_time()));
  return lines.Text();
}

std::vector<std::string> NotesOn(const v1::ReserveResponse& response) {
  if (response.reservation().has_previous()) {
    return {"an earlier holder's lease lapsed: the effect may have happened already"};
  }
  if (response.outcome() == v1::OUTCOME_UNSPECIFIED || !v1::Outcome_IsValid(response.outcome())) {
    return {"this outcome is unknown here, perhaps from a newer server: treated like CONFLICT"};
  }
  return {};
}

absl::StatusOr<Answer> Run(Context& context) {
  const v1::ReserveRequest request = RequestOf(context);
  if (absl::Status problems = context.args.Problems(); !problems.ok()) return problems;

  const absl::Duration wait = client::FromProto(request.wait_timeout());
  absl::StatusOr<v1::ReserveResponse> response =
      context.client.Reserve(request, context.Options(wait));
  if (!response.ok()) return response.status();
  if (absl::Status incomplete = CheckComplete(*response); !incomplete.ok()) return incomplete;

  Answer answer{.exit_code = ExitCodeOf(response->outcome()),
                .text = TextOf(*response),
                .notes = NotesOn(*response)};
  if (context.args.Has("output") && response->outcome() == v1::OUTCOME_REPLAYED) {
    absl::StatusOr<std::string> body = StoredBody(response->replay().result());
    if (!body.ok()) return body.status();
    answer.body = *std::move(body);
  }
  answer.response = std::make_shared<v1::ReserveResponse>(*std::move(response));
  return answer;
}

}  // namespace

Command ReserveCommand() {
  std::vector<Flag> flags = KeyFlags();
  flags.insert(
      flags.end(),
      {{"fingerprint", Flag::kValue, "TEXT",
        "What the request asks for, such as a hash of its body. Default: empty."},
       {"request-id", Flag::kValue, "ID",
        "Names this execution, so that a call whose reply was lost can be sent\n"
        "again. At least 128 random bits, as secret as the token; never derived\n"
        "from the key. Default: a new one, not shown."},
       {"owner", Flag::kValue, "TEXT", "Who asks, shown to other callers. Default: USER@HOST."},
       {"lease-ttl", Flag::kValue, "DURATION",
        "How long the work may take before somebody else may take over.\n"
        "Default: the namespace's, usually 2m."},
       {"wait-timeout", Flag::kValue, "DURATION",
        "How long to wait for a holder to finish.\n"
        "Default: the namespace's, usually 0s."},
       OutputFlag()});
  return {.name = "reserve",
          .summary = "Ask for the right to do the work.",
          .flags = flags,
          .more =
              "Do the work on exit code 0 and on nothing else.\n"
              "With --output, the file is written on REPLAYED only (exit code 3).\n",
          .run = Run};
}

}  // namespace onced::cli
