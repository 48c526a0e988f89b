// The messages of the API as lines for people, each field under its own name.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "client/cli/text.h"
#include "google/protobuf/timestamp.pb.h"
#include "idempotency/v1/idempotency.pb.h"

namespace onced::cli {

namespace v1 = ::idempotency::v1;

// Bytes that are plain text of at most 1 KiB are shown, others by size and
// digest.
std::string BytesText(absl::string_view bytes);
// "2026-01-31T12:00:00.000001Z"
std::string TimeText(const google::protobuf::Timestamp& time);
// Without the prefix: "FRESH". The number, if there is no such value.
std::string OutcomeText(v1::Outcome outcome);

std::string StateText(v1::State state);
std::string OnLapseText(v1::OnLapse on_lapse);

// Fields that are unset are left out.
void Describe(const v1::Reservation& reservation, Lines& lines);
void Describe(const v1::Replay& replay, Lines& lines);
void Describe(const v1::Holder& holder, Lines& lines);
void Describe(const v1::Record& record, Lines& lines);
void Describe(const v1::Result& result, Lines& lines);

}  // namespace onced::cli
