// The first keys of each segment.
//
// Algorithm: sorts all segments into the workspace. A bitmap tells the keys that lie within the limit of their segment:
//            each thread finds the segment of the first of its 32 keys by a binary search, and walks on from there.
//            Select then moves these keys and what travels with them to the front, and counts them. Where the
//            sort would gather values by index, only the values of the results are gathered, at the end.
// Work: O(n log longest + n log segments).
// Memory: that of the segmented sort, one bit for each key written and read, one read and one write of each result.
// Workspace: that of the segmented sort; keys and payload once more; one bit for each key; 12 bytes for each tile of
//            Select (group_tuning.h).
// Stability: stable.
#include "kernels/cuda/common/gather.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/select/select.h"
#include "kernels/cuda/sort/segment_limit.h"
#include "kernels/cuda/sort/sort_plan.h"

namespace corank::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWordBits = 32;

/// The segment that holds `position`: the last one that begins there or before.
__device__ __forceinline__ int64_t SegmentAt(const SegmentLimit& segments, int64_t position) {
  int64_t low = 0;
  for (int64_t high = segments.segment_count; high - low > 1;) {
    const int64_t middle = low + (high - low) / 2;
    if (segments.d_offsets[middle] <= position) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Sets the bits of the positions within the limit of their segment. One thread for each word.
__global__ void __launch_bounds__(kThreads) MarkLimitedKernel(SegmentLimit segments, uint32_t* bits) {
  const int64_t first = (blockIdx.x * int64_t{kThreads} + threadIdx.x) * kWordBits;
  if (first >= segments.count) return;
  const int64_t end = min(first + kWordBits, segments.count);
  uint32_t word = 0;
  for (int64_t at = first, segment = SegmentAt(segments, at); at < end;) {
    const int64_t begin = segments.d_offsets[segment], segment_end = segments.d_offsets[segment + 1];
    const int64_t kept_end = min(end, segment_end - begin > segments.limit ? begin + segments.limit : segment_end);
    if (kept_end > at) word |= (0xFFFFFFFFu >> (kWordBits - (kept_end - at))) << (at - first);
    at = segment_end;
    // The next segment, unless it is empty; a search skips any number of empty ones.
    ++segment;
    if (at < end && segments.d_offsets[segment + 1] == at) segment = SegmentAt(segments, at);
  }
  bits[first / kWordBits] = word;
}

__global__ void WriteNumberKernel(const int64_t* from, int64_t number, int64_t* to) {
  *to = from != nullptr ? *from : number;
}

}  // namespace

cudaError_t PackSegments(const SegmentLimit& segments, SelectArgs pack, Workspace& workspace, cudaStream_t stream) {
  const int64_t words = CeilDiv(segments.count, int64_t{kWordBits});
  auto* const d_bits = workspace.Carve<uint32_t>(words);
  pack.by = SelectBy::kBitmap;
  pack.count = segments.count;
  pack.flags = reinterpret_cast<const uint8_t*>(d_bits);
  const int64_t bytes = SelectWorkspaceBytes(pack);
  void* const d_select = workspace.CarveBytes(bytes);
  if (workspace.IsSizing()) return cudaSuccess;
  MarkLimitedKernel<<<static_cast<unsigned>(CeilDiv(words, int64_t{kThreads})), kThreads, 0, stream>>>(segments,
                                                                                                       d_bits);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  return Select(pack, d_select, bytes, nullptr, stream);
}

cudaError_t WriteNumber(const int64_t* d_from, int64_t number, int64_t* to, cudaStream_t stream) {
  WriteNumberKernel<<<1, 1, 0, stream>>>(d_from, number, to);
  return cudaGetLastError();
}

cudaError_t SortLimitedSegments(const SortArgs& args, int64_t* d_results, Workspace& workspace, cudaStream_t stream) {
  const int64_t results = args.ResultCount();
  if (results == 0) {
    return workspace.IsSizing() || d_results == nullptr ? cudaSuccess : WriteNumber(nullptr, 0, d_results, stream);
  }
  const int key_bytes = KeyBytes(args.key_type);
  const int index_bytes = IndexBytes(args.count - 1);
  // The sort of floats goes by index, too.
  const bool gathers_keys = args.keys_out != nullptr && IsFloat(args.key_type);
  const bool moves_values = (args.value_bytes == 4 || args.value_bytes == 8) && !IsFloat(args.key_type);
  const bool gathers_values = args.value_bytes > 0 && !moves_values;
  const bool needs_indices = args.indices_out != nullptr || gathers_keys || gathers_values;
  const bool sorts_keys = args.keys_out != nullptr && !gathers_keys;
  const int payload_bytes = needs_indices ? index_bytes : moves_values ? args.value_bytes : 0;

  auto* const d_found = workspace.Carve<int64_t>(1);
  void* const d_keys = workspace.CarveBytes(sorts_keys ? args.count * key_bytes : 0);
  void* const d_payload = workspace.CarveBytes(args.count * payload_bytes);
  void* const d_index_scratch =
      workspace.CarveBytes(needs_indices && args.indices_out == nullptr ? results * index_bytes : 0);
  void* const d_indices = args.indices_out != nullptr ? args.indices_out : d_index_scratch;

  SortArgs all = args;
  all.limit = -1;
  all.keys_out = sorts_keys ? d_keys : nullptr;
  all.values_in = moves_values ? args.values_in : nullptr;
  all.values_out = moves_values ? d_payload : nullptr;
  all.value_bytes = moves_values ? args.value_bytes : 0;
  all.indices_out = needs_indices ? d_payload : nullptr;
  CORANK_RETURN_IF_CUDA_ERROR(RunSort(all, kAllBitsLive, workspace, stream));

  SelectArgs pack;
  pack.count_out = d_found;
  if (sorts_keys) {
    pack.elements = d_keys;
    pack.element_bytes = key_bytes;
    pack.elements_out = args.keys_out;
  }
  if (payload_bytes > 0) {
    pack.values = d_payload;
    pack.value_bytes = payload_bytes;
    pack.values_out = needs_indices ? d_indices : args.values_out;
  }
  CORANK_RETURN_IF_CUDA_ERROR(
      PackSegments({args.count, args.segment_offsets, args.segment_count, args.limit}, pack, workspace, stream));
  if (workspace.IsSizing()) return cudaSuccess;
  if (gathers_keys) {
    CORANK_RETURN_IF_CUDA_ERROR(
        GatherRows(args.keys_in, key_bytes, d_indices, index_bytes, args.keys_out, results, stream, d_found));
  }
  if (gathers_values) {
    CORANK_RETURN_IF_CUDA_ERROR(GatherRows(args.values_in, args.value_bytes, d_indices, index_bytes, args.values_out,
                                           results, stream, d_found));
  }
  return d_results == nullptr ? cudaSuccess : WriteNumber(d_found, 0, d_results, stream);
}

}  // namespace corank::cuda
