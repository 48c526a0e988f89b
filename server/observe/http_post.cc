#include "server/observe/http_post.h"

#include <curl/curl.h>

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "server/base/check.h"

namespace onced {
namespace {

// A call to Abort() ends a wait at once; this bounds what else might be missed.
constexpr int kPollMillis = 1'000;

std::size_t KeepBody(char* bytes, std::size_t, std::size_t size, void* to) {
  auto& body = *static_cast<std::string*>(to);
  body.append(bytes, std::min(size, HttpPost::kAnswerBytesMax - body.size()));
  return size;
}

std::size_t KeepHeader(char* bytes, std::size_t, std::size_t size, void* to) {
  absl::string_view line(bytes, size);
  constexpr absl::string_view kRetryAfter = "retry-after:";
  if (absl::StartsWithIgnoreCase(line, kRetryAfter)) {
    int seconds = 0;
    line = absl::StripAsciiWhitespace(line.substr(kRetryAfter.size()));
    if (absl::SimpleAtoi(line, &seconds) && seconds >= 0) {
      *static_cast<std::optional<absl::Duration>*>(to) = absl::Seconds(seconds);
    }
  }
  return size;
}

}  // namespace

struct HttpPost::Curl {
  Curl() {
    curl_global_init(CURL_GLOBAL_DEFAULT);  // Counted: once more does no harm.
    multi = curl_multi_init();
    ONCED_CHECK(multi != nullptr);
  }
  ~Curl() {
    curl_multi_cleanup(multi);
    curl_global_cleanup();
  }
  CURLM* multi = nullptr;  // Keeps the connection, too.
};

HttpPost::HttpPost(std::string url) : url_(std::move(url)), curl_(std::make_unique<Curl>()) {}
HttpPost::~HttpPost() = default;

void HttpPost::Abort() {
  aborted_ = true;
  curl_multi_wakeup(curl_->multi);
}

HttpPost::Answer HttpPost::Send(const std::string& body, const std::vector<std::string>& headers,
                                absl::Duration timeout) {
  Answer answer;
  CURL* const easy = curl_easy_init();
  ONCED_CHECK(easy != nullptr);
  const absl::Cleanup cleanup_easy = [easy] { curl_easy_cleanup(easy); };
  curl_slist* list = nullptr;
  for (const std::string& header : headers) list = curl_slist_append(list, header.c_str());
  const absl::Cleanup cleanup_list = [list] { curl_slist_free_all(list); };

  curl_easy_setopt(easy, CURLOPT_URL, url_.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);  // Doesn't wait for a name server at the end.
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(absl::ToInt64Milliseconds(timeout)));
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &KeepBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &answer.body);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &KeepHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &answer.retry_after);

  curl_multi_add_handle(curl_->multi, easy);
  const absl::Cleanup remove = [this, easy] { curl_multi_remove_handle(curl_->multi, easy); };
  answer.error = "aborted";
  while (!aborted_) {
    int running = 0;
    curl_multi_perform(curl_->multi, &running);
    int left = 0;
    if (const CURLMsg* message = curl_multi_info_read(curl_->multi, &left)) {
      const CURLcode code = message->data.result;
      answer.error = code == CURLE_OK ? "" : curl_easy_strerror(code);
      long status = 0;
      if (code == CURLE_OK) curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      answer.status = static_cast<int>(status);
      break;
    }
    curl_multi_poll(curl_->multi, nullptr, 0, kPollMillis, nullptr);
  }
  return answer;
}

}  // namespace onced
