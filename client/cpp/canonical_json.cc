// nlohmann's parser asserts that strtod read all of a number: not so where the locale's decimal
// point has several bytes. What strtod made of it isn't used here.
#define JSON_ASSERT(condition) static_cast<void>(0)

#include "client/cpp/canonical_json.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cpp/es_number.h"

namespace onced::client {
namespace {

absl::Status Refusal(absl::string_view what, std::size_t byte) {
  return absl::InvalidArgumentError(absl::StrCat("no canonical JSON: ", what, " at byte ", byte));
}

// An iterator over the text that tells others how far it has come: the parser keeps it to itself.
class Progress {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Progress(const char* at, std::size_t* taken) : at_(at), taken_(taken) {}
  reference operator*() const { return *at_; }
  Progress& operator++() {
    ++at_;
    ++*taken_;
    return *this;
  }
  bool operator==(const Progress& other) const { return at_ == other.at_; }
  bool operator!=(const Progress& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::size_t* taken_;
};

// The order of UTF-16's code units, of two texts in UTF-8. It is that of the code points but for
// those above U+FFFF, whose surrogates are smaller than U+E000.
int Rank(char lead) {
  const int byte = static_cast<unsigned char>(lead);
  if (byte >= 0xf0) return byte - 2;
  return byte >= 0xee ? byte + 5 : byte;
}
bool BeforeInUtf16(const std::string& a, const std::string& b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (in_a == a.end() || in_b == b.end()) return a.size() < b.size();
  return Rank(*in_a) < Rank(*in_b);
}

void AppendString(const std::string& text, std::string& out) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

// What the parser calls as it goes. Writes at once; an object's members are put in order in
// place once it ends, so that there is no tree.
class Canonicalizer {
 public:
  explicit Canonicalizer(std::string_view text) : text_(text) {}

  absl::StatusOr<std::string> Run() && {
    const char* begin = text_.data();
    nlohmann::json::sax_parse(Progress(begin, &taken_), Progress(begin + text_.size(), &taken_),
                              this);
    if (!refusal_.ok()) return refusal_;
    return std::move(out_);
  }

  // ---- For the parser: false ends it. ----

