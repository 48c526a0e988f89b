#include "tests/conformance/backends.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "server/base/check.h"
#include "server/base/random.h"
#include "server/storage/codec/record_codec.h"
#include "server/storage/memory/memory_store.h"
#include "server/storage/rocksdb/rocks_store.h"
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

class FaultyBackend final : public Backend {
 public:
  absl::Status Open(const OpenOptions& options) override {
    store_.reset();
    const absl::Status opened = memory_.Open(options);
    if (opened.ok()) store_ = std::make_unique<FaultyStore>(memory_.store());
    return opened;
  }
  Store& store() override { return *store_; }
  void CloseAndDamage(const Place& place, const std::string& bytes) override {
    store_.reset();
    memory_.CloseAndDamage(place, bytes);
  }

 private:
  MemoryBackend memory_;
  std::unique_ptr<FaultyStore> store_;
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
std::unique_ptr<Backend> MakeFaultyBackend() { return std::make_unique<FaultyBackend>(); }
std::unique_ptr<Backend> MakeRocksBackend() { return std::make_unique<RocksBackend>(); }

}  // namespace onced
