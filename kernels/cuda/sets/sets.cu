// Set operations on two sorted multisets.
//
// Algorithm: the balanced path (balanced_path.h) cuts both sides into tiles, in a launch of its own, and each tile into
//            pieces, one for each thread. A thread walks its piece and notes the keys of the result. The block adds
//            up its results and puts them in order. It learns how many come before them (earlier_tiles.cuh) and writes
//            them only after it has walked its next tile.
// Work: O(count).
// Memory: one read of the keys of both sides, one read of the values of the result, one write of the result.
// Workspace: a cut and a word for each tile, one FaultCell, the number of results.
// Source: S. Baxter, "Modern GPU", chapter Multisets, 2013; earlier_tiles.cuh names its own.
#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/common/balanced_path.h"
#include "kernels/common/key_order.h"
#include "kernels/cuda/common/copy_rows.cuh"
#include "kernels/cuda/common/device.h"
#include "kernels/cuda/common/earlier_tiles.cuh"
#include "kernels/cuda/common/key_order_traits.h"
#include "kernels/cuda/common/launch.h"
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

/// *x += kStep if `condition`, as one instruction with a predicate: the compiler takes four.
template <int kStep>
__device__ __forceinline__ void AddIf(bool condition, int* x) {
  asm("{\n\t"
      ".reg .pred p;\n\t"
      "setp.ne.s32 p, %1, 0;\n\t"
      "@p add.s32 %0, %0, %2;\n\t"
      "}"
      : "+r"(*x)
      : "r"(static_cast<int>(condition)), "n"(kStep));
}

/// A side of a thread's piece, in dynamic shared memory.
template <typename Bits, bool kFloat>
struct Walker {
  const unsigned char* memory;
  int at, end;  // bytes from there
  Bits raw, rank;

  __device__ __forceinline__ Walker(const unsigned char* s_memory, const Bits* first, const Bits* last,
                                    const KeyOrder<Bits, kFloat>& order)
      : memory(s_memory),
        at(static_cast<int>(reinterpret_cast<const unsigned char*>(first) - s_memory)),
        end(static_cast<int>(reinterpret_cast<const unsigned char*>(last) - s_memory)),
        raw(*first),
        rank(order.RankOfRaw(raw)) {}
  /// Without a branch, because the lanes of a warp take different sides.
  __device__ __forceinline__ void Advance(bool takes, const KeyOrder<Bits, kFloat>& order) {
    AddIf<sizeof(Bits)>(takes, &at);
    if (takes) raw = *reinterpret_cast<const Bits*>(memory + at);
    rank = order.RankOfRaw(raw);
  }
};

/// The keys of a tile, and where they lie in a buffer of shared memory.
template <typename Bits>
struct TileSides {
  int64_t left_begin, right_begin;
  int left_count, right_count;  // 0 if the cuts go backwards
  int left_place, right_place;
  bool is_cut;

  TileSides() = default;
  __device__ __forceinline__ TileSides(const SetArgs& args, const PackedCut* cuts, int64_t tile) {
    constexpr int64_t kTile = SetTuning<sizeof(Bits)>::kTile;
    const int64_t first_diagonal = tile * kTile,
                  last_diagonal = min(first_diagonal + kTile, args.left.count + args.right.count);
    const PackedCut begin = cuts[tile], end = cuts[tile + 1];
    left_begin = begin.left();
    right_begin = begin.right(first_diagonal);
    const int64_t left = end.left() - left_begin, right = end.right(last_diagonal) - right_begin;
    is_cut = left >= 0 && right >= 0;
    left_count = is_cut ? static_cast<int>(left) : 0;
    right_count = is_cut ? static_cast<int>(right) : 0;
    left_place = PhaseOf(static_cast<const Bits*>(args.left.keys) + left_begin);
    right_place = PlaceAfter(left_place + left_count, static_cast<const Bits*>(args.right.keys) + right_begin);
  }
};

