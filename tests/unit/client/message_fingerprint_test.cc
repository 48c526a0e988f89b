#include "client/cpp/message_fingerprint.h"

#include <functional>

#include "charges.pb.h"
#include "client/cpp/fingerprint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onced::client {
namespace {

using test::charges::ChargeRequest;
using test::charges::Item;
using test::charges::Meta;
using test::charges::NewerRequest;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

std::string Of(const google::protobuf::Message& message,
               const std::vector<std::string>& excluded = {}) {
  const absl::StatusOr<std::string> fingerprint = MessageFingerprint(message, excluded);
  EXPECT_TRUE(fingerprint.ok()) << fingerprint.status();
  return fingerprint.value_or("");
}

// With something in every field.
ChargeRequest Full() {
  ChargeRequest request;
  request.set_order("order-1");
  request.set_cents(1999);
  request.mutable_meta()->set_trace_id("t1");
  request.mutable_meta()->set_tenant("acme");
  for (const char* name : {"shoe", "lace"}) {
    Item& item = *request.add_items();
    item.set_name(name);
    item.mutable_meta()->set_trace_id("t2");
  }
  (*request.mutable_labels())["colour"] = "red";
  for (const int hop : {1, 2}) {
    (*request.mutable_hops())[hop].set_trace_id("t3");
    (*request.mutable_hops())[hop].mutable_parent()->set_trace_id("t4");
  }
  request.mutable_agent()->set_tenant("agency");
  return request;
}

TEST(MessageFingerprint, IsOverTypeAndBytes) {
  const Meta meta = Full().meta();
  EXPECT_EQ(Of(meta), Fingerprint({"onced.test.charges.Meta", meta.SerializeAsString()}));
  EXPECT_THAT(Of(Full()), MatchesRegex("sha256:[0-9a-f]{64}"));
  // Messages of two types with the same bytes.
  Item item;
  item.set_name("t1");
  Meta other;
  other.set_trace_id("t1");
  ASSERT_EQ(item.SerializeAsString(), other.SerializeAsString());
  EXPECT_NE(Of(item), Of(other));
}

// Stored keys have it: it may not change.
TEST(MessageFingerprint, StaysAsItIs) {
  EXPECT_EQ(Of(Full(), {"meta.trace_id"}),
            "sha256:6795f4e3b83c37f8238a1b9da1216e4c1bb131a1138dba885c21861b018f96bf");
}

TEST(MessageFingerprint, TakesMapsInAnyOrder) {
  constexpr int kEntries = 200;
  ChargeRequest up;
  ChargeRequest down;
  for (int i = 0; i < kEntries; ++i) {
    (*up.mutable_labels())["label " + std::to_string(i)] = "x";
    const int back = kEntries - 1 - i;
    (*down.mutable_labels())["label " + std::to_string(back)] = "x";
    (*up.mutable_hops())[i].set_tenant("acme");
    (*down.mutable_hops())[back].set_tenant("acme");
  }
  EXPECT_EQ(Of(up), Of(down));
  EXPECT_EQ(Of(up, {"hops.trace_id"}), Of(down, {"hops.trace_id"}));
  (*down.mutable_labels())["label 7"] = "y";
  EXPECT_NE(Of(up), Of(down));
}

// ---- Excluded fields ----

const struct {
  const char* path;
  std::function<void(ChargeRequest&)> change;  // Of what the path names, and nothing else.
} kPaths[] = {
    {"order", [](auto& r) { r.set_order("another"); }},
    {"cents", [](auto& r) { r.clear_cents(); }},
    {"meta", [](auto& r) { r.clear_meta(); }},
    {"meta.trace_id", [](auto& r) { r.mutable_meta()->set_trace_id("x"); }},
    {"meta.parent", [](auto& r) { r.mutable_meta()->mutable_parent(); }},
    {"items", [](auto& r) { r.add_items(); }},
    {"items.name", [](auto& r) { r.mutable_items(1)->set_name("x"); }},
    {"items.meta.trace_id", [](auto& r) { r.mutable_items(0)->mutable_meta()->set_trace_id("x"); }},
    {"labels", [](auto& r) { (*r.mutable_labels())["size"] = "42"; }},
    {"hops", [](auto& r) { r.mutable_hops()->erase(1); }},
    {"hops.trace_id", [](auto& r) { (*r.mutable_hops())[2].set_trace_id("x"); }},
    {"hops.parent.trace_id",
     [](auto& r) { (*r.mutable_hops())[1].mutable_parent()->set_trace_id("x"); }},
    {"agent.tenant", [](auto& r) { r.mutable_agent()->set_tenant("x"); }},
};

TEST(MessageFingerprint, LeavesOutWhatIsExcludedAndNothingElse) {
  for (const auto& row : kPaths) {
    ChargeRequest changed = Full();
    row.change(changed);
    EXPECT_NE(Of(Full()), Of(changed)) << row.path;
    EXPECT_EQ(Of(Full(), {row.path}), Of(changed, {row.path})) << row.path;
    for (const auto& other : kPaths) {
      // Unless the one lies in the other.
      const std::string inner = std::string(row.path) + ".";
      const std::string outer = std::string(other.path) + ".";
      if (inner.rfind(outer, 0) == 0) continue;
      EXPECT_NE(Of(Full(), {other.path}), Of(changed, {other.path}))
          << row.path << " is not " << other.path;
    }
  }
}

TEST(MessageFingerprint, LeavesOutManyAtOnce) {
  ChargeRequest changed = Full();
  std::vector<std::string> paths;
  for (const auto& row : kPaths) {
    row.change(changed);
    paths.push_back(row.path);
  }
  EXPECT_EQ(Of(Full(), paths), Of(changed, paths));
}

TEST(MessageFingerprint, MakesNothingThatIsNotThere) {
  ChargeRequest request;
  request.set_order("order-1");
  request.add_items();
  EXPECT_EQ(Of(request, {"meta.trace_id", "items.meta.trace_id", "agent.tenant", "hops.tenant"}),
            Of(request));
  request.mutable_meta();
  EXPECT_NE(Of(request), Of(ChargeRequest(Full()))) << "there but empty";
}

TEST(MessageFingerprint, LeavesTheMessageAlone) {
  const ChargeRequest request = Full();
  const std::string before = Of(request);
  (void)Of(request, {"meta", "hops.trace_id", "items.name"});
  EXPECT_EQ(Of(request), before);
}

TEST(MessageFingerprint, NamesThePathThatIsNotThere) {
  for (const char* path : {"",
                           ".",
                           "nope",
                           "Order",
                           "order ",
                           "meta.",
                           ".meta",
                           "meta..trace_id",
                           "meta.nope",
                           "cents.x",
                           "order.x",
                           "labels.x",
                           "labels.value",
                           "hops.key",
                           "hops.value",
                           "hops.1",
                           "items.0.name",
                           "meta.trace_id.x",
                           "payer",
                           "items.meta.parent.parent.nope"}) {
    const absl::Status status = MessageFingerprint(Full(), {"order", path}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << path;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("\"" + std::string(path) + "\""),
                      HasSubstr("onced.test.charges.ChargeRequest")));
  }
}

