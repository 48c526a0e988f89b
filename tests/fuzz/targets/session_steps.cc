// The flow of a session under any order of events: its bounds hold, and it ends.
#include <algorithm>
#include <deque>
#include <vector>

#include "server/rpc/session_flow.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/draw.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {
namespace {

// Plays the stream, the shards and the client.
class Play {
 public:
  explicit Play(Draw draw) : draw_(draw) {}

  void Run() {
    Enter();
    while (!draw_.AtEnd() && !finished_) Event();
    // In the end the client goes, and what was begun is answered.
    Tell([&] { flow_.Abandon(); });
    while (!finished_ && (reading_ || !executing_.empty() || writing_)) Settle();
    Demand(finished_, "a session that never ends");
    Demand(!flow_.Enter(), "entered what has finished");
  }

 private:
  struct Message {
    SessionLoad load;
    bool waits = false;
    std::size_t answer_bytes = 0;
  };

  template <typename What>
  void Tell(const What& what) {
    if (!flow_.Enter()) return Demand(finished_, "shut too early");
    what();
    Steps();
  }
  void Enter() {
    Tell([] {});
  }

  void Steps() {
    while (true) {
      switch (flow_.Next()) {
        case SessionFlow::Step::kRead:
          Demand(!reading_, "two reads");
          Demand(!flow_.stopped(), "reads after it was stopped");
          CheckRoom();
          reading_ = true;
          continue;
        case SessionFlow::Step::kWrite:
          Demand(!writing_ && !unsent_.empty(), "writes twice, or nothing");
          Demand(!flow_.abandoned(), "writes to nobody");
          writing_ = true;
          continue;
        case SessionFlow::Step::kFinish:
          Demand(!finished_, "finishes twice");
          Demand(executing_.empty() && !writing_, "finishes too early");
          Demand(unsent_.empty() || flow_.abandoned(), "an answer got lost");
          finished_ = true;
          return;
        case SessionFlow::Step::kNothing:
          return;
      }
    }
  }

  // One more message may be read: so far, all bounds hold.
  void CheckRoom() const {
    SessionLoad all;
    for (const auto* part : {&executing_, &unsent_}) {
      for (const Message& message : *part) all += message.load;
    }
    Demand(all.messages < session_limits::kMessagesMax, "too many messages");
    Demand(all.operations < session_limits::kOperationsMax, "too many operations");
    Demand(all.bytes < session_limits::kRequestBytesMax, "too many bytes");
    Demand(UnsentBytes() < session_limits::kUnsentBytesPause, "reads while nobody takes answers");
  }
  std::size_t UnsentBytes() const {
    std::size_t bytes = 0;
    for (const Message& message : unsent_) bytes += message.answer_bytes;
    return bytes;
  }

  void Event() {
    switch (draw_.Below(8)) {
      case 0:
      case 1:
      case 2:
        return Read();
      case 3:
      case 4:
        return Answer(draw_.Int<std::uint8_t>());
      case 5:
      case 6:
        return Write();
      default:
        if (draw_.OneIn(8)) Tell([&] { flow_.Stop(); });
        if (draw_.OneIn(16)) Tell([&] { flow_.Abandon(); });
    }
  }
  void Settle() {
    if (reading_) return EndOfRead();
    if (writing_) return Write();
    Answer(0);
  }

  void EndOfRead() {
    reading_ = false;
    Tell([&] {
      flow_.Abandon();
      flow_.ReadHandled();
    });
  }
  void Read() {
    if (!reading_) return;
    Message message{.load = {.messages = 1,
                             .operations = 1 + draw_.Int<std::uint16_t>() % 1024U,
                             .bytes = draw_.Int<std::uint32_t>() % limits::kMessageBytesMax}};
    reading_ = false;
    Tell([&] {
      message.waits = draw_.OneIn(2) && flow_.MayWait(message.load);
      flow_.Began(message.load);
      if (message.waits) flow_.Waits(message.load);
      executing_.push_back(message);
      CheckWaiting();
      flow_.ReadHandled();
    });
  }
  void CheckWaiting() const {
    SessionLoad waiting;
    for (const Message& message : executing_) {
      if (message.waits) waiting += message.load;
    }
    Demand(waiting.messages <= session_limits::kMessagesMax / 2, "no room for a Commit");
    Demand(waiting.operations <= session_limits::kOperationsMax / 2, "no room for a Commit");
  }
  void Answer(std::size_t which) {
    if (executing_.empty()) return;
    const auto chosen = executing_.begin() + static_cast<std::ptrdiff_t>(which % executing_.size());
    Message message = *chosen;
    executing_.erase(chosen);
    Tell([&] {
      const std::size_t large = flow_.LargeBytesMax();
      Demand(large <= session_limits::kUnsentBytesMax, "room that is not there");
      message.answer_bytes = std::min<std::size_t>(large, draw_.Int<std::uint32_t>() % (4U << 20));
      unsent_.push_back(message);
      flow_.Answered(message.load, message.waits, message.answer_bytes);
    });
    Demand(UnsentBytes() <= session_limits::kUnsentBytesMax, "too much for who takes nothing");
  }
  void Write() {
    if (!writing_) return;
    const Message message = unsent_.front();
    unsent_.pop_front();
    writing_ = false;
    Tell([&] { flow_.Wrote(message.load, message.answer_bytes); });
  }

  Draw draw_;
  SessionFlow flow_;
  bool reading_ = false;
  bool writing_ = false;
  bool finished_ = false;
  std::deque<Message> executing_;
  std::deque<Message> unsent_;  // The first is the one that is being written.
};

}  // namespace

void SessionSteps(absl::string_view bytes) { Play(Draw(bytes)).Run(); }

}  // namespace onced::fuzz
