#include "client/cpp/automatic_key.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onced::client {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const absl::Time kNoon = absl::FromUnixSeconds(1'700'006'400);  // A bucket's edge.

Intent Payment() {
  return {.mode = KeyMode::kLive,
          .scope = "acme/17",
          .fields = {{"order", "1"}, {"cents", "1999"}},
          .bucket = absl::Minutes(1)};
}

std::string KeyOf(const Intent& intent, absl::Time time = kNoon) {
  const absl::StatusOr<AutomaticKey> key = AutomaticKey::Of(intent, time);
  return key.ok() ? key->text() : std::string(key.status().message());
}

template <typename Change>
Intent Changed(Change change) {
  Intent intent = Payment();
  change(intent);
  return intent;
}

// Made by another implementation: it is stable, or a retry across an upgrade is another execution.
TEST(AutomaticKey, HasKnownValues) {
  EXPECT_EQ(KeyOf(Payment()),
            "auto-live-1d62c9be355a0aadad18cdb9ac840f5b715c59a6ec6217c47551e36e2fc80be2");
  EXPECT_EQ(KeyOf({.mode = KeyMode::kTest,
                   .scope = "ä",
                   .fields = {{"b", std::string("\0:", 2)}, {"a", ""}},
                   .bucket = absl::Milliseconds(1500)},
                  absl::UnixEpoch()),
            "auto-test-aebc652fa3880880e80d5361dbfb639427050cd27a56a28b3851cf42f4a90be8");
}

// docs/client.md shows these lines.
TEST(AutomaticKey, IsMadeAsThePageSays) {
  namespace oc = onced::client;
  const std::string account = "acme/17";
  const std::string order = "1";
  const std::string cents = "1999";
  const absl::Time received_time = kNoon + absl::Seconds(1);
  const absl::StatusOr<oc::AutomaticKey> key =
      oc::AutomaticKey::Of({.mode = oc::KeyMode::kLive,  // Live and test never share a key.
                            .scope = account,
                            .fields = {{"order", order}, {"cents", cents}},
                            .bucket = absl::Minutes(5)},
                           received_time);
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_THAT(key->text(), StartsWith("auto-live-"));
}

TEST(AutomaticKey, IsOneWithinABucket) {
  const std::string key = KeyOf(Payment());
  EXPECT_EQ(KeyOf(Payment(), kNoon + absl::Seconds(60) - absl::Nanoseconds(1)), key);
  EXPECT_NE(KeyOf(Payment(), kNoon + absl::Seconds(60)), key);
  // The gap: a moment before the edge and at it.
  EXPECT_NE(KeyOf(Payment(), kNoon - absl::Nanoseconds(1)), key);
  EXPECT_EQ(KeyOf(Payment(), kNoon - absl::Nanoseconds(1)),
            KeyOf(Payment(), kNoon - absl::Seconds(60)));
}

TEST(AutomaticKey, IsOneInAnyOrder) {
  EXPECT_EQ(KeyOf(Changed([](Intent& it) { std::swap(it.fields[0], it.fields[1]); })),
            KeyOf(Payment()));
}

using Fields = std::vector<std::pair<std::string, std::string>>;

// Each row is another intent, so has another key.
const struct {
  const char* name;
  Intent intent;
} kDifferent[] = {
    {"as_it_is", Payment()},
    {"mode", Changed([](Intent& it) { it.mode = KeyMode::kTest; })},
    {"scope", Changed([](Intent& it) { it.scope = "acme/18"; })},
    {"bucket", Changed([](Intent& it) { it.bucket = absl::Minutes(2); })},
    {"value", Changed([](Intent& it) { it.fields[1].second = "2999"; })},
    {"name", Changed([](Intent& it) { it.fields[1].first = "euros"; })},
    {"a_field_more", Changed([](Intent& it) {
       it.fields.push_back({"a", ""});
     })},
    {"a_field_less", Changed([](Intent& it) { it.fields.pop_back(); })},
    // The same bytes in a row, cut elsewhere.
    {"scope_takes_of_name", Changed([](Intent& it) {
       it.scope = "acme/17c";
       it.fields[1].first = "ents";
     })},
    {"names_and_values_1", Changed([](Intent& it) {
       it.fields = Fields{{"ab", "c"}};
     })},
    {"names_and_values_2", Changed([](Intent& it) {
       it.fields = Fields{{"a", "bc"}};
     })},
    {"names_and_values_3", Changed([](Intent& it) {
       it.fields = Fields{{"abc", ""}};
     })},
    {"names_and_values_4", Changed([](Intent& it) {
       it.fields = Fields{{"a", ""}, {"b", "c"}};
     })},
    {"names_and_values_5", Changed([](Intent& it) {
       it.fields = Fields{{"a", "b"}, {"c", ""}};
     })},
    {"value_like_a_field", Changed([](Intent& it) {
       it.fields = Fields{{"a", "1:b1:c"}};
     })},
    {"swapped", Changed([](Intent& it) {
       it.fields = Fields{{"a", "1"}, {"b", "2"}};
     })},
    {"swapped_back", Changed([](Intent& it) {
       it.fields = Fields{{"a", "2"}, {"b", "1"}};
     })},
};

TEST(AutomaticKey, DiffersWhereTheIntentDoes) {
  std::map<std::string, std::string> seen;
  for (const auto& row : kDifferent) {
    const std::string key = KeyOf(row.intent);
    const auto [there, is_new] = seen.emplace(key, row.name);
    EXPECT_TRUE(is_new) << row.name << " and " << there->second;
    EXPECT_TRUE(AutomaticKey::Kept(row.intent.mode, key).ok()) << row.name << ": " << key;
  }
}

