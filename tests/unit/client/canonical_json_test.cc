#include "client/cpp/canonical_json.h"

#include <algorithm>
#include <bit>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cpp/es_number.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

// Whether the process's locale writes a comma before fractions, as far as this program is told:
// there may be no such locale on the machine.
bool comma = false;

}  // namespace

// Stands before the C library's, in all of this program.
extern "C" lconv* localeconv() noexcept {
  static char point[] = ".";
  point[0] = comma ? ',' : '.';
  static char nothing[] = "";
  static lconv conventions{};
  conventions.decimal_point = point;
  conventions.thousands_sep = nothing;
  conventions.grouping = nothing;
  return &conventions;
}

namespace onced::client {
namespace {

using testing::HasSubstr;
using testing::Not;

// ---- The locale ----

TEST(CanonicalJson, IsTheSameInAllLocales) {
  comma = true;
  EXPECT_EQ(CanonicalJson("[1.5, -2.25e-3,0.1]").value(), "[1.5,-0.00225,0.1]");
  EXPECT_EQ(CanonicalJson("1.5").value(), "1.5");
  EXPECT_EQ(CanonicalJson("1.50 ").value(), "1.5");
  EXPECT_EQ(CanonicalJson("[1.5e1]").value(), "[15]");
  EXPECT_FALSE(CanonicalJson("[9007199254740993.0]").ok());
  comma = false;
}

TEST(CanonicalJson, TakesWhatIsTooSmallForZero) {
  EXPECT_EQ(CanonicalJson("[1e-400,-1.5e-999]").value(), "[0,0]");
  EXPECT_EQ(CanonicalJson("5e-324").value(), "5e-324");
}

// ---- What others published ----

// RFC 8785, 3.2.2 and 3.2.3; and the test data of the authors' repository.
const struct {
  const char* name;
  const char* text;
  const char* canonical;
} kPublished[] = {
    {"rfc_3_2_2", R"({
       "numbers": [333333333.33333329, 1E30, 4.50,
                   2e-3, 0.000000000000000000000000001],
       "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
       "literals": [null, true, false]
     })",
     R"({"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],)"
     R"("string":"€$\u000f\nA'B\"\\\\\"/"})"},
    {"rfc_3_2_3", R"({
       "\u20ac": "Euro Sign",
       "\r": "Carriage Return",
       "\ufb33": "Hebrew Letter Dalet With Dagesh",
       "1": "One",
       "\ud83d\ude00": "Emoji: Grinning Face",
       "\u0080": "Control",
       "\u00f6": "Latin Small Letter O With Diaeresis"
     })",
     "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\","
     "\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\","
     "\"\xf0\x9f\x98\x80\":\"Emoji: Grinning Face\","
     "\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}"},
    {"arrays", "[\n  56,\n  {\n    \"d\": true,\n    \"10\": null,\n    \"1\": [ ]\n  }\n]\n",
     R"([56,{"1":[],"10":null,"d":true}])"},
    {"french",
     R"({"peach": "This sorting order", "péché": "is wrong according to French",
         "pêche": "but canonicalization MUST", "sin":   "ignore locale"})",
     R"({"peach":"This sorting order","péché":"is wrong according to French",)"
     R"("pêche":"but canonicalization MUST","sin":"ignore locale"})"},
    {"structures",
     R"({"1": {"f": {"f": "hi","F": 5} ,"\n": 56.0}, "10": { }, "": "empty", "a": { },
         "111": [ {"e": "yes","E": "no" } ], "A": { }})",
     R"({"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],)"
     R"("A":{},"a":{}})"},
    {"unicode", R"({"Unnormalized Unicode":"A\u030a"})",
     "{\"Unnormalized Unicode\":\"A\xcc\x8a\"}"},
    {"weird",
     R"({"\u20ac": "Euro Sign", "\r": "Carriage Return", "\u000a": "Newline", "1": "One",
         "\u0080": "Control\u007f", "\ud83d\ude02": "Smiley",
         "\u00f6": "Latin Small Letter O With Diaeresis",
         "\ufb33": "Hebrew Letter Dalet With Dagesh", "</script>": "Browser Challenge"})",
     "{\"\\n\":\"Newline\",\"\\r\":\"Carriage Return\",\"1\":\"One\","
     "\"</script>\":\"Browser Challenge\",\"\xc2\x80\":\"Control\x7f\","
     "\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\","
     "\"\xf0\x9f\x98\x82\":\"Smiley\",\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}"},
};

