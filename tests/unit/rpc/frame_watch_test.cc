#include "server/rpc/frame_watch.h"

#include <functional>
#include <string>

#include "gtest/gtest.h"
#include "server/rpc/watched_transports.h"

namespace onced {
namespace {

constexpr std::uint8_t kData = 0;
constexpr std::uint8_t kHeaders = 1;
constexpr std::uint8_t kPriority = 2;
constexpr std::uint8_t kRstStream = 3;
constexpr std::uint8_t kSettings = 4;
constexpr std::uint8_t kPing = 6;
constexpr std::uint8_t kGoAway = 7;
constexpr std::uint8_t kWindowUpdate = 8;
constexpr std::uint8_t kContinuation = 9;
constexpr std::uint8_t kEndStream = 1;

const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string Frame(std::uint8_t type, std::size_t size, std::uint32_t stream = 0,
                  std::uint8_t flags = 0) {
  std::string frame;
  for (int shift : {16, 8, 0}) frame.push_back(static_cast<char>(size >> shift));
  frame.push_back(static_cast<char>(type));
  frame.push_back(static_cast<char>(flags));
  for (int shift : {24, 16, 8, 0}) frame.push_back(static_cast<char>(stream >> shift));
  return frame + std::string(size, '\x03');
}

std::string Times(int n, const std::function<std::string(int)>& frame) {
  std::string all;
  for (int i = 0; i < n; ++i) all += frame(i);
  return all;
}
std::string Times(int n, const std::string& frame) {
  return Times(n, [&](int) { return frame; });
}

std::string CallAndReset(int i) {
  const std::uint32_t stream = 2 * i + 1;
  return Frame(kHeaders, 20, stream) + Frame(kRstStream, 4, stream);
}

TEST(FrameWatch, RefusesOneFrameMoreThanAReadMayBring) {
  const struct {
    const char* name;
    std::string frame;
    int times;
  } kRows[] = {
      {"ping", Frame(kPing, 8), FrameWatch::kOddMax},
      {"settings", Frame(kSettings, 6), FrameWatch::kOddMax},
      {"settings acknowledged", Frame(kSettings, 0, 0, 1), FrameWatch::kOddMax},
      {"goaway", Frame(kGoAway, 8), FrameWatch::kOddMax},
      {"priority", Frame(kPriority, 5, 1), FrameWatch::kOddMax},
      {"of no type", Frame(77, 0), FrameWatch::kOddMax},
      {"continuation", Frame(kContinuation, 1, 1), FrameWatch::kOddMax},
      {"data without any", Frame(kData, 0, 1), FrameWatch::kOddMax},
      {"resets", Frame(kRstStream, 4, 1), FrameWatch::kResetMax},
      {"window updates", Frame(kWindowUpdate, 4, 1), FrameWatch::kWindowUpdatesMax},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.name);
    FrameWatch watch;
    EXPECT_TRUE(watch.Read(kPreface + Times(row.times, row.frame)));
    // Of the next read, as many again.
    EXPECT_TRUE(watch.Read(Times(row.times, row.frame)));
    EXPECT_FALSE(watch.Read(Times(row.times + 1, row.frame)));
  }
}

// In one piece, or byte by byte: then each is a read of its own.
TEST(FrameWatch, LetsCallsPass) {
  const auto call = [](int i) {
    const std::uint32_t stream = 2 * i + 1;
    return Frame(kHeaders, 60, stream) + Frame(kData, 300, stream) +
           Frame(kData, 0, stream, kEndStream) + Frame(kWindowUpdate, 4, stream) +
           Frame(kWindowUpdate, 4);
  };
  const std::string calls = kPreface + Frame(kSettings, 30) + Times(1'000, call);
  FrameWatch whole;
  EXPECT_TRUE(whole.Read(calls));
  FrameWatch bytes;
  for (const char byte : calls) ASSERT_TRUE(bytes.Read({&byte, 1}));
  // Both know where they are.
  EXPECT_FALSE(whole.Read(Times(FrameWatch::kOddMax + 1, Frame(kPing, 8))));
  EXPECT_FALSE(bytes.Read(Times(FrameWatch::kOddMax + 1, Frame(kPing, 8))));
}

TEST(FrameWatch, BoundsAHeaderBlockOverAllItsFramesAndReads) {
  constexpr std::size_t kHalf = FrameWatch::kHeaderBlockBytesMax / 2;
  FrameWatch watch;
  EXPECT_TRUE(watch.Read(kPreface + Frame(kHeaders, kHalf, 1)));
  EXPECT_TRUE(watch.Read(Frame(kContinuation, kHalf, 1)));
  // The next block begins anew.
  EXPECT_TRUE(watch.Read(Frame(kHeaders, kHalf, 3)));
  EXPECT_TRUE(watch.Read(Frame(kContinuation, kHalf, 3)));
  EXPECT_FALSE(watch.Read(Frame(kContinuation, 1, 3)));
}

TEST(FrameWatch, RefusesCallsThatAreResetAtOnce) {
  FrameWatch watch;
  EXPECT_TRUE(watch.Read(kPreface + Times(FrameWatch::kResetAtOnceMax, CallAndReset)));
  FrameWatch one_more;
  EXPECT_FALSE(one_more.Read(kPreface + Times(FrameWatch::kResetAtOnceMax + 1, CallAndReset)));
}

TEST(FrameWatch, RefusesThemAFewAtATimeUnlessTheOthersAreMore) {
  for (const int others : {0, 1, 2}) {  // For each that is reset.
    SCOPED_TRACE(others);
    FrameWatch watch;
    ASSERT_TRUE(watch.Read(kPreface));
    std::uint64_t resets = 0;
    bool passes = true;
    for (std::uint32_t stream = 1; passes && resets < 3'000; ++resets) {
      std::string frames = Frame(kHeaders, 20, stream) + Frame(kRstStream, 4, stream);
      stream += 2;
      for (int i = 0; i < others; ++i, stream += 2) frames += Frame(kHeaders, 20, stream);
      passes = watch.Read(frames);
    }
    if (others == 2) {
      EXPECT_TRUE(passes);
    } else {
      EXPECT_EQ(resets, FrameWatch::kResetAtOnceInAllMax + 1);
    }
  }
}

// A caller that is gone in the middle of its call, many at once: no hostility.
TEST(FrameWatch, LetsResetsOfEarlierReadsPass) {
  FrameWatch watch;
  ASSERT_TRUE(watch.Read(kPreface));
  for (std::uint32_t round = 0; round < 20; ++round) {
    const auto stream = [&](int i) { return 2 * (256 * round + i) + 1; };
    ASSERT_TRUE(watch.Read(Times(256, [&](int i) { return Frame(kHeaders, 20, stream(i)); })));
    ASSERT_TRUE(watch.Read(Times(256, [&](int i) { return Frame(kRstStream, 4, stream(i)); })));
  }
}

TEST(WatchedTransports, GrpcCallsOurFunctions) {
  EXPECT_TRUE(CheckTransportsAreWatched().ok()) << CheckTransportsAreWatched();
}

}  // namespace
}  // namespace onced
