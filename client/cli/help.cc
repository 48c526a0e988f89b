#include "client/cli/help.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/failure.h"
#include "client/cli/text.h"

namespace onced::cli {
namespace {

constexpr char kIntroduction[] =
    "oncectl - reserve keys, commit results, and look at them, on an onced server\n"
    "\n"
    "usage: oncectl [FLAGS] COMMAND [FLAGS]\n"
    "       oncectl help COMMAND\n"
    "\n";

constexpr char kRest[] =
    "\n"
    "Flags may stand before or after the command, as --flag VALUE or --flag=VALUE.\n"
    "A DURATION is a number with a unit (ms, s, m, h, d), or several: 1h30m.\n"
    "Errors go to the standard error; with --json, to the standard output.\n"
    "\n"
    "exit codes:\n"
    "  0  reserve: FRESH, do the work; other commands: done\n"
    "  1  error: server not reached, busy or failed; answer not written\n"
    "  2  usage: bad flag or unreadable file, or INVALID_ARGUMENT from the server\n"
    "  3  reserve: REPLAYED, here is the stored result\n"
    "  4  reserve: CONFLICT, somebody is on it; or an outcome unknown to this oncectl\n"
    "  5  reserve: MISMATCH, the key was used with another fingerprint\n"
    "  6  reserve: UNRESOLVED, the effect may have happened\n"
    "  7  refused by a rule: ABORTED, FAILED_PRECONDITION, NOT_FOUND\n";

std::string FlagsText(const std::vector<Flag>& flags) {
  std::string text;
  for (const Flag& flag : flags) {
    absl::StrAppend(&text, "  --", flag.name, flag.value.empty() ? "" : " ", flag.value,
                    flag.kind == Flag::kRepeated ? " (repeatable)" : "", "\n      ",
                    absl::StrReplaceAll(flag.help, {{"\n", "\n      "}}), "\n");
  }
  return text;
}

std::string CommandsText() {
  std::size_t width = 0;
  for (const Command& command : Commands()) width = std::max(width, command.name.size());
  std::string text;
  for (const Command& command : Commands()) {
    absl::StrAppend(&text, "  ", command.name, std::string(width - command.name.size() + 2, ' '),
                    command.summary, "\n");
  }
  return text;
}

std::string CommandText(const Command& command) {
  std::string text = absl::StrCat("usage: oncectl [FLAGS] ", command.name, " [FLAGS]\n\n",
                                  command.summary, "\n\n", FlagsText(command.flags));
  if (!command.more.empty()) absl::StrAppend(&text, "\n", command.more);
  absl::StrAppend(&text, "\nFlags of every command, and the exit codes: oncectl --help\n");
  return text;
}

}  // namespace

absl::StatusOr<std::string> HelpText(const std::string& topic) {
  if (topic.empty()) {
    return absl::StrCat(kIntroduction, "commands:\n", CommandsText(), "\nflags:\n",
                        FlagsText(GlobalFlags()), kRest);
  }
  const Command* command = FindCommand(topic);
  if (command == nullptr) return UsageError(absl::StrCat("there is no command ", Printable(topic)));
  return CommandText(*command);
}

std::string VersionText() { return absl::StrCat("oncectl ", ONCED_VERSION, "\n"); }

const Command* FindCommand(const std::string& name) {
  const auto found = std::find_if(Commands().begin(), Commands().end(),
                                  [&](const Command& command) { return command.name == name; });
  return found == Commands().end() ? nullptr : &*found;
}

}  // namespace onced::cli
