// The sessions that are open.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "server/base/mutex.h"

namespace onced {

// `Session` has Hold(), which keeps it alive and may say that it has ended already,
// and End(), which lets go of it.
//
// Threads:  any. Takes a session's lock under its own, never the other way round.
// Lifetime: outlives the sessions in it.
template <typename Session>
class Sessions {
 public:
  // False: no more of them are opened.
  [[nodiscard]] bool Add(Session& session) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    open_.insert(&session);
    return !ending_;
  }
  void Remove(Session& session) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    open_.erase(&session);
  }
  std::size_t count() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    return open_.size();
  }
  // Tells every session to end, and those that are opened from now on. Returns
  // at once.
  void EndAll() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<Session*> held;
    {
      const MutexLock lock(mutex_);
      ending_ = true;
      for (Session* session : open_) {
        if (session->Hold()) held.push_back(session);
      }
    }
    for (Session* session : held) session->End();
  }

 private:
  mutable Mutex mutex_;
  absl::flat_hash_set<Session*> open_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace onced