/// The shared memory of a block that is not of one phase only. Two buffers take turns: one holds the results of a tile
/// that wait for the number of earlier ones, the other the keys of the next tile.
template <typename Bits, bool kHasValues>
struct SetBuffers {
  using Tuning = SetTuning<sizeof(Bits)>;
  // Room for the phases of both sides, and for the partner behind the last cut.
  static constexpr int kRoom = Tuning::kTile + 3 * kPerVector<Bits>;
  static_assert(2 * kRoom < 1 << 16, "places and cuts of 16 bits");
  alignas(16) Bits keys[2][kRoom];                     // both sides, then the keys of the result
  uint16_t places[2][kHasValues ? Tuning::kTile : 1];  // of each key of the result, its place in both sides
};

template <typename Bits, bool kFloat, bool kHasValues>
__global__ void __launch_bounds__(SetTuning<sizeof(Bits)>::kThreads, kHasValues ? 2 : SetTuning<sizeof(Bits)>::kBlocks)
    CombineKernel(const __grid_constant__ SetArgs args, RankBefore<Bits, kFloat> before, const PackedCut* cuts,
                  int64_t tiles, TileWord* words, int64_t* result_count, FaultCell* unsorted_cell) {
  using Tuning = SetTuning<sizeof(Bits)>;
  using Sides = TileSides<Bits>;
  constexpr int kThreads = Tuning::kThreads, kItems = Tuning::kItems;
  extern __shared__ __align__(16) unsigned char s_memory[];
  auto& s_buffers = *reinterpret_cast<SetBuffers<Bits, kHasValues>*>(s_memory);
  __shared__ uint16_t s_cuts[kThreads + 1];
  __shared__ int s_sums[Tuning::kWarps];
  __shared__ uint32_t s_earlier[Tuning::kWarps];
  __shared__ uint32_t s_taken;
  const int thread = static_cast<int>(threadIdx.x);
  const auto* left = static_cast<const Bits*>(args.left.keys);
  const auto* right = static_cast<const Bits*>(args.right.keys);
  const SetRule rule(args.operation);
  const auto start_load = [&](const Sides& sides, Bits* s_keys) {
    StartLoad<kThreads>(left + sides.left_begin, s_keys + sides.left_place, sides.left_count);
    StartLoad<kThreads>(right + sides.right_begin, s_keys + sides.right_place, sides.right_count);
  };

  EarlierTiles earlier(words);
  if (thread == 0) s_taken = earlier.Take();
  __syncthreads();
  int64_t tile = s_taken;
  Sides sides, late_sides;
  if (tile < tiles) {
    sides = Sides(args, cuts, tile);
    start_load(sides, s_buffers.keys[0]);
  }
  int64_t late = -1;  // a tile whose results are in shared memory
  int late_results = 0;
  for (int turn = 0;; turn ^= 1) {
    Bits* const s_keys = s_buffers.keys[turn];
    const bool has_tile = tile < tiles;
    int64_t next = tiles;
    Sides next_sides;
    int results = 0;
    FinishLoads();
    __syncthreads();
    if (has_tile) {
      uint32_t taken = 0;
      if (thread == 0) taken = earlier.Take();
      const Bits* const s_left = s_keys + sides.left_place;
      const Bits* const s_right = s_keys + sides.right_place;
      const int all_count = sides.left_count + sides.right_count;
      const int diagonal = min(thread * kItems, all_count),
                next_diagonal = thread + 1 == kThreads ? all_count : min(diagonal + kItems, all_count);
      const BalancedCut<int> cut = BalancedPath(diagonal, s_left, sides.left_count, s_right, sides.right_count, before);
      s_cuts[thread] = static_cast<uint16_t>(cut.a << 1 | (cut.a + cut.b - diagonal));
      if (thread == 0) {
        s_cuts[kThreads] = static_cast<uint16_t>(sides.left_count << 1);
        s_taken = taken;
      }
      __syncthreads();
      next = s_taken;
      const int end = s_cuts[thread + 1], a_end = end >> 1;
      const int b_end = next_diagonal - a_end + (end & 1);
      Walker<Bits, kFloat> a(s_memory, s_left + cut.a, s_left + a_end, before.order);
      Walker<Bits, kFloat> b(s_memory, s_right + cut.b, s_right + b_end, before.order);
      // Both sides are sorted if each key that is taken, and each first key of a piece, comes after the one before it.
      bool is_unsorted = !sides.is_cut | (cut.a > 0 && cut.a < a_end && before(a.raw, s_left[cut.a - 1])) |
                         (cut.b > 0 && cut.b < b_end && before(b.raw, s_right[cut.b - 1]));
      if (thread == 0) {  // the borders to earlier tiles
        is_unsorted |= sides.left_count > 0 && sides.left_begin > 0 && before(s_left[0], left[sides.left_begin - 1]);
        is_unsorted |=
            sides.right_count > 0 && sides.right_begin > 0 && before(s_right[0], right[sides.right_begin - 1]);
      }
      const int first_byte = static_cast<int>(reinterpret_cast<const unsigned char*>(s_keys) - s_memory);
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
        if constexpr (kHasValues) {
          places[i] = static_cast<uint16_t>(((takes_a ? a.at : b.at) - first_byte) / sizeof(Bits));
        }
        if (takes_a) from_left |= 1U << i;
        if (takes_b) from_right |= 1U << i;
        const Bits rank = takes_a ? a.rank : b.rank;
        is_unsorted |= (takes_a | takes_b) & (rank < last);
        last = rank;
        a.Advance(takes_a, before.order);
        b.Advance(takes_b, before.order);
      }
      is_unsorted |= a.at != a.end | b.at != b.end;  // only cuts of unsorted sides leave keys of a piece
      const uint32_t kept = (rule.keeps_left ? from_left & ~from_right : 0) |
                            (rule.keeps_right ? from_right & ~from_left : 0) |
                            (rule.keeps_partners ? from_left & from_right : 0);
      int slot = SumBefore<Tuning::kWarps>(__popc(kept), s_sums, &results, is_unsorted, &is_unsorted);
      if (thread == 0) earlier.Publish(tile, static_cast<uint32_t>(results));
      if (is_unsorted) {
        // Cuts of unsorted sides may go backwards. Every key is still between some cut and the next.
        const PackedCut cut_end = cuts[tile + 1];
        const int64_t last_diagonal = min((tile + 1) * Tuning::kTile, args.left.count + args.right.count);
        CheckRange<kThreads>(left, sides.left_begin, cut_end.left(), before, 0, unsorted_cell);
        CheckRange<kThreads>(right, sides.right_begin, cut_end.right(last_diagonal), before, 1, unsorted_cell);
      }
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        if ((kept >> i & 1) == 0) continue;
        s_keys[slot] = keys[i];
        if constexpr (kHasValues) s_buffers.places[turn][slot] = places[i];
        ++slot;
      }
      if (next < tiles) next_sides = Sides(args, cuts, next);
    }

    if (late >= 0) {
      const int64_t first = earlier.Before(late, s_earlier);
      if (thread == 0 && late + 1 == tiles) *result_count = first + late_results;
      // Tiles of unsorted sides may overlap, so that they have more results than there is room for.
      const int count = static_cast<int>(max(int64_t{0}, min(int64_t{late_results}, MostResults(args) - first)));
      const Bits* const s_late = s_buffers.keys[turn ^ 1];
      if (args.keys_out != nullptr) {
        Bits* const out = static_cast<Bits*>(args.keys_out) + first;
#pragma unroll 4
        for (int i = thread; i < count; i += kThreads) out[i] = s_late[i];
      }
      if constexpr (kHasValues) {
        const char* const left_values =
            static_cast<const char*>(args.left.values) + late_sides.left_begin * args.value_bytes;
        const char* const right_values =
            static_cast<const char*>(args.right.values) + late_sides.right_begin * args.value_bytes;
        CopyRows<kThreads>(args.value_bytes, args.values_out, first, count, [&](int i) {
          const int place = s_buffers.places[turn ^ 1][i];
          return place < late_sides.right_place
                     ? left_values + int64_t{place - late_sides.left_place} * args.value_bytes
                     : right_values + int64_t{place - late_sides.right_place} * args.value_bytes;
        });
      }
    }
    if (!has_tile) return;
    __syncthreads();  // the late results are read
    if (next < tiles) start_load(next_sides, s_buffers.keys[turn ^ 1]);
    late = tile;
    late_results = results;
    late_sides = sides;
    tile = next;
    sides = next_sides;
  }
}

