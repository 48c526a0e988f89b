// The table of commands, and what they share.
#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "client/cli/command.h"
#include "client/cli/failure.h"
#include "client/cli/text.h"

namespace onced::cli {
namespace {

// A token is at most 128 bytes; a longer one is the server's to refuse.
constexpr std::size_t kTokenFileMax = 4096;
constexpr char kDefaultAdminServer[] = "127.0.0.1:50052";

}  // namespace

const std::vector<Command>& Commands() {
  static const auto* const commands = new std::vector<Command>{
      ReserveCommand(),        CommitCommand(), ReleaseCommand(), ExtendCommand(),
      InspectCommand(),        ListCommand(),   ResolveCommand(), EvictCommand(),
      EvictNamespaceCommand(), StatusCommand(), BackupCommand(),  ClockAcceptCommand(),
      TokenNewCommand(),
  };
  return *commands;
}

const std::vector<Flag>& GlobalFlags() {
  static const auto* const flags = new std::vector<Flag>{
      {"server", Flag::kValue, "HOST:PORT",
       "Where the server is. Default: $ONCECTL_SERVER, else 127.0.0.1:50051."},
      {"timeout", Flag::kValue, "DURATION",
       "How long the call may take, beyond --wait-timeout. Default: 5s."},
      {"traceparent", Flag::kValue, "TEXT",
       "The W3C trace context of the call. Default: $TRACEPARENT."},
      {"tls-ca", Flag::kValue, "FILE",
       "Who signed the server's certificate (PEM); system: whom this machine\n"
       "trusts. Default: $ONCECTL_TLS_CA, else the connection isn't encrypted."},
      {"tls-cert", Flag::kValue, "FILE",
       "A certificate that says who calls (PEM). Default: $ONCECTL_TLS_CERT."},
      {"tls-key", Flag::kValue, "FILE", "Its private key (PEM). Default: $ONCECTL_TLS_KEY."},
      {"auth-token-file", Flag::kValue, "FILE",
       "Holds a token that says who calls, in its only line; sent by TLS, or\n"
       "within this machine. Default: $ONCECTL_AUTH_TOKEN_FILE."},
      {"json", Flag::kSwitch, "",
       "Print one line of JSON on the standard output: the answer or the error."},
      {"help", Flag::kSwitch, "", "Show this help."},
      {"version", Flag::kSwitch, "", "Show the version."},
  };
  return *flags;
}

std::vector<Flag> KeyFlags() {
  return {
      {"namespace", Flag::kValue, "NAME", "Who owns the key. Required."},
      {"key", Flag::kValue, "KEY", "What stands for the side effect. Required."},
  };
}

std::vector<Flag> TokenFlags() {
  return {
      {"token", Flag::kValue, "TOKEN",
       "From reserve. Shows in the list of processes; better are the two below."},
      {"token-file", Flag::kValue, "FILE",
       "Holds the token in its only line; - is the standard input.\n"
       "Default: the token in $ONCECTL_TOKEN."},
  };
}

Flag AdminServerFlag() {
  return {"admin-server", Flag::kValue, "HOST:PORT",
          "Where the admin service is. Default: $ONCECTL_ADMIN_SERVER, else\n"
          "127.0.0.1:50052."};
}

std::string AdminServerOf(Context& context) {
  Args& args = context.args;
  if (args.Has("admin-server") && args.Text("admin-server").empty()) {
    args.AddProblem("--admin-server is empty");
  }
  // Of the environment it is for other commands; given here, it was meant for this one.
  if (args.Has("server")) {
    args.AddProblem("--server isn't where the admin service is: use --admin-server");
  }
  std::string server =
      args.Has("admin-server") ? args.Text("admin-server") : context.Env("ONCECTL_ADMIN_SERVER");
  return server.empty() ? kDefaultAdminServer : server;
}

Flag FenceFlag() {
  return {"fence", Flag::kValue, "N",
          "Of the record that was looked at, with list or inspect. Required: a record that\n"
          "has changed since is left alone."};
}

Flag CommentFlag() {
  return {"comment", Flag::kValue, "TEXT",
          "Why: for the audit log of the server. Up to 256 bytes, in one line."};
}

Flag OutputFlag() {
  return {"output", Flag::kValue, "FILE",
          "Write the stored body there, byte for byte. With -, the body goes to\n"
          "the standard output and everything else to the standard error."};
}

absl::StatusOr<std::string> StoredBody(const client::v1::Result& result) {
  if (!result.body_omitted()) return result.body();
  return OutputError(absl::StrCat("the stored result is without its body, of ", result.body_size(),
                                  " bytes and sha256 ",
                                  absl::BytesToHexString(result.body_sha256())));
}

std::string TokenOf(Context& context) {
  Args& args = context.args;
  args.AtMostOne({"token", "token-file"});
  if (args.Has("token")) return args.Utf8("token");
  if (args.Has("token-file")) {
    const absl::StatusOr<Blob> file =
        context.input.Read(args.Text("token-file"), kTokenFileMax, Beyond::kOfNoUse);
    if (!file.ok()) {
      args.AddProblem(std::string(file.status().message()));
      return "";
    }
    absl::string_view token = file->bytes;
    absl::ConsumeSuffix(&token, "\n");
    absl::ConsumeSuffix(&token, "\r");
    if (file->too_large || token.empty() || !IsPlainText(token) || absl::StrContains(token, '\n')) {
      args.AddProblem("--token-file doesn't hold one line with a token");
    }
    return std::string(token);
  }
  const std::string token = context.Env("ONCECTL_TOKEN");
  if (token.empty()) args.AddProblem("one of --token, --token-file and $ONCECTL_TOKEN is missing");
  if (!IsUtf8(token)) args.AddProblem("$ONCECTL_TOKEN isn't UTF-8");
  return token;
}

client::CallOptions Context::Options(absl::Duration wait) const {
  return {.deadline = absl::Now() + timeout + std::max(wait, absl::ZeroDuration()),
          .traceparent = traceparent,
          .tracestate = traceparent.empty() ? "" : Env("TRACESTATE")};
}

std::string Context::Env(const std::string& name) const {
  const auto found = env.find(name);
  return found == env.end() ? "" : found->second;
}

}  // namespace onced::cli
