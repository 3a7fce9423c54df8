// AUTO looks at the data: keys that are sorted, reversed, few runs, few distinct ones, or with few live bits.
#ifndef CORANK_KERNELS_CUDA_SORT_STRUCTURE_H_
#define CORANK_KERNELS_CUDA_SORT_STRUCTURE_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

#include "kernels/common/operators.h"
#include "kernels/cuda/sort/statistics.h"

namespace corank::cuda {

enum class StructureKind : uint8_t {
  kNone,         // nothing that helps
  kSorted,       // keys are in order: args.keys_out is written
  kReversed,     // and each differs from its neighbours where that can be told from the outputs: likewise
  kFewRuns,      // run_starts
  kFewDistinct,  // keys are in the dictionary, and counted
  kSelected,     // nothing, but a part of the keys is known that holds all that are wanted
};

/// What AUTO knows about the keys, of all of them.
struct Structure {
  StructureKind kind = StructureKind::kNone;
  bool is_sampled_only = false;       // the device has done nothing behind the sample but `meanwhile`
  bool is_random = false;             // the sample says so
  uint64_t live_bits = ~uint64_t{0};  // of the codes: all others are the same in all keys
  int run_count = 0;
  int64_t run_starts[kMaxListedRuns + 1] = {};  // ascending, from 0 to count
  int64_t selected = 0;                         // indices in d_selected
};

/// What finding takes in device memory beside the scratch.
struct StructureArrays {
  uint8_t* d_ranks = nullptr;  // null, or count bytes: each key's position in the dictionary, for kFewDistinct
  void* d_selected = nullptr;  // SelectCapacity indices, in no order, for kSelected
};

/// Finds out, and waits for what the device has to say, one to four times, on `stream` only. The sample decides what is
/// looked for, all keys decide what is found. `meanwhile` enqueues what the device may do while the host learns what
/// the sample says.
cudaError_t FindStructure(const SortArgs& args, StatisticsScratch* d_scratch, const StructureArrays& arrays,
                          StatisticsLetter* h_letter, cudaStream_t stream,
                          const std::function<cudaError_t()>& meanwhile, Structure* structure);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_STRUCTURE_H_