  bool null() { return Literal("null"); }
  bool boolean(bool value) { return Literal(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) {
    return Number(static_cast<double>(value), absl::StrCat(value));
  }
  bool number_unsigned(std::uint64_t value) {
    return Number(static_cast<double>(value), absl::StrCat(value));
  }
  // The parser reads and hands on the decimal point of the process's locale. As long, though.
  bool number_float(double value, const std::string& localized) {
    const std::string_view literal = text_.substr(NumberEnd() - localized.size(), localized.size());
    // Ignored: of a number that is too small nothing is read, and the parser's zero stays.
    (void)std::from_chars(literal.data(), literal.data() + literal.size(), value);
    return Number(value, literal);
  }
  bool string(std::string& value) {
    BeginValue();
    AppendString(value, out_);
    return true;
  }
  bool binary(nlohmann::json::binary_t&) { return false; }  // Of other formats than JSON.

  bool start_array(std::size_t) { return Open('['); }
  bool end_array() { return Close(']'); }
  bool start_object(std::size_t) { return Open('{'); }
  bool key(std::string& name) {
    std::vector<Member>& members = open_.back().members;
    if (!members.empty()) {
      members.back().end = out_.size();
      out_ += ',';
    }
    members.push_back({.begin = out_.size(), .byte = taken_});
    AppendString(name, out_);
    out_ += ':';
    members.back().name = std::move(name);
    return true;
  }
  bool end_object() {
    Scope& scope = open_.back();
    if (!scope.members.empty()) {
      scope.members.back().end = out_.size();
      if (!Sort(scope.members)) return false;
    }
    return Close('}');
  }

  bool parse_error(std::size_t byte, const std::string&,
                   const nlohmann::json::exception& exception) {
    refusal_ = Refusal(WhatIs(exception, byte), byte);
    return false;
  }

 private:
  struct Member {
    std::string name;
    // Where it is in `out_`, without commas.
    std::size_t begin = 0;
    std::size_t end = 0;
    // Of the text: where its name ends.
    std::size_t byte = 0;
  };
  // An array or object that hasn't ended.
  struct Scope {
    bool is_array = false;
    bool is_empty = true;  // Of an array.
    std::vector<Member> members;
  };

  bool Refuse(absl::string_view what, std::size_t byte) {
    refusal_ = Refusal(what, byte);
    return false;
  }

  // An object's commas go before its names.
  void BeginValue() {
    if (open_.empty() || !open_.back().is_array) return;
    if (!std::exchange(open_.back().is_empty, false)) out_ += ',';
  }
  bool Literal(absl::string_view literal) {
    BeginValue();
    absl::StrAppend(&out_, literal);
    return true;
  }
  bool Number(double value, std::string_view literal) {
    const Decimal asked = DecimalOf(literal);
    if (asked.IsWhole() && asked != ShortestDecimal(value)) {
      return Refuse("a whole number that doubles don't tell from others", NumberEnd());
    }
    return Literal(EsNumber(value));
  }
  // The parser has seen one byte more, unless the text ends with the number, which has a
  // digit at its end.
  std::size_t NumberEnd() const {
    const char last = text_[taken_ - 1];
    return last >= '0' && last <= '9' ? taken_ : taken_ - 1;
  }

  bool Open(char bracket) {
    if (open_.size() == kCanonicalJsonDepthMax) {
      return Refuse(absl::StrCat("more than ", kCanonicalJsonDepthMax, " levels"), taken_);
    }
    BeginValue();
    out_ += bracket;
    open_.push_back({.is_array = bracket == '['});
    return true;
  }
  bool Close(char bracket) {
    out_ += bracket;
    open_.pop_back();
    return true;
  }

  // Puts an object's members, which are the end of `out_`, in order.
  bool Sort(std::vector<Member>& members) {
    const auto before = [](const Member& a, const Member& b) {
      return BeforeInUtf16(a.name, b.name);
    };
    const std::size_t begin = members.front().begin;
    if (!std::is_sorted(members.begin(), members.end(), before)) {
      std::stable_sort(members.begin(), members.end(), before);
      std::string sorted;
      sorted.reserve(out_.size() - begin);
      for (const Member& member : members) {
        if (!sorted.empty()) sorted += ',';
        sorted.append(out_, member.begin, member.end - member.begin);
      }
      out_.replace(begin, std::string::npos, sorted);
    }
    const auto twice =
        std::adjacent_find(members.begin(), members.end(),
                           [](const Member& a, const Member& b) { return a.name == b.name; });
    if (twice == members.end()) return true;
    return Refuse("a member's name that is there twice", std::next(twice)->byte);
  }

  // The parser knows more than it says in other ways than its message; what it quotes of the
  // text is behind.
  absl::string_view WhatIs(const nlohmann::json::exception& exception, std::size_t byte) const {
    constexpr int kOutOfRange = 406;
    if (exception.id == kOutOfRange) return "a number that is too large for a double";
    std::string_view message = exception.what();
    message = message.substr(0, message.find("; last read"));
    const auto says = [&](std::string_view words) { return message.find(words) != message.npos; };
    if (says("ill-formed UTF-8")) return "bytes that aren't UTF-8";
    if (says("surrogate U+")) return "one half of a surrogate pair";
    const std::string_view rest = byte > text_.size() ? "" : text_.substr(byte - 1);
    if (rest.empty()) return "the end of the text, too early,";
    if (rest.starts_with("NaN") || rest.starts_with("Infinity")) return "NaN or Infinity";
    return "what isn't JSON";
  }

  const std::string_view text_;
  std::size_t taken_ = 0;  // Bytes that the parser has seen.
  std::string out_;
  std::vector<Scope> open_;
  absl::Status refusal_;
};

}  // namespace

absl::StatusOr<std::string> CanonicalJson(std::string_view text) {
  if (text.size() > kCanonicalJsonBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("no canonical JSON: more than ", kCanonicalJsonBytesMax, " bytes"));
  }
  // The parser skips a byte order mark, and takes a zero byte for the end.
  if (text.starts_with("\xef\xbb\xbf")) return Refusal("a byte order mark", 1);
  if (const std::size_t zero = text.find('\0'); zero != text.npos) {
    return Refusal("what isn't JSON", zero + 1);
  }
  return Canonicalizer(text).Run();
}

}  // namespace onced::client
