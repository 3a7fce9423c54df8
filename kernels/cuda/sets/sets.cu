// Set operations on two sorted multisets.
//
// Algorithm: the balanced path (balanced_path.h) cuts both sides into tiles, in a launch of its own, and each tile into
//            pieces, one for each thread. A thread walks its piece and notes the keys of the result. The block adds
//            up its results, learns how many come before them by decoupled look-back, and writes its own in order.
// Work: O(count).
// Memory: one read of the keys of both sides, one read of the values of the result, one write of the result.
// Workspace: a cut and a sum for each tile, one FaultCell.
// Source: S. Baxter, "Modern GPU", chapter Multisets, 2013; look_back.cuh names its own.
#include <cuda_runtime.h>

#include "kernels/common/balanced_path.h"
#include "kernels/common/key_order.h"
#include "kernels/cuda/common/copy_rows.cuh"
#include "kernels/cuda/common/key_order_traits.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/look_back.cuh"
#include "kernels/cuda/common/operator_report.cuh"
#include "kernels/cuda/common/sorted_check.cuh"
#include "kernels/cuda/common/tile_io.cuh"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/sets/set_tuning.h"
#include "kernels/cuda/sets/sets.h"

namespace corank::cuda {
namespace {

constexpr int kCutThreads = 128;

/// A cut in global memory: the keys of the left side before it, and whether it moved behind a partner.
struct PackedCut {
  int64_t bits;
  CORANK_HOST_DEVICE int64_t left() const { return bits >> 1; }
  CORANK_HOST_DEVICE int64_t right(int64_t diagonal) const { return diagonal - left() + (bits & 1); }
};

template <typename Bits, bool kFloat>
struct RankBefore {
  KeyOrder<Bits, kFloat> order;
  CORANK_HOST_DEVICE bool operator()(Bits a, Bits b) const { return order.Before(a, b); }
};

template <typename Bits, bool kFloat>
__global__ void __launch_bounds__(kCutThreads)
    CutKernel(const Bits* left, int64_t left_count, const Bits* right, int64_t right_count,
              RankBefore<Bits, kFloat> before, int64_t tiles, PackedCut* cuts) {
  const int64_t i = blockIdx.x * int64_t{kCutThreads} + threadIdx.x;
  if (i > tiles) return;
  const int64_t diagonal = min(i * SetTuning<sizeof(Bits)>::kTile, left_count + right_count);
  const BalancedCut<int64_t> cut = BalancedPath(diagonal, left, left_count, right, right_count, before);
  cuts[i].bits = cut.a << 1 | (cut.a + cut.b - diagonal);
}

/// Reports the keys [begin, end) of a side that come before their previous key.
template <int kThreads, typename Bits, bool kFloat>
__device__ __forceinline__ void CheckRange(const Bits* keys, int64_t begin, int64_t end,
                                           const RankBefore<Bits, kFloat>& before, int32_t input, FaultCell* cell) {
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    if (i > 0) CheckNeighbours(keys[i - 1], keys[i], before.order, input, i, cell);
  }
}

/// The sum of `count` over the earlier threads of the block, and over all of them. *any: whether `is_set` of any.
template <int kWarps>
__device__ __forceinline__ int SumBefore(int count, int (&s_sums)[kWarps], int* total, bool is_set, bool* any) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  int sum = count;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(~0u, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) s_sums[warp] = sum;
  *any = __syncthreads_or(static_cast<int>(is_set)) != 0;
  int before = sum - count;
  *total = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) {
    if (i < warp) before += s_sums[i];
    *total += s_sums[i];
  }
  return before;
}

/// A side of a thread's piece, in shared memory.
template <typename Bits, bool kFloat>
struct Walker {
  const Bits* at;
  const Bits* end;
  Bits raw, rank;

