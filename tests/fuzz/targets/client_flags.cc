// oncectl's command line: lines are arguments.
#include "absl/strings/str_split.h"
#include "client/cli/flags.h"
#include "client/cli/text.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {

void ClientFlags(absl::string_view bytes) {
  const std::vector<cli::Flag> flags = {
      {"json", cli::Flag::kSwitch, "", ""},  {"ttl", cli::Flag::kValue, "DURATION", ""},
      {"n", cli::Flag::kValue, "N", ""},     {"sha256", cli::Flag::kValue, "HEX", ""},
      {"key", cli::Flag::kValue, "KEY", ""}, {"header", cli::Flag::kRepeated, "NAME:VALUE", ""}};
  std::vector<std::string> words;
  for (const absl::string_view word : absl::StrSplit(bytes, '\n')) words.emplace_back(word);
  cli::Args args = cli::Args::Parse(words, flags);
  Demand(args.All("header").size() <= words.size(), "more than was given");
  const auto duration = args.Duration("ttl");
  const auto integer = args.Integer("n", -5, 1000);
  Demand(!integer.has_value() || (*integer >= -5 && *integer <= 1000), "out of bounds");
  const std::string hex = args.Hex("sha256");
  const std::string key = args.RequiredUtf8("key");
  args.AtMostOne({"ttl", "n"});
  const absl::Status problems = args.Problems();
  if (!problems.ok()) {
    return Demand(cli::IsPlainText(problems.message()), "a problem not fit for a terminal");
  }
  Demand(args.Has("key") && cli::IsUtf8(key), "a key that can't be sent");
  if (args.Has("ttl")) Demand(duration.has_value(), "a duration got lost");
  if (args.Has("n")) Demand(integer.has_value(), "a number got lost");
  if (args.Has("sha256")) Demand(hex.size() * 2 == args.Text("sha256").size(), "bytes got lost");
}

}  // namespace onced::fuzz
