#include "tests/integration/otlp_collector.h"

#include <arpa/inet.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace onced::integration {
namespace {

constexpr std::chrono::seconds kPatience(60);

using google::protobuf::Struct;
using google::protobuf::Value;

const Value& At(const Struct& object, const std::string& name) {
  const auto found = object.fields().find(name);
  if (found == object.fields().end()) throw std::runtime_error("no " + name);
  return found->second;
}
std::string TextAt(const Struct& object, const std::string& name) {
  const auto found = object.fields().find(name);
  return found == object.fields().end() ? "" : found->second.string_value();
}
const Struct& Only(const Value& list) {
  if (list.list_value().values_size() != 1) throw std::runtime_error("not one");
  return list.list_value().values(0).struct_value();
}

// As the encoding has them: 64-bit numbers are text.
std::string AsText(const Struct& value) {
  if (value.fields_size() != 1) throw std::runtime_error("an attribute without one value");
  const auto& [type, held] = *value.fields().begin();
  if (type == "stringValue") return held.string_value();
  if (type == "boolValue") return held.bool_value() ? "true" : "false";
  if (type == "doubleValue") return absl::StrCat(held.number_value());
  if (type != "intValue" || held.kind_case() != Value::kStringValue)
    throw std::runtime_error("an attribute of type " + type);
  return held.string_value();
}

double SecondsOf(const Struct& span) {
  std::int64_t start = 0;
  std::int64_t end = 0;
  if (!absl::SimpleAtoi(TextAt(span, "startTimeUnixNano"), &start) ||
      !absl::SimpleAtoi(TextAt(span, "endTimeUnixNano"), &end))
    throw std::runtime_error("times are not text");
  return static_cast<double>(end - start) / 1e9;
}

CollectedSpan SpanOf(const Struct& span) {
  CollectedSpan to{.trace_id = TextAt(span, "traceId"),
                   .span_id = TextAt(span, "spanId"),
                   .parent_id = TextAt(span, "parentSpanId"),
                   .state = TextAt(span, "traceState"),
                   .name = TextAt(span, "name"),
                   .kind = static_cast<int>(At(span, "kind").number_value()),
                   .seconds = SecondsOf(span)};
  if (to.trace_id.size() != 32 || to.span_id.size() != 16) throw std::runtime_error("bad ids");
  const Struct& status = At(span, "status").struct_value();
  if (status.fields_size() > 0) to.status = static_cast<int>(At(status, "code").number_value());
  for (const Value& each : At(span, "attributes").list_value().values()) {
    const Struct& attribute = each.struct_value();
    const std::string value = AsText(At(attribute, "value").struct_value());
    if (!to.attributes.emplace(TextAt(attribute, "key"), value).second)
      throw std::runtime_error("an attribute twice");
  }
  for (const Value& each : At(span, "links").list_value().values()) {
    const Struct& link = each.struct_value();
    to.links.push_back(TextAt(link, "traceId") + "/" + TextAt(link, "spanId"));
  }
  return to;
}

}  // namespace

std::vector<CollectedSpan> ParseOtlp(const std::string& body) {
  Struct request;
  const auto parsed = google::protobuf::util::JsonStringToMessage(body, &request);
  if (!parsed.ok()) throw std::runtime_error("not JSON: " + parsed.ToString());
  const Struct& resource = Only(At(request, "resourceSpans"));
  const Struct& scope = Only(At(resource, "scopeSpans"));
  std::vector<CollectedSpan> spans;
  for (const Value& each : At(scope, "spans").list_value().values()) {
    spans.push_back(SpanOf(each.struct_value()));
  }
  return spans;
}

OtlpCollector::OtlpCollector() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 8) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      pipe(stop_pipe_) != 0)
    throw std::runtime_error("no port");
  port_ = ntohs(address.sin_port);
  runner_ = std::thread([this] { Run(); });
}

OtlpCollector::~OtlpCollector() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  close(stop_pipe_[1]);
  runner_.join();
  close(stop_pipe_[0]);
  close(listener_);
}

void OtlpCollector::SetAnswer(Answer answer) {
  const std::lock_guard lock(mutex_);
  answer_ = std::move(answer);
  changed_.notify_all();
}

std::vector<OtlpCollector::Request> OtlpCollector::AwaitRequests(std::size_t count) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, [&] { return requests_.size() >= count; }))
    throw std::runtime_error(absl::StrCat("only ", requests_.size(), " requests came"));
  return requests_;
}

std::vector<CollectedSpan> OtlpCollector::AwaitSpans(std::size_t count) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, [&] { return spans_.size() >= count; }))
    throw std::runtime_error(absl::StrCat("only ", spans_.size(), " spans came"));
  return spans_;
}

CollectedSpan OtlpCollector::AwaitSpan(const std::string& attribute, const std::string& value) {
  std::optional<CollectedSpan> found;
  std::unique_lock lock(mutex_);
  const bool came = changed_.wait_for(lock, kPatience, [&] {
    for (const CollectedSpan& span : spans_) {
      const auto at = span.attributes.find(attribute);
      if (at != span.attributes.end() && at->second == value) found = span;
    }
    return found.has_value();
  });
  if (!came) throw std::runtime_error("no span with " + attribute + " " + value);
  return *found;
}

void OtlpCollector::Run() {
  for (;;) {
    pollfd waits[] = {{listener_, POLLIN, 0}, {stop_pipe_[0], POLLIN, 0}};
    poll(waits, 2, -1);
    if (waits[1].revents != 0) return;
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    Serve(connection);
    close(connection);
  }
}

std::string OtlpCollector::ReadMore(int connection) {
  pollfd waits[] = {{connection, POLLIN, 0}, {stop_pipe_[0], POLLIN, 0}};
  poll(waits, 2, -1);
  char buffer[4096];
  const ssize_t size =
      waits[1].revents != 0 ? 0 : recv(connection, buffer, sizeof buffer, MSG_DONTWAIT);
  return std::string(buffer, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
}

void OtlpCollector::Serve(int connection) {
  std::string bytes;
  for (;;) {
    const std::size_t end = bytes.find("\r\n\r\n");
    std::size_t length = 0;
    if (end != std::string::npos) {
      const std::string head = absl::AsciiStrToLower(bytes.substr(0, end));
      const std::size_t at = head.find("content-length: ");
      if (at != std::string::npos) length = std::stoul(head.substr(at + 16));
    }
    if (end == std::string::npos || bytes.size() < end + 4 + length) {
      const std::string more = ReadMore(connection);
      if (more.empty()) return;
      bytes += more;
      continue;
    }
    Request request{bytes.substr(0, end), bytes.substr(end + 4, length)};
    bytes.erase(0, end + 4 + length);
    std::unique_lock lock(mutex_);
    requests_.push_back(request);
    changed_.notify_all();
    changed_.wait(lock, [&] { return stopping_ || !answer_.hangs; });
    if (stopping_) return;
    if (answer_.status / 100 == 2) {
      for (CollectedSpan& span : ParseOtlp(request.body)) spans_.push_back(std::move(span));
      changed_.notify_all();
    }
    const std::string answer = absl::StrCat(
        "HTTP/1.1 ", answer_.status,
        " X\r\nContent-Type: application/json\r\nContent-Length: ", answer_.body.size(), "\r\n",
        answer_.headers, "\r\n", answer_.body);
    send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
  }
}

}  // namespace onced::integration
