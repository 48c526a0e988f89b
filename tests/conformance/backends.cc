#include "tests/conformance/backends.h"

#include <thread>
#include <utility>

#include "absl/strings/str_format.h"
#include "server/base/check.h"
#include "server/base/mutex.h"
#include "server/base/random.h"
#include "server/storage/codec/record_codec.h"
#include "server/storage/memory/memory_store.h"
#include "server/storage/rocksdb/rocks_store.h"
#include "server/storage/store_wrapper.h"
#include "tests/conformance/raw_rocks.h"
#include "tests/conformance/temp_dir.h"
#include "tests/support/faulty_store.h"

namespace onced {
namespace {

class MemoryBackend final : public Backend {
 public:
  absl::Status Open(const OpenOptions& options) override {
    store_.reset();
    auto opened = MemoryStore::Open(disk_, {.shards = options.shards,
                                            .restart_grace = options.restart_grace,
                                            .wall_now = options.wall_now,
                                            .random = random_});
    if (opened.ok()) store_ = *std::move(opened);
    return opened.status();
  }
  Store& store() override { return *store_; }
  void CloseAndDamage(const Place& place, const std::string& bytes) override {
    store_.reset();
    disk_.Damage(place.shard, place.key, bytes);
  }

 private:
  SystemRandom random_;
  MemoryDisk disk_;
  std::unique_ptr<MemoryStore> store_;
};

// A store in memory whose disk is slow: what was changed is written by a thread of
// its own, and is told by that.
class SlowStore final : public StoreWrapper {
 public:
  explicit SlowStore(Store& real) : SlowStore(std::make_unique<FaultyStore>(real)) {}
  ~SlowStore() override {
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
    }
    work_.NotifyOne();
    disk_.join();
    faulty_->ReleaseDurability();
  }

  void Run(std::unique_ptr<UnitOfWork> work, Body body, Durable durable) override {
    StoreWrapper::Run(std::move(work), body, std::move(durable));
    {
      const MutexLock lock(mutex_);
      added_ = true;
    }
    work_.NotifyOne();
  }

 private:
  explicit SlowStore(std::unique_ptr<FaultyStore> faulty)
      : StoreWrapper(*faulty), faulty_(std::move(faulty)) {
    faulty_->HoldDurability();
    disk_ = std::thread([this] { Write(); });
  }

  void Write() {
    while (true) {
      {
        const MutexLock lock(mutex_);
        while (!added_ && !stopping_) work_.Wait(mutex_);
        if (stopping_) return;
        added_ = false;
      }
      while (faulty_->ReleaseSome(1)) {
      }
    }
  }

  const std::unique_ptr<FaultyStore> faulty_;
  Mutex mutex_;
  CondVar work_;
  bool added_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread disk_;
};

// A wrapper round a store in memory.
template <typename Wrapper>
class WrappedBackend final : public Backend {
 public:
  absl::Status Open(const OpenOptions& options) override {
    store_.reset();
    const absl::Status opened = memory_.Open(options);
    if (opened.ok()) store_ = std::make_unique<Wrapper>(memory_.store());
    return opened;
  }
  Store& store() override { return *store_; }
  void CloseAndDamage(const Place& place, const std::string& bytes) override {
    store_.reset();
    memory_.CloseAndDamage(place, bytes);
  }

 private:
  MemoryBackend memory_;
  std::unique_ptr<Wrapper> store_;
};

class RocksBackend final : public Backend {
 public:
  absl::Status Open(const OpenOptions& options) override {
    store_.reset();
    auto opened = RocksStore::Open({.data_dir = dir_.File("data"),
                                    .shards = options.shards,
                                    .restart_grace = options.restart_grace,
                                    .wall_now = options.wall_now,
                                    .random = random_});
    if (opened.ok()) store_ = *std::move(opened);
    return opened.status();
  }
  Store& store() override { return *store_; }
  void CloseAndDamage(const Place& place, const std::string& bytes) override {
    store_.reset();
    RawPut(dir_.File("data"), absl::StrFormat("shard-%04d", place.shard.value),
           EncodeKey(place.key), bytes);
  }

 private:
  SystemRandom random_;
  TempDir dir_;
  std::unique_ptr<RocksStore> store_;
};

}  // namespace

std::unique_ptr<Backend> MakeMemoryBackend() { return std::make_unique<MemoryBackend>(); }
std::unique_ptr<Backend> MakeFaultyBackend() {
  return std::make_unique<WrappedBackend<FaultyStore>>();
}
std::unique_ptr<Backend> MakeSlowBackend() { return std::make_unique<WrappedBackend<SlowStore>>(); }
std::unique_ptr<Backend> MakeRocksBackend() { return std::make_unique<RocksBackend>(); }

}  // namespace onced
