#include "tests/fault/history.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace onced::fault {
namespace {

constexpr std::array kOps = {"Reserve", "Commit", "Release", "Extend", "Inspect"};
constexpr std::array kStatuses = {"unanswered", "ok", "fail", "unknown"};
constexpr std::array kSaids = {"nothing",
                               "FRESH",
                               "REPLAYED",
                               "CONFLICT",
                               "MISMATCH",
                               "UNRESOLVED",
                               "committed",
                               "released",
                               "nothing_to_release",
                               "extended",
                               "seen",
                               "SUPERSEDED",
                               "COMMITTED_DIFFERENTLY",
                               "ALREADY_COMMITTED",
                               "NOT_RESERVED"};
constexpr std::array kStates = {"unsaid", "ABSENT", "PENDING", "LAPSED", "COMMITTED"};

// ---- One list of the fields of each, for writing and for reading ----

template <typename Visitor>
void VisitSent(Call& call, Visitor& visit) {
  visit.Number("client", call.client);
  visit.Name("op", call.op, kOps);
  visit.Text("key", call.key);
  visit.Text("request_id", call.request_id);
  visit.Text("fingerprint", call.fingerprint);
  visit.Text("owner", call.owner);
  visit.Text("token", call.token);
  visit.Text("result", call.result);
  visit.Flag("has_checkpoint", call.has_checkpoint);
  visit.Text("checkpoint", call.checkpoint);
  visit.Number("ttl", call.ttl);
  std::int64_t after = call.after.has_value() ? static_cast<std::int64_t>(*call.after) + 1 : 0;
  visit.Number("after", after);
  if (after > 0) call.after = static_cast<std::uint64_t>(after - 1);
}

template <typename Visitor>
void VisitAnswer(Answer& answer, Visitor& visit) {
  visit.Name("status", answer.status, kStatuses);
  visit.Name("said", answer.said, kSaids);
  visit.Text("reason", answer.reason);
  visit.Name("state", answer.state, kStates);
  visit.Text("token", answer.token);
  visit.Number("fence", answer.fence);
  visit.Number("attempt", answer.attempt);
  visit.Text("owner", answer.owner);
  visit.Text("result", answer.result);
  visit.Text("checkpoint", answer.checkpoint);
  visit.Number("server_time", answer.server_time);
  visit.Number("lease_end", answer.lease_end);
  visit.Number("commit_time", answer.commit_time);
  visit.Number("expire_time", answer.expire_time);
  visit.Flag("already", answer.already);
  visit.Flag("late", answer.late);
  visit.Number("previous_fence", answer.previous_fence);
  visit.Text("previous_owner", answer.previous_owner);
}

class Writer {
 public:
  void Number(const char* name, std::int64_t value) {
    if (value != 0) absl::StrAppend(&text_, " ", name, "=", value);
  }
  void Text(const char* name, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&text_, " ", name, "=\"", absl::CHexEscape(value), "\"");
  }
  void Flag(const char* name, bool value) {
    if (value) absl::StrAppend(&text_, " ", name, "=1");
  }
  template <typename Enum, std::size_t size>
  void Name(const char* name, Enum value, const std::array<const char*, size>& names) {
    if (name == std::string("op") || static_cast<int>(value) != 0) {
      absl::StrAppend(&text_, " ", name, "=", names.at(static_cast<std::size_t>(value)));
    }
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

// The fields of one line.
class Reader {
 public:
  explicit Reader(const std::string& line) {
    std::size_t at = 0;
    while ((at = line.find_first_not_of(' ', at)) != std::string::npos) {
      const std::size_t equals = line.find('=', at);
      if (equals == std::string::npos) throw std::runtime_error("no value");
      const std::string name = line.substr(at, equals - at);
      const bool quoted = equals + 1 < line.size() && line[equals + 1] == '"';
      at = quoted ? EndOfQuoted(line, equals + 2) : line.find(' ', equals);
      at = std::min(at, line.size());
      fields_[name] = quoted ? line.substr(equals + 2, at - equals - 3)
                             : line.substr(equals + 1, at - equals - 1);
    }
  }
  void Number(const char* name, std::int64_t& value) {
    const std::string text = Take(name);
    if (text.empty()) return;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw std::runtime_error(std::string(name) + " is not a number");
    }
  }
  void Text(const char* name, std::string& value) {
    if (!absl::CUnescape(Take(name), &value)) throw std::runtime_error("a bad escape");
  }
  void Flag(const char* name, bool& value) { value = !Take(name).empty(); }
  template <typename Enum, std::size_t size>
  void Name(const char* name, Enum& value, const std::array<const char*, size>& names) {
    const std::string text = Take(name);
    if (text.empty()) return;
    const auto* const found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) throw std::runtime_error("no such " + std::string(name));
    value = static_cast<Enum>(found - names.begin());
  }
  void CheckAllTaken() const {
    if (!fields_.empty()) throw std::runtime_error("unknown field " + fields_.begin()->first);
  }

