// Move: copies the elements of every interval from source to destination. interval_tile.cuh describes algorithm, work
// and workspace.
//
// A unit of a long interval is a 16-byte block of the destination's memory that the interval touches, for any element
// size. A thread reads the bytes of its unit as two whole blocks of the source, shifted, if these lie within the
// interval, and otherwise word by word. It writes a block or, at the ends of an interval, words and bytes. Groups of
// adjacent threads write whole sectors or lines of the cache. A unit of a short interval is a word. Nothing outside an
// interval is read or written.
//
// Memory: one read of counts and offsets, one read and one write of the elements. If short intervals at scattered
//         places leave a part of a 32-byte sector unwritten, the sector costs more than its bytes: an H200 writes 16
//         such sectors a nanosecond by any method. move_bins.cu takes over if there are many intervals of a few words.
#include <algorithm>

#include "kernels/cuda/common/operator_report.cuh"
#include "kernels/cuda/intervals/interval_tile.cuh"
#include "kernels/cuda/intervals/intervals.h"
#include "kernels/cuda/intervals/move_bins.h"
#include "kernels/cuda/intervals/overlap_check.h"

namespace corank::cuda {
namespace {

template <typename T>
__device__ __forceinline__ T LoadFrom(int64_t address) {
  return __ldg(reinterpret_cast<const T*>(address));
}
template <typename T>
__device__ __forceinline__ void StoreTo(int64_t address, T value) {
  *reinterpret_cast<T*>(address) = value;
}

/// The common part for all kinds of units.
struct MoveIntervals {
  using Tuning = MoveTuning;
  static constexpr bool kFewBlocks = false;
  static constexpr int kBatch = Tuning::kBatch;
  /// Addresses.
  struct Registers {
    int64_t from[Tuning::kItems];
    int64_t to[Tuning::kItems];
    int64_t bytes[Tuning::kItems];
  };
  int64_t source;  // addresses of the arrays
  int64_t destination;
  const int64_t* source_offsets;  // null: dense
  const int64_t* destination_offsets;
  int element_bytes;
  int log_group;  // of a group of blocks, if units are blocks
  BinArrays bins;

  __device__ __forceinline__ void Adjust(const IntervalPlan&) const {}

  template <typename BaseOf>
  __device__ __forceinline__ Registers Load(const IntervalPlan& plan, int64_t first, int n, BaseOf base_of,
                                            TileShared& tile) const {
    constexpr int kItems = Tuning::kItems;
    Registers registers;
    LoadItems(plan.counts + first, n, registers.bytes);
    if (source_offsets != nullptr) LoadItems(source_offsets + first, n, registers.from);
    if (destination_offsets != nullptr) LoadItems(destination_offsets + first, n, registers.to);
    if (source_offsets == nullptr || destination_offsets == nullptr) {
      int64_t sum = 0;
      for (int i = 0; i < kItems; ++i) sum += registers.bytes[i];
      int64_t before = 0;
      const int64_t total = tile.Exclusive(sum, before);
      before += base_of(total);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        if (source_offsets == nullptr) registers.from[i] = before;
        if (destination_offsets == nullptr) registers.to[i] = before;
        before += registers.bytes[i];
      }
    }
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      registers.bytes[i] *= element_bytes;
      registers.from[i] = source + registers.from[i] * element_bytes;
      registers.to[i] = destination + registers.to[i] * element_bytes;
    }
    return registers;
  }
};

/// Units are words, the same in source and destination. For short intervals.
template <typename Word>
struct MoveWordsOp : MoveIntervals {
  static constexpr bool kFewBlocks = sizeof(Word) == sizeof(uint32_t);  // after bins
  struct Slot {
    int64_t from, to;  // addresses of the window's first unit, as if the interval began there or earlier
  };
  struct Shared {
    TileShared tile;
    Slot slots[Tuning::kTile + 1];
  };

  static_assert(BinTuning::kLongMean * int{sizeof(uint32_t)} <= Tuning::kShortBytes, "bins come before words only");

