// Select: the elements that a predicate holds for, on request followed by the others.
//
// Algorithm: positions become a bitmap first. With `partition`, a launch counts the selected elements, so that it is
//            known where the others begin. One compaction (compact.cuh) then moves the rows.
// Work: O(count + positions).
// Memory: one read of the predicate, two with `partition`; one read and one write of each row of the result. Positions:
//         one read, and one write of a bit at random for each.
// Workspace: see select.h.
// Source: compact.cuh names its own.
#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/common/key_order.h"
#include "kernels/cuda/common/copy_rows.cuh"
#include "kernels/cuda/common/key_order_traits.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/common/operator_report.cuh"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/group/compact.cuh"
#include "kernels/cuda/select/select.h"

namespace corank::cuda {
namespace {

constexpr int kThreads = GroupTuning::kThreads;

/// Sets the bit of each position.
__global__ void __launch_bounds__(kThreads) MarkPositionsKernel(const int64_t* positions, int64_t position_count,
                                                                int64_t count, uint32_t* bits, FaultCell* cell) {
  const int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (i >= position_count) return;
  const int64_t position = positions[i];
  if (position < 0 || position >= count) {
    atomicMax(cell, PackFault(0, i));
  } else {
    atomicOr(&bits[position / 32], 1u << (position % 32));
  }
}

/// Writes the rows of the result. For Compact; the predicates derive from it. Kept: the elements, if the predicate
/// looks at them, or NothingStaged.
template <int kBytes, typename Kept>
struct RowWriter : CompactOp {
  static constexpr int kKeyBytes = kBytes;
  using Tuning = CompactTuning<kKeyBytes>;
  using Staged = Kept;
  SelectArgs args;
  const int64_t* selected;  // how many elements are; null without a partition

  __device__ __forceinline__ bool KeepsOthers() const { return selected != nullptr; }
  __device__ __forceinline__ void Write(const KeptTile<Kept>& kept) const {
    constexpr int kStep = GroupTuning::kCompactThreads;
    const bool is_narrow = IndexBytes(args.count - 1) == 4;
    // The selected ones, and then the others. Neither loop is unrolled: their bodies take many registers.
#pragma unroll 1
    for (int part = 0; part < (selected != nullptr ? 2 : 1); ++part) {
      const int begin = part == 0 ? 0 : kept.count, count = part == 0 ? kept.count : kept.others;
      const int64_t first = part == 0 ? kept.before : *selected + kept.first - kept.before;
      const uint16_t* const places = kept.places + begin;
      if constexpr (!std::is_same_v<Kept, NothingStaged>) {
        if (args.elements_out != nullptr) {
          for (int i = static_cast<int>(threadIdx.x); i < count; i += kStep) {
            static_cast<Kept*>(args.elements_out)[first + i] = kept.staged[begin + i];
          }
        }
      }
#pragma unroll 1
      for (int array = std::is_same_v<Kept, NothingStaged> ? 0 : 1; array < 2; ++array) {
        void* const out = array == 0 ? args.elements_out : args.values_out;
        const auto* const from = static_cast<const char*>(array == 0 ? args.elements : args.values);
        const int bytes = array == 0 ? args.element_bytes : args.value_bytes;
        if (out == nullptr) continue;
        CopyRows<kStep>(bytes, out, first, count, [&](int i) { return from + (kept.first + places[i]) * bytes; });
      }
      if (args.indices_out == nullptr) continue;
      for (int i = static_cast<int>(threadIdx.x); i < count; i += kStep) {
        const int64_t position = kept.first + places[i];
        if (is_narrow) {
          static_cast<uint32_t*>(args.indices_out)[first + i] = static_cast<uint32_t>(position);
        } else {
          static_cast<uint64_t*>(args.indices_out)[first + i] = static_cast<uint64_t>(position);
        }
      }
    }
  }
};

/// Selects by flags, or by the bits of a bitmap.
template <bool kBits>
struct SelectFlagged : RowWriter<1, NothingStaged> {
  struct Rows {
    uint8_t flags[Tuning::kItems];
  };
  const uint8_t* flags;

