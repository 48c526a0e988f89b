#include "client/cli/run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/command.h"
#include "client/cli/failure.h"
#include "client/cli/help.h"
#include "client/cli/output.h"
#include "client/cli/text.h"
#include "client/cpp/security.h"
#include "google/protobuf/util/json_util.h"

namespace onced::cli {
namespace {

constexpr char kMachinesCa[] = "system";
constexpr char kDefaultServer[] = "127.0.0.1:50051";
constexpr absl::Duration kDefaultTimeout = absl::Seconds(5);
constexpr char kStandardOutput[] = "the standard output";

// Of all commands: which arguments are values has to be known before the
// command is.
std::vector<Flag> AllFlags() {
  std::vector<Flag> flags = GlobalFlags();
  for (const Command& command : Commands()) {
    flags.insert(flags.end(), command.flags.begin(), command.flags.end());
  }
  return flags;
}

// The flag's value, else the variable's.
std::string FlagOrEnv(Args& args, const Surroundings& around, const std::string& flag,
                      const std::string& variable) {
  const auto env = around.env.find(variable);
  if (args.Has(flag) || env == around.env.end()) return args.Text(flag);
  return env->second;
}

std::string ServerOf(Args& args, const Surroundings& around) {
  const std::string server = FlagOrEnv(args, around, "server", "ONCECTL_SERVER");
  if (args.Has("server") && server.empty()) args.AddProblem("--server is empty");
  return server.empty() ? kDefaultServer : server;
}

client::ConnectOptions ConnectionOf(Args& args, const Surroundings& around) {
  client::ConnectOptions options{
      .auth_token_file = FlagOrEnv(args, around, "auth-token-file", "ONCECTL_AUTH_TOKEN_FILE"),
      .user_agent = "oncectl"};
  client::TlsFiles files{.ca = FlagOrEnv(args, around, "tls-ca", "ONCECTL_TLS_CA"),
                         .certificate = FlagOrEnv(args, around, "tls-cert", "ONCECTL_TLS_CERT"),
                         .key = FlagOrEnv(args, around, "tls-key", "ONCECTL_TLS_KEY")};
  if (!options.auth_token_file.empty()) {
    if (const auto status = client::CheckTokenFile(options.auth_token_file); !status.ok()) {
      args.AddProblem(std::string(status.message()));
    }
  }
  if (files.ca.empty() && files.certificate.empty() && files.key.empty()) return options;
  if (files.ca.empty()) args.AddProblem("--tls-cert and --tls-key need --tls-ca");
  if (files.ca == kMachinesCa) files.ca.clear();
  const auto credentials = client::TlsCredentials(files);
  if (credentials.ok()) {
    options.credentials = *credentials;
  } else {
    args.AddProblem(std::string(credentials.status().message()));
  }
  return options;
}

absl::Duration TimeoutOf(Args& args) {
  const absl::Duration timeout = args.Duration("timeout").value_or(kDefaultTimeout);
  if (timeout <= absl::ZeroDuration()) args.AddProblem("--timeout isn't positive");
  return timeout;
}

// A variable that holds something else is somebody else's.
std::string TraceparentOf(Args& args, const Surroundings& around) {
  const std::string given = args.Text("traceparent");
  if (IsTraceparent(given)) return given;
  if (args.Has("traceparent")) {
    args.AddProblem(absl::StrCat("--traceparent isn't a W3C trace context: ", Printable(given)));
    return "";
  }
  const auto env = around.env.find("TRACEPARENT");
  return env != around.env.end() && IsTraceparent(env->second) ? env->second : "";
}

const Command* CommandOf(Args& args) {
  const std::string words = args.words();
  const Command* command = FindCommand(words);
  // Beside an unknown flag, a word may be that flag's value.
  if (!args.Problems().ok()) return command;
  if (words.empty()) {
    args.AddProblem("which command? see oncectl --help");
  } else if (command == nullptr) {
    args.AddProblem(absl::StrCat("there is no command ", Printable(words), "; see oncectl --help"));
  }
  return command;
}

absl::StatusOr<Answer> Execute(Args& args, const Surroundings& around) {
  const std::string server = ServerOf(args, around);
  const absl::Duration timeout = TimeoutOf(args);
  if (args.Has("json") && args.Text("output") == "-") {
    args.AddProblem("--json and --output - both want the standard output");
  }
  const std::string traceparent = TraceparentOf(args, around);
  const Command* command = CommandOf(args);
  if (command == nullptr) return args.Problems();
  const client::ConnectOptions connection =
      command->asks_server ? ConnectionOf(args, around) : client::ConnectOptions{};
  std::vector<Flag> flags = GlobalFlags();
  flags.insert(flags.end(), command->flags.begin(), command->flags.end());
  args.Only(flags, command->name);

  Input input(around.in);
  client::RawClient client(around.connect(server, connection));
  const std::function<client::AdminClient(const std::string&)> connect_admin =
      [&](const std::string& target) {
        return client::AdminClient(around.connect_admin(target, connection));
      };
  Context context{.args = args,
                  .env = around.env,
                  .input = input,
                  .client = client,
                  .connect_admin = connect_admin,
                  .timeout = timeout,
                  .traceparent = traceparent};
  return command->run(context);
}

absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;  // `false` and 0 are answers too.
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) {
    return AnswerError(absl::StrCat("the answer has no JSON form: ", status.ToString()));
  }
  return absl::StrCat(json, "\n");
}

