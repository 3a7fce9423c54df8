#include "kernels/cuda/common/multiway_runs.h"
#include "kernels/cuda/common/run_merge.cuh"
#include "tests/faults/workload_sizes.h"

namespace corank::testing {

int64_t KeysOfTwoPartitions() {
  constexpr cuda::RunMergeTuning kTuning = cuda::RunMergeTuningFor(sizeof(uint8_t), cuda::MergeForm::kKeys);
  return (cuda::kMultiwayShort + 1) * kTuning.items * kTuning.threads;
}

}  // namespace corank::testing
