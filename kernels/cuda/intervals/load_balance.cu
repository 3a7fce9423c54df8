// LoadBalance: the object of each work item, and its rank in it. Algorithm, work and workspace: interval_tile.cuh.
//
// Passes      one read of the counts, one write of each output in 16-byte vectors
#include "kernels/cuda/common/operator_report.cuh"
#include "kernels/cuda/common/tile_io.cuh"
#include "kernels/cuda/intervals/interval_tile.cuh"
#include "kernels/cuda/intervals/intervals.h"

namespace corank::cuda {
namespace {

template <typename Index, typename OpTuning>
struct LoadBalanceOp {
  using Tuning = OpTuning;
  static constexpr bool kFewBlocks = false;
  static constexpr int kVector = kPerVector<Index>;
  static constexpr int kBatch = 2;  // vectors of each output that a thread has in flight
  struct Slot {
    Index start;  // position in the window; differences are right modulo 2^32 too
    Index object;
  };
  struct Shared {
    TileShared tile;
    Slot slots[Tuning::kTile + 1];
  };
  struct Registers {};
  Index* objects;
  Index* ranks;

  __device__ __forceinline__ void Adjust(const IntervalPlan&) const {}

  template <typename BaseOf, typename Count>
  __device__ __forceinline__ Registers Load(const IntervalPlan& plan, int64_t first, int n, BaseOf base_of,
                                            TileItems<Count, Tuning>& items, Shared& shared) const {
    int64_t counts[Tuning::kItems];
    LoadItems(plan.counts + first, n, counts);
#pragma unroll
    for (int i = 0; i < Tuning::kItems; ++i) items.Set(i, counts[i]);
    items.Scan(shared.tile);
    base_of(ExactTotal(items, shared.tile));
    return {};
  }

  __device__ __forceinline__ int Shift(int64_t base) const { return LinePhaseOf(objects + base); }

  __device__ __forceinline__ void Place(Shared& shared, const Registers&, int slot, int, int64_t number,
                                        int64_t position) const {
    shared.slots[slot] = {static_cast<Index>(position), static_cast<Index>(number)};
  }

  __device__ __forceinline__ void Process(const Shared& shared, int64_t base, int64_t begin, int count, int shift,
                                          int64_t end) const {
    const int64_t out = base - shift + begin;
    const bool ranks_aligned = PhaseOf(ranks + out) == 0;
    const int low = begin == 0 ? shift : 0;
    const int high = static_cast<int>(min(end - begin, int64_t{IntervalTuning::kWindow}));
    constexpr int kStep = IntervalTuning::kThreads * kVector;
    static_assert(IntervalTuning::kWindow % (kStep * kBatch) == 0, "no batch reaches beyond the window");
    // All lookups of a batch before the first store, so that they overlap. Vectors of a thread are whole words of the
    // bitmap apart.
    const unsigned bit = threadIdx.x * kVector % 32;
    const uint32_t up_to_bit = 0xFFFFFFFFu >> (31 - bit);
    for (unsigned first = threadIdx.x * kVector; first < static_cast<unsigned>(count); first += kStep * kBatch) {
      alignas(16) Index object[kBatch][kVector];
      alignas(16) Index rank[kBatch][kVector];
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        const unsigned word = first / 32 + j * (kStep / 32);
        const uint32_t heads = shared.tile.heads[word];
        const Slot* slot = shared.slots + (shared.tile.heads_before[word] + __popc(heads & up_to_bit));
        Slot found = *slot;
#pragma unroll
        for (int i = 0; i < kVector; ++i) {
          if (i > 0 && (heads >> (bit + i) & 1) != 0) found = *++slot;
          object[j][i] = found.object;
          rank[j][i] = static_cast<Index>(first + j * kStep + i) - found.start;
        }
      }
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        const int at = static_cast<int>(first) + j * kStep;
        if (ranks_aligned && at >= low && at + kVector <= high) {
          *reinterpret_cast<uint4*>(objects + out + at) = *reinterpret_cast<const uint4*>(object[j]);
          *reinterpret_cast<uint4*>(ranks + out + at) = *reinterpret_cast<const uint4*>(rank[j]);
          continue;
        }
#pragma unroll
        for (int i = 0; i < kVector; ++i) {
          if (at + i < low || at + i >= high) continue;
          objects[out + at + i] = object[j][i];
          ranks[out + at + i] = rank[j][i];
        }
      }
    }
  }
};

/// Whether most objects have an item or none: a block then takes more objects. Slots of 16 bytes leave no room for
/// that.
bool TakesManyObjects(const LoadBalanceArgs& args) {
  return args.IndexWidth() == 4 && 2 * args.total < 3 * args.object_count;
}

}  // namespace

int64_t LoadBalanceWorkspaceBytes(const LoadBalanceArgs& args) {
  if (args.object_count <= 0 || args.total <= 0) return 0;
  Workspace workspace;
  if (TakesManyObjects(args)) {
    MakePlan<ManyObjectsTuning>(args.counts, args.object_count, args.total, workspace);
  } else {
    MakePlan<LoadBalanceTuning>(args.counts, args.object_count, args.total, workspace);
  }
  return workspace.bytes();
}

cudaError_t LoadBalance(const LoadBalanceArgs& args, void* d_workspace, int64_t workspace_bytes,
                        OperatorReport* d_report, cudaStream_t stream) {
  if (args.object_count < 0 || args.total < 0 || (args.object_count == 0 && args.total > 0) ||
      workspace_bytes < LoadBalanceWorkspaceBytes(args)) {
    return cudaErrorInvalidValue;
  }
  CORANK_RETURN_IF_CUDA_ERROR(WriteReport(OperatorReport(), nullptr, d_report, stream));
  if (args.total == 0) return cudaSuccess;
  Workspace workspace(d_workspace);
  const auto run = [&](auto index, auto tuning) {
    using Index = decltype(index);
    using Tuning = decltype(tuning);
    const IntervalPlan plan = MakePlan<Tuning>(args.counts, args.object_count, args.total, workspace);
    const LoadBalanceOp<Index, Tuning> op{static_cast<Index*>(args.objects_out), static_cast<Index*>(args.ranks_out)};
    return RunIntervals(op, plan, true, args.total + 128 / static_cast<int64_t>(sizeof(Index)), stream);
  };
  if (TakesManyObjects(args)) return run(uint32_t{}, ManyObjectsTuning{});
  return args.IndexWidth() == 4 ? run(uint32_t{}, LoadBalanceTuning{}) : run(uint64_t{}, LoadBalanceTuning{});
}

}  // namespace corank::cuda
