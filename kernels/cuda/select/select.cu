// Select: the elements that a predicate holds for, on request followed by the others.
//
// Algorithm: positions become a bitmap first. One compaction (compact.cuh) then moves the selected elements, and with
//            `partition` a second one the others, behind as many rows as the first has found.
// Work: O(count + positions).
// Memory: one read of the predicate, two with `partition`; one read and one write of each row of the result. Positions:
//         one read, and one write of a bit at random for each.
// Workspace: see select.h.
// Source: compact.cuh names its own.
#include <cuda_runtime.h>

#include <algorithm>

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

/// Writes the rows of the result. For Compact; the predicates derive from it.
template <int kBytes>
struct RowWriter {
  static constexpr int kKeyBytes = kBytes;
  using Tuning = CompactTuning<kKeyBytes>;
  struct Shared {
    uint16_t places[Tuning::kTile];  // of the selected elements in the tile
  };
  static_assert(Tuning::kTile <= 1 << 16, "places of 16 bits");
  SelectArgs args;
  bool negate;
  const TileSum* base;  // the number of rows before these; null: none

  template <typename Rows>
  __device__ __forceinline__ void Keep(const Rows&, int, int64_t position, int64_t, int tile_slot,
                                       Shared& shared) const {
    shared.places[tile_slot] = static_cast<uint16_t>(position % Tuning::kTile);
  }
  __device__ __forceinline__ void FinishTile(int64_t tile, int64_t before, int kept, const Shared& shared) const {
    if (!args.HasRows()) return;
    __syncthreads();
    const int64_t first = before + (base == nullptr ? 0 : static_cast<int64_t>(*base & kSumMask));
    const int64_t tile_first = tile * Tuning::kTile;
    const auto copy = [&](void* out, const void* from, int row_bytes) {
      if (out == nullptr) return;
      CopyRows<kThreads>(row_bytes, out, first, kept, [&](int i) {
        return static_cast<const char*>(from) + (tile_first + shared.places[i]) * row_bytes;
      });
    };
    copy(args.elements_out, args.elements, args.element_bytes);
    copy(args.values_out, args.values, args.value_bytes);
    if (args.indices_out == nullptr) return;
    const bool is_narrow = IndexBytes(args.count - 1) == 4;
    for (int i = static_cast<int>(threadIdx.x); i < kept; i += kThreads) {
      const int64_t position = tile_first + shared.places[i];
      if (is_narrow) {
        static_cast<uint32_t*>(args.indices_out)[first + i] = static_cast<uint32_t>(position);
      } else {
        static_cast<uint64_t*>(args.indices_out)[first + i] = static_cast<uint64_t>(position);
      }
    }
  }
};

/// Selects by flags, or by the bits of a bitmap.
template <bool kBits>
struct SelectFlagged : RowWriter<1> {
  struct Rows {
    uint8_t flags[Tuning::kItems];
  };
  const uint8_t* flags;

  __device__ __forceinline__ void Load(int64_t first, int left, Rows& rows) const {
#pragma unroll
    for (int i = 0; i < Tuning::kItems; ++i) {
      const int64_t position = first + 32 * i;
      rows.flags[i] = 32 * i < left ? flags[kBits ? position / 8 : position] : uint8_t{0};
    }
  }
  __device__ __forceinline__ bool Keeps(int64_t first, int, const Rows& rows, int i) const {
    const bool is_set = kBits ? (rows.flags[i] >> (first % 8) & 1) != 0 : rows.flags[i] != 0;
    return is_set != negate;
  }
};

/// Selects by a comparison.
template <typename Bits, bool kFloat>
struct SelectCompared : RowWriter<sizeof(Bits)> {
  using Base = RowWriter<sizeof(Bits)>;
  using Base::args, Base::negate;
  using typename Base::Tuning;
  struct Rows {
    Bits keys[Tuning::kItems];
    Bits threshold;
  };
  KeyOrder<Bits, kFloat> order;

