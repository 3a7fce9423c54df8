// Expand: repeats value i counts[i] times. interval_walk.cuh describes algorithm, work and workspace.
//
// A unit is the largest power of two, up to 16 bytes, that divides an element. A lane makes 16 bytes of the result at a
// time.
//
// Memory: one read of the counts and one of them or their bytes, one read of the values, one write of the result.
#include "kernels/cuda/common/operator_report.cuh"
#include "kernels/cuda/intervals/interval_walk.cuh"
#include "kernels/cuda/intervals/intervals.h"

namespace corank::cuda {
namespace {

/// An element has one unit.
template <typename Unit, int kUnitItems>
struct ExpandUnitsOp {
  using Tuning = ExpandTuning<kUnitItems, static_cast<int>(sizeof(Unit))>;
  static constexpr int kVector = kPerVector<Unit>;
  static constexpr int kUnroll = kVector > 4 ? 1 : 2;
  using Item = Unit;
  using Slot = Unit;
  const Unit* values;
  Unit* out;

  void SetArrays(const ExpandArgs& args) {
    values = static_cast<const Unit*>(args.values);
    out = static_cast<Unit*>(args.out);
  }

  __device__ __forceinline__ void Load(int64_t first, int64_t count, Unit (&items)[kUnitItems]) const {
    constexpr int kBytes = static_cast<int>(sizeof(Unit)) * kUnitItems;
    struct alignas(kBytes < 16 ? kBytes : 16) Piece {
      Unit units[(kBytes < 16 ? kBytes : 16) / sizeof(Unit)];
    };
    if (first + kUnitItems <= count && reinterpret_cast<uintptr_t>(values) % sizeof(Piece) == 0) {
#pragma unroll
      for (int i = 0; i < kBytes / static_cast<int>(sizeof(Piece)); ++i) {
        reinterpret_cast<Piece*>(items)[i] = reinterpret_cast<const Piece*>(values + first)[i];
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < kUnitItems; ++i) {
      if (first + i < count) items[i] = values[first + i];
    }
  }
  __device__ __forceinline__ Slot SlotOf(const Unit& value, int64_t, int64_t) const { return value; }
  __device__ __forceinline__ int Phase(int64_t unit) const { return LinePhaseOf(out + unit); }

  struct Writer {
    Unit* to;
    __device__ __forceinline__ void One(int position, const Slot& slot) const { to[position] = slot; }
    __device__ __forceinline__ void Vector(int position, const Slot* slot, uint32_t heads) const {
      Unit result[kVector];
      Unit value = *slot;
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if (i > 0 && (heads >> i & 1) != 0) value = *++slot;
        result[i] = value;
      }
      StoreWhole(result, to + position);
    }
  };
  __device__ __forceinline__ Writer WriterAt(int64_t unit) const { return {out + unit}; }
};

/// An element has several units.
template <typename Unit>
struct ExpandRecordsOp {
  using Tuning = ExpandTuning<2, static_cast<int>(sizeof(Unit))>;
  static constexpr int kVector = kPerVector<Unit>;
  static constexpr int kUnroll = 1;
  struct Item {};
  struct Slot {
    int64_t start;  // unit of the result
    const Unit* element;
  };
  const Unit* values;
  Unit* out;
  unsigned units_per_element;

  void SetArrays(const ExpandArgs& args) {
    values = static_cast<const Unit*>(args.values);
    out = static_cast<Unit*>(args.out);
    units_per_element = static_cast<unsigned>(args.element_bytes / static_cast<int>(sizeof(Unit)));
  }

  __device__ __forceinline__ void Load(int64_t, int64_t, Item (&)[Tuning::kItems]) const {}
  __device__ __forceinline__ Slot SlotOf(const Item&, int64_t number, int64_t start) const {
    return {start, values + number * units_per_element};
  }
  __device__ __forceinline__ int Phase(int64_t unit) const { return LinePhaseOf(out + unit); }

  struct Writer {
    Unit* to;
    int64_t first;
    unsigned units_per_element;
    __device__ __forceinline__ unsigned PartOf(int position, const Slot& slot) const {
      const int64_t behind = first + position - slot.start;
      // A 64-bit remainder would cost more than everything else.
      return behind <= UINT32_MAX ? static_cast<uint32_t>(behind) % units_per_element
                                  : static_cast<unsigned>(behind % units_per_element);
    }
    __device__ __forceinline__ void One(int position, const Slot& slot) const {
      to[position] = slot.element[PartOf(position, slot)];
    }
    __device__ __forceinline__ void Vector(int position, const Slot* slot, uint32_t heads) const {
      Unit result[kVector];
      unsigned part = PartOf(position, *slot);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if (i > 0 && (heads >> i & 1) != 0) {
          ++slot;
          part = 0;
        }
        result[i] = slot->element[part];
        part = part + 1 == units_per_element ? 0 : part + 1;
      }
      StoreWhole(result, to + position);
    }
  };
  __device__ __forceinline__ Writer WriterAt(int64_t unit) const { return {out + unit, unit, units_per_element}; }
};

/// Calls run(op) with the operator for the element type, whose arrays are not set.
template <typename Run>
auto WithOp(const ExpandArgs& args, Run run) {
  const int unit_bytes = UnitBytes(args.element_bytes);
  // Short intervals: a group of many of them has as many units as one of a few long ones.
  const bool is_short = args.total < WalkTuning::kShortMean * args.interval_count;
  const auto with_unit = [&](auto unit) {
    using Unit = decltype(unit);
    if (args.element_bytes > unit_bytes) return run(ExpandRecordsOp<Unit>());
    return is_short ? run(ExpandUnitsOp<Unit, ShortItems(sizeof(Unit))>()) : run(ExpandUnitsOp<Unit, 2>());
  };
  switch (unit_bytes) {
    case 1:
      return with_unit(uint8_t{});
    case 2:
      return with_unit(uint16_t{});
    case 4:
      return with_unit(uint32_t{});
    case 8:
      return with_unit(uint64_t{});
    default:
      return with_unit(uint4{});
  }
}

WalkPlan PlanOf(const ExpandArgs& args, Workspace& workspace) {
  return WithOp(args, [&](auto op) {
    return MakeWalkPlan<typename decltype(op)::Tuning>(args.counts, args.interval_count, args.total,
                                                       args.element_bytes / UnitBytes(args.element_bytes), workspace);
  });
}

}  // namespace

int64_t ExpandWorkspaceBytes(const ExpandArgs& args) {
  if (args.interval_count <= 0 || args.total <= 0) return 0;
  Workspace workspace;
  PlanOf(args, workspace);
  return workspace.bytes();
}

cudaError_t Expand(const ExpandArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* d_report,
                   cudaStream_t stream) {
  if (args.interval_count < 0 || args.total < 0 || args.element_bytes < 1 || args.element_bytes > kMaxRecordBytes ||
      (args.interval_count == 0 && args.total > 0) || workspace_bytes < ExpandWorkspaceBytes(args)) {
    return cudaErrorInvalidValue;
  }
  if (args.total == 0) return WriteReport(OperatorReport(), nullptr, d_report, stream);
  Workspace workspace(d_workspace);
  const WalkPlan plan = PlanOf(args, workspace);
  return WithOp(args, [&](auto op) {
    op.SetArrays(args);
    return Walk(op, plan, d_report, stream);
  });
}

}  // namespace corank::cuda
