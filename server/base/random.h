// The only source of random bytes in the server.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace onced {

// Threads: an object belongs to one thread at a time.
class Random {
 public:
  virtual ~Random() = default;
  // Fills `size` bytes at `out`.
  virtual void Fill(void* out, std::size_t size) = 0;

  template <typename T>
  T Draw() {
    T value;
    static_assert(std::is_trivially_copyable_v<T>);
    Fill(&value, sizeof value);
    return value;
  }
};

// Bytes from the kernel's generator, fetched 4 KiB at a time: a token costs no
// system call. Unfit for forking processes, which this server is not.
class SystemRandom final : public Random {
 public:
  void Fill(void* out, std::size_t size) override;

 private:
  std::array<std::uint8_t, 4096> buffer_{};
  std::size_t used_ = sizeof buffer_;
};

}  // namespace onced
