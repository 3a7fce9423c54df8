// The GPU of kernel_bench. Times our operators and the references alike: CUDA events around one call on an idle
// stream.
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
#include "kernels/common/group.h"
#include "kernels/common/join.h"
#include "kernels/common/operators.h"
#include "kernels/common/select.h"
#include "kernels/common/sets.h"

namespace corank::bench {

/// Keys and optional values in device memory.
struct KeyArrays {
  Memory keys, values;

  /// `value_bytes` 0: no values.
  absl::Status Create(int64_t key_bytes, int64_t value_bytes);
};

/// One GPU and one stream for our operators and the references. Not thread-safe.
class Gpu {
 public:
  static absl::StatusOr<std::unique_ptr<Gpu>> Create(int device);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// Runs one of our operators and returns its seconds, without the allocation of its workspace. A reported fault is an
  /// error. `taken` receives the algorithm that AUTO took; may be null.
  absl::StatusOr<double> Time(const SortArgs& args, SortAlgorithm* taken);
  absl::StatusOr<double> Time(const ColumnSortArgs& args, SortAlgorithm* taken);
  absl::StatusOr<double> Time(const MergeArgs& args);
  absl::StatusOr<double> Time(const MoveArgs& args);
  absl::StatusOr<double> Time(const ExpandArgs& args);
  absl::StatusOr<double> Time(const LoadBalanceArgs& args);
  absl::StatusOr<double> Time(const GroupArgs& args);
  absl::StatusOr<double> Time(const SelectArgs& args);
  absl::StatusOr<double> Time(const SetArgs& args);
  absl::StatusOr<double> Time(const JoinArgs& args);
  /// Runs a reference and returns its seconds.
  absl::StatusOr<double> Time(const std::function<cudaError_t(cudaStream_t)>& work);
  /// Runs work without timing it, and waits for it.
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

  /// Grows workspace_ to at least this size.
  absl::Status Reserve(int64_t bytes);
  template <typename Args, typename Report>
  absl::StatusOr<double> TimeReporting(const Args& args, int64_t workspace_bytes,
                                       cudaError_t (*run)(const Args&, void*, int64_t, Report*, cudaStream_t));

  cudaStream_t stream_ = nullptr;
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
  Memory counter_, report_, letter_, workspace_;
  int64_t workspace_bytes_ = 0;
  std::string description_;
};

}  // namespace corank::bench

#endif  // CORANK_BENCH_KERNELS_GPU_H_
