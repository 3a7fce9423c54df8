#include "kernels/cuda/columns/column_sort.h"

#include "kernels/common/row_order.h"
#include "kernels/cuda/columns/column_codes.h"
#include "kernels/cuda/columns/equal_codes.h"
#include "kernels/cuda/columns/strings.h"
#include "kernels/cuda/common/gather.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sort/sort.h"

namespace corank::cuda {
namespace {

/// Gathers everything that is wanted by d_rows, the row numbers in order.
cudaError_t GatherOutputs(const ColumnSortArgs& args, const void* d_rows, int index_bytes, Workspace& workspace,
                          cudaStream_t stream) {
  const int64_t count = args.ResultCount();
  for (int i = 0; i < args.column_count; ++i) {
    const KeyColumn& column = args.columns[i];
    if (column.kind == ColumnKind::kStrings) {
      if (column.offsets_out == nullptr && !workspace.IsSizing()) continue;
      CORANK_RETURN_IF_CUDA_ERROR(GatherStrings(column, d_rows, index_bytes, count, workspace, stream));
    } else if (column.data_out != nullptr && !workspace.IsSizing()) {
      CORANK_RETURN_IF_CUDA_ERROR(
          GatherRows(column.data, column.row_bytes, d_rows, index_bytes, column.data_out, count, stream));
    }
  }
  if (workspace.IsSizing()) return cudaSuccess;
  if (args.value_bytes > 0) {
    CORANK_RETURN_IF_CUDA_ERROR(
        GatherRows(args.values_in, args.value_bytes, d_rows, index_bytes, args.values_out, count, stream));
  }
  if (args.indices_out != nullptr && args.indices_out != d_rows) {
    return cudaMemcpyAsync(args.indices_out, d_rows, static_cast<size_t>(count * index_bytes), cudaMemcpyDeviceToDevice,
                           stream);
  }
  return cudaSuccess;
}

cudaError_t Run(const ColumnSortArgs& args, Workspace& workspace, OperatorReport* h_report, cudaStream_t stream) {
  if (args.ResultCount() == 0) {
    h_report->sort_algorithm = args.algorithm == SortAlgorithm::kAuto ? SortAlgorithm::kCopy : args.algorithm;
    return GatherOutputs(args, nullptr, 4, workspace, stream);
  }
  const int index_bytes = IndexBytes(args.count - 1);
  const bool rows_are_the_result = args.indices_out != nullptr && args.ResultCount() == args.count;
  void* const d_row_scratch = workspace.CarveBytes(rows_are_the_result ? 0 : args.count * index_bytes);
  auto* const d_state = workspace.Carve<CodeState>(1);
  auto* const d_codes = workspace.Carve<uint64_t>(args.count);
  auto* const d_sorted_codes = workspace.Carve<uint64_t>(args.count);
  void* const d_rows = rows_are_the_result ? args.indices_out : d_row_scratch;

  SortArgs codes;
  codes.key_type = KeyType::kUint64;
  codes.algorithm = args.algorithm;
  codes.count = args.count;
  codes.keys_in = d_codes;
  // While sizing there are no addresses yet, but null would say that an output is not wanted.
  codes.keys_out = workspace.IsSizing() ? static_cast<void*>(&codes) : d_sorted_codes;
  codes.indices_out = workspace.IsSizing() ? static_cast<void*>(&codes) : d_rows;
  const int64_t sort_bytes = SortWorkspaceBytes(codes);
  void* const d_sort_workspace = workspace.CarveBytes(sort_bytes);
  RowOrder order(args.columns, args.column_count);
  if (!workspace.IsSizing()) {
    CORANK_RETURN_IF_CUDA_ERROR(MakeCodes(order, args.count, d_state, d_codes, stream));
    CORANK_RETURN_IF_CUDA_ERROR(Sort(codes, d_sort_workspace, sort_bytes, h_report, stream));
  }
  if (order.stream_bytes() > 8) {
    CORANK_RETURN_IF_CUDA_ERROR(SortEqualCodes(order, d_sorted_codes, workspace.IsSizing() ? nullptr : &d_state->code,
                                               d_rows, index_bytes, args.count, workspace, stream));
  }
  return GatherOutputs(args, d_rows, index_bytes, workspace, stream);
}

}  // namespace

int64_t ColumnSortWorkspaceBytes(const ColumnSortArgs& args) {
  Workspace sizing;
  OperatorReport unused;
  ColumnSortArgs upper_bound = args;
  upper_bound.indices_out = nullptr;
  // An error of the device is met again, and returned, by SortColumns itself.
  static_cast<void>(Run(upper_bound, sizing, &unused, nullptr));
  return sizing.bytes();
}

cudaError_t SortColumns(const ColumnSortArgs& args, void* d_workspace, int64_t workspace_bytes,
                        OperatorReport* h_report, cudaStream_t stream) {
  Workspace sizing;
  CORANK_RETURN_IF_CUDA_ERROR(Run(args, sizing, h_report, stream));
  if (workspace_bytes < sizing.bytes()) return cudaErrorInvalidValue;
  Workspace workspace(d_workspace);
  return Run(args, workspace, h_report, stream);
}

}  // namespace corank::cuda
