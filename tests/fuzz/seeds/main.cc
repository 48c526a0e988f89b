// Writes what the corpora begin with: fuzz_seeds tests/fuzz/corpus
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "grpc/reflection/v1/reflection.pb.h"
#include "idempotency/v1/idempotency.pb.h"
#include "server/base/bytes.h"
#include "server/rpc/errors.h"
#include "server/rpc/page_token.h"
#include "server/storage/codec/backup_label.h"
#include "server/storage/codec/expiry_sample.h"
#include "server/storage/codec/record_codec.h"
#include "server/storage/codec/store_meta.h"
#include "tests/support/test_records.h"

namespace onced::fuzz {
namespace {

namespace fs = std::filesystem;
namespace v1 = idempotency::v1;

constexpr std::size_t kSealBytes = 4;  // Targets seal what they are given themselves.

class Corpora {
 public:
  explicit Corpora(fs::path root) : root_(std::move(root)) {}

  void Add(const std::string& target, const std::string& name, const std::string& bytes) const {
    fs::create_directories(root_ / target);
    std::ofstream(root_ / target / name, std::ios::binary) << bytes;
  }

 private:
  const fs::path root_;
};

std::string Unsealed(std::string bytes) {
  bytes.resize(bytes.size() - kSealBytes);
  return bytes;
}

// Bytes of any value, for targets that draw what they do from them.
std::string Noise(std::uint64_t seed, std::size_t size) {
  std::mt19937_64 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

StoreMeta AMeta() {
  StoreMeta meta;
  meta.identity.shards = 2;
  meta.identity.hash_seed.fill(7);
  meta.identity.epoch = {9};
  meta.clock_mark = TestStart();
  meta.fences = {{1'700'000'000'000'000}, {1'700'000'000'000'001}};
  meta.outages = {{TestStart() - absl::Hours(2), TestStart() - absl::Hours(1), TestStart()}};
  return meta;
}

void AddStored(const Corpora& corpora) {
  const struct {
    const char* name;
    Record record;
  } records[] = {{"pending_minimal", MinimalPending()},
                 {"pending_full", FullPending()},
                 {"committed_minimal", MinimalCommitted("body")},
                 {"committed_full", FullCommitted()}};
  for (const auto& row : records) {
    corpora.Add("record_codec", row.name, Unsealed(EncodeRecord(row.record)));
    corpora.Add("record_codec", absl::StrCat(row.name, "_sealed"), EncodeRecord(row.record));
  }
  corpora.Add("record_codec", "key", EncodeKey({"shop", "order-1"}));

  std::string all;
  for (const auto& [key, value] : EncodeMeta(AMeta())) {
    corpora.Add("store_meta", key, Unsealed(value));
  }
  corpora.Add("store_meta", "whole",
              absl::StrCat(Unsealed(EncodeIdentity(AMeta().identity)),
                           Unsealed(EncodeTime(AMeta().clock_mark)), std::string(1, '\1'),
                           Unsealed(EncodeOutages(AMeta().outages)), std::string(9, '\5'),
                           Unsealed(EncodeFence({8})), Unsealed(EncodeFence({9}))));
  corpora.Add("backup_label", "label",
              Unsealed(EncodeBackupLabel(
                  {.cut_time = TestStart(), .store = 5, .epoch = {6}, .shards = 16})));
  ExpirySample sample(TestStart());
  for (int i = 0; i < 300; ++i) sample.Add(TestStart() + absl::Seconds(i), 100);
  corpora.Add("expiry_sample", "sample", Unsealed(sample.Encode()));
  corpora.Add("expiry_sample", "entries", Noise(1, 400));
  corpora.Add("restore", "any", Noise(2, 200));
  corpora.Add("watermark_file", "slots", Noise(3, 900));
  corpora.Add("watermark_file", "second_version", "oncedwm2" + Noise(4, 200));
  corpora.Add("watermark_file", "first_version", "oncedwm1" + Noise(5, 28));
  corpora.Add("watermark_file", "third_version", "oncedwm3");
  corpora.Add("log_file", "parts", Noise(6, 600));
  // Each whole: its type, its length, its data, and that the checksum fits.
  const std::string part = std::string("\1\14\0", 3) + std::string("\7\0\0\0\0\0\0\0\1\0\0\0", 12);
  corpora.Add("log_file", "entries", part + '\1' + part + '\1' + part + '\1');
}

void AddOperators(const Corpora& corpora) {
  corpora.Add("config_file", "policies.yaml",
              "data_dir: /var/lib/onced\nunlisted_namespaces: deny\n"
              "default_policy:\n  lease: {min: 1s, max: 10m, default: 1m}\n"
              "namespaces:\n  payments:\n    on_lapse: HOLD\n"
              "    retention: {min: 1h, default: 30d}\n"
              "  webhooks:\n    wait: {max: 20s, default: 5s}\n    max_body_bytes: 64KiB\n"
              "    waiters_max: 100\n    waiters_per_key_max: 10\n    lapsed_retention: 2d\n");
  corpora.Add("config_file", "settings.yaml",
              "listen: \"[::1]:50051\"\nhttp_listen: 127.0.0.1:0\nadmin_listen: off\nshards: 4\n"
              "executors: 2\ndurability: process\nqueue_max: 100\nrestart_grace: 1m30s\n"
              "backup_dir: /backups\nbackup_rate: 0\nmemory_budget: 64MiB\nlog_level: warn\n");
  corpora.Add("config_file", "anchors.yaml",
              "namespaces:\n  a: &p {lease: {min: 1s}}\n  b: *p\n  c: *p\n");
  corpora.Add("config_file", "errors.yaml",
              "shards: 300\nunknown: 1\nshards: 4\n? [a]\n: b\nnamespaces: {-a: {}}\n");
  corpora.Add("config_file", "block.yaml",
              "data_dir: |\n  /var\n---\n%TAG ! !\n!!str a: >-\n  b\n\"\\x41\": 'c'\n");
  corpora.Add("command_line", "flags",
              "--data-dir\n/data\n--listen=[::1]:1\n--queue-max\n7\nONCED_SHARDS=3\n"
              "ONCED_LOG_LEVEL=debug");
  corpora.Add("command_line", "restore",
              "--from\n/backups\n--data-dir\n/data\n--backup-id\n3\n--fence-floor\n12");
  corpora.Add("command_line", "cpu_max", "150000 100000");
  for (const char* text : {"512MiB", "1h30m", "30d", "[::1]:50051", "127.0.0.1:0", "localhost:1",
                           "HOLD", "yes", "0"}) {
    const std::string name = absl::StrCat("value_", std::hash<std::string>()(text) % 1000);
    corpora.Add("setting_values", name, std::string(8, '\0') + std::string(8, '\x7f') + text);
  }
}

void AddAccess(const Corpora& corpora) {
  const std::string token(32, 't');  // That the target looks for.
  corpora.Add("token_file", "tokens",
              absl::StrCat("# name, digest\npay sha256:", std::string(64, 'a'),
                           "\n\ncart sha256:", ToHex(Sha256(token)),
                           " not_after 2027-01-31T12:00:00Z # until then\r\n"));
  corpora.Add("token_file", "wrong", "-pay sha256:00\nsecret-token\npay sha256: not_after never\n");
  const std::string list =
      "- identity: spiffe://prod/ns/shop/*\n  namespaces: [shop, 'pay*']\n  rights: [use, "
      "inspect]\n"
      "- identity: token:ops\n  namespaces: ['*']\n  rights: [admin]\n"
      "- identity: dns:cart.example\n  namespaces: [cart]\n  rights: [use]\n";
  corpora.Add("access_list", "below", "spiffe://prod/ns/shop/sa/cart\npayments\n" + list);
  corpora.Add("access_list", "exact", "token:ops\nany\n" + list);
  corpora.Add("access_list", "dots", "spiffe://prod/ns/shop/../bank\nshop\n" + list);
  corpora.Add("access_list", "wrong", "a\nb\n- identity: 'x://*/*'\n  rights: [all]\n");
}

v1::ReserveRequest AReserve() {
  v1::ReserveRequest reserve;
  reserve.set_namespace_("shop");
  reserve.set_key("order-1 \xc3\xa9");
  reserve.set_fingerprint("fingerprint");
  reserve.set_request_id("request-id");
  reserve.set_owner("worker-1");
  reserve.mutable_lease_ttl()->set_seconds(30);
  reserve.mutable_wait_timeout()->set_nanos(500'000'000);
  return reserve;
}

v1::CommitRequest ACommit() {
  v1::CommitRequest commit;
  commit.set_namespace_("strict");
  commit.set_key("order-1");
  commit.set_token("00000007-1011121314151617181920212223242526272829");
  auto& result = *commit.mutable_result();
  result.set_status_code(201);
  auto& header = *result.add_headers();
  header.set_name("content-type");
  header.set_value("application/json");
  result.set_body("{\"charge\":\"ch_77\"}");
  commit.mutable_retention_ttl()->set_seconds(3'600);
  return commit;
}

void AddRequests(const Corpora& corpora) {
  // The method, the policies, the length of a slice; then the message.
  const auto call = [](char method, const google::protobuf::Message& message) {
    return std::string{method, 1, 3} + message.SerializeAsString();
  };
  v1::CommitRequest omitted = ACommit();
  omitted.mutable_result()->clear_body();
  omitted.mutable_result()->set_body_omitted(true);
  omitted.mutable_result()->set_body_size(1 << 30);
  omitted.mutable_result()->set_body_sha256(std::string(32, '\7'));
  v1::ReleaseRequest release;
  release.set_namespace_("shop");
  release.set_key("order-1");
  release.set_token("t");
  v1::ExtendRequest extend;
  extend.set_namespace_("shop");
  extend.set_key("order-1");
  extend.set_token("t");
  extend.mutable_lease_ttl()->set_seconds(5);
  extend.set_checkpoint("at 7");
  v1::InspectRequest inspect;
  inspect.set_namespace_("closed");
  inspect.set_key("order-1");
  inspect.set_include_result(true);
  v1::BatchRequest batch;
  *batch.add_operations()->mutable_reserve() = AReserve();
  batch.mutable_operations(0)->mutable_reserve()->clear_wait_timeout();
  *batch.add_operations()->mutable_commit() = ACommit();
  *batch.add_operations()->mutable_release() = release;
  *batch.add_operations()->mutable_extend() = extend;
  *batch.add_operations()->mutable_inspect() = inspect;
  batch.add_operations();
  v1::SessionRequest session;
  session.set_id(7);
  *session.mutable_operations() = batch.operations();
  corpora.Add("wire_shape", "batch", batch.SerializeAsString());
  corpora.Add("wire_shape", "commit", ACommit().SerializeAsString());
  v1::BatchRequest excess;
  for (int i = 0; i < 1'030; ++i) excess.add_operations()->mutable_inspect();
  corpora.Add("wire_shape", "too_many_operations", excess.SerializeAsString());
  v1::CommitRequest headers = ACommit();
  for (int i = 0; i < 70; ++i) headers.mutable_result()->add_headers()->set_name("x");
  corpora.Add("wire_shape", "too_many_headers", headers.SerializeAsString());
  std::string fields;
  for (int i = 0; i < 65; ++i) fields += std::string("\x78\x01", 2);
  corpora.Add("wire_shape", "too_many_fields", fields);
  corpora.Add("wire_shape", "group", std::string("\x0b\x0a\x02\x0a\x00\x0c", 6));
  corpora.Add("requests", "reserve", call(0, AReserve()));
  corpora.Add("requests", "commit", call(1, ACommit()));
  corpora.Add("requests", "commit_omitted", call(1, omitted));
  corpora.Add("requests", "release", call(2, release));
  corpora.Add("requests", "extend", call(3, extend));
  corpora.Add("requests", "inspect", call(4, inspect));
  corpora.Add("requests", "batch", call(5, batch));
  corpora.Add("requests", "session", call(6, session));

  // As 1,024 operations of which everything is wrong are answered.
  v1::ReserveRequest wrong;
  wrong.set_namespace_(std::string(65, '-'));
  wrong.set_key(std::string(257, '\1'));
  wrong.set_fingerprint(std::string(129, 'x'));
  wrong.set_request_id(std::string(65, 'x'));
  wrong.set_owner(std::string(129, 'x'));
  wrong.mutable_lease_ttl()->set_seconds(-315'576'000'000);
  wrong.mutable_wait_timeout()->set_seconds(315'576'000'000);
  corpora.Add("requests", "reserve_all_wrong", call(0, wrong));
  v1::SessionRequest all_wrong;
  *all_wrong.add_operations()->mutable_reserve() = wrong;
  corpora.Add("requests", "session_all_wrong", call(6, all_wrong));

  grpc::reflection::v1::ServerReflectionRequest asked;
  asked.set_host("localhost");
  asked.set_file_containing_symbol("idempotency.v1.IdempotencyService.Reserve");
  corpora.Add("name_requests", "symbol", asked.SerializeAsString());
  asked.set_list_services("*");
  corpora.Add("name_requests", "list", asked.SerializeAsString());
  asked.mutable_file_containing_extension()->set_containing_type("google.protobuf.MethodOptions");
  asked.mutable_file_containing_extension()->set_extension_number(72295728);
  corpora.Add("name_requests", "extension", asked.SerializeAsString());
  asked.set_file_by_filename("idempotency/v1/idempotency.proto");
  corpora.Add("name_requests", "file", asked.SerializeAsString());
  asked.set_all_extension_numbers_of_type("google.protobuf.FileOptions");
  corpora.Add("name_requests", "numbers", asked.SerializeAsString());

  corpora.Add("batch_reply", "any", Noise(7, 64));
  // A thousand times the largest of each.
  for (char kind = 0; kind < 6; ++kind) {
    corpora.Add("batch_reply", absl::StrCat("many_", static_cast<int>(kind)),
                std::string("\0\0\xff\x03", 4) + kind + std::string(64, '\xff'));
  }
  for (std::uint64_t i = 0; i < 3; ++i) {
    corpora.Add("session_steps", absl::StrCat("any_", i), Noise(10 + i, 500));
  }
  for (std::uint64_t i = 0; i < 12; ++i) {
    corpora.Add("decisions", absl::StrCat("any_", i), Noise(20 + i, 2'000));
  }
}

void AddHeaders(const Corpora& corpora) {
  const std::string ids = "-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-";
  corpora.Add("trace_context", "parent", absl::StrCat("00", ids, "01"));
  corpora.Add("trace_context", "later_version", absl::StrCat("cc", ids, "03-more"));
  corpora.Add("trace_context", "state", "rojo=00f067aa0ba902b7, 0fw529a3039@nr=1,,a_*/-=\t");
  const ListPosition position{.shard = 3, .after = "order-1"};
  corpora.Add("page_token", "token",
              std::string("\x0f\x04\0shop\0\0", 9) +
                  PageTokens("List", {.shards = 16}, {.name_space = "shop"}).ToText(position));
  corpora.Add("page_token", "position", std::string("\xff\0\0\0\0\3\0\0\0order-1", 16));
}

void AddTexts(const Corpora& corpora) {
  const std::string text = "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x92\xb3 \x1b[2J \xc2\x9b \xff \"\\";
  corpora.Add("log_text", "text", text);
  corpora.Add("client_text", "text", text);
  corpora.Add(
      "client_flags", "flags",
      "reserve\n--key\norder-1\n--ttl=1h30m\n--n\n7\n--sha256\n00ff\n--header\na:b\n--json");
  const auto error = [](const google::rpc::Status& status) {
    return std::string{static_cast<char>(status.code()), 5, 0} + "words" +
           status.SerializeAsString();
  };
  corpora.Add("client_errors", "superseded",
              error(ErrorOf(Refused{Refusal::kSuperseded, State::kPending, Fence{7}})));
  corpora.Add("client_errors", "queue_full", error(ErrorOf(Refused{Refusal::kQueueFull})));
  corpora.Add("client_errors", "fields",
              error(ErrorOf(std::vector<Violation>{{"key", "is required"}, {"owner", "x"}})));
}

}  // namespace
}  // namespace onced::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: fuzz_seeds FOLDER\n";
    return 2;
  }
  const onced::fuzz::Corpora corpora(argv[1]);
  onced::fuzz::AddStored(corpora);
  onced::fuzz::AddOperators(corpora);
  onced::fuzz::AddRequests(corpora);
  onced::fuzz::AddTexts(corpora);
  onced::fuzz::AddAccess(corpora);
  onced::fuzz::AddHeaders(corpora);
  return 0;
}
