// Rows from the text of W3C Trace Context, level 1: sections 3.2 and 3.3.
#include "server/base/trace_context.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace onced {
namespace {

const std::string kTrace = "0af7651916cd43dd8448eb211c80319c";
const std::string kParent = "b7ad6b7169203331";
const std::string kGood = "00-" + kTrace + "-" + kParent + "-01";

enum class Want { kNothing, kSampled, kUnsampled };

const struct {
  const char* name;
  std::string text;
  Want want;
} kTraceparents[] = {
    {"sampled", kGood, Want::kSampled},
    {"not_sampled", "00-" + kTrace + "-" + kParent + "-00", Want::kUnsampled},
    {"other_flags_and_sampled", "00-" + kTrace + "-" + kParent + "-ff", Want::kSampled},
    {"other_flags_alone", "00-" + kTrace + "-" + kParent + "-fe", Want::kUnsampled},
    {"level_2_random_flag", "00-" + kTrace + "-" + kParent + "-03", Want::kSampled},
    {"empty", "", Want::kNothing},
    {"version_ff", "ff-" + kTrace + "-" + kParent + "-01", Want::kNothing},
    {"version_ff_longer", "ff-" + kTrace + "-" + kParent + "-01-x", Want::kNothing},
    {"later_version", "cc-" + kTrace + "-" + kParent + "-01", Want::kSampled},
    {"later_version_with_more", "cc-" + kTrace + "-" + kParent + "-01-what-the-future-will-be",
     Want::kSampled},
    {"later_version_with_a_dash", "cc-" + kTrace + "-" + kParent + "-01-", Want::kSampled},
    {"later_version_without_a_dash", "cc-" + kTrace + "-" + kParent + "-01.what", Want::kNothing},
    {"later_version_not_sampled", "01-" + kTrace + "-" + kParent + "-00-x", Want::kUnsampled},
    {"version_00_with_more", kGood + "-what-the-future-will-not-be", Want::kNothing},
    {"version_00_with_a_dash", kGood + "-", Want::kNothing},
    {"version_upper_case", "CC-" + kTrace + "-" + kParent + "-01", Want::kNothing},
    {"version_no_digits", ".0-" + kTrace + "-" + kParent + "-01", Want::kNothing},
    {"version_short", "0-" + kTrace + "-" + kParent + "-01", Want::kNothing},
    {"trace_id_zero", "00-00000000000000000000000000000000-" + kParent + "-01", Want::kNothing},
    {"trace_id_upper_case", "00-0AF7651916CD43DD8448EB211C80319C-" + kParent + "-01",
     Want::kNothing},
    {"trace_id_one_upper_case", "00-0af7651916cd43dD8448eb211c80319c-" + kParent + "-01",
     Want::kNothing},
    {"trace_id_no_digits", "00-.af7651916cd43dd8448eb211c80319c-" + kParent + "-01",
     Want::kNothing},
    {"trace_id_short", "00-af7651916cd43dd8448eb211c80319c-" + kParent + "-01", Want::kNothing},
    {"trace_id_long", "00-00af7651916cd43dd8448eb211c80319c-" + kParent + "-01", Want::kNothing},
    {"parent_id_zero", "00-" + kTrace + "-0000000000000000-01", Want::kNothing},
    {"parent_id_upper_case", "00-" + kTrace + "-B7AD6B7169203331-01", Want::kNothing},
    {"parent_id_no_digits", "00-" + kTrace + "-b7ad6b716920333g-01", Want::kNothing},
    {"parent_id_short", "00-" + kTrace + "-b7ad6b716920333-01", Want::kNothing},
    {"flags_no_digits", "00-" + kTrace + "-" + kParent + "-.0", Want::kNothing},
    {"flags_upper_case", "00-" + kTrace + "-" + kParent + "-0A", Want::kNothing},
    {"flags_short", "00-" + kTrace + "-" + kParent + "-1", Want::kNothing},
    {"flags_missing", "00-" + kTrace + "-" + kParent, Want::kNothing},
    {"underscores", "00_" + kTrace + "_" + kParent + "_01", Want::kNothing},
    {"space_before", " " + kGood, Want::kNothing},
    {"space_behind", kGood + " ", Want::kNothing},
};

TEST(ParseTraceparent, FollowsTheSpecification) {
  for (const auto& row : kTraceparents) {
    const auto got = ParseTraceparent(row.text);
    EXPECT_EQ(got.has_value(), row.want != Want::kNothing) << row.name;
    if (!got.has_value()) continue;
    EXPECT_EQ(got->sampled, row.want == Want::kSampled) << row.name;
    EXPECT_EQ(got->parent.trace_id[0], 0x0a) << row.name;
    EXPECT_EQ(got->parent.trace_id[15], 0x9c) << row.name;
    EXPECT_EQ(got->parent.span_id[0], 0xb7) << row.name;
    EXPECT_EQ(got->parent.span_id[7], 0x31) << row.name;
  }
}

TEST(ParseTraceparent, RefusesEveryTruncation) {
  for (std::size_t n = 0; n < kGood.size(); ++n) {
    EXPECT_FALSE(ParseTraceparent(kGood.substr(0, n)).has_value()) << n;
  }
}

// The specification's own example, and its rules.
const struct {
  const char* name;
  std::string text;
  bool good;
} kTracestates[] = {
    {"one", "congo=t61rcWkgMzE", true},
    {"two", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", true},
    {"spaces_around", "rojo=00f067aa0ba902b7 , \tcongo=t61rcWkgMzE", true},
    {"empty_members", "rojo=1,,congo=2,", true},
    {"nothing", "", false},
    {"only_empty_members", ",,", false},
    {"tenant", "fw529a3039@dt=FfAAAAYfAAAABQ", true},
    {"tenant_begins_with_a_digit", "1a@dt=x", true},
    {"key_begins_with_a_digit", "1a=x", false},
    {"system_begins_with_a_digit", "a@1dt=x", false},
    {"no_system", "a@=x", false},
    {"no_tenant", "@dt=x", false},
    {"two_ats", "a@b@c=x", false},
    {"key_characters", "a_-*/9=x", true},
    {"key_upper_case", "Rojo=x", false},
    {"key_space", "ro jo=x", false},
    {"key_empty", "=x", false},
    {"key_longest", std::string(256, 'k') + "=x", true},
    {"key_too_long", std::string(257, 'k') + "=x", false},
    {"tenant_longest", std::string(241, 'k') + "@dt=x", true},
    {"tenant_too_long", std::string(242, 'k') + "@dt=x", false},
    {"system_longest", "k@" + std::string(14, 's') + "=x", true},
    {"system_too_long", "k@" + std::string(15, 's') + "=x", false},
    {"value_with_spaces", "a=x y", true},
    {"value_with_an_equals_sign", "a=x=y", false},
    {"value_empty", "a=", false},
    {"value_longest", "a=" + std::string(256, 'v'), true},
    {"value_too_long", "a=" + std::string(257, 'v'), false},
    {"value_control_character", "a=x\x01y", false},
    {"value_not_ascii", "a=\xc3\xa9", false},
    {"no_equals_sign", "a", false},
    {"a_key_twice", "a=1,b=2,a=3", false},
    {"longer_than_512", "a=" + std::string(256, 'v') + ",b=" + std::string(256, 'v'), false},
};

TEST(IsTracestate, FollowsTheSpecification) {
  for (const auto& row : kTracestates) EXPECT_EQ(IsTracestate(row.text), row.good) << row.name;
}

TEST(IsTracestate, HasAtMost32Members) {
  std::string text = "k0=v";
  for (int i = 1; i < 32; ++i) absl::StrAppend(&text, ",k", i, "=v");
  EXPECT_TRUE(IsTracestate(text));
  EXPECT_FALSE(IsTracestate(text + ",k32=v"));
}

}  // namespace
}  // namespace onced
