#include "kernels/cuda/sort/first_keys.h"

#include <algorithm>

#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/sort/selected_sort.h"
#include "kernels/cuda/sort/statistics.h"
#include "kernels/cuda/sort/tuning.h"

namespace corank::cuda {
namespace {

/// Writes the results, which are among `count` records.
cudaError_t SortRecords(const SortArgs& args, const FirstKeys& first, int64_t count, Workspace workspace,
                        cudaStream_t stream, SortAlgorithm* taken, int64_t* bytes) {
  const SelectedKeys selected{first.plan.form, first.d_records, count, 0};
  const cudaError_t error = SortSelected(args, selected, workspace, stream, taken);
  *bytes = std::max(*bytes, workspace.bytes());
  return error;
}

}  // namespace

cudaError_t CarveFirstKeys(const SortArgs& args, Workspace workspace, FirstKeys* first, int64_t* bytes) {
  first->plan = PlanSelection(args);
  if (first->plan.capacity == 0) return cudaSuccess;
  first->d_scratch = workspace.Carve<SelectionScratch>(1);
  first->d_records = workspace.CarveBytes(first->plan.capacity * RecordBytes(args, first->plan.form));
  first->left = workspace;
  SortAlgorithm taken;
  // The sort's algorithm depends on the number; no sort of fewer records needs more than the largest of its kind.
  for (const int64_t selected : {first->plan.likely, AutoRadixCount(8) - 1, first->plan.capacity}) {
    CORANK_RETURN_IF_CUDA_ERROR(SortRecords(args, *first, std::min(selected, first->plan.capacity),
                                            Workspace::SizingAfter(workspace), nullptr, &taken, bytes));
  }
  return cudaSuccess;
}

cudaError_t WriteFirstKeys(const SortArgs& args, const FirstKeys& first, StatisticsLetter* h_letter,
                           cudaStream_t stream, SortAlgorithm* taken) {
  const SelectionPlan& plan = first.plan;
  int64_t unused = 0;
  h_letter->arrived = 0;
  CORANK_RETURN_IF_CUDA_ERROR(SelectKeys(args, plan, first.d_records, first.d_scratch, h_letter, stream));
  if (plan.SortsBlindly()) {  // the device need not wait until the host knows the number
    CORANK_RETURN_IF_CUDA_ERROR(SortRecords(args, first, plan.likely, first.left, stream, taken, &unused));
  }
  CORANK_RETURN_IF_CUDA_ERROR(WaitForLetter(h_letter, stream));
  const auto selected = static_cast<int64_t>(h_letter->selected);
  if (selected < args.ResultCount() || selected > plan.capacity) {
    *taken = SortAlgorithm::kAuto;
    return cudaSuccess;
  }
  if (plan.SortsBlindly() && selected <= plan.likely) return cudaSuccess;
  return SortRecords(args, first, selected, first.left, stream, taken, &unused);
}

}  // namespace corank::cuda
