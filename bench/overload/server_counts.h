// Counters of corankd for the calls that reach it.
#ifndef CORANK_BENCH_OVERLOAD_SERVER_COUNTS_H_
#define CORANK_BENCH_OVERLOAD_SERVER_COUNTS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace corank::bench {

/// How many Sort requests arrived whole since the server's start, whatever their status. Waits until no call is open,
/// so that all are counted; UNAVAILABLE if that takes more than half a minute or the metrics cannot be read.
absl::StatusOr<int64_t> CountArrivedSorts(const std::string& metrics_address);

/// The sum of a metric's samples whose labels contain this text (`operator="sort"`); every sample contains the empty
/// text. NOT_FOUND if there is no such sample.
absl::StatusOr<double> SumOf(absl::string_view metrics, absl::string_view name, absl::string_view label);

}  // namespace corank::bench

#endif  // CORANK_BENCH_OVERLOAD_SERVER_COUNTS_H_