// ---- Unknown fields ----

ChargeRequest AsOlder(const std::string& bytes) {
  ChargeRequest older;
  EXPECT_TRUE(older.ParseFromString(bytes));
  return older;
}

std::string Currency(const char* value) {
  NewerRequest newer;
  newer.set_currency(value);
  return newer.SerializeAsString();
}

std::string Coupon(const char* value) {
  NewerRequest newer;
  newer.set_coupon(value);
  return newer.SerializeAsString();
}

TEST(MessageFingerprint, TakesUnknownFieldsAsPartOfIt) {
  const std::string euro = Currency("EUR");
  const std::string krone = Currency("DKK");
  const std::string spring = Coupon("spring");
  const std::string none = Of(AsOlder(""));
  EXPECT_NE(Of(AsOlder(euro)), none);
  EXPECT_NE(Of(AsOlder(euro)), Of(AsOlder(krone)));
  EXPECT_EQ(Of(AsOlder(euro + spring)), Of(AsOlder(euro + spring)));
  // As the header says.
  EXPECT_NE(Of(AsOlder(euro + spring)), Of(AsOlder(spring + euro)));
  // Those inside a field that is excluded go with it.
  ChargeRequest inside;
  inside.mutable_meta()->ParseFromString(euro);
  ChargeRequest other;
  other.mutable_meta()->ParseFromString(krone);
  EXPECT_NE(Of(inside), Of(other));
  EXPECT_EQ(Of(inside, {"meta"}), Of(other, {"meta"}));
}

}  // namespace
}  // namespace onced::client