 private:
  // One past the quote.
  static std::size_t EndOfQuoted(const std::string& line, std::size_t at) {
    for (; at < line.size(); ++at) {
      if (line[at] == '\\') {
        ++at;
      } else if (line[at] == '"') {
        return at + 1;
      }
    }
    throw std::runtime_error("no closing quote");
  }
  std::string Take(const std::string& name) {
    const auto node = fields_.extract(name);
    return node.empty() ? std::string() : node.mapped();
  }

  std::map<std::string, std::string> fields_;
};

// Copies, since the list of fields is that for reading too.
std::string SentText(Call call) {
  Writer writer;
  VisitSent(call, writer);
  return std::move(writer).text();
}
std::string AnswerText(Answer answer) {
  Writer writer;
  VisitAnswer(answer, writer);
  return std::move(writer).text();
}

void ReadLine(const std::string& line, Recording& run) {
  std::istringstream words(line);
  std::string kind;
  std::uint64_t number = 0;
  if (!(words >> kind >> number)) throw std::runtime_error("no event");
  std::string rest;
  std::getline(words, rest);
  Reader fields(rest);
  const auto call_of_line = [&]() -> Call& {
    std::int64_t id = -1;
    fields.Number("id", id);
    if (kind == "sent") run.calls.push_back({.id = run.calls.size()});
    const auto index = static_cast<std::uint64_t>(std::max<std::int64_t>(id, 0));
    if (index >= run.calls.size()) throw std::runtime_error("no such call");
    return run.calls[index];
  };
  if (kind == "seed") {
    run.seed = number;
  } else if (kind == "up") {
    run.lives.push_back({.up = number});
  } else if (kind == "down") {
    if (run.lives.empty()) throw std::runtime_error("down before up");
    run.lives.back().down = number;
  } else if (kind == "sent") {
    Call& call = call_of_line();
    call.sent = number;
    VisitSent(call, fields);
  } else if (kind == "answered") {
    Call& call = call_of_line();
    call.answered = number;
    VisitAnswer(call.answer, fields);
  } else {
    throw std::runtime_error("no such event");
  }
  fields.CheckAllTaken();
}

std::uint64_t Fnv1a(const std::string& text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char byte : text) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211U;
  }
  return hash;
}

}  // namespace

std::uint64_t History::Sent(Call call) {
  const std::lock_guard lock(mutex_);
  call.id = run_.calls.size();
  call.sent = next_++;
  run_.calls.push_back(std::move(call));
  return run_.calls.back().id;
}

void History::Answered(std::uint64_t id, Answer answer) {
  const std::lock_guard lock(mutex_);
  Call& call = run_.calls.at(id);
  call.answered = next_++;
  if (answer.status == Status::kOk) ++judged_;
  call.answer = std::move(answer);
}

void History::ServerUp() {
  const std::lock_guard lock(mutex_);
  if (run_.lives.empty() || run_.lives.back().down != kNever) run_.lives.push_back({.up = next_++});
}

void History::ServerDown() {
  const std::lock_guard lock(mutex_);
  if (!run_.lives.empty() && run_.lives.back().down == kNever) run_.lives.back().down = next_++;
}

Recording History::Copy() const {
  const std::lock_guard lock(mutex_);
  return run_;
}

std::uint64_t History::answered() const {
  const std::lock_guard lock(mutex_);
  return judged_;
}

std::string ToText(const Recording& run) {
  std::map<Position, std::string> lines;
  for (const Call& call : run.calls) {
    lines[call.sent] = absl::StrCat("sent ", call.sent, " id=", call.id, SentText(call));
    if (call.answered == kNever) continue;
    lines[call.answered] =
        absl::StrCat("answered ", call.answered, " id=", call.id, AnswerText(call.answer));
  }
  for (const Life& life : run.lives) {
    lines[life.up] = absl::StrCat("up ", life.up);
    if (life.down != kNever) lines[life.down] = absl::StrCat("down ", life.down);
  }
  std::string text = absl::StrCat("seed ", run.seed, "\n");
  for (const auto& [position, line] : lines) absl::StrAppend(&text, line, "\n");
  return text;
}

Recording FromText(const std::string& text) {
  Recording run;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    try {
      ReadLine(line, run);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(std::string(error.what()) + " in: " + line);
    }
  }
  return run;
}

std::string Digest(int status_code, const std::vector<std::pair<std::string, std::string>>& headers,
                   const std::string& body) {
  std::string all = absl::StrCat(status_code, "\n");
  for (const auto& [name, value] : headers) {
    absl::StrAppend(&all, name.size(), ":", name, value.size(), ":", value);
  }
  absl::StrAppend(&all, "\n", body);
  return absl::StrCat(status_code, "/", headers.size(), "/", body.size(), "/",
                      absl::Hex(Fnv1a(all)));
}

std::string NameOf(Said said) { return kSaids.at(static_cast<std::size_t>(said)); }

std::string Describe(const Call& call) {
  std::string text = absl::StrCat("[", call.sent, ", ",
                                  call.answered == kNever ? "..." : absl::StrCat(call.answered),
                                  "] #", call.id, SentText(call), " ->");
  if (call.answer.status == Status::kUnanswered) return text + " no answer";
  return text + AnswerText(call.answer);
}

}  // namespace onced::fault
