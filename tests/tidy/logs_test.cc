// docs/logs.md lists every event that the server logs, with its level, and no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tests/tidy/tidy.h"

namespace onced::tidy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Events = std::set<std::string>;  // "event level"

// The calls of Log's functions: `log.Info("event"`, `log_.WriteLimited(LogLevel::kWarn, "event"`.
Events EventsIn(const std::string& cpp) {
  static const std::regex kCall(
      "\\blog_?(\\.|->)(Debug|Info|Warn|Error|Write|WriteLimited)\\(\\s*"
      "(LogLevel::k([A-Za-z]+)\\s*,\\s*)?\"([a-z0-9_]+)\"");
  Events events;
  const std::string code = Blank(cpp, /*strings=*/false);
  for (std::sregex_iterator at(code.begin(), code.end(), kCall), end; at != end; ++at) {
    std::string level = (*at)[4].matched ? (*at)[4] : (*at)[2];
    level[0] = static_cast<char>(level[0] - 'A' + 'a');
    events.insert((*at)[5].str() + " " + level);
  }
  return events;
}

Events EventsListed(const std::string& page) {
  static const std::regex kRow("^\\| `([a-z0-9_]+)` \\| ([a-z]+) \\|.*");
  Events events;
  for (const std::string& line : Lines(page)) {
    std::smatch match;
    if (std::regex_match(line, match, kRow)) events.insert(match[1].str() + " " + match[2].str());
  }
  return events;
}

TEST(Logs, AreListed) {
  Events logged;
  std::string page;
  for (const File& file : Tree()) {
    if (StartsWith(file.path, "server/") && IsCpp(file)) logged.merge(EventsIn(file.text));
    if (file.path == "docs/logs.md") page = file.text;
  }
  logged.insert("audit info");       // Log::Audit(), of whatever level.
  logged.insert("suppressed warn");  // Log's own; of the level of what it suppressed.
  EXPECT_GT(logged.size(), 10U);
  EXPECT_EQ(EventsListed(page), logged);
}

// Whoever is called at night wants to know what the server was told. That the line was
// written says the least level.
TEST(Logs, HaveEverySetting) {
  static const std::regex kSetting("\\n    \\{\"([a-z_]+)\", \"");
  std::string settings;
  std::string logged;
  for (const File& file : Tree()) {
    if (file.path == "server/config/settings.cc") settings = file.text;
    if (file.path == "server/reporting.cc") logged = file.text;
  }
  settings.resize(settings.find("kPolicySettings[]"));
  std::size_t count = 0;
  for (std::sregex_iterator at(settings.begin(), settings.end(), kSetting), end; at != end; ++at) {
    const std::string name = (*at)[1];
    ++count;
    if (name == "log_level") continue;
    EXPECT_NE(logged.find("{\"" + name + "\","), std::string::npos) << name;
  }
  EXPECT_GT(count, 30U);
}

TEST(Planted, EventsAreFound) {
  EXPECT_THAT(EventsIn("log.Info(\"serving\", {});"), ElementsAre("serving info"));
  EXPECT_THAT(EventsIn("log_.Warn(\n    \"a_b\",\n {}"), ElementsAre("a_b warn"));
  EXPECT_THAT(EventsIn("log_->WriteLimited(LogLevel::kError, \"x\""), ElementsAre("x error"));
  EXPECT_THAT(EventsIn("catalog.Info(\"x\")"), IsEmpty());
  EXPECT_THAT(EventsIn("// log.Info(\"x\")"), IsEmpty());
  EXPECT_THAT(EventsListed("| event | level |\n|---|---|\n| `a` | info | x |\n"),
              ElementsAre("a info"));
}

}  // namespace
}  // namespace onced::tidy