/// One thread. `result_count` is null if there are no keys; either output may be null.
__global__ void WriteSetReportKernel(const int64_t* result_count, const FaultCell* cell, int64_t* count_out,
                                     SetReport* d_report) {
  SetReport report;
  if (result_count != nullptr) {
    if (*cell == kNoFault) {
      report.count = *result_count;
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
  TileWord* words = nullptr;
  int64_t zeroed_bytes = 0;  // from the cell on
  int64_t* result_count = nullptr;
  PackedCut* cuts = nullptr;
};

template <int kKeyBytes>
Plan PlanFor(const SetArgs& args, Workspace& workspace) {
  Plan plan;
  plan.tiles = CeilDiv(args.left.count + args.right.count, int64_t{SetTuning<kKeyBytes>::kTile});
  // The cell and the words lie side by side, so that one fill clears both.
  plan.unsorted_cell = workspace.Carve<FaultCell>(1);
  plan.words = workspace.Carve<TileWord>(TileWords(plan.tiles));
  plan.zeroed_bytes = workspace.bytes();
  plan.result_count = workspace.Carve<int64_t>(1);
  plan.cuts = workspace.Carve<PackedCut>(plan.tiles + 1);
  return plan;
}

Plan PlanOf(const SetArgs& args, Workspace& workspace) {
  return KeyBytes(args.key_type) == 8 ? PlanFor<8>(args, workspace) : PlanFor<4>(args, workspace);
}

template <typename Bits, bool kFloat, bool kHasValues>
cudaError_t Combine(const SetArgs& args, const RankBefore<Bits, kFloat>& before, const Plan& plan,
                    cudaStream_t stream) {
  using Tuning = SetTuning<sizeof(Bits)>;
  const auto combine = CombineKernel<Bits, kFloat, kHasValues>;
  constexpr int kBytes = sizeof(SetBuffers<Bits, kHasValues>);
  CORANK_RETURN_IF_CUDA_ERROR(cudaFuncSetAttribute(combine, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  DeviceTraits traits;
  CORANK_RETURN_IF_CUDA_ERROR(GetDeviceTraits(&traits));
  const int64_t blocks = std::min(plan.tiles, int64_t{traits.multiprocessors} * Tuning::kBlocks);
  combine<<<static_cast<unsigned>(blocks), Tuning::kThreads, kBytes, stream>>>(
      args, before, plan.cuts, plan.tiles, plan.words, plan.result_count, plan.unsorted_cell);
  return cudaGetLastError();
}

template <typename Bits, bool kFloat>
cudaError_t Launch(const SetArgs& args, const KeyOrder<Bits, kFloat>& order, const Plan& plan, cudaStream_t stream) {
  const RankBefore<Bits, kFloat> before{order};
  CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(plan.unsorted_cell, 0, static_cast<size_t>(plan.zeroed_bytes), stream));
  CutKernel<<<static_cast<unsigned>(CeilDiv(plan.tiles + 1, int64_t{kCutThreads})), kCutThreads, 0, stream>>>(
      static_cast<const Bits*>(args.left.keys), args.left.count, static_cast<const Bits*>(args.right.keys),
      args.right.count, before, plan.tiles, plan.cuts);
  CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  return args.values_out != nullptr ? Combine<Bits, kFloat, true>(args, before, plan, stream)
                                    : Combine<Bits, kFloat, false>(args, before, plan, stream);
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
  const int64_t* result_count = nullptr;
  if (args.left.count + args.right.count > 0) {
    Workspace workspace(d_workspace);
    plan = PlanOf(args, workspace);
    result_count = plan.result_count;
    CORANK_RETURN_IF_CUDA_ERROR(WithKeyOrder(args.key_type, args.order, [&](auto order) {
      using Traits = KeyOrderTraits<decltype(order)>;
      return Launch<typename Traits::Bits, Traits::kFloat>(args, order, plan, stream);
    }));
  }
  if (d_report == nullptr && args.count_out == nullptr) return cudaSuccess;
  WriteSetReportKernel<<<1, 1, 0, stream>>>(result_count, plan.unsorted_cell, args.count_out, d_report);
  return cudaGetLastError();
}

}  // namespace corank::cuda
