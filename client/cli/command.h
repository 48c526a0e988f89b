// What a command is: a name, flags, and a function. A new one is a file with
// that function and a line in commands.cc.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/exit_code.h"
#include "client/cli/flags.h"
#include "client/cli/input.h"
#include "client/cpp/admin_client.h"
#include "client/cpp/raw_client.h"
#include "google/protobuf/message.h"

namespace onced::cli {

// What a command has found out, to be written by Run().
struct Answer {
  ExitCode exit_code = kExitOk;
  std::shared_ptr<const google::protobuf::Message> response;  // Printed for --json.
  std::string text;                                           // Printed otherwise.
  std::vector<std::string> notes;                             // For people, on stderr.
  std::optional<std::string> body;                            // For --output, if given.
};

// What a command works with. All references outlive it.
struct Context {
  Args& args;
  const std::map<std::string, std::string>& env;
  Input& input;
  client::RawClient& client;
  const std::function<client::AdminClient(const std::string& target)>& connect_admin;
  absl::Duration timeout;   // For a call that doesn't wait.
  std::string traceparent;  // Empty: none.

  // Counted from now.
  client::CallOptions Options(absl::Duration wait = absl::ZeroDuration()) const;
  // Empty if it isn't set.
  std::string Env(const std::string& name) const;
};

struct Command {
  std::string name;  // One word, or several with a space between them.
  std::string summary;
  std::vector<Flag> flags;
  std::string more;  // Paragraphs below the flags in its help; may be empty.
  bool asks_server = true;
  absl::StatusOr<Answer> (*run)(Context& context);
};

// One file each.
Command ReserveCommand();
Command CommitCommand();
Command ReleaseCommand();
Command ExtendCommand();
Command InspectCommand();
Command ListCommand();
Command ResolveCommand();
Command EvictCommand();
Command EvictNamespaceCommand();
Command StatusCommand();
Command BackupCommand();
Command ClockAcceptCommand();
Command TokenNewCommand();

// All of them, in the order of the help.
const std::vector<Command>& Commands();
// Those that every command has.
const std::vector<Flag>& GlobalFlags();

// Flags that several commands share.
Flag AdminServerFlag();
// Of --admin-server, else ONCECTL_ADMIN_SERVER, else the default. Notes a problem
// if --server was given.
std::string AdminServerOf(Context& context);
std::vector<Flag> KeyFlags();
std::vector<Flag> TokenFlags();
Flag FenceFlag();
Flag CommentFlag();
Flag OutputFlag();
// The body that --output asks for; an error if it isn't stored.
absl::StatusOr<std::string> StoredBody(const client::v1::Result& result);
// The flags of TokenFlags(), else ONCECTL_TOKEN.
std::string TokenOf(Context& context);

}  // namespace onced::cli
