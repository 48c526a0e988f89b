// What the kernel says of this process, by the names that Prometheus' clients use.
#pragma once

#include "server/observe/prometheus_telemetry.h"

namespace onced {

// Asked at each scrape.
void AddProcessMetrics(PrometheusTelemetry& telemetry);

}  // namespace onced