  /// Keeps only the intervals that did not go to bins.
  __device__ __forceinline__ void Adjust(IntervalPlan& plan) {
    if (bins.d_state == nullptr || bins.d_state->is_taken == 0) return;
    plan.counts = bins.d_left_counts;
    plan.count = min(static_cast<int64_t>(bins.d_state->left), bins.left_capacity);
    plan.tiles = CeilDiv(plan.count, plan.tile);
    source_offsets = bins.d_left_sources;
    destination_offsets = bins.d_left_destinations;
  }

  template <typename BaseOf, typename Count>
  __device__ __forceinline__ Registers Load(const IntervalPlan& plan, int64_t first, int n, BaseOf base_of,
                                            TileItems<Count, Tuning>& items, Shared& shared) const {
    const Registers registers = MoveIntervals::Load(plan, first, n, base_of, shared.tile);
#pragma unroll
    for (int i = 0; i < Tuning::kItems; ++i) items.Set(i, registers.bytes[i] / int64_t{sizeof(Word)});
    items.Scan(shared.tile);
    return registers;
  }

  __device__ __forceinline__ void Place(Shared& shared, const Registers& registers, int slot, int i,
                                        int64_t position) const {
    const int64_t back = position * int{sizeof(Word)};
    shared.slots[slot] = {registers.from[i] - back, registers.to[i] - back};
  }

  __device__ __forceinline__ void Process(const Shared& shared, int count) const {
    constexpr int kThreads = IntervalTuning::kThreads;
    for (int at = static_cast<int>(threadIdx.x); at < count; at += kThreads * kBatch) {
      Word words[kBatch];
      int64_t to[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int unit = at + i * kThreads;
        if (unit >= count) continue;
        const Slot slot = shared.slots[SlotAt(shared.tile, unit)];
        words[i] = LoadFrom<Word>(slot.from + unit * int{sizeof(Word)});
        to[i] = slot.to + unit * int{sizeof(Word)};
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        if (at + i * kThreads < count) StoreTo(to[i], words[i]);
      }
    }
  }
};

/// Units are the 16-byte blocks of the destination that an interval touches. kWords: addresses and lengths are
/// multiples of 4.
template <bool kWords>
struct MoveBlocksOp : MoveIntervals {
  struct Slot {
    int64_t block;   // address of the window's first unit, as if the interval began there or earlier
    int64_t to;      // address of the interval's first byte
    int64_t to_end;  // address after its last byte
    int64_t delta;   // source address minus destination address
  };
  struct Shared {
    TileShared tile;
    Slot slots[Tuning::kTile + 1];
  };

  template <typename BaseOf, typename Count>
  __device__ __forceinline__ Registers Load(const IntervalPlan& plan, int64_t first, int n, BaseOf base_of,
                                            TileItems<Count, Tuning>& items, Shared& shared) const {
    const Registers registers = MoveIntervals::Load(plan, first, n, base_of, shared.tile);
#pragma unroll
    for (int i = 0; i < Tuning::kItems; ++i) {
      items.Set(i, BlocksTouched(registers.to[i], registers.bytes[i], log_group));
    }
    items.Scan(shared.tile);
    return registers;
  }

  __device__ __forceinline__ void Place(Shared& shared, const Registers& registers, int slot, int i,
                                        int64_t position) const {
    const int64_t to = registers.to[i];
    shared.slots[slot] = {(FirstBlock(to, log_group) - position) * 16, to, to + registers.bytes[i],
                          registers.from[i] - to};
  }