// The body first: an answer that was printed is one whose body is there.
absl::Status Deliver(const Answer& answer, const Args& args, const Surroundings& around) {
  const bool raw = args.Text("output") == "-";
  if (answer.body.has_value()) {
    const absl::Status written = raw ? Write(around.out, *answer.body, kStandardOutput)
                                     : WriteFile(args.Text("output"), *answer.body);
    if (!written.ok()) return written;
  }
  if (raw) return Write(around.err, answer.text, "the standard error");
  if (!args.Has("json")) return Write(around.out, answer.text, kStandardOutput);
  const absl::StatusOr<std::string> line = ToJson(*answer.response);
  if (!line.ok()) return line.status();
  return Write(around.out, *line, kStandardOutput);
}

// Those for operators have neither a request_id nor a token.
bool IsOfKey(const Args& args) {
  const Command* command = FindCommand(args.words());
  if (command == nullptr) return true;
  const auto has = [command](absl::string_view name) {
    return std::any_of(command->flags.begin(), command->flags.end(),
                       [name](const Flag& flag) { return flag.name == name; });
  };
  return has("key") && !has("admin-server");
}

ExitCode Fail(const absl::Status& error, const Args& args, bool json, const Surroundings& around) {
  const bool told = json && Write(around.out, ErrorJson(error), kStandardOutput).ok();
  // Ignored: with the last stream gone, the exit code is all that is left.
  if (!told) (void)Write(around.err, ErrorText(error, IsOfKey(args)), "");
  return ExitCodeOf(error.code());
}

absl::StatusOr<std::string> AboutItself(const Args& args) {
  if (args.Has("version")) return VersionText();
  const std::string words = args.words();
  return HelpText(words == "help" ? "" : std::string(absl::StripPrefix(words, "help ")));
}

bool AsksAboutItself(const Args& args) {
  const std::string words = args.words();
  return args.Has("help") || args.Has("version") || words == "help" ||
         absl::StartsWith(words, "help ");
}

}  // namespace

int Run(const std::vector<std::string>& args, const Surroundings& around) {
  Args parsed = Args::Parse(args, AllFlags());
  const bool json = parsed.Has("json");
  if (AsksAboutItself(parsed)) {
    const absl::StatusOr<std::string> text = AboutItself(parsed);
    if (!text.ok()) return Fail(text.status(), parsed, json, around);
    const absl::Status written = Write(around.out, *text, kStandardOutput);
    return written.ok() ? kExitOk : Fail(written, parsed, /*json=*/false, around);
  }
  const absl::StatusOr<Answer> answer = Execute(parsed, around);
  if (!answer.ok()) return Fail(answer.status(), parsed, json, around);
  for (const std::string& note : answer->notes) around.err << "oncectl: note: " << note << "\n";
  if (const absl::Status delivered = Deliver(*answer, parsed, around); !delivered.ok()) {
    return Fail(OutputError(absl::StrCat(delivered.message(), "; the call itself was executed")),
                parsed, json, around);
  }
  return answer->exit_code;
}

}  // namespace onced::cli
