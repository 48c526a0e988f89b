#include "gateway.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "event_id.h"
#include "onced/client/classify.h"
#include "onced/client/error.h"
#include "onced/client/fingerprint.h"
#include "onced/client/run_once.h"

namespace webhook {
namespace {

namespace oc = onced::client;

constexpr char kNamespace[] = "webhooks";

// ---- What is asked ----

// No slash is in it, so that no source has another's keys.
bool IsSource(const std::string& text) {
  return !text.empty() && text.size() <= 32 && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  });
}

absl::StatusOr<Event> EventOf(const Delivery& delivery) {
  if (!IsSource(delivery.source)) return absl::NotFoundError("there is no such source");
  const std::size_t count = delivery.webhook_ids.size() + delivery.idempotency_keys.size();
  if (count == 0) return absl::InvalidArgumentError("webhook-id or idempotency-key is missing");
  if (count > 1) return absl::InvalidArgumentError("the event has more than one id");
  absl::StatusOr<std::string> id = ReadEventId(
      delivery.webhook_ids.empty() ? delivery.idempotency_keys[0] : delivery.webhook_ids[0]);
  if (!id.ok()) return id.status();
  return Event{.source = delivery.source, .id = *std::move(id), .body = delivery.body};
}

// ---- What came of it ----

// That it wasn't reached is no news about the event: the next delivery may try at once.
oc::Verdict Classify(const absl::StatusOr<oc::Result>& outcome) {
  if (absl::IsUnavailable(outcome.status())) return oc::Verdict::kRelease;
  return oc::ByHttpStatus(outcome);
}

// In whole seconds, at least one.
Answer RetryAfter(absl::Duration delay, Answer answer) {
  const auto seconds =
      std::max<std::int64_t>(1, absl::ToInt64Seconds(absl::Ceil(delay, absl::Seconds(1))));
  answer.headers.push_back({"Retry-After", absl::StrCat(seconds)});
  return answer;
}

Answer AnswerOf(const oc::Result& result) {
  return {.status = result.status_code, .headers = result.headers, .body = result.body};
}

// The statuses of draft-ietf-httpapi-idempotency-key-header, and what it leaves open.
struct ToAnswer {
  absl::Duration lease;

  Answer operator()(const oc::Done& done) const { return AnswerOf(done.result); }
  Answer operator()(const oc::Replayed& replayed) const {
    Answer answer = AnswerOf(replayed.result);
    answer.headers.push_back({"Idempotency-Replayed", "true"});
    return answer;
  }
  // It was done, which is all that the provider wants to know. That it may not be stored is worth
  // an alert: the next delivery is then a takeover.
  Answer operator()(const oc::NotCommitted& lost) const { return AnswerOf(lost.result); }
  Answer operator()(const oc::Conflict& conflict) const {
    return RetryAfter(conflict.holder.retry_delay,
                      Problem(409, "In progress", "This event is being handed on."));
  }
  Answer operator()(const oc::Mismatch&) const {
    return Problem(422, "Reused id", "This id came with another body before.");
  }
  Answer operator()(const oc::Unresolved&) const {
    return Problem(409, "Unresolved", "An operator has to look at this event.");
  }
  // A takeover isn't released, so that the next is marked as one, too: it has to wait.
  Answer operator()(const oc::NothingDone& nothing) const {
    return RetryAfter(nothing.released.ok() ? absl::ZeroDuration() : lease,
                      Problem(503, "Not handed on", "The endpoint didn't take it."));
  }
  Answer operator()(const oc::Undecided&) const {
    return RetryAfter(lease, Problem(502, "Unknown", "Nobody knows what the endpoint did."));
  }
  Answer operator()(const oc::Unprotected&) const {
    return Problem(500, "Unprotected", "fail_open isn't set.");
  }
};

// The event was not handed on.
Answer NotRun(const absl::Status& error) {
  const oc::ErrorDetails details = oc::DetailsOf(error);
  switch (error.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
      return RetryAfter(details.retry_delay.value_or(absl::Seconds(1)),
                        Problem(503, "Not available", "The event was not handed on."));
    default:  // The gateway's own fault, such as a namespace that it may not use.
      return Problem(500, "Not possible", "The event was not handed on.");
  }
}

}  // namespace

Answer Problem(int status, const std::string& title, const std::string& detail) {
  return {.status = status,
          .headers = {{"Content-Type", "application/problem+json"}},
          .body = absl::StrCat(R"({"type":"about:blank","title":")", title, R"(","status":)",
                               status, R"(,"detail":")", detail, R"("})")};
}

Answer Gateway::Receive(const Delivery& delivery) const {
  const absl::StatusOr<Event> event = EventOf(delivery);
  if (absl::IsNotFound(event.status())) return Problem(404, "Not found", "No such source.");
  if (!event.ok()) {
    return Problem(400, "Bad event id", std::string(event.status().message()));
  }
  // Of what the body means: a provider may write it otherwise the next time.
  const absl::StatusOr<std::string> fingerprint =
      oc::JsonRequestFingerprint("POST", "/webhooks/" + event->source, event->body);
  if (!fingerprint.ok()) {
    return Problem(400, "Bad body", std::string(fingerprint.status().message()));
  }

  oc::RunOptions options{.classifier = Classify,
                         .owner = "webhook gateway",
                         .lease_ttl = lease_,
                         // Providers give up after some seconds.
                         .settle_timeout = absl::Seconds(5)};
  const absl::StatusOr<oc::RunOutcome> outcome =
      oc::RunOnce(client_, {kNamespace, event->source + "/" + event->id}, *fingerprint, options,
                  [&](oc::WorkContext& context) { return endpoint_.HandOn(*event, context); });
  if (!outcome.ok()) return NotRun(outcome.status());
  return std::visit(ToAnswer{lease_}, *outcome);
}

}  // namespace webhook