  __device__ __forceinline__ Walker(const Bits* first, const Bits* last, const KeyOrder<Bits, kFloat>& order)
      : at(first), end(last), raw(*first), rank(order.RankOfRaw(raw)) {}
  /// Without a branch, because the lanes of a warp take different sides.
  __device__ __forceinline__ void Advance(bool takes, const KeyOrder<Bits, kFloat>& order) {
    at += static_cast<int>(takes);
    if (takes) raw = *at;
    rank = order.RankOfRaw(raw);
  }
};

template <typename Bits, bool kFloat, bool kHasValues>
__global__ void __launch_bounds__(SetTuning<sizeof(Bits)>::kThreads)
    CombineKernel(const __grid_constant__ SetArgs args, RankBefore<Bits, kFloat> before, const PackedCut* cuts,
                  TileSum* sums, FaultCell* unsorted_cell) {
  using Tuning = SetTuning<sizeof(Bits)>;
  constexpr int kThreads = Tuning::kThreads, kItems = Tuning::kItems;
  // Room for the phases of both sides, and for the partner behind the last cut.
  constexpr int kRoom = Tuning::kTile + 3 * kPerVector<Bits>;
  static_assert(2 * kRoom < 1 << 16, "places and cuts of 16 bits");
  __shared__ alignas(16) Bits s_keys[kRoom];                     // both sides, then the keys of the result
  __shared__ uint16_t s_places[kHasValues ? Tuning::kTile : 1];  // of each key of the result, its place in both sides
  __shared__ uint16_t s_cuts[kThreads + 1];
  __shared__ int s_sums[Tuning::kWarps];
  __shared__ int64_t s_before;
  const int64_t tile = blockIdx.x, total_keys = args.left.count + args.right.count;
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t first_diagonal = tile * Tuning::kTile, last_diagonal = min(first_diagonal + Tuning::kTile, total_keys);
  const int64_t left_begin = cuts[tile].left(), left_end = cuts[tile + 1].left();
  const int64_t right_begin = cuts[tile].right(first_diagonal), right_end = cuts[tile + 1].right(last_diagonal);
  const auto* left = static_cast<const Bits*>(args.left.keys);
  const auto* right = static_cast<const Bits*>(args.right.keys);
  // Cuts of unsorted sides may go backwards. Every key is still between some cut and the next, so that a check sees it.
  const bool is_cut = left_begin <= left_end && right_begin <= right_end;
  const int left_count = is_cut ? static_cast<int>(left_end - left_begin) : 0;
  const int right_count = is_cut ? static_cast<int>(right_end - right_begin) : 0;
  const int left_place = PhaseOf(left + left_begin);
  const int right_place = PlaceAfter(left_place + left_count, right + right_begin);
  StartLoad<kThreads>(left + left_begin, s_keys + left_place, left_count);
  StartLoad<kThreads>(right + right_begin, s_keys + right_place, right_count);
  FinishLoads();
  __syncthreads();

  const Bits* const s_left = s_keys + left_place;
  const Bits* const s_right = s_keys + right_place;
  const int all_count = left_count + right_count;
  const int diagonal = min(thread * kItems, all_count),
            next_diagonal = thread + 1 == kThreads ? all_count : min(diagonal + kItems, all_count);
  const BalancedCut<int> cut = BalancedPath(diagonal, s_left, left_count, s_right, right_count, before);
  s_cuts[thread] = static_cast<uint16_t>(cut.a << 1 | (cut.a + cut.b - diagonal));
  if (thread == 0) s_cuts[kThreads] = static_cast<uint16_t>(left_count << 1);
  __syncthreads();
  const int next = s_cuts[thread + 1], a_end = next >> 1;
  const int b_end = next_diagonal - a_end + (next & 1);
  Walker<Bits, kFloat> a(s_left + cut.a, s_left + a_end, before.order);
  Walker<Bits, kFloat> b(s_right + cut.b, s_right + b_end, before.order);
  // Both sides are sorted if each key that is taken, and each first key of a piece, comes after the one before it.
  bool is_unsorted = !is_cut | (cut.a > 0 && cut.a < a_end && before(a.at[0], a.at[-1])) |
                     (cut.b > 0 && cut.b < b_end && before(b.at[0], b.at[-1]));
  if (thread == 0) {  // the borders to earlier tiles
    is_unsorted |= left_count > 0 && left_begin > 0 && before(s_left[0], left[left_begin - 1]);
    is_unsorted |= right_count > 0 && right_begin > 0 && before(s_right[0], right[right_begin - 1]);
  }
  Bits keys[kItems];
  uint16_t places[kHasValues ? kItems : 1];
  uint32_t from_left = 0, from_right = 0;  // a bit for each step
  Bits last = 0;
  // kItems + 1 keys need no more than kItems steps: the last two are partners then.
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const bool has_a = a.at < a.end, has_b = b.at < b.end;
    const bool takes_a = has_a & (!has_b | (a.rank <= b.rank));
    const bool takes_b = has_b & (!has_a | (b.rank <= a.rank));
    keys[i] = takes_a ? a.raw : b.raw;
    if constexpr (kHasValues) places[i] = static_cast<uint16_t>((takes_a ? a.at : b.at) - s_keys);
    from_left |= static_cast<uint32_t>(takes_a) << i;
    from_right |= static_cast<uint32_t>(takes_b) << i;
    const Bits rank = takes_a ? a.rank : b.rank;
    is_unsorted |= (takes_a | takes_b) & (rank < last);
    last = rank;
    a.Advance(takes_a, before.order);
    b.Advance(takes_b, before.order);
  }
  is_unsorted |= a.at != a.end | b.at != b.end;  // only cuts of unsorted sides leave keys of a piece
  const SetRule rule(args.operation);
  const uint32_t kept = (rule.keeps_left ? from_left & ~from_right : 0) |
                        (rule.keeps_right ? from_right & ~from_left : 0) |
                        (rule.keeps_partners ? from_left & from_right : 0);

  int results = 0;
  int slot = SumBefore<Tuning::kWarps>(__popc(kept), s_sums, &results, is_unsorted, &is_unsorted);
  if (is_unsorted) {
    CheckRange<kThreads>(left, left_begin, left_end, before, 0, unsorted_cell);
    CheckRange<kThreads>(right, right_begin, right_end, before, 1, unsorted_cell);
  }
  if (thread < 32) {
    const int64_t earlier = LookBack(sums, tile, results);
    if (thread == 0) s_before = earlier;
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if ((kept >> i & 1) == 0) continue;
    s_keys[slot] = keys[i];
    if constexpr (kHasValues) s_places[slot] = places[i];
    ++slot;
  }
  __syncthreads();

  // Tiles of unsorted sides may overlap, so that they have more results than there is room for.
  const int64_t first = s_before, room = MostResults(args) - first;
  if (room <= 0) return;
  if (results > room) results = static_cast<int>(room);
  if (args.keys_out != nullptr) {
    Bits* const out = static_cast<Bits*>(args.keys_out) + first;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int at = i * kThreads + thread;
      if (at < results) out[at] = s_keys[at];
    }
  }
  if constexpr (kHasValues) {
    const char* const left_values = static_cast<const char*>(args.left.values) + left_begin * args.value_bytes;
    const char* const right_values = static_cast<const char*>(args.right.values) + right_begin * args.value_bytes;
    CopyRows<kThreads>(args.value_bytes, args.values_out, first, results, [&](int i) {
      const int place = s_places[i];
      return place < right_place ? left_values + int64_t{place - left_place} * args.value_bytes
                                 : right_values + int64_t{place - right_place} * args.value_bytes;
    });
  }
}

