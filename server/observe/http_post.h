// One HTTP request at a time, by libcurl.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace onced {

// Threads:  Send() by one at a time; Abort() from any.
// Limits:   no redirects, no proxies, http and https only; certificates are verified. Of
//           an answer, kAnswerBytesMax are kept.
class HttpPost {
 public:
  static constexpr std::size_t kAnswerBytesMax = 16 << 10;

  struct Answer {
    int status = 0;                             // 0: none came.
    std::string error;                          // Why.
    std::optional<absl::Duration> retry_after;  // In seconds; a date is ignored.
    std::string body;
  };

  explicit HttpPost(std::string url);
  ~HttpPost();

  // Headers are "Name: value".
  Answer Send(const std::string& body, const std::vector<std::string>& headers,
              absl::Duration timeout);
  // Ends the Send() that goes on, and all to come, at once.
  void Abort();

 private:
  struct Curl;

  const std::string url_;
  const std::unique_ptr<Curl> curl_;
  std::atomic<bool> aborted_{false};
};

}  // namespace onced
