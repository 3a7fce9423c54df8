// The merge of run_merge.h for one kind of key: multiway_merge.cuh over runs listed in the kernel's arguments.
#ifndef CORANK_KERNELS_CUDA_COMMON_RUN_MERGE_CUH_
#define CORANK_KERNELS_CUDA_COMMON_RUN_MERGE_CUH_

#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/multiway_merge.cuh"
#include "kernels/cuda/common/run_merge.h"

namespace corank::cuda {

/// Measured on sm_90 (H200) with 16 runs and 2^28 keys in total.
struct RunMergeTuning {
  int items;
  int threads;
  int blocks;  // that must fit on a multiprocessor: limits the registers
};
constexpr RunMergeTuning RunMergeTuningFor(int key_bytes, MergeForm form) {
  switch (form) {
    case MergeForm::kKeys:
      if (key_bytes == 8) return {23, 256, 4};
      return {39, 256, 4};
    case MergeForm::kPayload:
      if (key_bytes == 8) return {25, 256, 3};
      return {31, 256, 4};
    case MergeForm::kWords:
      break;
  }
  return {23, 256, 4};
}

template <MergeForm kForm, typename Bits, bool kFloat>
cudaError_t RunMergeOfForm(const KeyOrder<Bits, kFloat>& order, const RunMerge& merge, Workspace& workspace,
                           cudaStream_t stream) {
  constexpr RunMergeTuning kTuning = RunMergeTuningFor(sizeof(Bits), kForm);
  using Merge =
      MultiwayMerge<kForm, kTuning.items, kTuning.threads, kTuning.blocks, ListedRuns<Bits>, KeyOrder<Bits, kFloat>>;
  typename Merge::Pass pass{};
  pass.cut = MultiwayTiles::Cut(merge.count, merge.count, merge.result_count, Merge::MaxTile(merge.run_count));
  pass.splits = workspace.Carve<int64_t>(Merge::SplitCount(pass.cut, merge.run_count));
  if (workspace.IsSizing()) return cudaSuccess;
  pass.runs = ListedRunsOf<Bits>(merge);
  pass.order = order;
  // Unsigned ascending keys are their own codes and load faster without encoding.
  const bool are_codes = !kFloat && !IsSigned(merge.key_type) && merge.order == Order::kAscending;
  pass.encode = pass.decode = !are_codes;
  pass.keys_out = static_cast<Bits*>(merge.d_keys_out);
  pass.payload_out = merge.d_payload_out;
  pass.payload_bytes = merge.payload_bytes;
  pass.result_count = merge.result_count;
  pass.d_suspect = merge.d_suspect;
  return Merge::Run(pass, stream);
}

/// Explicitly instantiated in the run_merge_u*.cu files, one for each key width.
template <typename KeyOrderType>
cudaError_t RunMergeWith(const KeyOrderType& order, const RunMerge& merge, Workspace& workspace, cudaStream_t stream) {
  return WithMergeForm<sizeof(typename KeyOrderTraits<KeyOrderType>::Bits)>(merge.payload_bytes, [&](auto form) {
    return RunMergeOfForm<decltype(form)::value>(order, merge, workspace, stream);
  });
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_RUN_MERGE_CUH_
