// Who takes connections, and does little or nothing with them.
#include <random>
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
  Trial trial({.name = "slow preface", .bounds = {.rounds = 30}});
  trial.Run(
      [&](Attack& attack, int) { Dribble(trial.address(), "", Preface() + Settings(), attack); });
}

TEST(SlowLoris, OfHeaders) {
  Trial trial({.name = "slow headers", .bounds = {.rounds = 30}});
  trial.Run([&](Attack& attack, int) {
    Dribble(trial.address(), Preface() + Settings(), Call(1, "Reserve"), attack);
  });
}

TEST(SlowLoris, OfAMessage) {
  Trial trial({.name = "slow message", .bounds = {.rounds = 30}});
  std::string bytes = MessagePrefix(0, 1'000);
  std::string frames;
  for (const char byte : bytes) frames += Frame(FrameType::kData, 0, 1, std::string(1, byte));
  for (int i = 0; i < 1'000; ++i) frames += Frame(FrameType::kData, 0, 1, "x");
  trial.Run([&](Attack& attack, int) {
    Dribble(trial.address(), Preface() + Settings() + Call(1, "Reserve"), frames, attack);
  });
}

TEST(Connections, ChurnHurtsNobody) {
  Trial trial({.name = "connection churn", .bounds = {.rounds = 30}});
  trial.Run(
      [&](Attack& attack, int thread) {
        for (int i = 0; !attack.ended(); ++i) {
          RawConnection connection(trial.address());
          if (i % 2 == 0) connection.Send(Preface() + Settings() + Ping());
          if (thread == 0) {
            connection.Abort();
          } else {
            connection.Close();
          }
          attack.CountRound();
        }
      },
      2);
}

TEST(Connections, OfHttp1AreToldSoAndEnded) {
  Trial trial({.name = "HTTP/1.1", .bounds = {.rounds = 30}});
  trial.Run([&](Attack& attack, int) {
    while (!attack.ended()) {
      RawConnection connection(trial.address());
      connection.Send("POST / HTTP/1.1\r\nHost: onced\r\nContent-Length: 5\r\n\r\nhello");
      connection.Await();
      attack.CountRound();
    }
  });
}

TEST(Connections, OfRandomBytesAreEnded) {
  Trial trial({.name = "random bytes", .bounds = {.rounds = 30}});
  trial.Run([&](Attack& attack, int) {
    std::mt19937_64 random(4711);
    while (!attack.ended()) {
      RawConnection connection(trial.address());
      std::string bytes = random() % 2 == 0 ? "" : Preface() + Settings();
      const std::size_t size = random() % 4'096;
      for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(random()));
      connection.Send(bytes);
      connection.Take();
      attack.CountRound();
    }
  });
}

// More than it takes from one address, of the 512 connections for which 1,024 descriptors
// leave room. It goes on serving whom it serves, its store goes on, and when the others
// are gone it takes who comes.
TEST(Connections, OverTheBoundEndNothing) {
  Trial trial({.name = "idle, over the bound", .bounds = {.rounds = 30}, .descriptors_max = 1'024});
  trial.Run([&](Attack& attack, int) {
    std::vector<RawConnection> all;
    while (!attack.ended()) {
      std::erase_if(all, [](RawConnection& connection) {
        connection.Take();
        return !connection.open();
      });
      if (all.size() < 400) all.push_back(BeginHttp2(trial.address()));
      attack.CountRound();
    }
  });
}

}  // namespace
}  // namespace onced::hostile
