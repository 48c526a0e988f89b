// Who takes connections, and does little or nothing with them.
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/hostile/http2.h"
#include "tests/hostile/raw_connection.h"
#include "tests/hostile/trial.h"

namespace onced::hostile {
namespace {

// Sends `bytes` on many connections at once, one byte a time on each, and begins anew
// where the server has had enough.
void Dribble(const std::string& address, const std::string& whole, const std::string& bytes,
             Attack& attack) {
  constexpr std::size_t kConnections = 100;
  struct Slow {
    RawConnection connection;
    std::size_t at = 0;
  };
  std::vector<Slow> all;
  while (!attack.ended()) {
    // Who is slow on purpose has time; a flood is another attack.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (Slow& slow : all) {
      if (slow.at == bytes.size() || !slow.connection.Send(bytes.substr(slow.at++, 1))) {
        slow.connection.Close();
      }
      slow.connection.Take();
    }
    std::erase_if(all, [](const Slow& slow) { return !slow.connection.open(); });
    while (all.size() < kConnections) {
      all.push_back({RawConnection(address)});
      all.back().connection.Send(whole);
    }
    attack.CountRound();
  }
}

TEST(SlowLoris, OfThePreface) {
  Trial trial({.name = "slow preface", .bounds = {.rounds = 100}});
  trial.Run(
      [&](Attack& attack, int) { Dribble(trial.address(), "", Preface() + Settings(), attack); });
}

TEST(SlowLoris, OfHeaders) {
  Trial trial({.name = "slow headers", .bounds = {.rounds = 100}});
  trial.Run([&](Attack& attack, int) {
    Dribble(trial.address(), Preface() + Settings(), Call(1, "Reserve"), attack);
  });
}

TEST(SlowLoris, OfAMessage) {
  Trial trial({.name = "slow message", .bounds = {.rounds = 100}});
  std::string bytes = MessagePrefix(0, 1'000);
  std::string frames;
  for (const char byte : bytes) frames += Frame(FrameType::kData, 0, 1, std::string(1, byte));
  for (int i = 0; i < 1'000; ++i) frames += Frame(FrameType::kData, 0, 1, "x");
  trial.Run([&](Attack& attack, int) {
    Dribble(trial.address(), Preface() + Settings() + Call(1, "Reserve"), frames, attack);
  });
}

}  // namespace
}  // namespace onced::hostile
