// What tests with real threads wait on.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "gtest/gtest.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/shard/request.h"
#include "server/storage/store_wrapper.h"

namespace onced::shard_test {

// Opens once.
class Gate {
 public:
  void Open() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    open_ = true;
    changed_.NotifyAll();
  }
  void Wait() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    while (!open_) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
};

// The answers of many requests, each of which has a number.
class Answers {
 public:
  // To be called exactly once.
  Answerer Expect(std::size_t number) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    if (number >= got_.size()) got_.resize(number + 1);
    return [this, number](Answer answer) {
      const MutexLock answer_lock(mutex_);
      got_[number].push_back(std::move(answer.reply));
      order_.push_back(number);
      changed_.NotifyAll();
    };
  }
  void WaitForCount(std::size_t count) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    while (order_.size() < count) changed_.Wait(mutex_);
  }
  // Waits for it.
  Reply Of(std::size_t number) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    while (got_[number].empty()) changed_.Wait(mutex_);
    return got_[number].front();
  }
  std::size_t count() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    return order_.size();
  }
  std::vector<std::size_t> order() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    return order_;
  }
  // Every request that was announced had exactly one answer.
  testing::AssertionResult EachExactlyOnce() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    for (std::size_t i = 0; i < got_.size(); ++i) {
      if (got_[i].size() != 1) {
        return testing::AssertionFailure() << "request " << i << ": " << got_[i].size();
      }
    }
    return testing::AssertionSuccess();
  }
  template <typename T>
  std::size_t CountOf() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    std::size_t count = 0;
    for (const auto& replies : got_) {
      for (const Reply& reply : replies) count += std::holds_alternative<T>(reply);
    }
    return count;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<std::vector<Reply>> got_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::size_t> order_ ABSL_GUARDED_BY(mutex_);  // In which they came.
};

// A store of which a unit of work stays in Run() until the test lets it go.
class BlockingStore final : public StoreWrapper {
 public:
  explicit BlockingStore(Store& real) : StoreWrapper(real) {}

  // The next Run() calls block, from now on.
  void Block() ABSL_LOCKS_EXCLUDED(mutex_) { Set(true); }
  void LetGo() ABSL_LOCKS_EXCLUDED(mutex_) { Set(false); }
  void WaitUntilBlocked() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    while (inside_ == 0) changed_.Wait(mutex_);
  }

  // Of all that the disk is asked for, this alone goes wrong.
  void FailMarks() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    fails_marks_ = true;
  }

  void Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) override {
    {
      const MutexLock lock(mutex_);
      ++inside_;
      changed_.NotifyAll();
      while (blocking_) changed_.Wait(mutex_);
      --inside_;
    }
    real().Run(std::move(work), body, std::move(durable));
  }
  absl::Status RaiseClockMark(absl::Time mark) override ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    if (fails_marks_) return absl::UnavailableError("fake: the clock mark was not written");
    return real().RaiseClockMark(mark);
  }

 private:
  void Set(bool blocking) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    blocking_ = blocking;
    changed_.NotifyAll();
  }

  Mutex mutex_;
  CondVar changed_;
  bool blocking_ ABSL_GUARDED_BY(mutex_) = false;
  bool fails_marks_ ABSL_GUARDED_BY(mutex_) = false;
  int inside_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A clock that tells when it is asked: a thread that is about to sleep asks.
class WatchedClock final : public Clock {
 public:
  explicit WatchedClock(const Clock& real) : real_(real) {}

  absl::Time Now() const override ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    asked_ = true;
    changed_.NotifyAll();
    return real_.Now();
  }
  void Forget() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    asked_ = false;
  }
  // Until it was asked since Forget().
  void WaitUntilAsked() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    while (!asked_) changed_.Wait(mutex_);
  }

 private:
  const Clock& real_;

  mutable Mutex mutex_;
  mutable CondVar changed_;
  mutable bool asked_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace onced::shard_test
