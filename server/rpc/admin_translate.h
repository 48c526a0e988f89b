// From the server's answers to the messages of the admin service.
#pragma once

#include "idempotency/admin/v1/admin.pb.h"
#include "server/base/backup_report.h"
#include "server/rpc/server_status.h"
#include "server/shard/listing.h"
#include "server/shard/request.h"

namespace onced {

idempotency::admin::v1::BackupResponse BackupResponseOf(const BackupReport& report);
idempotency::admin::v1::AcceptClockResponse AcceptClockResponseOf(absl::Duration step,
                                                                  absl::Time now);
// Each takes the answer to its own kind of request; none takes a refusal.
idempotency::admin::v1::ResolveResponse ResolveResponseOf(const Answer& answer);
idempotency::admin::v1::EvictResponse EvictResponseOf(const Answer& answer);
// Without its token for the next page.
idempotency::admin::v1::ListResponse ListResponseOf(const ListPage& page, absl::Time now);
// Without what the shards and the backups add.
idempotency::admin::v1::StatusResponse StatusResponseOf(const ServerStatus& status);

}  // namespace onced