  __device__ __forceinline__ void Load(int64_t first, int left, Rows& rows) const {
    const Bits* const from = static_cast<const Bits*>(args.elements) + first;
    rows.threshold = order.RankOfRaw(*static_cast<const Bits*>(args.threshold));
#pragma unroll
    for (int i = 0; i < Tuning::kItems; ++i) rows.keys[i] = 32 * i < left ? from[32 * i] : Bits{0};
  }
  __device__ __forceinline__ bool Keeps(int64_t, int, const Rows& rows, int i) const {
    return Compares(args.comparison, order.RankOfRaw(rows.keys[i]), rows.threshold) != negate;
  }
};

/// One thread. `last_sum` and `cell` are null if nothing wrote them; either output may be null.
__global__ void WriteSelectReportKernel(const TileSum* last_sum, const FaultCell* cell, int64_t* count_out,
                                        SelectReport* d_report) {
  SelectReport report;
  if (last_sum != nullptr) report.selected = static_cast<int64_t>(*last_sum & kSumMask);
  if (cell != nullptr && *cell != kNoFault) report.out_of_range = FaultIndex(*cell);
  if (count_out != nullptr) *count_out = report.selected;
  if (d_report != nullptr) *d_report = report;
}

struct Plan {
  int64_t tiles = 0;
  FaultCell* cell = nullptr;      // of positions
  TileSum* sums = nullptr;        // of the selected elements
  TileSum* other_sums = nullptr;  // null without a partition
  uint32_t* marks = nullptr;      // null without positions
  int64_t zeroed_bytes = 0;       // from the cell on
};

Plan PlanOf(const SelectArgs& args, Workspace& workspace) {
  Plan plan;
  plan.tiles = CompactTiles(args.count, args.by == SelectBy::kThreshold ? KeyBytes(args.key_type) : 1);
  // All of it lies side by side, so that one fill clears it.
  const int64_t before = workspace.bytes();
  const int64_t passes = args.partition ? 2 : 1;
  plan.cell = workspace.Carve<FaultCell>(1 + passes * plan.tiles);
  plan.sums = plan.cell + 1;
  if (args.partition) plan.other_sums = plan.sums + plan.tiles;
  if (args.by == SelectBy::kPositions) plan.marks = workspace.Carve<uint32_t>(CeilDiv(args.count, int64_t{32}));
  plan.zeroed_bytes = workspace.bytes() - before;
  return plan;
}

/// Runs one compaction, or two. make(negate, base): the operation for Compact.
template <typename Make>
cudaError_t SelectRows(const SelectArgs& args, const Plan& plan, const Make& make, cudaStream_t stream) {
  CORANK_RETURN_IF_CUDA_ERROR(Compact(make(args.negate, nullptr), args.count, plan.sums, KeptBits(), stream));
  if (!args.partition || !args.HasRows()) return cudaSuccess;
  return Compact(make(!args.negate, plan.sums + (plan.tiles - 1)), args.count, plan.other_sums, KeptBits(), stream);
}

template <bool kBits>
cudaError_t SelectByFlags(const SelectArgs& args, const Plan& plan, const void* flags, cudaStream_t stream) {
  const auto make = [&](bool negate, const TileSum* base) {
    return SelectFlagged<kBits>{{args, negate, base}, static_cast<const uint8_t*>(flags)};
  };
  return SelectRows(args, plan, make, stream);
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
    const auto make = [&](bool negate, const TileSum* base) {
      return SelectCompared<typename Traits::Bits, Traits::kFloat>{{args, negate, base}, order};
    };
    return SelectRows(args, plan, make, stream);
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
  WriteSelectReportKernel<<<1, 1, 0, stream>>>(args.count > 0 ? plan.sums + (plan.tiles - 1) : nullptr, plan.cell,
                                               args.count_out, d_report);
  return cudaGetLastError();
}

}  // namespace corank::cuda
