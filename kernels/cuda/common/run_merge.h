// Merges up to kMaxWays sorted runs of raw keys, anywhere in memory, in one pass.
#ifndef CORANK_KERNELS_CUDA_COMMON_RUN_MERGE_H_
#define CORANK_KERNELS_CUDA_COMMON_RUN_MERGE_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/cuda/common/multiway_runs.h"
#include "kernels/cuda/common/workspace.h"

namespace corank::cuda {

/// One sorted run; keys and payload are device pointers.
struct MergeRun {
  const void* d_keys = nullptr;
  const void* d_payload = nullptr;  // null: the payload of key i is the number first + i
  int64_t count = 0;
  int64_t first = 0;
};

struct RunMerge {
  KeyType key_type = KeyType::kUint32;
  Order order = Order::kAscending;
  const MergeRun* runs = nullptr;  // a HOST array; not read while sizing
  int run_count = 0;               // 1 to kMaxWays
  int64_t count = 0;               // keys in all runs together, > 0
  int64_t result_count = 0;        // the length of the outputs
  void* d_keys_out = nullptr;      // null: the caller does not want keys
  void* d_payload_out = nullptr;   // null only where payload_bytes is 0
  int payload_bytes = 0;           // 0, 4 or 8
  /// Null if the runs are known to be sorted. Otherwise device memory, which the merge sets to a value other than 0 if
  /// a run is unsorted. The outputs then mean nothing, but the merge has touched nothing else.
  int32_t* d_suspect = nullptr;
};

/// The runs of a merge as a kernel argument.
template <typename Bits>
ListedRuns<Bits> ListedRunsOf(const RunMerge& merge) {
  ListedRuns<Bits> listed{};
  listed.count = merge.count;
  listed.ways = merge.run_count;
  for (int i = 0; i < merge.run_count; ++i) {
    const MergeRun& run = merge.runs[i];
    listed.runs[i] = {static_cast<const Bits*>(run.d_keys), run.d_payload, run.count, run.first};
  }
  return listed;
}

/// Stable: equal keys of an earlier run come first. Carves its workspace, which grows with run_count. Unless it only
/// sizes, enqueues two or three launches, and one more for float keys.
cudaError_t MergeRuns(const RunMerge& merge, Workspace& workspace, cudaStream_t stream);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_RUN_MERGE_H_
