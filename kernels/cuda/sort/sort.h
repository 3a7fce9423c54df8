// Sort on the GPU.
#ifndef CORANK_KERNELS_CUDA_SORT_SORT_H_
#define CORANK_KERNELS_CUDA_SORT_SORT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/operators.h"
#include "kernels/cuda/sort/tuning.h"

namespace corank::cuda {

/// Bytes of workspace that Sort needs for these arguments and this look_count (see Sort). Pointers are not followed,
/// but whether keys_out, indices_out and segment_offsets are null counts: with keys_out null (not wanted, or not known
/// yet) the answer is an upper bound for both cases. May ask the current device for its properties.
///
/// Keys and payload once more, 1 % and 4 MiB, for every algorithm, order and type; where an output cannot hold what
/// passes write in turn, more: one array of keys where keys_out is null, of keys and payload where limit < count.
/// Segments take one bit a key and 80 bytes for each window of 2048 or 4096 keys more.
/// Values of other widths than 4 and 8 bytes are gathered: two arrays of indices (32-bit ones below 2^32 keys) stand
/// for them. ODD_EVEN_MERGESORT always carries the index beside values, and two arrays of keys and indices for floats.
int64_t SortWorkspaceBytes(const SortArgs& args, int64_t look_count);
inline int64_t SortWorkspaceBytes(const SortArgs& args) { return SortWorkspaceBytes(args, kAutoLookCount); }

/// Bytes of the letter that the device writes to the host when AUTO looks at the data.
inline constexpr int64_t kSortLetterBytes = 1024;

/// Enqueues the sort on `stream` of the current device; never allocates. Waits only where AUTO looks at the data: for
/// look_count keys or more, one segment or none, where h_letter is not null. It then waits for what is in `stream`
/// before the call and for one to four kernels of its own, so that sorted, reversed or few distinct keys, few runs and
/// bits that never vary cost a fraction of a sort. d_workspace is 256-byte aligned and of workspace_bytes >=
/// SortWorkspaceBytes(args, look_count) bytes, unused by others until the work is done. h_letter: null, or
/// kSortLetterBytes of pinned host memory, 8-byte aligned, used by nobody else during the call; null for a stream that
/// is being captured, where nothing would answer.
/// h_report->sort_algorithm is set before the return: what was taken, which is MERGESORT whenever there are several
/// segments. The answer is the same bit for bit for every algorithm. Errors: cudaErrorInvalidValue when the workspace
/// is too small; otherwise the first error of a launch, or of work that was in the stream before.
cudaError_t Sort(const SortArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* h_report,
                 cudaStream_t stream, void* h_letter = nullptr, int64_t look_count = kAutoLookCount);

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_SORT_SORT_H_
