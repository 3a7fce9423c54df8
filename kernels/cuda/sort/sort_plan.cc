#include "kernels/cuda/sort/sort_plan.h"

#include "kernels/cuda/common/gather.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/sort/core_sort.h"
#include "kernels/cuda/sort/key_codes.h"
#include "kernels/cuda/sort/segment_sort.h"
#include "kernels/cuda/sort/small_sort.h"
#include "kernels/cuda/sort/tuning.h"

namespace corank::cuda {

SortAlgorithm TakenAlgorithm(const SortArgs& args) {
  if (args.segment_offsets != nullptr) return SortAlgorithm::kMergesort;
  if (args.algorithm == SortAlgorithm::kRadix || args.algorithm == SortAlgorithm::kOddEvenMergesort) {
    return args.algorithm;
  }
  const int64_t radix_count = AutoRadixCount(KeyBytes(args.key_type));
  const bool takes_radix = args.algorithm == SortAlgorithm::kAuto && args.count >= radix_count;
  return takes_radix ? SortAlgorithm::kRadix : SortAlgorithm::kMergesort;
}

namespace {

bool IsUnsignedAscending(const SortArgs& args) {
  return !IsFloat(args.key_type) && !IsSigned(args.key_type) && args.order == Order::kAscending;
}

/// The conversion of SortArgs to a CoreSort.
struct Plan {
  SortAlgorithm algorithm;
  bool ranks;           // the core sorts ranks in the workspace instead of the keys
  bool gathers_keys;    // ranks of floats do not determine the keys, which are gathered by index
  bool gathers_values;  // values are gathered by index
  bool moves_values;    // values are the core's payload
  int index_bytes;      // of the core's payload if that is the index, otherwise 0
};

Plan MakePlan(const SortArgs& args) {
  Plan plan{};
  const bool has_values = args.value_bytes > 0;
  const bool is_float = IsFloat(args.key_type);
  plan.algorithm = TakenAlgorithm(args);
  switch (plan.algorithm) {
    case SortAlgorithm::kRadix:
      break;
    case SortAlgorithm::kOddEvenMergesort:
      plan.ranks = !IsUnsignedAscending(args);
      plan.gathers_values = has_values;  // the index breaks its ties
      break;
    default:
      plan.ranks = args.segment_offsets != nullptr && is_float;
  }
  plan.gathers_keys = plan.ranks && is_float;
  plan.gathers_values |= has_values && (plan.gathers_keys || (args.value_bytes != 4 && args.value_bytes != 8));
  plan.moves_values = has_values && !plan.gathers_values;
  if (args.indices_out != nullptr || plan.gathers_keys || plan.gathers_values) {
    plan.index_bytes = IndexBytes(args.count - 1);
  }
  return plan;
}

cudaError_t RunCore(SortAlgorithm algorithm, const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  if (sort.d_segment_offsets != nullptr) return SegmentSort(sort, workspace, stream);
  switch (algorithm) {
    case SortAlgorithm::kRadix:
      return RadixSort(sort, workspace, stream);
    case SortAlgorithm::kOddEvenMergesort:
      return OddEvenMergesort(sort, workspace, stream);
    default:
      return IsSmallSort(sort) ? SmallSort(sort, workspace, stream) : Mergesort(sort, workspace, stream);
  }
}

}  // namespace

cudaError_t RunSort(const SortArgs& args, uint64_t live_bits, Workspace& workspace, cudaStream_t stream,
                    RadixPart part) {
  if (args.ResultCount() == 0) return cudaSuccess;
  const Plan plan = MakePlan(args);
  const int key_bytes = KeyBytes(args.key_type);

  CoreSort core;
  core.key_type = plan.ranks ? RankType(args.key_type) : args.key_type;
  core.order = plan.ranks ? Order::kAscending : args.order;
  core.count = args.count;
  core.result_count = args.ResultCount();
  core.d_segment_offsets = args.segment_offsets;
  core.segment_count = args.segment_count;
  core.live_bits = live_bits;
  core.radix_part = part;
  core.d_keys_in = args.keys_in;
  core.d_keys_out = plan.gathers_keys ? nullptr : args.keys_out;
  // The first pass of algorithms that sort ranks may write where it reads; or keys_out is written after all passes.
  const bool ranks_fit_output = args.keys_out != nullptr && core.OutputsAreWhole();
  void* const d_rank_scratch = workspace.CarveBytes(plan.ranks && !ranks_fit_output ? args.count * key_bytes : 0);
  void* const d_ranks = ranks_fit_output ? args.keys_out : d_rank_scratch;
  if (plan.ranks) core.d_keys_in = d_ranks;
  if (plan.moves_values) {
    core.d_payload_in = args.values_in;
    core.d_payload_out = args.values_out;
    core.payload_bytes = args.value_bytes;
  }
  void* const d_index_scratch = workspace.CarveBytes(
      plan.index_bytes > 0 && args.indices_out == nullptr ? core.result_count * plan.index_bytes : 0);
  if (plan.index_bytes > 0) {
    core.d_payload_out = args.indices_out != nullptr ? args.indices_out : d_index_scratch;
    core.payload_bytes = plan.index_bytes;
  }

  if (plan.ranks && !workspace.IsSizing()) {
    CORANK_RETURN_IF_CUDA_ERROR(KeysToRanks(args.key_type, args.order, args.keys_in, d_ranks, args.count, stream));
  }
  CORANK_RETURN_IF_CUDA_ERROR(RunCore(plan.algorithm, core, workspace, stream));
  if (workspace.IsSizing() || part == RadixPart::kHistogram) return cudaSuccess;

  if (args.keys_out != nullptr && plan.gathers_keys) {
    CORANK_RETURN_IF_CUDA_ERROR(GatherRows(args.keys_in, key_bytes, core.d_payload_out, plan.index_bytes, args.keys_out,
                                           core.result_count, stream));
  } else if (args.keys_out != nullptr && plan.ranks) {
    CORANK_RETURN_IF_CUDA_ERROR(
        RanksToIntegerKeys(args.key_type, args.order, args.keys_out, core.result_count, stream));
  }
  if (plan.gathers_values) {
    CORANK_RETURN_IF_CUDA_ERROR(GatherRows(args.values_in, args.value_bytes, core.d_payload_out, plan.index_bytes,
                                           args.values_out, core.result_count, stream));
  }
  return cudaSuccess;
}

}  // namespace corank::cuda
