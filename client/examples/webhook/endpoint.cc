#include "endpoint.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "absl/strings/str_cat.h"

namespace webhook {
namespace {

namespace oc = onced::client;

// What a provider is told; none reads more.
constexpr std::size_t kBodyBytesMax = std::size_t{64} * 1024;

using Handle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;

// The lines of a request's head.
class Headers {
 public:
  ~Headers() { curl_slist_free_all(list_); }
  void Add(const std::string& name, const std::string& value) {
    list_ = curl_slist_append(list_, absl::StrCat(name, ": ", value).c_str());
  }
  // Not one of curl's own.
  void Remove(const std::string& name) {
    list_ = curl_slist_append(list_, absl::StrCat(name, ":").c_str());
  }
  curl_slist* list() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

std::size_t TakeBody(char* bytes, std::size_t, std::size_t size, void* body) {
  auto& kept = *static_cast<std::string*>(body);
  kept.append(bytes, std::min(size, kBodyBytesMax - kept.size()));
  return size;
}

absl::Status ErrorOf(CURLcode code) {
  // Before these, not a byte was sent. A timeout may come before or after.
  const bool surely_nothing = code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT;
  const std::string message = absl::StrCat("the endpoint: ", curl_easy_strerror(code));
  return surely_nothing ? absl::UnavailableError(message) : absl::UnknownError(message);
}

}  // namespace

absl::StatusOr<oc::Result> Endpoint::HandOn(const Event& event,
                                            const oc::WorkContext& context) const {
  const Handle handle(curl_easy_init(), &curl_easy_cleanup);
  if (handle == nullptr) return absl::UnavailableError("no memory for a request");

  Headers headers;
  headers.Add("Content-Type", "application/json");
  headers.Add("Webhook-Source", event.source);
  headers.Add("Webhook-Id", event.id);
  headers.Add("Onced-Fence", absl::StrCat(context.fence()));
  if (context.takeover()) {
    headers.Add("Onced-Takeover", absl::StrCat(context.previous()->fence));
  }
  headers.Remove("Expect");

  oc::Result result;
  CURL* const curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, url_.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                   static_cast<long>(absl::ToInt64Milliseconds(timeout_)));
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.list());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(event.body.size()));
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, event.body.data());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &TakeBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &result.body);
  if (const CURLcode code = curl_easy_perform(curl); code != CURLE_OK) return ErrorOf(code);

  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  result.status_code = static_cast<int>(status);
  // No other header is stored: a replay is given to whoever has the id.
  const char* type = nullptr;
  curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
  if (type != nullptr) result.headers.push_back({"Content-Type", type});
  return result;
}

}  // namespace webhook
