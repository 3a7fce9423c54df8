// Sort on the GPU.
#ifndef CORANK_KERNELS_CUDA_SORT_SORT_H_
#define CORANK_KERNELS_CUDA_SORT_SORT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/sort/tuning.h"

namespace corank::cuda {

/// Bytes of workspace that Sort needs for these arguments and this look_count (see Sort). Does not follow pointers, but
/// depends on whether keys_out, indices_out and segment_offsets are null. With a null keys_out (not wanted, or not
/// known yet) and no offset, the result is an upper bound for both cases. May query the properties of the current
/// device.
///
/// For every algorithm, order and type: keys and payload once more, 1 %, and 4 MiB. More if an output cannot hold the
/// intermediate results: one array of keys if keys_out is null, one of keys and payload if limit < count. Segments take
/// one more bit for each key and 80 bytes for each window of 2048 or 4096 keys. Values of other widths than 4 and 8
/// bytes are gathered: two arrays of indices (32-bit ones below 2^32 keys) replace them. With segments and a limit,
/// keys and payload need a third copy, and one more bit for each key (segment_limit.h). With an offset, the results and
/// those left out before them are made in the workspace: their keys, if keys_out is not null, and their payload or, for
/// values of other widths than 4 and 8 bytes, their indices. ODD_EVEN_MERGESORT always carries the index beside values,
/// and two arrays of keys and indices for floats.
int64_t SortWorkspaceBytes(const SortArgs& args, int64_t look_count);
inline int64_t SortWorkspaceBytes(const SortArgs& args) { return SortWorkspaceBytes(args, kAutoLookCount); }

/// Bytes of the letter that the device writes to the host if AUTO looks at the data.
inline constexpr int64_t kSortLetterBytes = 1024;

/// Enqueues the sort on `stream` of the current device. Never allocates. Waits only if AUTO looks at the data: for
/// look_count keys or more, an h_letter that is not null, and at most one segment or a small limit of long ones
/// (SelectsInSegments in selection_rules.h). It then waits for earlier work of `stream`, and for one to five kernels of
/// its own, so that keys which are sorted, reversed, in few runs, or have few distinct values or varying bits take a
/// fraction of a sort, and so do the first 1/64 of the keys (first_keys.h), a few in the middle (middle_keys.h) and
/// those of segments (segment_first.h), for which it mostly waits once.
///
/// d_workspace is 256-byte aligned, has workspace_bytes >= SortWorkspaceBytes(args, look_count) bytes, and stays
/// reserved until the work is done. h_letter: null, or kSortLetterBytes of pinned host memory, 8-byte aligned, reserved
/// during the call; null for a stream that is being captured, where nothing would answer. h_report->sort_algorithm, set
/// before the return, is the algorithm in use; with several segments it is always MERGESORT. The result is equal bit
/// for bit for every algorithm. h_report->results, set before the return, is the number of results, or -1 if
/// args.LimitsSegments(): only the device then finds it. d_results: null, or device-accessible memory that gets it on
/// the stream.
///
/// Errors: cudaErrorInvalidValue if the workspace is too small; otherwise the first error of a launch, or of earlier
/// work in the stream.
cudaError_t Sort(const SortArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* h_report,
                 cudaStream_t stream, void* h_letter = nullptr, int64_t look_count = kAutoLookCount,
                 int64_t* d_results = nullptr);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SORT_H_
