// The rows of service_bench for small sorts while a large one runs.
#ifndef CORANK_BENCH_SERVICE_BESIDE_ROWS_H_
#define CORANK_BENCH_SERVICE_BESIDE_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/harness/results.h"
#include "bench/service/inline_rows.h"

namespace corank::bench {

struct BesideLoad {
  std::string name;
  int64_t keys = 0;  // of a small sort, u32
};

/// Two kinds of small sorts, one at a time: the host does the smaller ones, and a GPU the larger ones.
std::vector<BesideLoad> BesideLoads();

/// The 99th percentile of small sorts while the server sorts an array of `large_keys` u32 again and again that all of
/// its devices share, beside the same alone. The details have the same beside a sort on one device. By turns; the
/// spread is over rounds.
absl::StatusOr<Row> MeasureBeside(const BesideLoad& load, int64_t large_keys, const LoadOptions& options);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_BESIDE_ROWS_H_
