// Every limit of section 5 of docs/protocol.md, at its bound and one beyond.
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/api.h"
#include "tests/integration/server_process.h"

namespace onced::integration {
namespace {

using testing::_;
using testing::ElementsAre;
using testing::Pair;

constexpr std::int64_t kDurationMax = 315'576'000'000;  // Seconds, by duration.proto.

class Limits : public testing::Test {
 protected:
  ServerProcess server_;
  Api api_{server_.Connect()};
};

std::string Repeat(const std::string& text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

void Set(google::protobuf::Duration& to, std::int64_t seconds, std::int32_t nanos) {
  to.set_seconds(seconds);
  to.set_nanos(nanos);
}

template <typename Message>
struct Row {
  const char* name;
  std::function<void(Message&)> change;
  const char* refused = "";  // The field; empty: the request is good.
};

// Sends each; `send` makes the call and `good` is what each row changes.
template <typename Message, typename Send>
void Try(const std::vector<Row<Message>>& rows, const std::function<Message()>& good, Send send) {
  for (const Row<Message>& row : rows) {
    SCOPED_TRACE(row.name);
    Message request = good();
    row.change(request);
    const grpc::Status status = send(request);
    if (*row.refused == '\0') {
      EXPECT_TRUE(status.ok()) << testing::PrintToString(ErrorOf(status));
      continue;
    }
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
    EXPECT_THAT(ErrorOf(status).violations, ElementsAre(Pair(row.refused, _)));
  }
}

TEST_F(Limits, Reserve) {
  using M = v1::ReserveRequest;
  const auto key = [](std::string text) { return [=](M& m) { m.set_key(text); }; };
  const auto name = [](std::string text) { return [=](M& m) { m.set_namespace_(text); }; };
  const auto lease = [](std::int64_t seconds, std::int32_t nanos) {
    return [=](M& m) { Set(*m.mutable_lease_ttl(), seconds, nanos); };
  };
  const auto wait = [](std::int64_t seconds, std::int32_t nanos) {
    return [=](M& m) { Set(*m.mutable_wait_timeout(), seconds, nanos); };
  };
  int next = 0;
  Try<M>(
      {
          {"namespace of 1 byte", name("n")},
          {"namespace of 64 bytes", name(std::string(64, 'n'))},
          {"namespace of 65 bytes", name(std::string(65, 'n')), "namespace"},
          {"namespace empty", name(""), "namespace"},
          {"namespace of all characters", name("9Az._-")},
          {"namespace first ._-", name("_a"), "namespace"},
          {"namespace with a slash", name("a/b"), "namespace"},
          {"namespace with a letter of another alphabet", name("naïve"), "namespace"},
          {"key of 1 byte", key("1")},
          {"key of 256 bytes", key(std::string(256, 'k'))},
          {"key of 257 bytes", key(std::string(257, 'k')), "key"},
          {"key empty", key(""), "key"},
          {"key of 256 bytes in characters of 2", key(Repeat("ß", 128))},
          {"key of 257 bytes in characters of 2", key(Repeat("ß", 128) + "s"), "key"},
          {"key of 256 bytes in characters of 3", key(Repeat("鍵", 85) + "k")},
          {"key of 258 bytes in characters of 3", key(Repeat("鍵", 86)), "key"},
          {"key of 256 bytes in characters of 4", key(Repeat("🗝", 64))},
          {"key of 257 bytes in characters of 4", key(Repeat("🗝", 64) + "k"), "key"},
          {"key with U+0000", key(std::string("a\0b", 3)), "key"},
          {"key with a newline", key("a\n"), "key"},
          {"key with U+001F", key("\x1f"), "key"},
          {"key with U+007F", key("a\x7f"), "key"},
          {"key with U+0080", key("\xc2\x80"), "key"},
          {"key with U+0085", key("a\xc2\x85"), "key"},
          {"key with U+009F", key("\xc2\x9f"), "key"},
          {"key with U+00A0", key("\xc2\xa0")},
          {"key with quotes, spaces and slashes", key(" \"'\\/%00 ")},
          {"fingerprint of 128 bytes", [](M& m) { m.set_fingerprint(Repeat("ü", 64)); }},
          {"fingerprint of 129 bytes", [](M& m) { m.set_fingerprint(Repeat("ü", 64) + "u"); },
           "fingerprint"},
          {"request_id of 64 bytes", [](M& m) { m.set_request_id(Repeat("ü", 32)); }},
          {"request_id of 65 bytes", [](M& m) { m.set_request_id(Repeat("ü", 32) + "u"); },
           "request_id"},
          {"owner of 128 bytes", [](M& m) { m.set_owner(Repeat("ü", 64)); }},
          {"owner of 129 bytes", [](M& m) { m.set_owner(Repeat("ü", 64) + "u"); }, "owner"},
          {"lease of 100 ms", lease(0, 100'000'000)},
          {"lease below 100 ms", lease(0, 99'999'999), "lease_ttl"},
          {"lease of zero", lease(0, 0), "lease_ttl"},
          {"lease negative", lease(-60, 0), "lease_ttl"},
          {"lease of 24 h", lease(24 * 3600, 0)},
          {"lease above 24 h", lease(24 * 3600, 1), "lease_ttl"},
          {"lease huge", lease(kDurationMax, 0), "lease_ttl"},
          {"lease beyond a duration", lease(kDurationMax + 1, 0), "lease_ttl"},
          {"lease beyond everything", lease(INT64_MAX, INT32_MAX), "lease_ttl"},
          {"lease below everything", lease(INT64_MIN, INT32_MIN), "lease_ttl"},
          {"lease with a second of nanos", lease(1, 1'000'000'000), "lease_ttl"},
          {"lease with nanos of another sign", lease(1, -1), "lease_ttl"},
          {"wait of zero", wait(0, 0)},
          {"wait of 60 s", wait(60, 0)},
          {"wait above 60 s", wait(60, 1), "wait_timeout"},
          {"wait of 61 s", wait(61, 0), "wait_timeout"},
          {"wait negative", wait(0, -1), "wait_timeout"},
          {"wait huge", wait(INT64_MAX, 0), "wait_timeout"},
          {"wait with a second of nanos", wait(0, 1'000'000'000), "wait_timeout"},
      },
      [&] { return ReserveOf("k" + std::to_string(++next)); },
      [&](const M& request) {
        const auto reply = api_.Reserve(request);
        if (reply.ok()) {
          EXPECT_EQ(reply.response.outcome(), v1::OUTCOME_FRESH);
        }
        return reply.status;
      });
}

// Namespace and key are checked the same way, whatever is asked.
TEST_F(Limits, NamespacesAndKeysOfTheOthers) {
  const std::string long_key(257, 'k');
  const std::string bad_namespace = "a b";
  v1::CommitRequest commit = CommitOf(long_key, "t", {});
  commit.set_namespace_(bad_namespace);
  v1::ReleaseRequest release = ReleaseOf(long_key, "t");
  release.set_namespace_(bad_namespace);
  v1::ExtendRequest extend = ExtendOf(long_key, "t");
  extend.set_namespace_(bad_namespace);
  v1::InspectRequest inspect = InspectOf(long_key);
  inspect.set_namespace_(bad_namespace);
  for (const Error& error : {api_.Commit(commit).error(), api_.Release(release).error(),
                             api_.Extend(extend).error(), api_.Inspect(inspect).error()}) {
    EXPECT_EQ(error.code, grpc::INVALID_ARGUMENT);
    EXPECT_THAT(error.violations, ElementsAre(Pair("key", _), Pair("namespace", _)));
  }
}

TEST_F(Limits, Tokens) {
  struct TokenRow {
    const char* name;
    std::string token;
    int code;  // Of a Commit of an absent key.
  };
  const TokenRow rows[] = {
      {"1 byte", "x", grpc::NOT_FOUND},
      {"128 bytes", std::string(128, 'x'), grpc::NOT_FOUND},
      {"129 bytes", std::string(129, 'x'), grpc::INVALID_ARGUMENT},
      {"empty", "", grpc::INVALID_ARGUMENT},
      {"garbage", std::string("\0\n\xc2\x85", 4), grpc::NOT_FOUND},
  };
  for (const TokenRow& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(api_.Commit(CommitOf("absent", row.token, {})).error().code, row.code);
    EXPECT_EQ(api_.Extend(ExtendOf("absent", row.token)).error().code, row.code);
    EXPECT_EQ(api_.Release(ReleaseOf("absent", row.token)).ok(), row.code == grpc::NOT_FOUND);
  }
}

TEST_F(Limits, ANearlyRightTokenIsAWrongOne) {
  const std::string token = api_.Grant("k").token();
  std::string flipped = token;
  flipped.back() = flipped.back() == '0' ? '1' : '0';
  for (const std::string& wrong : {token + "0", token.substr(0, token.size() - 1), flipped,
                                   " " + token, token + std::string(1, '\0')}) {
    EXPECT_EQ(api_.Release(ReleaseOf("k", wrong)).error().reason, "SUPERSEDED") << wrong;
  }
  EXPECT_TRUE(api_.Release("k", token));
}

TEST_F(Limits, Extend) {
  using M = v1::ExtendRequest;
  const std::string token = api_.Grant("k").token();
  const auto lease = [](std::int64_t seconds, std::int32_t nanos) {
    return [=](M& m) { Set(*m.mutable_lease_ttl(), seconds, nanos); };
  };
  Try<M>(
      {
          {"checkpoint of 64 KiB", [](M& m) { m.set_checkpoint(std::string(64 << 10, '\xff')); }},
          {"checkpoint of 64 KiB and 1",
           [](M& m) { m.set_checkpoint(std::string((64 << 10) + 1, 'c')); }, "checkpoint"},
          {"lease of 100 ms", lease(0, 100'000'000)},
          {"lease below 100 ms", lease(0, 99'999'999), "lease_ttl"},
          {"lease of 24 h", lease(24 * 3600, 0)},
          {"lease above 24 h", lease(24 * 3600, 1), "lease_ttl"},
          {"lease negative", lease(-1, 0), "lease_ttl"},
          {"lease invalid", lease(0, INT32_MAX), "lease_ttl"},
      },
      [&] { return ExtendOf("k", token); },
      [&](const M& request) { return api_.Extend(request).status; });
  EXPECT_EQ(api_.Inspect("k").checkpoint(), std::string(64 << 10, '\xff'));
}

// ---- A commit is refused neither for its retention nor for its size ----

TEST_F(Limits, ARetentionIsMovedIntoItsBounds) {
  struct RetentionRow {
    const char* name;
    std::int64_t seconds;
    std::int32_t nanos;
    absl::Duration want;
  };
  constexpr absl::Duration kMin = absl::Seconds(1);
  constexpr absl::Duration kMax = absl::Hours(24 * 400);
  const RetentionRow rows[] = {
      {"1 s", 1, 0, kMin},
      {"a little less", 0, 999'999'999, kMin},
      {"zero", 0, 0, kMin},
      {"negative", -3600, 0, kMin},
      {"below everything", INT64_MIN, INT32_MIN, kMin},
      {"400 d", 400 * 86'400, 0, kMax},
      {"a little more", 400 * 86'400, 1'000, kMax},
      {"huge", kDurationMax, 999'999'999, kMax},
      {"beyond everything", INT64_MAX, INT32_MAX, kMax},
      {"an hour", 3600, 0, absl::Hours(1)},
  };
  for (const RetentionRow& row : rows) {
    SCOPED_TRACE(row.name);
    const v1::Reservation grant = api_.Grant(row.name);
    v1::CommitRequest request = CommitOf(row.name, grant.token(), {});
    Set(*request.mutable_retention_ttl(), row.seconds, row.nanos);
    const v1::CommitResponse response = api_.Commit(request).value();
    EXPECT_EQ(ToTime(response.expire_time()) - ToTime(response.commit_time()), row.want);
  }
}

v1::Result WithHeaders(int count, const std::string& name, std::size_t value_bytes) {
  v1::Result result;
  for (int i = 0; i < count; ++i) {
    v1::Header& header = *result.add_headers();
    header.set_name(name);
    header.set_value(std::string(value_bytes, static_cast<char>('a' + i % 26)));
  }
  return result;
}

TEST_F(Limits, HeadersThatDoNotFitAreDropped) {
  v1::Result beyond = WithHeaders(1, "n", (16 << 10) - 1);
  beyond.add_headers()->set_name("x");
  beyond.add_headers()->set_name("");
  struct HeaderRow {
    const char* name;
    v1::Result result;
    int kept;
    bool omitted;
  };
  const HeaderRow rows[] = {
      {"64", WithHeaders(64, "n", 1), 64, false},
      {"65", WithHeaders(65, "n", 1), 64, true},
      {"16 KiB", WithHeaders(16, std::string(24, 'n'), 1'000), 16, false},
      {"one of 16 KiB", WithHeaders(1, "n", (16 << 10) - 1), 1, false},
      {"one of 16 KiB and 1", WithHeaders(1, "n", 16 << 10), 0, true},
      {"16 KiB, then more", beyond, 1, true},
      {"1000", WithHeaders(1000, "n", 1), 64, true},
  };
  for (const HeaderRow& row : rows) {
    SCOPED_TRACE(row.name);
    const v1::Reservation grant = api_.Grant(row.name);
    const v1::CommitResponse response = api_.Commit(row.name, grant.token(), row.result);
    EXPECT_EQ(response.headers_omitted(), row.omitted);
    const v1::CommitResponse repeat = api_.Commit(row.name, grant.token(), row.result);
    EXPECT_TRUE(repeat.already_committed());
    EXPECT_EQ(repeat.headers_omitted(), row.omitted);
    const v1::Result replay = api_.Reserve(row.name).replay().result();
    EXPECT_EQ(replay.headers_omitted(), row.omitted);
    ASSERT_EQ(replay.headers_size(), row.kept);
    for (int i = 0; i < row.kept; ++i) {
      EXPECT_TRUE(Same(replay.headers(i), row.result.headers(i))) << i;
    }
  }
}

TEST_F(Limits, ABodyOver1MibIsKeptAsSizeAndDigest) {
  const std::string body((1 << 20) + 1, 'b');
  for (const std::string& key : {std::string("at the bound"), std::string("one more")}) {
    SCOPED_TRACE(key);
    const bool over = key == "one more";
    v1::Result result = WithHeaders(1, "content-type", 3);
    result.set_status_code(201);
    result.set_body(over ? body : body.substr(1));
    const v1::Reservation grant = api_.Grant(key);
    EXPECT_EQ(api_.Commit(key, grant.token(), result).body_omitted(), over);
    for (int i = 0; i < 2; ++i) {
      const v1::Result replay = api_.Reserve(key).replay().result();
      EXPECT_EQ(replay.status_code(), 201);
      EXPECT_EQ(replay.headers_size(), 1);
      EXPECT_EQ(replay.body_omitted(), over);
      EXPECT_EQ(replay.body(), over ? "" : result.body());
      EXPECT_EQ(replay.body_size(), static_cast<std::int64_t>(result.body().size()));
      EXPECT_EQ(replay.body_sha256().size(), 32);
    }
    EXPECT_TRUE(api_.Commit(key, grant.token(), result).already_committed());
    EXPECT_EQ(api_.Commit(key, grant.token(), result).body_omitted(), over);
    result.mutable_body()->front() ^= 1;
    EXPECT_EQ(api_.Commit(CommitOf(key, grant.token(), result)).error().reason,
              "COMMITTED_DIFFERENTLY")
        << "the digest of the whole body is compared";
  }
}

TEST_F(Limits, TheDigestIsSha256) {
  const v1::Reservation grant = api_.Grant("k");
  api_.Commit("k", grant.token(), ResultOf(200, "abc"));
  EXPECT_EQ(absl::BytesToHexString(api_.Reserve("k").replay().result().body_sha256()),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
      << "the example of FIPS 180-4";
}

TEST_F(Limits, ACallerMayOmitTheBodyItself) {
  v1::Result result;
  result.set_body_omitted(true);
  result.set_body_size(5LL << 30);
  result.set_body_sha256(std::string(32, '\xab'));
  const v1::Reservation grant = api_.Grant("k");
  EXPECT_TRUE(api_.Commit("k", grant.token(), result).body_omitted());
  const v1::Result replay = api_.Reserve("k").replay().result();
  EXPECT_TRUE(Same(replay, result));

  using M = v1::CommitRequest;
  const std::string token = api_.Grant("other").token();
  Try<M>(
      {
          {"digest of 31 bytes",
           [](M& m) { m.mutable_result()->set_body_sha256(std::string(31, 'd')); },
           "result.body_sha256"},
          {"digest of 33 bytes",
           [](M& m) { m.mutable_result()->set_body_sha256(std::string(33, 'd')); },
           "result.body_sha256"},
          {"digest missing", [](M& m) { m.mutable_result()->clear_body_sha256(); },
           "result.body_sha256"},
          {"size negative", [](M& m) { m.mutable_result()->set_body_size(-1); },
           "result.body_size"},
          {"a body all the same", [](M& m) { m.mutable_result()->set_body("x"); }, "result.body"},
          {"size of zero", [](M& m) { m.mutable_result()->set_body_size(0); }},
      },
      [&] { return CommitOf("other", token, result); },
      [&](const M& request) { return api_.Commit(request).status; });
}

TEST(LimitsOfAPolicy, ABodyOf3MibIsTheMost) {
  ServerProcess server({.config = "namespaces:\n"
                                  "  tests: {max_body_bytes: 3MiB}\n"
                                  "  none: {max_body_bytes: 0}\n"});
  Api api(server.Connect());
  for (const std::size_t extra : {0, 1}) {
    const std::string key = "k" + std::to_string(extra);
    const std::string body((3u << 20) + extra, 'b');
    const v1::Reservation grant = api.Grant(key);
    EXPECT_EQ(api.Commit(key, grant.token(), ResultOf(200, body)).body_omitted(), extra == 1);
    const v1::Result replay = api.Reserve(key).replay().result();
    EXPECT_EQ(replay.body(), extra == 1 ? "" : body);
    EXPECT_EQ(replay.body_size(), static_cast<std::int64_t>(body.size()));
  }
  v1::ReserveRequest reserve = ReserveOf("k");
  reserve.set_namespace_("none");
  v1::CommitRequest commit =
      CommitOf("k", api.Reserve(reserve).value().reservation().token(), ResultOf(204, ""));
  commit.set_namespace_("none");
  EXPECT_FALSE(api.Commit(commit).value().body_omitted()) << "an empty body fits everywhere";
}

}  // namespace
}  // namespace onced::integration