  __device__ __forceinline__ void Process(const Shared& shared, int count) const {
    constexpr int kThreads = IntervalTuning::kThreads;
    for (int at = static_cast<int>(threadIdx.x); at < count; at += kThreads * kBatch) {
      // Whole blocks of the source come first, all loaded before the first is used. Units at the ends of an interval,
      // which are read word by word, follow.
      uint4 near[kBatch], far[kBatch];
      int slots[kBatch];
      unsigned inner = 0;
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int unit = at + i * kThreads;
        slots[i] = unit < count ? SlotAt(shared.tile, unit) : -1;
        if (slots[i] < 0) continue;
        const Slot& slot = shared.slots[slots[i]];
        const int64_t from = slot.block + slot.delta + unit * 16;
        const int64_t block = from & -16;
        if (block < slot.to + slot.delta || block + 32 > slot.to_end + slot.delta) continue;
        inner |= 1u << i;
        near[i] = LoadFrom<uint4>(block);
        far[i] = LoadFrom<uint4>(block + 16);
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int unit = at + i * kThreads;
        if (slots[i] < 0) continue;
        const Slot& slot = shared.slots[slots[i]];
        const uint4 bytes = (inner >> i & 1) != 0
                                ? Between(near[i], far[i], static_cast<int>(slot.block + slot.delta) & 15)
                                : ReadWords(slot, unit);
        Write(slot, unit, bytes);
      }
    }
  }

  static __device__ __forceinline__ uint4 Between(const uint4& near, const uint4& far, int shift) {
    const uint32_t words[8] = {near.x, near.y, near.z, near.w, far.x, far.y, far.z, far.w};
    uint32_t out[4];
    BytesBetween(words, shift, out);
    return make_uint4(out[0], out[1], out[2], out[3]);
  }

  /// The bytes of a unit, at their places in its block.
  static __device__ __forceinline__ uint4 ReadWords(const Slot& slot, int unit) {
    const int64_t from = slot.block + slot.delta + unit * 16;
    const int64_t low = slot.to + slot.delta, high = slot.to_end + slot.delta;
    if (from + 16 <= low || from >= high) return uint4{};
    uint32_t words[5] = {};
    const int bytes = kWords ? 0 : static_cast<int>(from & 3);
#pragma unroll
    for (int i = 0; i < (kWords ? 4 : 5); ++i) words[i] = ReadWord(from - bytes + 4 * i, low, high);
    if (kWords) return make_uint4(words[0], words[1], words[2], words[3]);
    return make_uint4(BytesBetween(words[0], words[1], bytes), BytesBetween(words[1], words[2], bytes),
                      BytesBetween(words[2], words[3], bytes), BytesBetween(words[3], words[4], bytes));
  }

  /// The bytes of an aligned word that lie within [low, high).
  static __device__ __forceinline__ uint32_t ReadWord(int64_t address, int64_t low, int64_t high) {
    if (address >= low && address + 4 <= high) return LoadFrom<uint32_t>(address);
    uint32_t word = 0;
    if constexpr (!kWords) {
      if (address + 4 <= low || address >= high) return 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (address + i >= low && address + i < high) word |= uint32_t{LoadFrom<uint8_t>(address + i)} << (8 * i);
      }
    }
    return word;
  }

  static __device__ __forceinline__ void Write(const Slot& slot, int unit, const uint4& bytes) {
    const int64_t block = slot.block + unit * 16;
    if (slot.to <= block && block + 16 <= slot.to_end) {
      StoreTo(block, bytes);
      return;
    }
    const uint32_t words[4] = {bytes.x, bytes.y, bytes.z, bytes.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int64_t word = block + 4 * i;
      if (slot.to <= word && word + 4 <= slot.to_end) {
        StoreTo(word, words[i]);
      } else if (!kWords && slot.to < word + 4 && word < slot.to_end) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int64_t byte = word + j;
          if (slot.to <= byte && byte < slot.to_end) StoreTo(byte, static_cast<uint8_t>(words[i] >> (8 * j)));
        }
      }
    }
  }
};

bool ChecksOverlap(const MoveArgs& args) {
  return args.check_overlap && args.destination_offsets != nullptr && args.total > 0;
}

bool NeedsSums(const MoveArgs& args) { return args.source_offsets == nullptr || args.destination_offsets == nullptr; }

/// Whether units are words of min(UnitBytes, 4) bytes. Otherwise they are 16-byte blocks.
bool TakesWords(const MoveArgs& args) {
  return args.total * args.element_bytes < args.interval_count * MoveTuning::kShortBytes;
}

