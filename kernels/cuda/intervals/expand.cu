// Expand: value i, counts[i] times. Algorithm, work and workspace: interval_tile.cuh.
//
//             A unit is the widest power of two, up to 16 bytes, that divides an element; a thread makes 16 bytes of
//             the result at a time.
// Passes      one read of counts and values, one write of the result
#include "kernels/cuda/common/operator_report.cuh"
#include "kernels/cuda/common/tile_io.cuh"
#include "kernels/cuda/intervals/interval_tile.cuh"
#include "kernels/cuda/intervals/intervals.h"

namespace corank::cuda {
namespace {

template <typename Unit>
struct ExpandOp {
  using Tuning = ExpandTuning;
  static constexpr bool kFewBlocks = false;
  static constexpr int kVector = kPerVector<Unit>;
  static constexpr int kBatch = kVector > 4 ? 1 : 4;  // vectors that a thread has in flight
  struct Record {
    int64_t start;   // position in the window
    int64_t number;  // of the interval
  };
  struct Shared {
    TileShared tile;
    union {
      Unit values[Tuning::kTile + 1];     // where an element is one unit
      Record records[Tuning::kTile + 1];  // where it is more
    };
  };
  struct Registers {
    Unit value[Tuning::kItems];
  };
  const Unit* values;
  Unit* out;
  unsigned units_per_element;

  __device__ __forceinline__ void Adjust(const IntervalPlan&) const {}

  template <typename BaseOf, typename Count>
  __device__ __forceinline__ Registers Load(const IntervalPlan& plan, int64_t first, int n, BaseOf base_of,
                                            TileItems<Count, Tuning>& items, Shared& shared) const {
    const int item = static_cast<int>(threadIdx.x) * Tuning::kItems;
    Registers registers;
    if (units_per_element == 1) {
#pragma unroll
      for (int i = 0; i < Tuning::kItems; ++i) {
        if (item + i < n) registers.value[i] = values[first + item + i];
      }
    }
    int64_t counts[Tuning::kItems];
    LoadItems(plan.counts + first, n, counts);
#pragma unroll
    for (int i = 0; i < Tuning::kItems; ++i) items.Set(i, counts[i] * units_per_element);
    items.Scan(shared.tile);
    base_of(ExactTotal(items, shared.tile));
    return registers;
  }

  __device__ __forceinline__ int Shift(int64_t base) const { return LinePhaseOf(out + base); }

  __device__ __forceinline__ void Place(Shared& shared, const Registers& registers, int slot, int i, int64_t number,
                                        int64_t position) const {
    if (units_per_element == 1) {
      shared.values[slot] = registers.value[i];
    } else {
      shared.records[slot] = {position, number};
    }
  }

  __device__ __forceinline__ void Process(const Shared& shared, int64_t base, int64_t begin, int count, int shift,
                                          int64_t end) const {
    Unit* const to = out + base - shift + begin;
    const int low = begin == 0 ? shift : 0;
    const int high = static_cast<int>(min(end - begin, int64_t{IntervalTuning::kWindow}));
    constexpr int kStep = IntervalTuning::kThreads * kVector;
    static_assert(IntervalTuning::kWindow % (kStep * kBatch) == 0, "no batch reaches beyond the window");
    // All lookups of a batch before the first store, so that they overlap. Vectors of a thread are whole words of the
    // bitmap apart.
    const unsigned bit = threadIdx.x * kVector % 32;
    const uint32_t up_to_bit = 0xFFFFFFFFu >> (31 - bit);
    for (unsigned first = threadIdx.x * kVector; first < static_cast<unsigned>(count); first += kStep * kBatch) {
      alignas(16) Unit result[kBatch][kVector];
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        const unsigned word = first / 32 + j * (kStep / 32);
        const uint32_t heads = shared.tile.heads[word];
        const int slot = shared.tile.heads_before[word] + __popc(heads & up_to_bit);
        if (units_per_element == 1) {
          RepeatValues(shared.values + slot, heads >> bit, result[j]);
        } else {
          RepeatRecords(shared.records + slot, heads >> bit, static_cast<int>(first) + j * kStep, result[j]);
        }
      }
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        const int at = static_cast<int>(first) + j * kStep;
        if (at >= low && at + kVector <= high) {
          *reinterpret_cast<uint4*>(to + at) = *reinterpret_cast<const uint4*>(result[j]);
          continue;
        }
#pragma unroll
        for (int i = 0; i < kVector; ++i) {
          if (at + i >= low && at + i < high) to[at + i] = result[j][i];
        }
      }
    }
  }

  static __device__ __forceinline__ void RepeatValues(const Unit* slot, uint32_t heads, Unit (&result)[kVector]) {
    Unit value = *slot;
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i > 0 && (heads >> i & 1) != 0) value = *++slot;
      result[i] = value;
    }
  }

  __device__ __forceinline__ void RepeatRecords(const Record* slot, uint32_t heads, int position,
                                                Unit (&result)[kVector]) const {
    const int64_t unit = max(position - slot->start, int64_t{0});
    // A 64-bit remainder costs more than the rest.
    unsigned part = unit <= UINT32_MAX ? static_cast<uint32_t>(unit) % units_per_element
                                       : static_cast<unsigned>(unit % units_per_element);
    const Unit* value = values + slot->number * units_per_element;
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i > 0 && (heads >> i & 1) != 0) {
        value = values + (++slot)->number * units_per_element;
        part = 0;
      }
      result[i] = value[part];
      part = part + 1 == units_per_element ? 0 : part + 1;
    }
  }
};

}  // namespace

int64_t ExpandWorkspaceBytes(const ExpandArgs& args) {
  if (args.interval_count <= 0 || args.total <= 0) return 0;
  Workspace workspace;
  MakePlan<ExpandTuning>(args.counts, args.interval_count,
                         args.total * (args.element_bytes / UnitBytes(args.element_bytes)), workspace);
  return workspace.bytes();
}

cudaError_t Expand(const ExpandArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* d_report,
                   cudaStream_t stream) {
  if (args.interval_count < 0 || args.total < 0 || args.element_bytes < 1 || args.element_bytes > kMaxRecordBytes ||
      (args.interval_count == 0 && args.total > 0) || workspace_bytes < ExpandWorkspaceBytes(args)) {
    return cudaErrorInvalidValue;
  }
  CORANK_RETURN_IF_CUDA_ERROR(WriteReport(OperatorReport(), nullptr, d_report, stream));
  if (args.total == 0) return cudaSuccess;
  Workspace workspace(d_workspace);
  const int units_per_element = args.element_bytes / UnitBytes(args.element_bytes);
  const int64_t units = args.total * units_per_element;
  const IntervalPlan plan = MakePlan<ExpandTuning>(args.counts, args.interval_count, units, workspace);
  const auto run = [&](auto unit) {
    using Unit = decltype(unit);
    const ExpandOp<Unit> op{static_cast<const Unit*>(args.values), static_cast<Unit*>(args.out),
                            static_cast<unsigned>(units_per_element)};
    return RunIntervals(op, plan, true, units + 128 / static_cast<int64_t>(sizeof(Unit)), stream);
  };
  switch (UnitBytes(args.element_bytes)) {
    case 1:
      return run(uint8_t{});
    case 2:
      return run(uint16_t{});
    case 4:
      return run(uint32_t{});
    case 8:
      return run(uint64_t{});
    default:
      return run(uint4{});
  }
}

}  // namespace corank::cuda
