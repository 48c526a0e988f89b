// What is fuzzed. Each function takes bytes that anybody may have sent or left on
// the disk, gives them to one part of the program, and throws (see demand.h) if
// what comes of it breaks that part's promise.
#pragma once

#include "absl/strings/string_view.h"

namespace onced::fuzz {

using Target = void (*)(absl::string_view bytes);

// ---- What is on the disk ----
void RecordCodec(absl::string_view bytes);
void StoreMetaCodec(absl::string_view bytes);
void BackupLabelCodec(absl::string_view bytes);
void ExpirySampleCodec(absl::string_view bytes);
void Restore(absl::string_view bytes);
void WatermarkFile(absl::string_view bytes);
void LogFile(absl::string_view bytes);

// ---- What an operator writes ----
void ConfigFile(absl::string_view bytes);
void CommandLine(absl::string_view bytes);
void SettingValues(absl::string_view bytes);
void TokenFile(absl::string_view bytes);
void AccessListFile(absl::string_view bytes);

// ---- What comes off the network ----
void Requests(absl::string_view bytes);
void BatchReply(absl::string_view bytes);
void NameRequests(absl::string_view bytes);
void SessionSteps(absl::string_view bytes);
void WireShapes(absl::string_view bytes);
void TraceHeaders(absl::string_view bytes);
void PageToken(absl::string_view bytes);

// ---- What becomes of a key ----
void Decisions(absl::string_view bytes);

// ---- What is shown to people and scripts ----
void LogText(absl::string_view bytes);
void ClientText(absl::string_view bytes);
void ClientFlags(absl::string_view bytes);
void ClientErrors(absl::string_view bytes);

// ---- What the client's callers were sent ----
void CanonicalJsonForm(absl::string_view bytes);

// A name is that of the folder in tests/fuzz/corpus.
inline constexpr struct {
  const char* name;
  Target run;
} kTargets[] = {
    {"record_codec", RecordCodec},
    {"store_meta", StoreMetaCodec},
    {"backup_label", BackupLabelCodec},
    {"expiry_sample", ExpirySampleCodec},
    {"restore", Restore},
    {"watermark_file", WatermarkFile},
    {"log_file", LogFile},
    {"config_file", ConfigFile},
    {"command_line", CommandLine},
    {"setting_values", SettingValues},
    {"token_file", TokenFile},
    {"access_list", AccessListFile},
    {"requests", Requests},
    {"batch_reply", BatchReply},
    {"name_requests", NameRequests},
    {"session_steps", SessionSteps},
    {"wire_shape", WireShapes},
    {"trace_context", TraceHeaders},
    {"page_token", PageToken},
    {"decisions", Decisions},
    {"log_text", LogText},
    {"client_text", ClientText},
    {"client_flags", ClientFlags},
    {"client_errors", ClientErrors},
    {"canonical_json", CanonicalJsonForm},
};

}  // namespace onced::fuzz
