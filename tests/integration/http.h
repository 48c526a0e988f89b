// The smallest HTTP client that can tell a status from a body.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace onced::integration {

struct HttpReply {
  int status = 0;    // 0: nobody answers there.
  std::string head;  // The status line and the headers, as they came.
  std::string body;
};
// `address` is "127.0.0.1:PORT".
HttpReply HttpGet(const std::string& address, const std::string& path);
// `headers` are lines without their ends, such as "Idempotency-Key: 1".
HttpReply HttpPost(const std::string& address, const std::string& path, const std::string& body,
                   const std::vector<std::string>& headers = {});

// What /metrics said: values by series, such as
// `idempotency_requests_total{method="reserve",status="fresh"}`.
using Metrics = std::map<std::string, double>;
Metrics ParseMetrics(const std::string& text);

}  // namespace onced::integration