TEST(AutomaticKey, OfLiveAndTestCanBeTold) {
  EXPECT_THAT(KeyOf(Payment()), StartsWith("auto-live-"));
  EXPECT_THAT(KeyOf(Changed([](Intent& it) { it.mode = KeyMode::kTest; })),
              StartsWith("auto-test-"));
  // And not by their beginnings alone.
  EXPECT_NE(KeyOf(Payment()).substr(10),
            KeyOf(Changed([](Intent& it) { it.mode = KeyMode::kTest; })).substr(10));
}

Fields Many(int count) {
  Fields fields;
  for (int i = 0; i < count; ++i) fields.emplace_back(absl::StrCat("f", i), "");
  return fields;
}

const struct {
  const char* name;
  Intent intent;
  absl::Time time;
  const char* why;  // "": taken.
} kBounds[] = {
    {"no_mode", Changed([](Intent& it) { it.mode = KeyMode::kUnset; }), kNoon, "mode: kLive or"},
    {"other_mode", Changed([](Intent& it) { it.mode = static_cast<KeyMode>(9); }), kNoon, "mode: "},
    {"no_scope", Changed([](Intent& it) { it.scope = ""; }), kNoon, "scope: has 1 to 256"},
    {"long_scope", Changed([](Intent& it) { it.scope.assign(256, 'x'); }), kNoon, ""},
    {"longer_scope", Changed([](Intent& it) { it.scope.assign(257, 'x'); }), kNoon, "scope: "},
    {"no_fields", Changed([](Intent& it) { it.fields = {}; }), kNoon, "fields: there have to be 1"},
    {"many_fields", Changed([](Intent& it) { it.fields = Many(64); }), kNoon, ""},
    {"more_fields", Changed([](Intent& it) { it.fields = Many(65); }), kNoon, "to 64"},
    {"no_name", Changed([](Intent& it) { it.fields[0].first = ""; }), kNoon, "a name has 1 to 128"},
    {"long_name", Changed([](Intent& it) { it.fields[0].first.assign(128, 'x'); }), kNoon, ""},
    {"longer_name", Changed([](Intent& it) { it.fields[0].first.assign(129, 'x'); }), kNoon,
     "a name has 1 to 128"},
    {"no_value", Changed([](Intent& it) { it.fields[0].second = ""; }), kNoon, ""},
    {"long_value", Changed([](Intent& it) { it.fields[0].second.assign(65'536, 'x'); }), kNoon, ""},
    {"longer_value", Changed([](Intent& it) { it.fields[0].second.assign(65'537, 'x'); }), kNoon,
     "fields: order: a value has up to 65536"},
    {"name_twice", Changed([](Intent& it) { it.fields[0].first = "cents"; }), kNoon,
     "fields: cents: is there twice"},
    {"no_bucket", Changed([](Intent& it) { it.bucket = {}; }), kNoon,
     "bucket: has to be 1s to 24h"},
    {"short_bucket", Changed([](Intent& it) { it.bucket = absl::Seconds(1); }), kNoon, ""},
    {"shorter_bucket", Changed([](Intent& it) { it.bucket = absl::Milliseconds(999); }), kNoon,
     "bucket: "},
    {"long_bucket", Changed([](Intent& it) { it.bucket = absl::Hours(24); }), kNoon, ""},
    {"longer_bucket", Changed([](Intent& it) { it.bucket += absl::Hours(24); }), kNoon, "bucket: "},
    {"endless_bucket", Changed([](Intent& it) { it.bucket = absl::InfiniteDuration(); }), kNoon,
     "bucket: "},
    {"uneven_bucket", Changed([](Intent& it) { it.bucket += absl::Microseconds(1); }), kNoon,
     "in whole milliseconds"},
    {"epoch", Payment(), absl::UnixEpoch(), ""},
    {"before", Payment(), absl::UnixEpoch() - absl::Nanoseconds(1), "intent_time: "},
    {"never", Payment(), absl::InfiniteFuture(), "intent_time: "},
    {"ever", Payment(), absl::InfinitePast(), "intent_time: "},
};

TEST(AutomaticKey, NamesTheFieldAndItsBound) {
  for (const auto& row : kBounds) {
    const absl::Status status = AutomaticKey::Of(row.intent, row.time).status();
    if (std::string(row.why).empty()) {
      EXPECT_TRUE(status.ok()) << row.name << ": " << status;
      continue;
    }
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << row.name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.why)) << row.name;
  }
}

TEST(AutomaticKey, IsKept) {
  const absl::StatusOr<AutomaticKey> key = AutomaticKey::Of(Payment(), kNoon);
  ASSERT_TRUE(key.ok());
  const absl::StatusOr<AutomaticKey> kept = AutomaticKey::Kept(KeyMode::kLive, key->text());
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(*kept, *key);
}

TEST(AutomaticKey, IsKeptAsItWas) {
  const std::string text = KeyOf(Payment());
  const struct {
    const char* name;
    KeyMode mode;
    std::string text;
    const char* why;
  } kRows[] = {
      {"other_mode", KeyMode::kTest, text, "doesn't begin with auto-test-"},
      {"no_mode", KeyMode::kUnset, text, "mode: "},
      {"nothing", KeyMode::kLive, "", "doesn't begin with auto-live-"},
      {"cut", KeyMode::kLive, text.substr(0, text.size() - 1), "64 hexadecimal digits"},
      {"longer", KeyMode::kLive, text + "0", "64 hexadecimal digits"},
      {"another_digit", KeyMode::kLive, text.substr(0, text.size() - 1) + "G", "64 hexadecimal"},
  };
  for (const auto& row : kRows) {
    const absl::Status status = AutomaticKey::Kept(row.mode, row.text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << row.name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.why)) << row.name;
  }
}

}  // namespace
}  // namespace onced::client
