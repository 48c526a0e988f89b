// Text for terminals and scripts. What a server or another caller sent is never
// put on a terminal as it came.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace onced::cli {

// Whether `bytes` are UTF-8 as protobuf's strings have to be.
bool IsUtf8(absl::string_view bytes);

// With control characters, and bytes that aren't UTF-8, as \xNN, so that nobody
// can move the cursor or start a new line.
std::string Printable(absl::string_view bytes);

// Whether `bytes` are UTF-8 without control characters other than line ends and
// tabs.
bool IsPlainText(absl::string_view bytes);

// A JSON string, quotes included. What isn't UTF-8 is shown as by Printable().
std::string JsonString(absl::string_view text);

// As protobuf's JSON has it: "0.250s".
std::string DurationJson(absl::Duration duration);

// Columns, each as wide as its widest cell, under a line with their names.
class Table {
 public:
  explicit Table(std::vector<std::string> names) : rows_{std::move(names)} {}
  // As many cells as there are names. The caller has made them fit for a terminal.
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string Text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Lines of "name: value", the values aligned.
class Lines {
 public:
  // A value of several lines goes on below, aligned. The caller has made both
  // fit for a terminal.
  void Add(absl::string_view name, absl::string_view value);
  std::string Text(std::size_t indent = 0) const;

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
};

// Whether it looks like one: "00-" and so on, of the right digits. What it means is the
// server's business.
bool IsTraceparent(absl::string_view text);

}  // namespace onced::cli
