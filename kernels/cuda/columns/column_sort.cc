#include "kernels/cuda/columns/column_sort.h"

#include <algorithm>

#include "kernels/common/row_order.h"
#include "kernels/cuda/columns/column_codes.h"
#include "kernels/cuda/columns/column_tuning.h"
#include "kernels/cuda/columns/equal_codes.h"
#include "kernels/cuda/columns/merge_codes.h"
#include "kernels/cuda/columns/row_ranks.h"
#include "kernels/cuda/columns/segment_numbers.h"
#include "kernels/cuda/columns/strings.h"
#include "kernels/cuda/common/gather.h"
#include "kernels/cuda/common/gather_validity.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sort/segment_limit.h"
#include "kernels/cuda/sort/sort.h"

namespace corank::cuda {
namespace {

/// Gathers all requested outputs by d_rows, the row numbers in sorted order. d_count: null, or their number on the
/// device, if it is less than args.ResultCount().
cudaError_t GatherOutputs(const ColumnSortArgs& args, const void* d_rows, int index_bytes, const int64_t* d_count,
                          Workspace& workspace, cudaStream_t stream) {
  const int64_t count = args.ResultCount();
  for (int i = 0; i < args.column_count; ++i) {
    const KeyColumn& column = args.columns[i];
    if (column.validity_out != nullptr && !workspace.IsSizing()) {
      CORANK_RETURN_IF_CUDA_ERROR(
          GatherValidity(column.validity, d_rows, index_bytes, column.validity_out, count, stream, d_count));
    }
    if (column.kind == ColumnKind::kStrings) {
      if (column.offsets_out == nullptr && !workspace.IsSizing()) continue;
      CORANK_RETURN_IF_CUDA_ERROR(GatherStrings(column, d_rows, index_bytes, count, d_count, workspace, stream));
    } else if (column.data_out != nullptr && !workspace.IsSizing()) {
      CORANK_RETURN_IF_CUDA_ERROR(
          GatherRows(column.data, column.row_bytes, d_rows, index_bytes, column.data_out, count, stream, d_count));
    }
  }
  if (workspace.IsSizing()) return cudaSuccess;
  if (args.value_bytes > 0) {
    CORANK_RETURN_IF_CUDA_ERROR(
        GatherRows(args.values_in, args.value_bytes, d_rows, index_bytes, args.values_out, count, stream, d_count));
  }
  if (args.indices_out != nullptr && args.indices_out != d_rows) {
    return cudaMemcpyAsync(args.indices_out, d_rows, static_cast<size_t>(count * index_bytes), cudaMemcpyDeviceToDevice,
                           stream);
  }
  return cudaSuccess;
}

/// Whether to sort the rows by the halves of their codes. The codes of short rows decide everything, and two sorts of
/// 4-byte keys with 4-byte row numbers move less data than one sort of 8-byte keys. This does not hold for the
/// mergesort.
bool SortsHalves(const ColumnSortArgs& args, const RowOrder& order, int index_bytes) {
  if (order.stream_bytes() > 8 || index_bytes != 4) return false;
  if (args.algorithm != SortAlgorithm::kAuto) return args.algorithm == SortAlgorithm::kRadix;
  return args.count >= AutoRadixCount(sizeof(uint32_t));
}

/// Writes the row numbers in sorted order to d_rows: sorts by the lower halves of the codes, and then stably by the
/// upper halves.
cudaError_t SortByHalves(const ColumnSortArgs& args, const RowOrder& order, uint32_t* d_rows, Workspace& workspace,
                         OperatorReport* h_report, cudaStream_t stream) {
  const bool has_low = order.stream_bytes() > 4;
  auto* const d_high = workspace.Carve<uint32_t>(args.count);
  auto* const d_low = workspace.Carve<uint32_t>(has_low ? args.count : 0);
  auto* const d_rows_by_low = workspace.Carve<uint32_t>(has_low ? args.count : 0);

  SortArgs by_low;
  by_low.key_type = KeyType::kUint32;
  by_low.algorithm = SortAlgorithm::kRadix;
  by_low.count = args.count;
  by_low.keys_in = has_low ? d_low : d_high;
  // While sizing there are no addresses yet, but null would mean that the caller does not want the output.
  by_low.indices_out = workspace.IsSizing() ? static_cast<void*>(&by_low) : has_low ? d_rows_by_low : d_rows;
  SortArgs by_high = by_low;
  by_high.keys_in = d_low;
  by_high.indices_out = nullptr;
  by_high.values_in = d_rows_by_low;
  by_high.values_out = d_rows;
  by_high.value_bytes = sizeof(uint32_t);
  const int64_t bytes = std::max(SortWorkspaceBytes(by_low), has_low ? SortWorkspaceBytes(by_high) : 0);
  void* const d_sort_workspace = workspace.CarveBytes(bytes);
  if (workspace.IsSizing()) return cudaSuccess;

  CORANK_RETURN_IF_CUDA_ERROR(MakeCodeHalves(order, args.count, has_low ? d_low : nullptr, d_high, stream));
  CORANK_RETURN_IF_CUDA_ERROR(Sort(by_low, d_sort_workspace, bytes, h_report, stream));
  if (!has_low) return cudaSuccess;
  // The upper halves overwrite the lower ones, which are no longer needed.
  CORANK_RETURN_IF_CUDA_ERROR(
      GatherRows(d_high, sizeof(uint32_t), d_rows_by_low, sizeof(uint32_t), d_low, args.count, stream));
  return Sort(by_high, d_sort_workspace, bytes, h_report, stream);
}

/// Writes the codes of all rows in ascending order to d_sorted_codes, and their row numbers to d_rows. Checks the runs,
/// if there are any.
cudaError_t SortCodes(RowOrder& order, const ColumnSortArgs& args, CodeState* d_state, uint64_t* d_sorted_codes,
                      void* d_rows, Workspace& workspace, OperatorReport* h_report, cudaStream_t stream) {
  auto* const d_codes = workspace.Carve<uint64_t>(args.count);
  SortArgs codes;
  codes.key_type = KeyType::kUint64;
  codes.algorithm = args.algorithm;
  codes.count = args.count;
  codes.keys_in = d_codes;
  // While sizing there are no addresses yet, but null would mean that the caller does not want the output.
  codes.keys_out = workspace.IsSizing() ? static_cast<void*>(&codes) : d_sorted_codes;
  codes.indices_out = workspace.IsSizing() ? static_cast<void*>(&codes) : d_rows;
  const int64_t sort_bytes = SortWorkspaceBytes(codes);
  void* const d_sort_workspace = workspace.CarveBytes(sort_bytes);
  if (workspace.IsSizing()) return cudaSuccess;
  CORANK_RETURN_IF_CUDA_ERROR(MakeCodes(order, args.count, d_state, d_codes, stream));
  if (args.run_count > 0) {
    CORANK_RETURN_IF_CUDA_ERROR(CheckRuns(order, args, d_state, d_codes, stream));
  }
  return Sort(codes, d_sort_workspace, sort_bytes, h_report, stream);
}

/// Writes the row numbers in sorted order to d_rows. *d_row_codes: null, or the code of each of these rows.
cudaError_t SortRows(const ColumnSortArgs& args, int index_bytes, void* d_rows, const uint64_t** d_row_codes,
                     Workspace& workspace, OperatorReport* h_report, cudaStream_t stream) {
  void* const d_segments =
      workspace.CarveBytes(args.segment_count > 0 ? args.count * IndexBytes(args.segment_count - 1) : 0);
  if (args.segment_count > 0 && !workspace.IsSizing()) {
    CORANK_RETURN_IF_CUDA_ERROR(NumberSegments(args, d_segments, stream));
  }
  RowOrder order = OrderOf(args, d_segments);
  const bool has_runs = args.run_count > 0;
  const bool merges = has_runs && args.run_count <= ColumnTuning::kMostMergedRuns;
  auto* const d_state = workspace.Carve<CodeState>(1);
  const bool by_halves = !merges && SortsHalves(args, order, index_bytes);
  if (by_halves) {
    if (has_runs && !workspace.IsSizing()) {
      CORANK_RETURN_IF_CUDA_ERROR(CheckRuns(order, args, d_state, /*d_codes=*/nullptr, stream));
    }
    CORANK_RETURN_IF_CUDA_ERROR(SortByHalves(args, order, static_cast<uint32_t*>(d_rows), workspace, h_report, stream));
  } else {
    auto* const d_sorted_codes = workspace.Carve<uint64_t>(args.count);
    *d_row_codes = d_sorted_codes;
    if (merges) {
      h_report->sort_algorithm = SortAlgorithm::kMergeRuns;
      CORANK_RETURN_IF_CUDA_ERROR(
          MergeCodes(order, args, d_state, d_sorted_codes, d_rows, index_bytes, workspace, stream));
    } else {
      CORANK_RETURN_IF_CUDA_ERROR(SortCodes(order, args, d_state, d_sorted_codes, d_rows, workspace, h_report, stream));
    }
  }
  if (has_runs && !workspace.IsSizing()) {
    CORANK_RETURN_IF_CUDA_ERROR(ReportRuns(h_report->sort_algorithm, args.ResultCount(), d_state, h_report, stream));
  }
  if (by_halves || order.stream_bytes() <= 8) return cudaSuccess;
  return SortEqualCodes(order, *d_row_codes, workspace.IsSizing() ? nullptr : &d_state->code, d_rows, index_bytes,
                        args.count, workspace, stream);
}

/// Writes the first args.limit row numbers of each segment to d_packed, and their number to *d_count.
cudaError_t PackRows(const ColumnSortArgs& args, int index_bytes, const void* d_rows, void* d_packed, int64_t* d_count,
                     Workspace& workspace, cudaStream_t stream) {
  SelectArgs pack;
  pack.elements = d_rows;
  pack.element_bytes = index_bytes;
  // While sizing there are no addresses yet, but null would mean that the caller does not want the output.
  pack.elements_out = workspace.IsSizing() ? static_cast<void*>(&pack) : d_packed;
  pack.count_out = d_count;
  return PackSegments({args.count, args.segment_offsets, args.segment_count, args.limit}, pack, workspace, stream);
}

cudaError_t Run(const ColumnSortArgs& args, Workspace& workspace, OperatorReport* h_report, cudaStream_t stream,
                int64_t* d_results) {
  const auto report_results = [&](const int64_t* d_count) {
    if (d_results == nullptr || workspace.IsSizing()) return cudaSuccess;
    return WriteNumber(d_count, args.ResultCount(), d_results, stream);
  };
  if (args.HasNoWork()) {
    h_report->sort_algorithm = args.algorithm == SortAlgorithm::kAuto ? SortAlgorithm::kCopy : args.algorithm;
    CORANK_RETURN_IF_CUDA_ERROR(report_results(nullptr));
    return GatherOutputs(args, nullptr, 4, nullptr, workspace, stream);
  }
  const int index_bytes = IndexBytes(args.count - 1);
  const bool limits = args.LimitsSegments();
  const bool rows_are_the_result = args.indices_out != nullptr && args.ResultCount() == args.count && !limits;
  void* const d_row_scratch = workspace.CarveBytes(rows_are_the_result ? 0 : args.count * index_bytes);
  void* const d_rows = rows_are_the_result ? args.indices_out : d_row_scratch;
  const uint64_t* d_row_codes = nullptr;
  CORANK_RETURN_IF_CUDA_ERROR(SortRows(args, index_bytes, d_rows, &d_row_codes, workspace, h_report, stream));
  if (args.ranks_out != nullptr || workspace.IsSizing()) {
    CORANK_RETURN_IF_CUDA_ERROR(RankRows(RowOrder(args.columns, args.column_count), d_row_codes, d_rows, index_bytes,
                                         args.count, args.ranks_out, workspace, stream));
  }
  if (!limits) {
    CORANK_RETURN_IF_CUDA_ERROR(report_results(nullptr));
    const void* const d_first = static_cast<const char*>(d_rows) + std::min(args.offset, args.count) * index_bytes;
    return GatherOutputs(args, d_first, index_bytes, nullptr, workspace, stream);
  }
  auto* const d_count = workspace.Carve<int64_t>(1);
  void* const d_packed_scratch =
      workspace.CarveBytes(args.indices_out != nullptr ? 0 : args.ResultCount() * index_bytes);
  void* const d_packed = args.indices_out != nullptr ? args.indices_out : d_packed_scratch;
  CORANK_RETURN_IF_CUDA_ERROR(PackRows(args, index_bytes, d_rows, d_packed, d_count, workspace, stream));
  CORANK_RETURN_IF_CUDA_ERROR(GatherOutputs(args, d_packed, index_bytes, d_count, workspace, stream));
  return report_results(d_count);
}

}  // namespace

int64_t ColumnSortWorkspaceBytes(const ColumnSortArgs& args) {
  Workspace sizing;
  OperatorReport unused;
  ColumnSortArgs upper_bound = args;
  upper_bound.indices_out = nullptr;
  // SortColumns will meet and return an error of the device.
  static_cast<void>(Run(upper_bound, sizing, &unused, nullptr, nullptr));
  return sizing.bytes();
}

cudaError_t SortColumns(const ColumnSortArgs& args, void* d_workspace, int64_t workspace_bytes,
                        OperatorReport* h_report, cudaStream_t stream, int64_t* d_results) {
  *h_report = OperatorReport();
  Workspace sizing;
  CORANK_RETURN_IF_CUDA_ERROR(Run(args, sizing, h_report, stream, nullptr));
  if (workspace_bytes < sizing.bytes()) return cudaErrorInvalidValue;
  Workspace workspace(d_workspace);
  CORANK_RETURN_IF_CUDA_ERROR(Run(args, workspace, h_report, stream, d_results));
  // The sort of the codes, which are of all rows, has written it too.
  h_report->results = args.LimitsSegments() ? -1 : args.ResultCount();
  return cudaSuccess;
}

}  // namespace corank::cuda
