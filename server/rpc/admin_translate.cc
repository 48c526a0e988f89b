#include "server/rpc/admin_translate.h"

#include <variant>

#include "server/base/check.h"
#include "server/rpc/proto_time.h"
#include "server/rpc/translate.h"

namespace onced {
namespace {

namespace v1 = idempotency::v1;
namespace admin_v1 = idempotency::admin::v1;
using onced::Set;  // Of times: else hidden by those below.

void Set(admin_v1::ResolveResponse& to, const CommitDone& from) {
  to.set_state(v1::STATE_COMMITTED);
  Set(*to.mutable_commit_time(), from.commit_time);
  Set(*to.mutable_expire_time(), from.expire_time);
  to.set_already_committed(from.already_committed);
  to.set_late(from.late);
  to.set_body_omitted(from.body_omitted);
  to.set_headers_omitted(from.headers_omitted);
}

void Set(admin_v1::ListedRecord& to, const ListPage::Found& from) {
  const Record& record = *from.seen.record;
  to.set_key(from.key);
  to.set_state(ApiStateOf(from.seen.state));
  to.set_fence(record.fence.value);
  to.set_attempt(static_cast<std::int32_t>(record.attempt));
  to.set_owner(record.owner);
  to.set_fingerprint(record.fingerprint);
  Set(*to.mutable_reserve_time(), record.reserve_time);
  if (from.seen.expire_time) Set(*to.mutable_expire_time(), *from.seen.expire_time);
  if (from.seen.lease_expire_time)
    Set(*to.mutable_lease_expire_time(), *from.seen.lease_expire_time);
  if (const auto* pending = std::get_if<Pending>(&record.phase)) {
    // What never expires is held, whatever it says: it is from before a restore.
    to.set_on_lapse(
        ApiOnLapseOf(from.seen.expire_time.has_value() ? pending->on_lapse : OnLapse::kHold));
    return;
  }
  const auto& committed = std::get<Committed>(record.phase);
  Set(*to.mutable_commit_time(), committed.commit_time);
  to.set_late(committed.late);
  to.set_status_code(committed.result->status_code);
  to.set_body_size(committed.result->body_size);
}

template <typename T>
const T& As(const Answer& answer) {
  const T* reply = std::get_if<T>(&answer.reply);
  ONCED_CHECK(reply != nullptr);  // Of another kind than the request's: a bug of this server.
  return *reply;
}

}  // namespace

admin_v1::BackupResponse BackupResponseOf(const BackupReport& report) {
  admin_v1::BackupResponse response;
  response.set_backup_id(report.id);
  Set(*response.mutable_cut_time(), report.cut_time);
  response.set_size_bytes(static_cast<std::int64_t>(report.size_bytes));
  response.set_file_count(static_cast<std::int64_t>(report.file_count));
  return response;
}

admin_v1::AcceptClockResponse AcceptClockResponseOf(absl::Duration step, absl::Time now) {
  admin_v1::AcceptClockResponse response;
  Set(*response.mutable_step(), step);
  Set(*response.mutable_server_time(), now);
  return response;
}

admin_v1::ResolveResponse ResolveResponseOf(const Answer& answer) {
  admin_v1::ResolveResponse to;
  const auto& done = As<ResolveDone>(answer);
  to.set_state(v1::STATE_ABSENT);
  if (done.committed.has_value()) Set(to, *done.committed);
  return to;
}

admin_v1::EvictResponse EvictResponseOf(const Answer& answer) {
  admin_v1::EvictResponse to;
  const State evicted = As<EvictDone>(answer).evicted;
  to.set_evicted(evicted != State::kAbsent);
  to.set_state(ApiStateOf(evicted));
  return to;
}

admin_v1::ListResponse ListResponseOf(const ListPage& page, absl::Time now) {
  admin_v1::ListResponse to;
  for (const ListPage::Found& found : page.found) Set(*to.add_records(), found);
  for (const ListPage::Unreadable& unreadable : page.unreadable) {
    admin_v1::Unreadable* added = to.add_unreadable();
    added->set_key(unreadable.key);
    added->set_shard(static_cast<std::int32_t>(unreadable.shard.value));
    added->set_message(unreadable.what);
  }
  Set(*to.mutable_server_time(), now);
  return to;
}

admin_v1::StatusResponse StatusResponseOf(const ServerStatus& from) {
  admin_v1::StatusResponse to;
  to.set_version(from.version);
  Set(*to.mutable_start_time(), from.start_time);
  Set(*to.mutable_uptime(), from.time - from.start_time);
  to.set_draining(from.draining);
  to.set_sessions(static_cast<std::int64_t>(from.sessions));
  admin_v1::ClockStatus* clock = to.mutable_clock();
  Set(*clock->mutable_time(), from.time);
  Set(*clock->mutable_step(), from.clock_step);
  Set(*clock->mutable_mark(), from.clock_mark);
  admin_v1::StoreStatus* store = to.mutable_store();
  store->set_failed(from.store_failed);
  store->set_low_on_space(from.low_on_space);
  store->set_free_bytes(static_cast<std::int64_t>(from.free_bytes));
  store->set_key_count(static_cast<std::int64_t>(from.key_count));
  if (from.last_sweep.has_value()) {
    Set(*to.mutable_last_sweep()->mutable_end_time(), *from.last_sweep);
    to.mutable_last_sweep()->set_useless_bytes(static_cast<std::int64_t>(from.useless_bytes));
  }
  return to;
}

}  // namespace onced
