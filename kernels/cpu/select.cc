#include "kernels/cpu/select.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "kernels/common/key_order.h"
#include "kernels/cpu/records.h"
#include "kernels/cpu/workspace.h"

namespace corank::cpu {
namespace {

constexpr int64_t kPositionGrain = int64_t{1} << 14;

int64_t Pieces(const SelectArgs& args) { return (args.count + kSelectPiece - 1) / kSelectPiece; }

struct Scratch {
  uint8_t* marks = nullptr;   // the bitmap of positions
  int64_t* before = nullptr;  // selected elements before each piece; the last one: all
};

Scratch TakeScratch(const SelectArgs& args, Workspace& workspace) {
  Scratch scratch;
  if (args.by == SelectBy::kPositions) scratch.marks = workspace.Take<uint8_t>(BitmapBytes(args.count));
  scratch.before = workspace.Take<int64_t>(Pieces(args) + 1);
  return scratch;
}

// Sets the bit of every position. Returns the first index of a position that no element has, or -1.
int64_t MarkPositions(const SelectArgs& args, uint8_t* marks, Parallel& parallel) {
  parallel.Zero(marks, BitmapBytes(args.count));
  std::atomic<int64_t> fault{args.position_count};
  parallel.ForRange(args.position_count, kPositionGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t position = args.positions[i];
      if (position >= 0 && position < args.count) {
        __atomic_fetch_or(&marks[position / 8], static_cast<uint8_t>(1 << position % 8), __ATOMIC_RELAXED);
        continue;
      }
      int64_t known = fault.load(std::memory_order_relaxed);
      while (i < known && !fault.compare_exchange_weak(known, i)) {
      }
      return;
    }
  });
  return fault == args.position_count ? -1 : fault.load();
}

// Writes the rows that `selects` says, piece by piece.
template <typename Selects>
void SelectRows(const SelectArgs& args, const Scratch& scratch, const Selects& selects, Parallel& parallel) {
  const auto for_elements = [&](int64_t piece, const auto& fn) {
    const int64_t end = std::min(args.count, (piece + 1) * kSelectPiece);
    for (int64_t i = piece * kSelectPiece; i < end; ++i) fn(i, selects(i));
  };
  const int64_t pieces = Pieces(args);
  parallel.ForPieces(pieces, [&](int64_t piece) {
    int64_t selected = 0;
    for_elements(piece, [&](int64_t, bool is_selected) { selected += static_cast<int64_t>(is_selected); });
    scratch.before[piece + 1] = selected;
  });
  scratch.before[0] = 0;
  for (int64_t i = 0; i < pieces; ++i) scratch.before[i + 1] += scratch.before[i];
  // Calls write(row of the output, position) for every row.
  const auto write_rows = [&](const auto& write) {
    parallel.ForPieces(pieces, [&](int64_t piece) {
      int64_t slot = scratch.before[piece];
      int64_t other_slot = scratch.before[pieces] + piece * kSelectPiece - slot;
      for_elements(piece, [&](int64_t i, bool is_selected) {
        if (is_selected) {
          write(slot++, i);
        } else if (args.partition) {
          write(other_slot++, i);
        }
      });
    });
  };
  const auto copy_rows = [&](void* out, const void* from, int bytes) {
    if (out == nullptr) return;
    WithRecordCopier(bytes, [&](auto copy) { write_rows([&](int64_t to, int64_t i) { copy(out, to, from, i); }); });
  };
  copy_rows(args.elements_out, args.elements, args.element_bytes);
  copy_rows(args.values_out, args.values, args.value_bytes);
  if (args.indices_out == nullptr) return;
  WithIndexType(IndexBytes(args.count - 1), [&](auto zero) {
    using Index = decltype(zero);
    auto* const indices = static_cast<Index*>(args.indices_out);
    write_rows([&](int64_t to, int64_t i) { indices[to] = static_cast<Index>(i); });
  });
}

}  // namespace

int64_t SelectWorkspaceBytes(const SelectArgs& args) {
  Workspace measure(nullptr);
  TakeScratch(args, measure);
  return measure.used_bytes();
}

void Select(const SelectArgs& args, void* workspace_bytes, Parallel& parallel, SelectReport* report) {
  *report = SelectReport();
  Workspace workspace(workspace_bytes);
  const Scratch scratch = TakeScratch(args, workspace);
  if (args.by == SelectBy::kPositions) report->out_of_range = MarkPositions(args, scratch.marks, parallel);
  if (report->out_of_range >= 0) return;
  const auto select = [&](const auto& holds) {
    SelectRows(
        args, scratch, [&](int64_t i) { return holds(i) != args.negate; }, parallel);
  };
  switch (args.by) {
    case SelectBy::kFlags:
      select([&](int64_t i) { return args.flags[i] != 0; });
      break;
    case SelectBy::kBitmap:
    case SelectBy::kPositions: {
      const uint8_t* const bits = args.by == SelectBy::kBitmap ? args.flags : scratch.marks;
      select([&](int64_t i) { return (bits[i / 8] >> (i % 8) & 1) != 0; });
      break;
    }
    case SelectBy::kThreshold:
      WithKeyOrder(args.key_type, Order::kAscending, [&](auto order) {
        using Bits = decltype(order.Encode(0));
        const auto* const keys = static_cast<const Bits*>(args.elements);
        const Bits threshold = args.count == 0 ? Bits{0} : order.RankOfRaw(*static_cast<const Bits*>(args.threshold));
        select([&, threshold](int64_t i) { return Compares(args.comparison, order.RankOfRaw(keys[i]), threshold); });
      });
      break;
  }
  report->selected = scratch.before[Pieces(args)];
  if (args.count_out != nullptr) *args.count_out = report->selected;
}

}  // namespace corank::cpu