/// One thread. `last_sum` is null if there are no keys; either output may be null.
__global__ void WriteSetReportKernel(const TileSum* last_sum, const FaultCell* cell, int64_t* count_out,
                                     SetReport* d_report) {
  SetReport report;
  if (last_sum != nullptr) {
    if (*cell == kNoFault) {
      report.count = static_cast<int64_t>(*last_sum & kSumMask);
    } else {
      report.input = FaultInput(*cell);
      report.unsorted = FaultIndex(*cell);
    }
  }
  if (count_out != nullptr) *count_out = report.count;
  if (d_report != nullptr) *d_report = report;
}

struct Plan {
  int64_t tiles = 0;
  FaultCell* unsorted_cell = nullptr;
  TileSum* sums = nullptr;
  PackedCut* cuts = nullptr;
};

template <int kKeyBytes>
Plan PlanFor(const SetArgs& args, Workspace& workspace) {
  Plan plan;
  plan.tiles = CeilDiv(args.left.count + args.right.count, int64_t{SetTuning<kKeyBytes>::kTile});
  // The cell and the sums lie side by side, so that one fill clears both.
  plan.unsorted_cell = workspace.Carve<FaultCell>(1 + plan.tiles);
  plan.sums = plan.unsorted_cell + 1;
  plan.cuts = workspace.Carve<PackedCut>(plan.tiles + 1);
  return plan;
}

