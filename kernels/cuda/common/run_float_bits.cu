// Restores the bits of zeros and NaNs in merged float keys.
//
// Algorithm: the zeros of a run are adjacent, and so are its NaNs. Each block finds them in the result and, if there
//            are any, by binary search in every run. All blocks copy them.
// Work: O(k log n), and one copy of the zeros and NaNs.
// Memory: one read and one write of the zeros and NaNs.
// Workspace: none.
// Stability: zeros and NaNs of an earlier run come first, and those of one run keep their order.
#include <algorithm>
#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/common/merge_path.h"
#include "kernels/cuda/common/float_bits.cuh"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/multiway_runs.h"
#include "kernels/cuda/common/run_float_bits.h"

namespace corank::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kKeysPerBlock = 16 * kThreads;
constexpr int64_t kMostBlocks = 256;
constexpr int kClasses = 2;  // zeros, NaNs
static_assert(kClasses * kMaxWays <= kThreads, "a thread searches a run");

template <typename Bits>
struct RunBitsPass {
  KeyOrder<Bits, true> order;
  ListedRuns<Bits> runs;
  Bits* keys_out;
  int64_t result_count;
};

template <typename Bits>
__global__ void __launch_bounds__(kThreads) RestoreRunBitsKernel(const __grid_constant__ RunBitsPass<Bits> pass) {
  __shared__ int64_t firsts[kClasses][kMaxWays];      // the first of the class in each run
  __shared__ int64_t before[kClasses][kMaxWays + 1];  // keys of the class in earlier runs
  FloatBegins begins;
  if (!FindFloatBegins<kThreads>(pass.order, pass.keys_out, pass.result_count, &begins)) return;
  const int thread = static_cast<int>(threadIdx.x);
  const auto begin_of = [&](int key_class) { return key_class == 0 ? begins.zeros : begins.nans; };
  if (thread < kClasses * kMaxWays) {
    const int key_class = thread / kMaxWays, way = thread % kMaxWays;
    const int64_t begin = begin_of(key_class);
    int64_t first = 0, count = 0;
    if (way < pass.runs.ways && begin < pass.result_count) {
      const Bits key = pass.keys_out[begin];  // a key of another class, if this one is empty
      const bool is_member = key_class == 0 ? pass.order.IsFloatZero(key) : !pass.order.IsNumber(key);
      if (is_member) {
        const auto precedes = [&](Bits x, Bits y) { return pass.order.Before(x, y); };
        const Run<Bits> run = pass.runs.RunAt(0, way);
        first = LowerBound(run.keys, run.count, key, precedes);
        count = UpperBound(run.keys, run.count, key, precedes) - first;
      }
    }
    firsts[key_class][way] = first;
    before[key_class][way + 1] = count;
  }
  __syncthreads();
  if (thread < kClasses) {
    before[thread][0] = 0;
    for (int way = 0; way < kMaxWays; ++way) before[thread][way + 1] += before[thread][way];
  }
  __syncthreads();
  for (int key_class = 0; key_class < kClasses; ++key_class) {
    const int64_t begin = begin_of(key_class);
    const int64_t count = min(before[key_class][kMaxWays], pass.result_count - begin);
    const int64_t step = int64_t{gridDim.x} * kThreads;
    for (int64_t i = int64_t{blockIdx.x} * kThreads + thread; i < count; i += step) {
      int way = 0;
      for (int half = kMaxWays / 2; half > 0; half /= 2) way += before[key_class][way + half] <= i ? half : 0;
      pass.keys_out[begin + i] = pass.runs.RunAt(0, way).keys[firsts[key_class][way] + i - before[key_class][way]];
    }
  }
}

template <typename Bits>
cudaError_t Restore(const RunMerge& merge, cudaStream_t stream) {
  RunBitsPass<Bits> pass{};
  pass.order = KeyOrder<Bits, true>(merge.key_type, merge.order);
  pass.runs = ListedRunsOf<Bits>(merge);
  pass.keys_out = static_cast<Bits*>(merge.d_keys_out);
  pass.result_count = merge.result_count;
  const int64_t blocks = std::min(CeilDiv(merge.result_count, kKeysPerBlock), kMostBlocks);
  RestoreRunBitsKernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(pass);
  return cudaGetLastError();
}

}  // namespace

cudaError_t RestoreRunFloatBits(const RunMerge& merge, cudaStream_t stream) {
  switch (KeyBytes(merge.key_type)) {
    case 2:
      return Restore<uint16_t>(merge, stream);
    case 4:
      return Restore<uint32_t>(merge, stream);
    default:
      return Restore<uint64_t>(merge, stream);
  }
}

}  // namespace corank::cuda