int64_t WordsOf(const MoveArgs& args) {
  return args.total * (args.element_bytes / std::min(UnitBytes(args.element_bytes), 4));
}

int LogGroup(const MoveArgs& args) {
  return args.total * args.element_bytes < args.interval_count * MoveTuning::kLongBytes ? 1 : 3;
}

/// An upper bound of the number of units: the first and last groups of an interval's blocks have at least one byte of
/// it.
int64_t MostUnits(const MoveArgs& args) {
  if (TakesWords(args)) return WordsOf(args);
  return args.total * args.element_bytes / 16 + (std::min(args.interval_count, args.total) << (1 + LogGroup(args)));
}

struct MovePlan {
  IntervalPlan intervals;
  BinArrays bins;
};

MovePlan PlanOf(const MoveArgs& args, Workspace& workspace) {
  const int64_t units =
      TakesWords(args) ? WordsOf(args) : args.total * args.element_bytes / 16 + (args.interval_count << LogGroup(args));
  MovePlan plan;
  plan.intervals = MakePlan<MoveTuning>(args.counts, args.interval_count, units, workspace);
  plan.bins = CarveBins(args, workspace);
  // If the bins take all intervals, these blocks find nothing to do.
  if (plan.bins.d_state != nullptr) {
    plan.intervals.blocks = std::min<int64_t>(plan.intervals.tiles, MoveTuning::kLeftBlocks);
  }
  return plan;
}

}  // namespace

int64_t MoveWorkspaceBytes(const MoveArgs& args) {
  if (args.interval_count <= 0 || args.total <= 0) return 0;
  Workspace workspace;
  PlanOf(args, workspace);
  // The check and the move run one after the other on one stream and share the workspace.
  return std::max(workspace.bytes(), ChecksOverlap(args) ? OverlapCheckWorkspaceBytes(args) : 0);
}

cudaError_t Move(const MoveArgs& args, void* d_workspace, int64_t workspace_bytes, OperatorReport* d_report,
                 cudaStream_t stream) {
  if (args.interval_count < 0 || args.total < 0 || args.element_bytes < 1 || args.element_bytes > kMaxRecordBytes ||
      (args.interval_count == 0 && args.total > 0) || (ChecksOverlap(args) && args.destination_count <= 0) ||
      workspace_bytes < MoveWorkspaceBytes(args)) {
    return cudaErrorInvalidValue;
  }
  CORANK_RETURN_IF_CUDA_ERROR(ChecksOverlap(args) ? CheckOverlap(args, d_workspace, workspace_bytes, d_report, stream)
                                                  : WriteReport(OperatorReport(), nullptr, d_report, stream));
  if (args.total == 0 || args.destination == nullptr) return cudaSuccess;
  Workspace workspace(d_workspace);
  const MovePlan plan = PlanOf(args, workspace);
  CORANK_RETURN_IF_CUDA_ERROR(MoveThroughBins(args, plan.bins, stream));
  const auto run = [&](auto op) {
    op.source = reinterpret_cast<int64_t>(args.source);
    op.destination = reinterpret_cast<int64_t>(args.destination);
    op.source_offsets = args.source_offsets;
    op.destination_offsets = args.destination_offsets;
    op.element_bytes = args.element_bytes;
    op.log_group = LogGroup(args);
    op.bins = plan.bins;
    return RunIntervals(op, plan.intervals, NeedsSums(args), MostUnits(args), stream);
  };
  const bool whole_words = args.element_bytes % 4 == 0;
  if (!TakesWords(args)) return whole_words ? run(MoveBlocksOp<true>()) : run(MoveBlocksOp<false>());
  if (whole_words) return run(MoveWordsOp<uint32_t>());
  return args.element_bytes % 2 == 0 ? run(MoveWordsOp<uint16_t>()) : run(MoveWordsOp<uint8_t>());
}

}  // namespace corank::cuda
