#include "kernels/cpu/sets.h"

#include <algorithm>
#include <cstdint>

#include "kernels/common/balanced_path.h"
#include "kernels/common/key_order.h"
#include "kernels/cpu/records.h"
#include "kernels/cpu/sorted_check.h"
#include "kernels/cpu/workspace.h"

namespace corank::cpu {
namespace {

int64_t Pieces(const SetArgs& args) { return (args.left.count + args.right.count + kSetPiece - 1) / kSetPiece; }

struct Piece {
  BalancedCut<int64_t> begin, end;
};

struct Scratch {
  Piece* pieces;
  int64_t* before;  // results before each piece; the last one: all
};

Scratch TakeScratch(const SetArgs& args, Workspace& workspace) {
  Scratch scratch;
  scratch.pieces = workspace.Take<Piece>(Pieces(args));
  scratch.before = workspace.Take<int64_t>(Pieces(args) + 1);
  return scratch;
}

// Calls keep(is_left, index) for each key of the result, in order.
template <typename Bits, typename Ordering, typename Keep>
void Walk(const SetArgs& args, const Piece& piece, const Ordering& order, const Keep& keep) {
  const SetRule rule(args.operation);
  const auto* left = static_cast<const Bits*>(args.left.keys);
  const auto* right = static_cast<const Bits*>(args.right.keys);
  int64_t a = piece.begin.a, b = piece.begin.b;
  while (a < piece.end.a && b < piece.end.b) {
    const Bits a_rank = order.RankOfRaw(left[a]), b_rank = order.RankOfRaw(right[b]);
    const bool takes_a = a_rank <= b_rank, takes_b = b_rank <= a_rank;
    if (takes_a ? (takes_b ? rule.keeps_partners : rule.keeps_left) : rule.keeps_right) keep(takes_a, takes_a ? a : b);
    a += static_cast<int64_t>(takes_a);
    b += static_cast<int64_t>(takes_b);
  }
  if (rule.keeps_left) {
    for (; a < piece.end.a; ++a) keep(true, a);
  }
  if (rule.keeps_right) {
    for (; b < piece.end.b; ++b) keep(false, b);
  }
}

template <typename Bits, typename Ordering>
void WriteResults(const SetArgs& args, const Ordering& order, const Scratch& scratch, Parallel& parallel) {
  const auto* left = static_cast<const Bits*>(args.left.keys);
  const auto* right = static_cast<const Bits*>(args.right.keys);
  auto* keys_out = static_cast<Bits*>(args.keys_out);
  WithRecordCopier(args.value_bytes, [&](auto copy) {
    parallel.ForPieces(Pieces(args), [&](int64_t piece) {
      int64_t slot = scratch.before[piece];
      Walk<Bits>(args, scratch.pieces[piece], order, [&](bool is_left, int64_t i) {
        if (keys_out != nullptr) keys_out[slot] = is_left ? left[i] : right[i];
        if (args.values_out != nullptr) {
          copy(args.values_out, slot, is_left ? args.left.values : args.right.values, i);
        }
        ++slot;
      });
    });
  });
}

template <typename Bits, typename Ordering>
void Run(const SetArgs& args, const Ordering& order, const Scratch& scratch, Parallel& parallel, SetReport* report) {
  const MergeInput* const inputs[] = {&args.left, &args.right};
  for (int input = 0; input < 2; ++input) {
    const int64_t count = inputs[input]->count;
    const int64_t unsorted = FirstUnsorted(static_cast<const Bits*>(inputs[input]->keys), count, order, parallel);
    if (unsorted >= count) continue;
    report->input = input;
    report->unsorted = unsorted;
    return;
  }
  const int64_t total = args.left.count + args.right.count, pieces = Pieces(args);
  const auto cut_at = [&](int64_t diagonal) {
    return BalancedPath(diagonal, static_cast<const Bits*>(args.left.keys), args.left.count,
                        static_cast<const Bits*>(args.right.keys), args.right.count,
                        [&](Bits x, Bits y) { return order.Before(x, y); });
  };
  parallel.ForPieces(pieces, [&](int64_t i) {
    const Piece piece{cut_at(i * kSetPiece), cut_at(std::min(total, (i + 1) * kSetPiece))};
    int64_t kept = 0;
    Walk<Bits>(args, piece, order, [&](bool, int64_t) { ++kept; });
    scratch.pieces[i] = piece;
    scratch.before[i + 1] = kept;
  });
  scratch.before[0] = 0;
  for (int64_t i = 0; i < pieces; ++i) scratch.before[i + 1] += scratch.before[i];
  report->count = scratch.before[pieces];
  if (args.count_out != nullptr) *args.count_out = report->count;
  if (args.keys_out != nullptr || args.values_out != nullptr) WriteResults<Bits>(args, order, scratch, parallel);
}

}  // namespace

int64_t CombineSetsWorkspaceBytes(const SetArgs& args) {
  Workspace measure(nullptr);
  TakeScratch(args, measure);
  return measure.used_bytes();
}

void CombineSets(const SetArgs& args, void* workspace_bytes, Parallel& parallel, SetReport* report) {
  *report = SetReport();
  Workspace workspace(workspace_bytes);
  const Scratch scratch = TakeScratch(args, workspace);
  WithKeyOrder(args.key_type, args.order, [&](auto order) {
    using Bits = decltype(order.Encode(0));
    Run<Bits>(args, order, scratch, parallel, report);
  });
}

}  // namespace corank::cpu