  __device__ __forceinline__ void Load(int64_t first, int left, Rows& rows) const {
    if constexpr (kBits) {
#pragma unroll
      for (int i = 0; i < Tuning::kItems; ++i) rows.flags[i] = 32 * i < left ? flags[first / 8 + 4 * i] : uint8_t{0};
    } else {
      LoadRows(flags + first, left, uint8_t{0}, rows.flags);
    }
  }
  __device__ __forceinline__ bool Keeps(int64_t first, const Rows& rows, int i) const {
    const bool is_set = kBits ? (rows.flags[i] >> (first % 8) & 1) != 0 : rows.flags[i] != 0;
    return is_set != args.negate;
  }
};

/// Selects by a comparison: the ranks from `low` to `low + span`, or all others.
template <typename Bits, bool kFloat>
struct SelectCompared : RowWriter<sizeof(Bits), Bits> {
  using Base = RowWriter<sizeof(Bits), Bits>;
  using Base::args;
  using typename Base::Tuning;
  struct Rows {
    Bits keys[Tuning::kItems];
    Bits low, span;
  };
  KeyOrder<Bits, kFloat> order;
  bool takes_less, takes_greater;  // than the threshold; the threshold itself is taken
  bool negate;

  SelectCompared(const SelectArgs& select, const int64_t* selected, const KeyOrder<Bits, kFloat>& key_order)
      : order(key_order) {
    args = select;
    this->selected = selected;
    auto bits = static_cast<int>(args.comparison);
    negate = args.negate;
    if ((bits & static_cast<int>(Comparison::kEqual)) == 0) {
      bits = ~bits;
      negate = !negate;
    }
    takes_less = (bits & static_cast<int>(Comparison::kLess)) != 0;
    takes_greater = (bits & static_cast<int>(Comparison::kGreater)) != 0;
  }
  __device__ __forceinline__ void Load(int64_t first, int left, Rows& rows) const {
    const Bits threshold = order.RankOfRaw(*static_cast<const Bits*>(args.threshold));
    rows.low = takes_less ? Bits{0} : threshold;
    rows.span = static_cast<Bits>((takes_greater ? static_cast<Bits>(~Bits{0}) : threshold) - rows.low);
    LoadRows(static_cast<const Bits*>(args.elements) + first, left, Bits{0}, rows.keys);
  }
  __device__ __forceinline__ bool Keeps(int64_t, const Rows& rows, int i) const {
    return (static_cast<Bits>(order.RankOfRaw(rows.keys[i]) - rows.low) <= rows.span) != negate;
  }
  __device__ __forceinline__ Bits Stage(const Rows& rows, int i) const { return rows.keys[i]; }
};

/// One thread. `selected` is null if there are no elements; either output may be null.
__global__ void WriteSelectReportKernel(const int64_t* selected, const FaultCell* cell, int64_t* count_out,
                                        SelectReport* d_report) {
  SelectReport report;
  if (selected != nullptr) report.selected = *selected;
  if (*cell != kNoFault) report.out_of_range = FaultIndex(*cell);
  if (count_out != nullptr) *count_out = report.selected;
  if (d_report != nullptr) *d_report = report;
}

struct Plan {
  FaultCell* cell = nullptr;          // of positions
  int64_t* counted = nullptr;         // how many elements are selected, if that is counted first
  const int64_t* selected = nullptr;  // how many are
  uint32_t* marks = nullptr;          // null without positions
  CompactWork work;
  int64_t zeroed_bytes = 0;   // from the cell on
  bool counts_first = false;  // the others follow all that are selected
};

Plan PlanOf(const SelectArgs& args, Workspace& workspace) {
  Plan plan;
  const int64_t tiles = CompactTiles(args.count, args.by == SelectBy::kThreshold ? KeyBytes(args.key_type) : 1);
  // All that begins as zero lies side by side, so that one fill clears it.
  plan.cell = workspace.Carve<FaultCell>(1);
  plan.counted = workspace.Carve<int64_t>(1);
  plan.work.words = workspace.Carve<TileWord>(TileWords(tiles));
  if (args.by == SelectBy::kPositions) plan.marks = workspace.Carve<uint32_t>(CeilDiv(args.count, int64_t{32}));
  plan.zeroed_bytes = workspace.bytes();
  plan.work.before = workspace.Carve<int64_t>(tiles + 1);
  plan.counts_first = args.partition || !args.HasRows();
  plan.selected = plan.counts_first ? plan.counted : plan.work.before + tiles;
  return plan;
}

template <typename Op>
cudaError_t SelectRows(const Op& op, const Plan& plan, cudaStream_t stream) {
  if (plan.counts_first) CORANK_RETURN_IF_CUDA_ERROR(CountKept(op, op.args.count, plan.counted, stream));
  return op.args.HasRows() ? Compact(op, op.args.count, plan.work, KeptBits(), stream) : cudaSuccess;
}

template <bool kBits>
cudaError_t SelectByFlags(const SelectArgs& args, const Plan& plan, const void* flags, cudaStream_t stream) {
  SelectFlagged<kBits> op;
  op.args = args;
  op.selected = args.partition ? plan.counted : nullptr;
  op.flags = static_cast<const uint8_t*>(flags);
  return SelectRows(op, plan, stream);
}

cudaError_t SelectElements(const SelectArgs& args, const Plan& plan, cudaStream_t stream) {
  switch (args.by) {
    case SelectBy::kFlags:
      return SelectByFlags<false>(args, plan, args.flags, stream);
    case SelectBy::kBitmap:
      return SelectByFlags<true>(args, plan, args.flags, stream);
    case SelectBy::kPositions:
      return SelectByFlags<true>(args, plan, plan.marks, stream);
    case SelectBy::kThreshold:
      break;
  }
  return WithKeyOrder(args.key_type, Order::kAscending, [&](auto order) {
    using Traits = KeyOrderTraits<decltype(order)>;
    return SelectRows(
        SelectCompared<typename Traits::Bits, Traits::kFloat>(args, args.partition ? plan.counted : nullptr, order),
        plan, stream);
  });
}

}  // namespace

int64_t SelectWorkspaceBytes(const SelectArgs& args) {
  if (args.count < 0) return 0;
  Workspace workspace;
  PlanOf(args, workspace);
  return workspace.bytes();
}

cudaError_t Select(const SelectArgs& args, void* d_workspace, int64_t workspace_bytes, SelectReport* d_report,
                   cudaStream_t stream) {
  if (args.count < 0 || args.position_count < 0 || args.by > SelectBy::kThreshold ||
      args.comparison < Comparison::kLess || args.comparison > Comparison::kGreaterOrEqual ||
      workspace_bytes < SelectWorkspaceBytes(args)) {
    return cudaErrorInvalidValue;
  }
  Workspace workspace(d_workspace);
  const Plan plan = PlanOf(args, workspace);
  CORANK_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(plan.cell, 0, static_cast<size_t>(plan.zeroed_bytes), stream));
  if (args.by == SelectBy::kPositions && args.position_count > 0) {
    const auto blocks = static_cast<unsigned>(CeilDiv(args.position_count, int64_t{kThreads}));
    MarkPositionsKernel<<<blocks, kThreads, 0, stream>>>(args.positions, args.position_count, args.count, plan.marks,
                                                         plan.cell);
    CORANK_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  }
  if (args.count > 0) CORANK_RETURN_IF_CUDA_ERROR(SelectElements(args, plan, stream));
  if (d_report == nullptr && args.count_out == nullptr) return cudaSuccess;
  WriteSelectReportKernel<<<1, 1, 0, stream>>>(args.count > 0 ? plan.selected : nullptr, plan.cell, args.count_out,
                                               d_report);
  return cudaGetLastError();
}

}  // namespace corank::cuda
