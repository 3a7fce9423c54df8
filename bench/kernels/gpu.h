// The GPU as kernel_bench sees it: one way of timing for our operators and for the references, CUDA events around one
// call on an idle stream.
#ifndef CORANK_BENCH_KERNELS_GPU_H_
#define CORANK_BENCH_KERNELS_GPU_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/kernels/device_memory.h"
#include "kernels/common/column_sort.h"
#include "kernels/common/operators.h"

namespace corank::bench {

/// Keys and, where there are any, values, of device memory.
struct KeyArrays {
  Memory keys, values;

  /// 0 bytes of values: none.
  absl::Status Create(int64_t key_bytes, int64_t value_bytes);
};

/// One GPU and one stream, on which our operators and the references run alike. Not thread-safe.
class Gpu {
 public:
  static absl::StatusOr<std::unique_ptr<Gpu>> Create(int device);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// Runs one operator of ours and returns its seconds; its workspace is allocated outside of them. A fault that the
  /// operator reports is an error. `taken`: the algorithm that AUTO took; may be null.
  absl::StatusOr<double> Time(const SortArgs& args, SortAlgorithm* taken);
  absl::StatusOr<double> Time(const ColumnSortArgs& args, SortAlgorithm* taken);
  absl::StatusOr<double> Time(const MergeArgs& args);
  absl::StatusOr<double> Time(const MoveArgs& args);
  absl::StatusOr<double> Time(const ExpandArgs& args);
  absl::StatusOr<double> Time(const LoadBalanceArgs& args);
  /// Runs a reference and returns its seconds.
  absl::StatusOr<double> Time(const std::function<cudaError_t(cudaStream_t)>& work);
  /// Runs work that is not timed and waits for it.
  absl::Status Run(const std::function<cudaError_t(cudaStream_t)>& work);

  /// OK if two arrays in device memory are equal bit for bit.
  absl::Status CompareBits(const void* d_ours, const void* d_reference, int64_t bytes);
  /// OK if `count(d_counter)` leaves the counter at 0.
  absl::Status ExpectNoDifferences(const std::function<cudaError_t(uint64_t* d_counter, cudaStream_t)>& count);

  cudaStream_t stream() const { return stream_; }
  /// "NVIDIA H200, CUDA driver 13.0".
  const std::string& description() const { return description_; }

 private:
  Gpu() = default;

  /// Makes workspace_ at least this large.
  absl::Status Reserve(int64_t bytes);
  template <typename Args>
  absl::StatusOr<double> TimeReporting(const Args& args, int64_t workspace_bytes,
                                       cudaError_t (*run)(const Args&, void*, int64_t, OperatorReport*, cudaStream_t));

  cudaStream_t stream_ = nullptr;
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
  Memory counter_, report_, letter_, workspace_;
  int64_t workspace_bytes_ = 0;
  std::string description_;
};

}  // namespace corank::bench

#endif  // CORANK_BENCH_KERNELS_GPU_H_
