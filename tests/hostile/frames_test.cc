// Who speaks HTTP/2 as nobody should. Each is told, or ended, or just borne: what
// counts is that the others are served.
#include <cctype>
#include <functional>
#include <ostream>
#include <string>

#include "gtest/gtest.h"
#include "tests/hostile/http2.h"
#include "tests/hostile/raw_connection.h"
#include "tests/hostile/trial.h"

namespace onced::hostile {
namespace {

// What is sent on a connection as the `turn`th, over and over.
using Garbage = std::function<std::string(std::uint32_t turn)>;

// Sends it until the server ends the connection, and on the next one then.
void Flood(const std::string& address, const std::string& settings, const Garbage& garbage,
           Attack& attack) {
  while (!attack.ended()) {
    RawConnection connection = BeginHttp2(address, settings);
    for (std::uint32_t turn = 0; connection.open() && !attack.ended(); ++turn) {
      const bool taken = connection.Send(garbage(turn));
      connection.Take();
      attack.CountRound();
      if (!taken) break;
    }
  }
}

std::string Times(int n, const std::string& frames) {
  std::string all;
  for (int i = 0; i < n; ++i) all += frames;
  return all;
}

std::uint32_t StreamOf(std::uint32_t number) { return 2 * number + 1; }

// Of many calls, each ended as soon as it has begun.
std::string RapidResets(std::uint32_t turn) {
  constexpr std::uint32_t kCalls = 100;
  std::string frames;
  for (std::uint32_t i = 0; i < kCalls; ++i) {
    const std::uint32_t stream = StreamOf(turn * kCalls + i);
    frames += Call(stream, "Reserve") + RstStream(stream);
  }
  return frames;
}

// The same by halves: what has begun is reset by what is sent next.
std::string LateResets(std::uint32_t turn) {
  constexpr std::uint32_t kCalls = 100;
  std::string frames;
  for (std::uint32_t i = 0; i < kCalls; ++i) {
    const std::uint32_t call = turn / 2 * kCalls + i;
    frames += turn % 2 == 0 ? Call(StreamOf(call), "Reserve") : RstStream(StreamOf(call));
  }
  return frames;
}

// Fields that are small on the wire, and large once they were looked up.
std::string Bomb(std::uint32_t turn) {
  const std::string large = IndexedField("x", std::string(3'900, 'x'));
  return Call(StreamOf(turn), "Reserve", large + Times(8'000, NewestField()));
}

// A header block that never ends.
std::string EndlessBlock(std::uint32_t turn) {
  const std::string field = HeaderField("x-" + std::to_string(turn), std::string(100, 'x'));
  if (turn == 0) return Frame(FrameType::kHeaders, 0, 1, CallFields("Reserve"));
  return Times(100, Frame(FrameType::kContinuation, 0, 1, field));
}

std::string LargeHeaders(std::uint32_t turn) {
  std::string fields;
  for (int i = 0; i < 100; ++i) {
    fields += HeaderField("x-" + std::to_string(i), std::string(100, 'x'));
  }
  return Call(StreamOf(turn), "Reserve", fields);
}

std::string EmptyData(std::uint32_t turn) {
  const std::string empty = Times(1'000, Frame(FrameType::kData, 0, 1, ""));
  return turn == 0 ? Call(1, "Reserve") + empty : empty;
}

std::string ManyCalls(std::uint32_t turn) {
  std::string frames;
  for (std::uint32_t i = 0; i < 100; ++i) frames += Call(StreamOf(100 * turn + i), "Reserve");
  return frames;
}

struct FloodRow {
  const char* name;
  Garbage garbage;
  double memory_mib_max = 200;
};
void PrintTo(const FloodRow& row, std::ostream* out) { *out << row.name; }

const FloodRow kFloods[] = {
    {"WINDOW_UPDATE of 0", [](std::uint32_t) { return Times(100, WindowUpdate(0, 0)); }},
    {"WINDOW_UPDATE overflow",
     [](std::uint32_t) { return Times(100, WindowUpdate(0, 0x7fffffff)); }},
    {"HPACK bomb", Bomb},
    {"HPACK table sizes",
     [](std::uint32_t turn) {
       return Settings({{kHeaderTableSize, turn % 2 == 0 ? 0U : 1U << 30}}) +
              Frame(FrameType::kHeaders, kEndHeaders, StreamOf(turn), Times(1'000, "\x3f\xe1\x1f"));
     }},
    {"DATA on stream 0",
     [](std::uint32_t) { return Frame(FrameType::kData, 0, 0, std::string(100, 'x')); }},
    {"DATA on no stream",
     [](std::uint32_t turn) {
       return Times(100, Frame(FrameType::kData, 0, StreamOf(turn), std::string(100, 'x')));
     }},
    {"an even stream", [](std::uint32_t turn) { return Call(2 * turn + 2, "Reserve"); }},
    {"RST_STREAM flood", [](std::uint32_t turn) { return Times(100, RstStream(StreamOf(turn))); }},
    {"frames of no type",
     [](std::uint32_t turn) {
       return Frame(static_cast<FrameType>(turn % 256), 0xff, turn, std::string(turn % 100, 'x'));
     }},
    {"a frame of 16 MiB",
     [](std::uint32_t) {
       return std::string("\xff\xff\xff\0\0\0\0\0\1", 9) + std::string(65'536, 'x');
     }},
    {"rapid reset", RapidResets},
    {"resets by halves", LateResets},
    {"PING, 50 a time", [](std::uint32_t) { return Times(50, Ping()); }},
    {"SETTINGS, 50 a time",
     [](std::uint32_t) {
       return Times(50, Settings({{3, 100}}));
     }},
    {"SETTINGS flood",
     [](std::uint32_t) {
       return Times(1'000, Settings({{3, 100}}));
     }},
    {"PING flood", [](std::uint32_t) { return Times(1'000, Ping()); }},
    {"CONTINUATION flood", EndlessBlock},
    {"large headers", LargeHeaders},
    {"empty DATA flood", EmptyData},
    {"streams without end", ManyCalls},
    {"GOAWAY loop",
     [](std::uint32_t) {
       return Times(100, Frame(FrameType::kGoAway, 0, 0, std::string(8, '\0')));
     }},
};

void RunFlood(const FloodRow& flood) {
  Trial trial({.name = flood.name, .bounds = {.memory_mib_max = flood.memory_mib_max}});
  trial.Run([&](Attack& attack, int) { Flood(trial.address(), Settings(), flood.garbage, attack); },
            2);
}

std::string NameOf(const testing::TestParamInfo<FloodRow>& row) {
  std::string name = row.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

class Frames : public testing::TestWithParam<FloodRow> {};
TEST_P(Frames, EndNothing) { RunFlood(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Floods, Frames, testing::ValuesIn(kFloods), NameOf);

}  // namespace
}  // namespace onced::hostile
