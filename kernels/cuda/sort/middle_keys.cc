#include "kernels/cuda/sort/middle_keys.h"

#include <algorithm>

#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/sort/selected_sort.h"
#include "kernels/cuda/sort/sort_plan.h"
#include "kernels/cuda/sort/statistics.h"
#include "kernels/cuda/sort/tuning.h"

namespace corank::cuda {
namespace {

/// Writes the order of the samples. Equal ones keep theirs, which is that of the array.
cudaError_t SortSample(const SortArgs& args, const MiddleKeys& middle, Workspace workspace, cudaStream_t stream,
                       int64_t* bytes) {
  SortArgs sample;
  sample.key_type = args.key_type;
  sample.order = args.order;
  sample.count = middle.plan.band.samples;
  sample.keys_in = middle.d_sample;
  sample.indices_out = middle.d_order;
  const cudaError_t error = RunSort(sample, kAllBitsLive, workspace, stream);
  *bytes = std::max(*bytes, workspace.bytes());
  return error;
}

}  // namespace

cudaError_t CarveMiddleKeys(const SortArgs& args, Workspace workspace, MiddleKeys* middle, int64_t* bytes) {
  *bytes = 0;
  middle->plan = PlanMiddle(args);
  const MiddlePlan& plan = middle->plan;
  if (plan.capacity == 0) return cudaSuccess;
  middle->d_scratch = workspace.Carve<BandScratch>(1);
  middle->d_sample = workspace.CarveBytes(plan.band.samples * KeyBytes(args.key_type));
  middle->d_order = workspace.Carve<uint32_t>(plan.band.samples);
  middle->d_records = workspace.CarveBytes(plan.capacity * RecordBytes(args, plan.form));
  middle->left = workspace;
  CORANK_RETURN_IF_CUDA_ERROR(SortSample(args, *middle, Workspace::SizingAfter(workspace), nullptr, bytes));
  // The sort's algorithm depends on the number; no sort of fewer records needs more than the largest of its kind.
  for (const int64_t count : {std::min(AutoRadixCount(8) - 1, plan.capacity), plan.capacity}) {
    Workspace sizing = Workspace::SizingAfter(workspace);
    SortAlgorithm taken;
    CORANK_RETURN_IF_CUDA_ERROR(
        SortSelected(args, {plan.form, middle->d_records, count, args.offset}, sizing, nullptr, &taken));
    *bytes = std::max(*bytes, sizing.bytes());
  }
  return cudaSuccess;
}

cudaError_t WriteMiddleKeys(const SortArgs& args, const MiddleKeys& middle, StatisticsLetter* h_letter,
                            cudaStream_t stream, SortAlgorithm* taken) {
  const MiddlePlan& plan = middle.plan;
  int64_t unused = 0;
  h_letter->arrived = 0;
  CORANK_RETURN_IF_CUDA_ERROR(SampleBand(args, plan, middle.d_sample, middle.d_scratch, stream));
  CORANK_RETURN_IF_CUDA_ERROR(SortSample(args, middle, middle.left, stream, &unused));
  CORANK_RETURN_IF_CUDA_ERROR(
      SelectBand(args, plan, middle.d_order, middle.d_records, middle.d_scratch, h_letter, stream));
  CORANK_RETURN_IF_CUDA_ERROR(WaitForLetter(h_letter, stream));
  const auto selected = static_cast<int64_t>(h_letter->selected), below = static_cast<int64_t>(h_letter->below);
  *taken = SortAlgorithm::kAuto;
  if (selected > plan.capacity || below > args.offset || below + selected < args.offset + args.ResultCount()) {
    return cudaSuccess;
  }
  Workspace left = middle.left;
  return SortSelected(args, {plan.form, middle.d_records, selected, below}, left, stream, taken);
}

}  // namespace corank::cuda
