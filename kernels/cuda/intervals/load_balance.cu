// LoadBalance: the object of each work item, and the item's rank in it. interval_walk.cuh describes algorithm, work and
// workspace.
//
// Memory: one read of the counts and one of them or their bytes, one write of each output in 16-byte vectors.
#include <type_traits>

#include "kernels/cuda/common/operator_report.cuh"
#include "kernels/cuda/intervals/interval_walk.cuh"
#include "kernels/cuda/intervals/intervals.h"

namespace corank::cuda {
namespace {

template <typename Index, int kObjects>
struct LoadBalanceOp {
  using Tuning = LoadBalanceTuning<kObjects, static_cast<int>(sizeof(Index))>;
  static constexpr int kVector = kPerVector<Index>;
  static constexpr int kUnroll = 1;
  struct Item {};
  struct Slot {
    Index start;  // first item; differences are also right modulo 2^32
    Index object;
  };
  Index* objects;
  Index* ranks;

  __device__ __forceinline__ void Load(int64_t, int64_t, Item (&)[kObjects]) const {}
  __device__ __forceinline__ Slot SlotOf(const Item&, int64_t number, int64_t start) const {
    return {static_cast<Index>(start), static_cast<Index>(number)};
  }
  __device__ __forceinline__ int Phase(int64_t unit) const { return LinePhaseOf(objects + unit); }

  struct Writer {
    Index* objects;
    Index* ranks;
    Index first;
    __device__ __forceinline__ void One(int position, const Slot& slot) const {
      objects[position] = slot.object;
      ranks[position] = first + static_cast<Index>(position) - slot.start;
    }
    __device__ __forceinline__ void Vector(int position, const Slot* slot, uint32_t heads) const {
      Index object[kVector];
      Index rank[kVector];
      Slot found = *slot;
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if (i > 0 && (heads >> i & 1) != 0) found = *++slot;
        object[i] = found.object;
        rank[i] = first + static_cast<Index>(position + i) - found.start;
      }
      StoreWhole(object, objects + position);
      if (PhaseOf(ranks) == 0) {
        StoreWhole(rank, ranks + position);
      } else {
#pragma unroll
        for (int i = 0; i < kVector; ++i) ranks[position + i] = rank[i];
      }
    }
  };
  __device__ __forceinline__ Writer WriterAt(int64_t unit) const {
    return {objects + unit, ranks + unit, static_cast<Index>(unit)};
  }
};

/// Calls run(op) with the operator for the index type, whose arrays are not set.
template <typename Run>
auto WithOp(const LoadBalanceArgs& args, Run run) {
  const bool is_short = args.total < WalkTuning::kShortMean * args.object_count;
  if (args.IndexWidth() == 8) {
    return is_short ? run(LoadBalanceOp<uint64_t, ShortItems(8)>()) : run(LoadBalanceOp<uint64_t, 2>());
  }
  return is_short ? run(LoadBalanceOp<uint32_t, ShortItems(4)>()) : run(LoadBalanceOp<uint32_t, 2>());
}

WalkPlan PlanOf(const LoadBalanceArgs& args, Workspace& workspace) {
  return WithOp(args, [&](auto op) {
    return MakeWalkPlan<typename decltype(op)::Tuning>(args.counts, args.object_count, args.total, 1, workspace);
  });
}

}  // namespace

int64_t LoadBalanceWorkspaceBytes(const LoadBalanceArgs& args) {
  if (args.object_count <= 0 || args.total <= 0) return 0;
  Workspace workspace;
  PlanOf(args, workspace);
  return workspace.bytes();
}

cudaError_t LoadBalance(const LoadBalanceArgs& args, void* d_workspace, int64_t workspace_bytes,
                        OperatorReport* d_report, cudaStream_t stream) {
  if (args.object_count < 0 || args.total < 0 || (args.object_count == 0 && args.total > 0) ||
      workspace_bytes < LoadBalanceWorkspaceBytes(args)) {
    return cudaErrorInvalidValue;
  }
  if (args.total == 0) return WriteReport(OperatorReport(), nullptr, d_report, stream);
  Workspace workspace(d_workspace);
  const WalkPlan plan = PlanOf(args, workspace);
  return WithOp(args, [&](auto op) {
    using Index = std::remove_pointer_t<decltype(op.objects)>;
    op.objects = static_cast<Index*>(args.objects_out);
    op.ranks = static_cast<Index*>(args.ranks_out);
    return Walk(op, plan, d_report, stream);
  });
}

}  // namespace corank::cuda
