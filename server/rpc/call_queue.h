// A completion queue of gRPC's, and the thread that takes events off it.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "server/base/heartbeat.h"
#include "server/base/mutex.h"
#include "server/base/thread_role.h"

namespace onced {

// gRPC's callbacks, the other way to serve, run on at least two threads of its own,
// and an answer that is given on a third contends with them: see
// docs/decisions/0015-calls-by-completion-queues.md for what that costs. All threads
// of a process that wait in queues contend so, whatever server they are of: a queue
// with few callers is looked at now and then, and not waited in.
//
// Threads:  Happened(), and what is marked so, on the queue's own thread; Alive() on any;
//           the rest on the owner's.
// Lifetime: as ServerBuilder wants it: it outlives the server, and the server is
//           shut down before Join().
// Promise:  the thread ends once nothing is expected any more, and not before.
class CallQueue {
 public:
  class Event {
   public:
    virtual void Happened(bool ok) = 0;
    // What gRPC is given.
    void* tag() { return this; }

   protected:
    ~Event() = default;
  };
  // One that calls a member function.
  template <typename Owner, void (Owner::*kFunction)(bool)>
  class Tag final : public Event {
   public:
    explicit Tag(Owner& owner) : owner_(owner) {}
    void Happened(bool ok) override { (owner_.*kFunction)(ok); }

   private:
    Owner& owner_;
  };
  // Asks for the first calls; on the queue's thread.
  using Accept = std::function<void(CallQueue&)>;
  // How many there are. For few, each event of a call may take 20 ms.
  enum class Callers : std::uint8_t { kMany, kFew };

  CallQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue, Callers callers,
            std::chrono::nanoseconds patience = Heartbeat::kPatience)
      : queue_(std::move(queue)), heartbeat_(patience), looks_(callers == Callers::kFew) {}
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  grpc::ServerCompletionQueue* queue() { return queue_.get(); }
  // Once the server has been started.
  void Start(Accept accept);
  // The server is about to be shut down, which takes some events: from now on they
  // are waited for.
  void Hasten() ABSL_LOCKS_EXCLUDED(mutex_);
  // Once it has been shut down: returns when every call has ended.
  void Join();
  // Whether its thread turns; true once there is nothing left to do.
  bool Alive();

  // One more object that waits for events, and one less: on the queue's thread.
  void Expect() { ++expected(); }
  void ExpectNoMore() { --expected(); }

 private:
  void Run(const Accept& accept);
  // Shuts it down, and waits until gRPC has done with it.
  void End();
  // Has an event come.
  void Knock() ABSL_LOCKS_EXCLUDED(mutex_);
  void Beat(bool /*ok*/) { heartbeat_.Beat(); }
  // Returns an event when there is one. False: the queue is shut down, and empty.
  bool Next(void** event, bool* ok) RUNS_ON(thread_);
  // Returns after a while, or at once if there is haste; which it says.
  bool Rest() ABSL_LOCKS_EXCLUDED(mutex_);
  std::size_t& expected() {
    thread_.AssertHeld();
    return expected_;
  }

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;

  // The owner's.
  bool started_ = false;

  Mutex mutex_;
  CondVar hastened_;
  bool haste_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // It is shut down: nothing may be begun.
  grpc::Alarm alarm_ ABSL_GUARDED_BY(mutex_);

  Heartbeat heartbeat_;
  Tag<CallQueue, &CallQueue::Beat> beat_{*this};

  // Its own thread only.
  ThreadRole thread_;
  std::size_t expected_ OWNED_BY(thread_) = 0;
  bool looks_ OWNED_BY(thread_);  // Now and then, and does not wait in the queue.

  std::thread runner_;  // Last: uses what is above.
};

}  // namespace onced
