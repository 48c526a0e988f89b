// A TCP connection without manners.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace onced::hostile {

// Threads: one.
// Limits:  no function waits for long, so that an attack can always be ended.
class RawConnection {
 public:
  // To "HOST:PORT". It may have been refused: see open().
  explicit RawConnection(const std::string& address);
  ~RawConnection();
  RawConnection(RawConnection&& other) noexcept;
  RawConnection& operator=(RawConnection&& other) noexcept;

  // Neither refused nor ended by the other side, as far as is known.
  bool open() const { return fd_ >= 0; }
  // Sends all of it, as far as the other side takes it within `patience`; what isn't
  // sent then is dropped. True if all of it was.
  bool Send(const std::string& bytes,
            std::chrono::milliseconds patience = std::chrono::milliseconds(200));
  // What has come, without waiting.
  std::string Take();
  // Waits until something comes, or the end.
  std::string Await(std::chrono::milliseconds patience = std::chrono::seconds(5));
  void Close();
  // The end is a reset: nothing stays behind at this side.
  void Abort();

 private:
  int fd_ = -1;
};

// One on which HTTP/2 has begun, with these settings.
RawConnection BeginHttp2(const std::string& address, const std::string& settings);
RawConnection BeginHttp2(const std::string& address);

}  // namespace onced::hostile