TEST(CanonicalJson, IsAsPublished) {
  for (const auto& row : kPublished) {
    EXPECT_EQ(CanonicalJson(row.text).value_or("refused"), row.canonical) << row.name;
    EXPECT_EQ(CanonicalJson(row.canonical).value_or("refused"), row.canonical) << row.name;
  }
}

// RFC 8785, Appendix B.
const struct {
  std::uint64_t bits;
  const char* text;
} kNumbers[] = {
    {0x0000000000000000, "0"},
    {0x8000000000000000, "0"},
    {0x0000000000000001, "5e-324"},
    {0x8000000000000001, "-5e-324"},
    {0x7fefffffffffffff, "1.7976931348623157e+308"},
    {0xffefffffffffffff, "-1.7976931348623157e+308"},
    {0x4340000000000000, "9007199254740992"},
    {0xc340000000000000, "-9007199254740992"},
    {0x4430000000000000, "295147905179352830000"},
    {0x44b52d02c7e14af5, "9.999999999999997e+22"},
    {0x44b52d02c7e14af6, "1e+23"},
    {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
    {0x444b1ae4d6e2ef4e, "999999999999999700000"},
    {0x444b1ae4d6e2ef4f, "999999999999999900000"},
    {0x444b1ae4d6e2ef50, "1e+21"},
    {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
    {0x3eb0c6f7a0b5ed8d, "0.000001"},
    {0x41b3de4355555553, "333333333.3333332"},
    {0x41b3de4355555554, "333333333.33333325"},
    {0x41b3de4355555555, "333333333.3333333"},
    {0x41b3de4355555556, "333333333.3333334"},
    {0x41b3de4355555557, "333333333.33333343"},
    {0xbecbf647612f3696, "-0.0000033333333333333333"},
    {0x43143ff3c1cb0959, "1424953923781206.2"},
};

TEST(CanonicalJson, WritesNumbersAsPublished) {
  for (const auto& row : kNumbers) {
    EXPECT_EQ(EsNumber(std::bit_cast<double>(row.bits)), row.text);
    EXPECT_EQ(CanonicalJson(row.text).value_or("refused"), row.text);
  }
}

// ---- Rules, a row each ----

const struct {
  const char* name;
  std::string text;
  std::string canonical;
} kForms[] = {
    {"null", " null ", "null"},
    {"empty_string", "\"\"", "\"\""},
    {"spaces", "\t\r\n [ \t\r\n1 ,2\n]\r", "[1,2]"},
    {"nothing_inside", "{ \"a\" : { } , \"b\" : [ ] }", R"({"a":{},"b":[]})"},
    {"array_in_order", "[3,1,2]", "[3,1,2]"},
    {"objects_in_arrays", R"([{"b":1,"a":2},{"a":[{"d":1,"c":2}]}])",
     R"([{"a":2,"b":1},{"a":[{"c":2,"d":1}]}])"},
    {"prefix_first", R"({"ab":1,"a":2,"":3})", R"({"":3,"a":2,"ab":1})"},
    {"digits_as_text", R"({"10":1,"9":2,"1":3})", R"({"1":3,"10":1,"9":2})"},
    {"name_by_its_meaning", R"({"\u0062":1,"a":2})", R"({"a":2,"b":1})"},
    // Smaller by code units, larger by code points.
    {"surrogates_before_e000", R"({"\ue000":1,"\ud800\udc00":2,"\ud7ff":3,"\udbff\udfff":4})",
     "{\"\xed\x9f\xbf\":3,\"\xf0\x90\x80\x80\":2,\"\xf4\x8f\xbf\xbf\":4,\"\xee\x80\x80\":1}"},
    {"last_of_the_plane", R"({"\uffff":1,"\ud800\udc00":2})",
     "{\"\xf0\x90\x80\x80\":2,\"\xef\xbf\xbf\":1}"},
    {"escapes", R"("\b\t\n\f\r\"\\\/")", R"("\b\t\n\f\r\"\\/")"},
    {"controls", R"("\u0000\u0001\u001F\u007f")", "\"\\u0000\\u0001\\u001f\x7f\""},
    {"a_pair", R"("\uD83D\uDE00")", "\"\xf0\x9f\x98\x80\""},
    {"minus_zero", "[-0,-0.0,-0e5]", "[0,0,0]"},
    {"one", "[1,1.0,1e0,10e-1,0.1E+1]", "[1,1,1,1,1]"},
    {"plain_up_to_21_digits", "[1e20,1e21,123456789012345680000]",
     "[100000000000000000000,1e+21,123456789012345680000]"},
    {"plain_down_to_six_zeros", "[1e-6,1e-7,0.0000015,0.00000015]",
     "[0.000001,1e-7,0.0000015,1.5e-7]"},
    {"point_inside", "[123.456e1,-1.5e2]", "[1234.56,-150]"},
    {"whole_and_exact", "[9007199254740991,9007199254740992,-9007199254740992,9007199254740994]",
     "[9007199254740991,9007199254740992,-9007199254740992,9007199254740994]"},
    {"whole_in_other_words", "[9007199254740992.000,90071992547409.92e2,1e30,100e28]",
     "[9007199254740992,9007199254740992,1e+30,1e+30]"},
    {"fraction_rounded", "0.1000000000000000055511151231257827", "0.1"},
    {"fraction_to_nothing", "1e-400", "0"},
    {"zero_with_a_large_exponent", "0e99999999999999999999", "0"},
};

TEST(CanonicalJson, HasOneForm) {
  for (const auto& row : kForms) {
    EXPECT_EQ(CanonicalJson(row.text).value_or("refused"), row.canonical) << row.name;
    EXPECT_EQ(CanonicalJson(row.canonical).value_or("refused"), row.canonical) << row.name;
  }
}

const std::string kZero(1, '\0');

const struct {
  const char* name;
  std::string text;
  const char* why;
} kRefused[] = {
    {"empty", "", "the end of the text, too early, at byte 1"},
    {"spaces_only", "  ", "the end of the text, too early, at byte 3"},
    {"cut", R"({"a":)", "the end of the text, too early, at byte 6"},
    {"cut_string", R"(["a)", "the end of the text, too early, at byte 4"},
    {"two", "1 2", "what isn't JSON at byte 3"},
    {"comma", "[1,]", "what isn't JSON at byte 4"},
    {"comment", "[1 /* one */]", "what isn't JSON at byte 4"},
    {"single_quotes", "['a']", "what isn't JSON at byte 2"},
    {"leading_zero", "[01]", "what isn't JSON at byte 3"},
    {"plus", "+1", "what isn't JSON at byte 1"},
    {"no_digit_after_point", "[1.]", "what isn't JSON at byte 4"},
    {"control_character", "\"a\nb\"", "what isn't JSON at byte 3"},
    {"zero_byte_at_the_end", "{}" + kZero, "what isn't JSON at byte 3"},
    {"zero_byte_and_more", "{}" + kZero + "{}", "what isn't JSON at byte 3"},
    {"zero_byte_in_a_string", "\"" + kZero + "\"", "what isn't JSON at byte 2"},
    {"byte_order_mark", "\xef\xbb\xbf{}", "a byte order mark at byte 1"},
    {"nan", "[NaN]", "NaN or Infinity at byte 2"},
    {"infinity", "Infinity", "NaN or Infinity at byte 1"},
    {"minus_infinity", "[-Infinity]", "NaN or Infinity at byte 3"},
    {"overflow", "[1e309]", "a number that is too large for a double at byte 6"},
    {"overflow_in_digits", std::string(400, '9'), "too large for a double at byte 400"},
    {"name_twice", R"({"a":1,"b":2,"a":3})", "a member's name that is there twice at byte 16"},
    {"name_twice_in_other_words", R"({"a":1,"\u0061":1})", "there twice at byte 15"},
    {"name_twice_inside", R"([{"x":{"a":1,"a":1}}])", "there twice at byte 16"},
    {"not_utf8", "\"\xff\"", "bytes that aren't UTF-8 at byte 2"},
    {"overlong", "\"\xc0\xaf\"", "bytes that aren't UTF-8 at byte 2"},
    {"surrogate_in_utf8", "\"\xed\xa0\x80\"", "bytes that aren't UTF-8 at byte 3"},
    {"beyond_unicode", "\"\xf4\x90\x80\x80\"", "bytes that aren't UTF-8 at byte 3"},
    {"high_half", R"(["\ud800"])", "one half of a surrogate pair at byte 9"},
    {"high_half_twice", R"("\ud800\ud800")", "one half of a surrogate pair at byte 13"},
    {"low_half", R"("\udc00")", "one half of a surrogate pair at byte 7"},
    {"half_in_a_name", R"({"\udc00":1})", "one half of a surrogate pair at byte 8"},
    {"whole_beyond_doubles", "[9007199254740993]", "doubles don't tell from others at byte 17"},
    {"whole_at_the_end", "9007199254740993", "doubles don't tell from others at byte 16"},
    {"whole_negative", "-9007199254740993", "doubles don't tell from others at byte 17"},
    {"whole_of_64_bits", "18446744073709551615", "doubles don't tell from others at byte 20"},
    {"whole_of_more", "[123456789012345678901]", "doubles don't tell from others at byte 22"},
    {"whole_with_a_point", "9007199254740993.0", "doubles don't tell from others at byte 18"},
    {"whole_with_an_exponent", "900719925474099.3e1", "doubles don't tell from others at byte 19"},
    // A double holds it, but its canonical form is 1152921504606847000.
    {"whole_and_named_otherwise", "1152921504606846976", "doubles don't tell from others"},
};

TEST(CanonicalJson, RefusesByWhatAndWhere) {
  for (const auto& row : kRefused) {
    const absl::StatusOr<std::string> canonical = CanonicalJson(row.text);
    EXPECT_TRUE(absl::IsInvalidArgument(canonical.status())) << row.name;
    EXPECT_THAT(std::string(canonical.status().message()), HasSubstr(row.why)) << row.name;
  }
}

// What was read may be secret, and no UTF-8.
TEST(CanonicalJson, ShowsNothingOfTheText) {
  for (const char* text : {R"(["secret)", R"({"secret":1,"secret":2})", "\"secret\xff\"", "secret",
                           R"(["surrogate U+" ill-formed UTF-8)"}) {
    const absl::Status status = CanonicalJson(text).status();
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret"))) << status;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("surrogate"))) << status;
  }
}

std::string Nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(CanonicalJson, HasBounds) {
  EXPECT_EQ(CanonicalJson(Nested(kCanonicalJsonDepthMax)).value_or("refused"),
            Nested(kCanonicalJsonDepthMax));
  EXPECT_THAT(std::string(CanonicalJson(Nested(kCanonicalJsonDepthMax + 1)).status().message()),
              HasSubstr("more than 128 levels at byte 129"));
  std::string objects;
  for (std::size_t i = 0; i <= kCanonicalJsonDepthMax; ++i) objects += R"({"a":)";
  EXPECT_THAT(std::string(CanonicalJson(objects).status().message()),
              HasSubstr("more than 128 levels at byte 641"));
  EXPECT_TRUE(absl::IsInvalidArgument(CanonicalJson(std::string(3'000'000, '[')).status()));

  std::string text(kCanonicalJsonBytesMax, ' ');
  text[0] = '1';
  EXPECT_EQ(CanonicalJson(text).value_or("refused"), "1");
  text += ' ';
  EXPECT_THAT(std::string(CanonicalJson(text).status().message()),
              HasSubstr("more than 4194304 bytes"));
}

// The worst that fits: as many levels as there may be, each to be put in order, over and over.
TEST(CanonicalJson, PutsLargeOnesInOrder) {
  std::string inner = "{";
  for (int i = 100'000; i > 0; --i) absl::StrAppend(&inner, "\"", 100'000 + i, "\":", i, ",");
  inner.back() = '}';
  std::string text = inner;
  for (std::size_t i = 1; i < kCanonicalJsonDepthMax; ++i) {
    text = absl::StrCat(R"({"b":)", text, R"(,"a":1})");
  }
  const absl::StatusOr<std::string> canonical = CanonicalJson(text);
  ASSERT_TRUE(canonical.ok()) << canonical.status();
  EXPECT_EQ(canonical->size(), text.size());
  EXPECT_TRUE(canonical->starts_with(R"({"a":1,"b":{"a":1,)"));
  EXPECT_THAT(*canonical, HasSubstr(R"({"100001":1,"100002":2,)"));
}

// ---- Random documents ----

using Random = std::mt19937_64;

std::uint64_t Seed() {
  const char* given = std::getenv("ONCED_TEST_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("ONCED_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

std::size_t Below(Random& random, std::size_t bound) { return random() % bound; }

constexpr char32_t kCodePoints[] = {0,      1,      '\n',   '"',     '\\',    '/',
                                    'a',    'b',    0x7f,   0x80,    0x7ff,   0x800,
                                    0xd7ff, 0xe000, 0xffff, 0x10000, 0x1f600, 0x10ffff};

void AppendUtf8(char32_t point, std::string& text) {
  const auto byte = [&](char32_t bits) { text += static_cast<char>(bits); };
  const auto rest = [&](int shift) { byte(0x80 | (point >> shift & 0x3f)); };
  if (point < 0x80) return byte(point);
  if (point < 0x800) return byte(0xc0 | point >> 6), rest(0);
  if (point < 0x10000) return byte(0xe0 | point >> 12), rest(6), rest(0);
  byte(0xf0 | point >> 18), rest(12), rest(6), rest(0);
}

std::string AnyText(Random& random) {
  std::string text;
  for (std::size_t i = Below(random, 4); i > 0; --i) {
    AppendUtf8(kCodePoints[Below(random, std::size(kCodePoints))], text);
  }
  return text;
}

double AnyDouble(Random& random) {
  const double value = std::bit_cast<double>(random());
  if (!std::isfinite(value)) return 0.25;
  return Below(random, 2) == 0 ? value : std::trunc(std::fmod(value, 1e6) * 100) / 100;
}

nlohmann::json AnyDocument(Random& random, int depth) {
  const std::size_t kind = Below(random, depth > 0 ? 8 : 6);
  switch (kind) {
    case 0:
      return nullptr;
    case 1:
      return Below(random, 2) == 0;
    case 2:
      return AnyText(random);
    case 3:
    case 4:
      return AnyDouble(random);
    case 5:
      return static_cast<std::int64_t>(random() % (std::uint64_t{1} << 54)) -
             (std::int64_t{1} << 53);
    case 6: {
      nlohmann::json array = nlohmann::json::array();
      for (std::size_t i = Below(random, 5); i > 0; --i) {
        array.push_back(AnyDocument(random, depth - 1));
      }
      return array;
    }
    default: {
      nlohmann::json object = nlohmann::json::object();
      for (std::size_t i = Below(random, 6); i > 0; --i) {
        object[AnyText(random)] = AnyDocument(random, depth - 1);
      }
      return object;
    }
  }
}

std::string AnySpace(Random& random) {
  std::string space;
  for (std::size_t i = Below(random, 3); i > 0; --i) space += " \t\r\n"[Below(random, 4)];
  return space;
}

// The same text, each character written in one of its ways.
std::string Written(const std::string& text, Random& random) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool must = byte < 0x20 || byte == '"' || byte == '\\';
    if (must || (byte < 0x80 && Below(random, 3) == 0)) {
      absl::StrAppend(&out, Below(random, 2) == 0 ? absl::StrFormat("\\u%04x", byte)
                                                  : absl::StrFormat("\\u%04X", byte));
    } else {
      out += text[i];
    }
  }
  return out + '"';
}

std::string Written(double value, Random& random) {
  switch (Below(random, 3)) {
    case 0:  // More digits than there are: of whole numbers from there on, others' digits.
      return std::fabs(value) < 0x1p53 ? absl::StrFormat("%.17g", value) : EsNumber(value);
    case 1:
      return EsNumber(value);
    default: {  // As digits and an exponent.
      const Decimal decimal = ShortestDecimal(value);
      const std::string digits = decimal.digits.empty() ? "0" : decimal.digits;
      return absl::StrCat(value < 0 ? "-" : "", digits, Below(random, 2) == 0 ? "e" : "E",
                          decimal.point - static_cast<int>(decimal.digits.size()));
    }
  }
}

// The same document: members in any order, spaces anywhere.
std::string Written(const nlohmann::json& document, Random& random) {
  std::vector<std::string> parts;
  const auto spaced = [&](const std::string& text) {
    return absl::StrCat(AnySpace(random), text, AnySpace(random));
  };
  if (document.is_string()) return spaced(Written(document.get<std::string>(), random));
  if (document.is_number_float()) return spaced(Written(document.get<double>(), random));
  if (document.is_array()) {
    for (const auto& element : document) parts.push_back(Written(element, random));
  } else if (document.is_object()) {
    for (const auto& [name, value] : document.items()) {
      parts.push_back(absl::StrCat(spaced(Written(name, random)), ":", Written(value, random)));
    }
    std::shuffle(parts.begin(), parts.end(), random);
  } else {
    return spaced(document.dump());
  }
  std::string text = document.is_array() ? "[" : "{";
  for (std::size_t i = 0; i < parts.size(); ++i) absl::StrAppend(&text, i > 0 ? "," : "", parts[i]);
  if (parts.empty()) text += AnySpace(random);
  return spaced(text + (document.is_array() ? ']' : '}'));
}

TEST(CanonicalJson, IsTheSameOfTheSame) {
  Random random(Seed());
  for (int i = 0; i < 3'000; ++i) {
    SCOPED_TRACE(i);
    const nlohmann::json document = AnyDocument(random, 5);
    const std::string text = Written(document, random);
    const absl::StatusOr<std::string> canonical = CanonicalJson(text);
    ASSERT_TRUE(canonical.ok()) << canonical.status() << "\n" << text;
    ASSERT_EQ(CanonicalJson(Written(document, random)).value_or("refused"), *canonical) << text;
    ASSERT_EQ(CanonicalJson(*canonical).value_or("refused"), *canonical);
    // And it means the same.
    ASSERT_EQ(nlohmann::json::parse(*canonical), document) << text;
  }
}

// The shortest is read as the same double, and no shorter one is.
TEST(EsNumber, IsReadAsTheSame) {
  Random random(Seed());
  for (int i = 0; i < 20'000; ++i) {
    const double value = AnyDouble(random);
    const std::string text = EsNumber(value);
    ASSERT_EQ(std::strtod(text.c_str(), nullptr), value) << text;
    ASSERT_EQ(CanonicalJson(text).value_or("refused"), text);
  }
}

}  // namespace
}  // namespace onced::client
