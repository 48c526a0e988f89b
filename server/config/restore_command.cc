#include "server/config/restore_command.h"

#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/config/errors.h"
#include "server/config/flags.h"
#include "server/config/values.h"
#include "server/ledger/policy.h"

namespace onced {
namespace {

struct RestoreFlag {
  const char* name;
  const char* placeholder;
  const char* help;
  // On failure the message is the rule that `text` broke.
  absl::Status (*set)(absl::string_view text, RestoreCommand& command);
};

constexpr RestoreFlag kFlags[] = {
    {"--from", "BACKUP_DIR", "Where the backups are: the backup_dir of the server. Required.",
     [](absl::string_view text, RestoreCommand& c) { return Assign(ParsePath(text), c.from); }},
    {"--data-dir", "DIR",
     "Where the store is to be: an empty directory, one to be made, or one with a\n"
     "      restore that did not end. Required.",
     [](absl::string_view text, RestoreCommand& c) { return Assign(ParsePath(text), c.data_dir); }},
    {"--backup-id", "N", "Which backup. Default: the newest.",
     [](absl::string_view text, RestoreCommand& c) {
       return Assign(ParseWhole(text, 1, std::numeric_limits<std::uint32_t>::max()),
                     c.backup_id.emplace());
     }},
    {"--fence-floor", "N",
     "Fences from now on are larger than this and than the wall clock in\n"
     "      microseconds. For a machine whose clock was ahead when it was lost.",
     [](absl::string_view text, RestoreCommand& c) {
       return Assign(ParseWhole(text, 0, limits::kFenceFloorMax), c.fence_floor);
     }},
};

const RestoreFlag* FindFlag(absl::string_view name) {
  for (const RestoreFlag& flag : kFlags) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<std::variant<RestoreCommand, ShowHelp>> ParseRestore(
    absl::Span<const std::string> args) {
  RestoreCommand command;
  ConfigErrors errors;
  std::set<std::string> given;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--help") return ShowHelp{};
    const std::string name = FlagNameIn(args[i]);
    const RestoreFlag* flag = FindFlag(name);
    if (flag == nullptr) {
      errors.Add(name, "", "no such flag: see onced restore --help");
      continue;
    }
    if (!given.insert(name).second) errors.Add(name, "", "is given twice");
    const std::optional<std::string> value = TakeFlagValue(args, i);
    if (!value.has_value()) {
      errors.Add(name, "", "has no value");
      continue;
    }
    const absl::Status set = flag->set(*value, command);
    if (!set.ok()) errors.Add(name, "", *value, set.message());
  }
  for (const char* required : {"--from", "--data-dir"}) {
    if (!given.contains(required)) errors.Add(required, "", "is required");
  }
  if (absl::Status status = errors.ToStatus(); !status.ok()) return status;
  return command;
}

std::string RestoreHelpText() {
  std::string text =
      "onced restore: makes a store from a backup.\n\n"
      "Usage: onced restore --from BACKUP_DIR --data-dir DIR [flags]\n\n"
      "The backup is verified first. What was acknowledged before its cut is there then;\n"
      "tokens from before are dead, and what they held is held for an operator.\n\n";
  for (const RestoreFlag& flag : kFlags) {
    absl::StrAppend(&text, "  ", flag.name, " ", flag.placeholder, "\n      ", flag.help, "\n");
  }
  absl::StrAppend(&text,
                  "  --help\n      Print this and exit.\n\n"
                  "Exit codes: 0 done; 1 failed, run it again; 2 a wrong command line; 3 refused:\n"
                  "no such backup, a directory that isn't vacant, a clock behind the backup, a\n"
                  "newer version's backup; 4 the backup is damaged.\n");
  return text;
}

}  // namespace onced
