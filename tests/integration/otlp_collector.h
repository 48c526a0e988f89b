// A collector of spans: as much of HTTP and of OTLP's JSON as an exporter meets.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace onced::integration {

struct CollectedSpan {
  std::string trace_id;  // In hexadecimal digits, as the following.
  std::string span_id;
  std::string parent_id;  // Empty: none.
  std::string state;
  std::string name;
  int kind = 0;
  int status = 0;
  double seconds = 0;                             // From its start to its end.
  std::map<std::string, std::string> attributes;  // Values as text, such as "true".
  std::vector<std::string> links;                 // "trace/span"
};

// Operation: takes one connection at a time, and answers as it is told.
// Threads:   any; it has one of its own.
class OtlpCollector {
 public:
  struct Answer {
    int status = 200;
    std::string body = "{}";
    std::string headers;  // Each ends in CR LF.
    bool hangs = false;   // None comes, until another answer is set.
  };
  struct Request {
    std::string head;  // The request line and the headers.
    std::string body;
  };

  OtlpCollector();
  ~OtlpCollector();

  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // Of all requests from now on.
  void SetAnswer(Answer answer);
  // Waits until so many have come; all of them.
  std::vector<Request> AwaitRequests(std::size_t count);
  // The spans of requests that were answered with 2xx; waits until there are so many.
  std::vector<CollectedSpan> AwaitSpans(std::size_t count);
  // Of them, the one with that attribute; waits for it.
  CollectedSpan AwaitSpan(const std::string& attribute, const std::string& value);

 private:
  void Run();
  void Serve(int connection);
  // Empty: the other side has gone.
  std::string ReadMore(int connection);

  int listener_ = -1;
  int stop_pipe_[2] = {-1, -1};
  std::uint16_t port_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  Answer answer_;
  bool stopping_ = false;
  std::vector<Request> requests_;
  std::vector<CollectedSpan> spans_;

  std::thread runner_;
};

// Of a request's body; throws what is wrong with it.
std::vector<CollectedSpan> ParseOtlp(const std::string& body);

}  // namespace onced::integration
