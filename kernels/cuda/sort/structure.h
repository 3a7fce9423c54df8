// AUTO's search for structure: keys that are sorted, reversed, in few runs, with few distinct values, or with few live
// bits.
#ifndef CORANK_KERNELS_CUDA_SORT_STRUCTURE_H_
#define CORANK_KERNELS_CUDA_SORT_STRUCTURE_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

#include "kernels/common/operators.h"
#include "kernels/cuda/sort/statistics.h"

namespace corank::cuda {

enum class StructureKind : uint8_t {
  kNone,         // no useful structure
  kSorted,       // keys are in order, and args.keys_out is written
  kReversed,     // the same backwards; no equal neighbours, or equal ones make no visible difference
  kFewRuns,      // run_starts
  kFewDistinct,  // keys are in the dictionary, with their counts
};

/// AUTO's knowledge about all keys.
struct Structure {
  StructureKind kind = StructureKind::kNone;
  bool is_sampled_only = false;       // after the sample, the device has done only `meanwhile`
  bool is_random = false;             // by the sample
  uint64_t live_bits = ~uint64_t{0};  // of the codes: all other bits are the same in all keys
  int run_count = 0;
  int64_t run_starts[kMaxListedRuns + 1] = {};  // ascending, from 0 to count
};

/// Device memory for the search, beside the scratch.
struct StructureArrays {
  uint8_t* d_ranks = nullptr;  // null, or count bytes: each key's position in the dictionary, for kFewDistinct
};

/// Examines the keys, and waits one to four times for the device, on `stream` only. The sample decides what to look
/// for; all keys decide what is found. `meanwhile` enqueues work for the device while the host waits for the sample.
cudaError_t FindStructure(const SortArgs& args, StatisticsScratch* d_scratch, const StructureArrays& arrays,
                          StatisticsLetter* h_letter, cudaStream_t stream,
                          const std::function<cudaError_t()>& meanwhile, Structure* structure);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_STRUCTURE_H_
