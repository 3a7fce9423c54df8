// Metrics of the process, with the names that Prometheus's client libraries use.
#ifndef CORANK_SERVER_OBSERVE_PROCESS_METRICS_H_
#define CORANK_SERVER_OBSERVE_PROCESS_METRICS_H_

#include <vector>

#include "prometheus/metric_family.h"

namespace corank {

/// Reads /proc: process_cpu_seconds_total, process_resident_memory_bytes, process_virtual_memory_bytes,
/// process_start_time_seconds, process_open_fds, process_max_fds, process_threads. Leaves out unreadable ones.
std::vector<prometheus::MetricFamily> ProcessMetrics();

}  // namespace corank

#endif  // CORANK_SERVER_OBSERVE_PROCESS_METRICS_H_