Plan PlanOf(const SetArgs& args, Workspace& workspace) {
  return KeyBytes(args.key_type) == 8 ? PlanFor<8>(args, workspace) : PlanFor<4>(args, workspace);
}

template <typename Bits, bool kFloat>
cudaError_t Launch(const SetArgs& args, const KeyOrder<Bits, kFloat>& order, const Plan& plan, cudaStream_t stream) {
  const RankBefore<Bits, kFloat> before{order};
  CORANK_RETURN_IF_CUDA_ERROR(
      cudaMemsetAsync(plan.unsorted_cell, 0, static_cast<size_t>(1 + plan.tiles) * sizeof(FaultCell), stream));
  CutKernel<<<static_cast<unsigned>(CeilDiv(plan.tiles + 1, int64_t{kCutThreads})), kCutThreads, 0, stream>>>(
      static_cast<const Bits*>(args.left.keys), args.left.count, static_cast<const Bits*>(args.right.keys),
      args.right.count, before, plan.tiles, plan.cuts);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  const auto combine =
      args.values_out != nullptr ? CombineKernel<Bits, kFloat, true> : CombineKernel<Bits, kFloat, false>;
  combine<<<static_cast<unsigned>(plan.tiles), SetTuning<sizeof(Bits)>::kThreads, 0, stream>>>(
      args, before, plan.cuts, plan.sums, plan.unsorted_cell);
  return cudaGetLastError();
}

}  // namespace

int64_t CombineSetsWorkspaceBytes(const SetArgs& args) {
  if (args.left.count + args.right.count <= 0) return 0;
  Workspace workspace;
  PlanOf(args, workspace);
  return workspace.bytes();
}

cudaError_t CombineSets(const SetArgs& args, void* d_workspace, int64_t workspace_bytes, SetReport* d_report,
                        cudaStream_t stream) {
  if (args.left.count < 0 || args.right.count < 0 || args.operation < SetOperation::kUnion ||
      args.operation > SetOperation::kSymmetricDifference || workspace_bytes < CombineSetsWorkspaceBytes(args)) {
    return cudaErrorInvalidValue;
  }
  Plan plan;
  const TileSum* last_sum = nullptr;
  if (args.left.count + args.right.count > 0) {
    Workspace workspace(d_workspace);
    plan = PlanOf(args, workspace);
    last_sum = plan.sums + (plan.tiles - 1);
    CORANK_RETURN_IF_CUDA_ERROR(WithKeyOrder(args.key_type, args.order, [&](auto order) {
      using Traits = KeyOrderTraits<decltype(order)>;
      return Launch<typename Traits::Bits, Traits::kFloat>(args, order, plan, stream);
    }));
  }
  if (d_report == nullptr && args.count_out == nullptr) return cudaSuccess;
  WriteSetReportKernel<<<1, 1, 0, stream>>>(last_sum, plan.unsorted_cell, args.count_out, d_report);
  return cudaGetLastError();
}

}  // namespace corank::cuda
