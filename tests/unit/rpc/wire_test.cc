#include "server/rpc/wire.h"

#include <grpcpp/support/slice.h>

#include <optional>
#include <string>

#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "idempotency/v1/idempotency.pb.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}
// As a message may come: in pieces.
grpc::ByteBuffer InPieces(const std::string& bytes, std::size_t piece) {
  std::vector<grpc::Slice> slices;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    slices.emplace_back(bytes.substr(at, piece));
  }
  return {slices.data(), slices.size()};
}
std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// A field of text, bytes or a message, of fewer than 128 bytes.
std::string Field(int number, const std::string& value) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(value.size())} + value;
}

v1::BatchRequest FullBatch() {
  v1::BatchRequest batch;
  v1::ReserveRequest& reserve = *batch.add_operations()->mutable_reserve();
  reserve.set_namespace_("ns");
  reserve.set_key("ключ");
  reserve.mutable_lease_ttl()->set_seconds(3);
  v1::CommitRequest& commit = *batch.add_operations()->mutable_commit();
  commit.set_token("token");
  v1::Header& header = *commit.mutable_result()->add_headers();
  header.set_name("name");
  header.set_value("\xff");
  commit.mutable_result()->set_body(std::string(3'000, '\x80'));
  return batch;
}

TEST(Parse, TakesWhatSerializeWrote) {
  const grpc::ByteBuffer bytes = Serialize(FullBatch());
  v1::BatchRequest parsed;
  EXPECT_FALSE(Parse(bytes, parsed).has_value());
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(parsed, FullBatch()));
  EXPECT_EQ(BytesOf(bytes), FullBatch().SerializeAsString()) << "the buffer is still whole";
}

TEST(Parse, TakesAMessageInPieces) {
  const std::string bytes = FullBatch().SerializeAsString();
  for (const std::size_t piece : {1, 7, 1'000}) {
    v1::BatchRequest parsed;
    EXPECT_FALSE(Parse(InPieces(bytes, piece), parsed).has_value()) << piece;
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(parsed, FullBatch())) << piece;
  }
}

TEST(Parse, TakesAnEmptyMessageAndUnknownFields) {
  v1::ReserveRequest request;
  EXPECT_FALSE(Parse(BufferOf(""), request).has_value());
  EXPECT_FALSE(Parse(BufferOf(Field(15, "\xff") + Field(2, "k")), request).has_value());
  EXPECT_EQ(request.key(), "k");
}

TEST(Parse, NamesTheTextThatIsNotUtf8) {
  const std::string bad = "a\xff";
  struct Row {
    const char* path;
    std::string bytes;
  };
  const Row rows[] = {
      {"operations[0].reserve.key", Field(1, Field(1, Field(2, bad)))},
      {"operations[0].reserve.namespace", Field(1, Field(1, Field(1, bad) + Field(2, bad)))},
      {"operations[2].extend.token",
       Field(1, Field(5, Field(2, "k"))) + Field(1, "") + Field(1, Field(4, Field(3, bad)))},
      {"operations[0].commit.result.headers[1].name",
       Field(1, Field(2, Field(4, Field(2, Field(1, "ok")) +
                                      Field(2, Field(2, bad) + Field(1, bad)))))},
      // The last value of a field wins, but each has to be text.
      {"operations[0].inspect.key", Field(1, Field(5, Field(2, bad) + Field(2, "good")))},
  };
  for (const Row& row : rows) {
    v1::BatchRequest batch;
    const std::optional<Violation> violation = Parse(BufferOf(row.bytes), batch);
    ASSERT_TRUE(violation.has_value()) << row.path;
    EXPECT_EQ(violation->field, row.path);
    EXPECT_EQ(violation->description, "must be valid UTF-8");
  }
}

TEST(Parse, KnowsWhatUtf8Is) {
  struct Row {
    const char* name;
    std::string text;
    bool good;
  };
  const Row rows[] = {
      {"four_bytes", "\xf0\x9f\x94\x91", true},
      {"last_character", "\xf4\x8f\xbf\xbf", true},
      {"nul", std::string(1, '\0'), true},  // Its being a control character is checked elsewhere.
      {"lone_continuation", "\x80", false},
      {"cut_short", "\xf0\x9f\x94", false},
      {"overlong_slash", "\xc0\xaf", false},
      {"overlong_nul", "\xc0\x80", false},
      {"surrogate", "\xed\xa0\x80", false},
      {"beyond_the_last", "\xf4\x90\x80\x80", false},
      {"fe", "\xfe", false},
  };
  for (const Row& row : rows) {
    v1::ReserveRequest request;
    EXPECT_EQ(Parse(BufferOf(Field(2, row.text)), request).has_value(), !row.good) << row.name;
  }
}

TEST(Parse, BytesFieldsMayBeAnything) {
  v1::CommitRequest request;
  const std::string result = Field(3, "\xff\xfe") + Field(2, Field(2, "\x80"));
  EXPECT_FALSE(Parse(BufferOf(Field(4, result)), request).has_value());
  EXPECT_EQ(request.result().body(), "\xff\xfe");
}

TEST(Parse, RefusesWhatIsNoMessage) {
  for (const std::string& bytes :
       {std::string("\xff"), std::string("\x12\x05k"), std::string("\x07"),
        std::string("hello, world"), Field(6, "\x08\xff"), std::string(20, '\xff')}) {
    v1::ReserveRequest request;
    const std::optional<Violation> violation = Parse(BufferOf(bytes), request);
    ASSERT_TRUE(violation.has_value()) << testing::PrintToString(bytes);
    EXPECT_EQ(violation->field, "request");
    EXPECT_EQ(violation->description, "the bytes are not a idempotency.v1.ReserveRequest");
  }
}

TEST(Parse, RefusesEveryTruncationOrReadsLess) {
  const std::string bytes = FullBatch().SerializeAsString().substr(0, 200);
  int refused = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    v1::BatchRequest batch;
    if (Parse(BufferOf(bytes.substr(0, size)), batch).has_value()) {
      ++refused;
    } else {
      EXPECT_LE(batch.operations_size(), 1) << size;
    }
  }
  EXPECT_EQ(refused, 198) << "all but no bytes and the first operation alone";
}

// Groups that are never closed: each byte is one level deeper.
TEST(Parse, SurvivesDeepNesting) {
  v1::BatchRequest batch;
  const std::optional<Violation> violation = Parse(BufferOf(std::string(1'000'000, '\x7b')), batch);
  ASSERT_TRUE(violation.has_value());
  EXPECT_EQ(violation->field, "request");
}

}  // namespace
}  // namespace onced
