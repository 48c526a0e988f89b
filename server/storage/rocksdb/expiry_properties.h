// What each file of a shard knows of its records' expiry.
#pragma once

#include <memory>
#include <optional>

#include "rocksdb/table_properties.h"
#include "server/storage/codec/expiry_sample.h"
#include "server/storage/rocksdb/reclaim_filter.h"

namespace onced {

// Puts an ExpirySample into each file that is written, as its property
// "onced.expiry".
// Lifetime: `filter`, which knows what keeps a record alive, outlives it.
std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> MakeExpiryCollectorFactory(
    const ReclaimFilter& filter);

// nullopt for a file without it, as an older version wrote them.
std::optional<ExpirySample> ExpirySampleOf(const rocksdb::TableProperties& properties);

}  // namespace onced
