#include "server/storage/codec/record_codec.h"

#include "server/ledger/policy.h"
#include "server/storage/codec/crc32c.h"
#include "server/storage/codec/wire.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/targets.h"

namespace onced::fuzz {
namespace {

void Read(absl::string_view bytes) {
  const absl::Time expiry = ExpiryOf(bytes);
  const bool pending = HoldsPending(bytes);
  const absl::StatusOr<Record> record = DecodeRecord(bytes);
  if (!record.ok()) return Demand(absl::IsDataLoss(record.status()), "refused as something else");
  Demand(EncodeRecord(*record) == bytes, "read what was never written");
  Demand(pending == std::holds_alternative<Pending>(record->phase), "the prefix lies on the state");
  // What compaction may drop has expired whatever was seen since.
  const absl::Time really = ExpireTime(*record, View{.epoch = record->token.epoch});
  Demand(StoredTime(expiry) <= StoredTime(really), "the prefix says an earlier end");
}

}  // namespace

void RecordCodec(absl::string_view bytes) {
  Read(bytes);
  // A fuzzer can't guess a checksum.
  WireWriter sealed;
  sealed.Fixed(bytes.data(), bytes.size());
  Read(std::move(sealed).Seal());

  const absl::StatusOr<RecordKey> key = DecodeKey(bytes);
  if (key.ok()) Demand(EncodeKey(*key) == bytes, "another key");
}

}  // namespace onced::fuzz
