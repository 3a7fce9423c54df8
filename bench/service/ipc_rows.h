// The row of service_bench on arrays in GPU memory of this process. Built only with CUDA.
#ifndef CORANK_BENCH_SERVICE_IPC_ROWS_H_
#define CORANK_BENCH_SERVICE_IPC_ROWS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "bench/harness/results.h"
#include "bench/service/inline_rows.h"

namespace corank::bench {

/// Sorts `keys` u32 in CUDA IPC memory, from one array into another, with the bare stub. The row has the latency of a
/// call beside the time of its kernels, which the response reports. The details contain the cost of calls that do next
/// to nothing: an empty one, and a sort of 256 keys in the same memory. The server needs --cuda-ipc.
absl::StatusOr<Row> MeasureIpcSort(const std::string& name, int64_t keys, const LoadOptions& options);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_IPC_ROWS_H_
