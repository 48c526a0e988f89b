// gRPC has no hook at which to look at frames, and no way to bind a client that doesn't
// acknowledge its settings. What stands here takes the place of three functions of its library
// and of a table: the dynamic linker looks for them in the program first. See
// docs/decisions/0027-frames-are-watched.md.
#include "server/rpc/watched_transports.h"

#include <dlfcn.h>
#include <grpc/slice.h>
#include <grpcpp/version_info.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "server/base/mutex.h"
#include "server/rpc/frame_watch.h"
#include "server/rpc/service.h"

#if GRPC_CPP_VERSION_MAJOR != 1 || GRPC_CPP_VERSION_MINOR != 51
#error "Another gRPC: are its functions still these, and needed? See decision 27."
#endif

// NOLINTBEGIN(readability-identifier-naming): gRPC's, and in none of its headers.
namespace grpc_core {
class ChannelArgs;
}
struct grpc_chttp2_setting_parameters {
  const char* name;
  std::uint32_t default_value;
  std::uint32_t min_value;
  std::uint32_t max_value;
  int invalid_value_behavior;
  std::uint32_t error_value;
};
extern const grpc_chttp2_setting_parameters grpc_chttp2_settings_parameters[7];
struct grpc_endpoint;
struct grpc_transport;
struct grpc_chttp2_transport {
  ~grpc_chttp2_transport();
};
grpc_transport* grpc_create_chttp2_transport(const grpc_core::ChannelArgs& args,
                                             grpc_endpoint* endpoint, bool is_client);
absl::Status grpc_chttp2_perform_read(grpc_chttp2_transport* transport, const grpc_slice& slice);
// NOLINTEND(readability-identifier-naming)

namespace onced {
namespace {

using Create = grpc_transport*(const grpc_core::ChannelArgs&, grpc_endpoint*, bool);
using Read = absl::Status(grpc_chttp2_transport*, const grpc_slice&);
using Destroy = void(grpc_chttp2_transport*);
constexpr char kCreate[] =
    "_Z28grpc_create_chttp2_transportRKN9grpc_core11ChannelArgsEP13grpc_endpointb";
constexpr char kRead[] = "_Z24grpc_chttp2_perform_readP21grpc_chttp2_transportRK10grpc_slice";
constexpr char kDestroy[] = "_ZN21grpc_chttp2_transportD1Ev";

// gRPC's own, behind ours.
template <typename Function>
Function* Theirs(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// The watches of all connections that servers have.
// Threads: any; gRPC reads a connection on one at a time.
class Watches {
 public:
  // Never destroyed: gRPC's threads may outlive static objects.
  static Watches& All() {
    static auto* const all = new Watches;
    return *all;
  }

  void Add(const void* transport) {
    const MutexLock lock(mutex_);
    watches_[transport] = std::make_unique<FrameWatch>();
  }
  void Remove(const void* transport) {
    const MutexLock lock(mutex_);
    watches_.erase(transport);
  }
  // Null: a client's.
  FrameWatch* Find(const void* transport) {
    const MutexLock lock(mutex_);
    const auto found = watches_.find(transport);
    return found == watches_.end() ? nullptr : found->second.get();
  }

 private:
  Mutex mutex_;
  absl::flat_hash_map<const void*, std::unique_ptr<FrameWatch>> watches_ ABSL_GUARDED_BY(mutex_);
};

std::atomic<std::uint64_t> ended{0};

// Whether gRPC calls ours, and ours theirs.
bool IsOurs(const char* name, const void* ours) {
  const void* const theirs = dlsym(RTLD_NEXT, name);
  return dlsym(RTLD_DEFAULT, name) == ours && theirs != nullptr && theirs != ours;
}

// What a client has until it acknowledges what it is told. It is told only what isn't the
// same. More than it will have: a proxy may send all that has waited for a connection before
// it has read anything (RFC 9113, 6.5.2: there is no bound then).
constexpr std::uint32_t kStreamsBeforeMax = 1'024;
static_assert(kStreamsBeforeMax > kStreamsMax);
constexpr std::uint32_t kHeaderBytesBeforeMax = 16 << 10;

constexpr std::uint32_t kAny = 0xffffffff;
constexpr int kClamp = 0;
constexpr int kDisconnect = 1;
constexpr std::uint32_t kProtocolError = 1;
constexpr std::uint32_t kFlowControlError = 3;

}  // namespace

absl::Status CheckTransportsAreWatched() {
  const bool watched =
      IsOurs(kCreate, reinterpret_cast<const void*>(&grpc_create_chttp2_transport)) &&
      IsOurs(kRead, reinterpret_cast<const void*>(&grpc_chttp2_perform_read)) &&
      IsOurs(kDestroy, dlsym(RTLD_DEFAULT, kDestroy)) &&
      IsOurs("grpc_chttp2_settings_parameters", &grpc_chttp2_settings_parameters);
  if (watched) return absl::OkStatus();
  return absl::FailedPreconditionError("this gRPC's connections can't be watched");
}

std::uint64_t ConnectionsEnded() { return ended; }

}  // namespace onced

// HTTP/2's own defaults, but for the two.
const grpc_chttp2_setting_parameters grpc_chttp2_settings_parameters[7] = {
    {"HEADER_TABLE_SIZE", 4'096, 0, onced::kAny, onced::kClamp, onced::kProtocolError},
    {"ENABLE_PUSH", 1, 0, 1, onced::kDisconnect, onced::kProtocolError},
    {"MAX_CONCURRENT_STREAMS", onced::kStreamsBeforeMax, 0, onced::kAny, onced::kDisconnect,
     onced::kProtocolError},
    {"INITIAL_WINDOW_SIZE", 65'535, 0, 0x7fffffff, onced::kDisconnect, onced::kFlowControlError},
    {"MAX_FRAME_SIZE", 16'384, 16'384, 0xffffff, onced::kDisconnect, onced::kProtocolError},
    {"MAX_HEADER_LIST_SIZE", onced::kHeaderBytesBeforeMax, 0, 16 << 20, onced::kClamp,
     onced::kProtocolError},
    {"GRPC_ALLOW_TRUE_BINARY_METADATA", 0, 0, 1, onced::kClamp, onced::kProtocolError},
};

grpc_transport* grpc_create_chttp2_transport(const grpc_core::ChannelArgs& args,
                                             grpc_endpoint* endpoint, bool is_client) {
  static auto* const theirs = onced::Theirs<onced::Create>(onced::kCreate);
  grpc_transport* const transport = theirs(args, endpoint, is_client);
  if (!is_client) onced::Watches::All().Add(transport);
  return transport;
}

absl::Status grpc_chttp2_perform_read(grpc_chttp2_transport* transport, const grpc_slice& slice) {
  static auto* const theirs = onced::Theirs<onced::Read>(onced::kRead);
  onced::FrameWatch* const watch = onced::Watches::All().Find(transport);
  const absl::string_view bytes(reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)),
                                GRPC_SLICE_LENGTH(slice));
  if (watch != nullptr && !watch->Read(bytes)) {
    ++onced::ended;
    return absl::ResourceExhaustedError("a client without manners");
  }
  return theirs(transport, slice);
}

grpc_chttp2_transport::~grpc_chttp2_transport() {
  static auto* const theirs = onced::Theirs<onced::Destroy>(onced::kDestroy);
  onced::Watches::All().Remove(this);
  theirs(this);
}
