#include "kernels/cpu/merge.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "kernels/common/co_ranks.h"
#include "kernels/common/key_order.h"
#include "kernels/cpu/item_merge.h"
#include "kernels/cpu/records.h"
#include "kernels/cpu/sorted_check.h"
#include "kernels/cpu/vector_merge.h"
#include "kernels/cpu/workspace.h"

namespace corank::cpu {
namespace {

constexpr int64_t kMergeGrain = int64_t{1} << 14;

// The head of one input in a loser tree. An exhausted input comes after all others.
template <typename Bits>
struct Head {
  Bits rank;
  int32_t input;  // -1 - input if it is exhausted

  bool Before(const Head& other) const {
    if ((input < 0) != (other.input < 0)) return input >= 0;
    return rank != other.rank ? rank < other.rank : input < other.input;
  }
};

template <typename Bits>
struct MergeScratch {
  int64_t pieces;
  int64_t* splits;    // [pieces + 1][inputs]: the beginning of each piece in each input
  int64_t* low;       // [inputs], for CoRanks
  int64_t* high;      // [inputs]
  int64_t* cursors;   // [pieces][inputs]
  Head<Bits>* heads;  // [pieces][inputs]: loser trees
};

template <typename Bits>
MergeScratch<Bits> TakeScratch(const MergeArgs& args, int threads, Workspace& workspace) {
  MergeScratch<Bits> scratch;
  scratch.pieces = PieceCount(args.TotalCount(), kMergeGrain, threads);
  scratch.splits = workspace.Take<int64_t>((scratch.pieces + 1) * args.input_count);
  scratch.low = workspace.Take<int64_t>(args.input_count);
  scratch.high = workspace.Take<int64_t>(args.input_count);
  scratch.cursors = workspace.Take<int64_t>(scratch.pieces * args.input_count);
  scratch.heads = workspace.Take<Head<Bits>>(scratch.pieces * args.input_count);
  return scratch;
}

template <typename Bits>
const Bits* Keys(const MergeArgs& args, int32_t input) {
  return static_cast<const Bits*>(args.inputs[input].keys);
}

// Calls emit(input, position, key) for all elements of the inputs in [position[i], end[i]), in order. Advances
// position.
template <typename Bits, typename Ordering, typename Emit>
void MergeMany(const MergeArgs& args, const Ordering& order, int64_t* position, const int64_t* end, Head<Bits>* losers,
               const Emit& emit) {
  const int32_t inputs = args.input_count;
  const auto head = [&](int32_t input) {
    if (position[input] == end[input]) return Head<Bits>{0, -1 - input};
    return Head<Bits>{order.RankOfRaw(Keys<Bits>(args, input)[position[input]]), input};
  };
  // losers[1 .. inputs - 1] are the inner nodes of a tree; node inputs + i is the leaf of input i. Each input climbs to
  // the first node without a waiting loser and waits there. The input that finds none is the first winner.
  constexpr int32_t kNobody = kMaxMergeInputs;
  std::fill(losers, losers + inputs, Head<Bits>{0, kNobody});
  Head<Bits> winner{0, kNobody};
  for (int32_t input = 0; input < inputs; ++input) {
    Head<Bits> climber = head(input);
    int32_t node = (inputs + input) / 2;
    for (; node > 0 && losers[node].input != kNobody; node /= 2) {
      if (losers[node].Before(climber)) std::swap(losers[node], climber);
    }
    (node > 0 ? losers[node] : winner) = climber;
  }
  while (winner.input >= 0) {
    const int32_t input = winner.input;
    emit(input, position[input], Keys<Bits>(args, input)[position[input]]);
    ++position[input];
    winner = head(input);
    for (int32_t node = (inputs + input) / 2; node > 0; node /= 2) {
      if (losers[node].Before(winner)) std::swap(losers[node], winner);
    }
  }
}

// Whether the merge itself detects unsorted inputs, so that no separate read checks them.
bool ChecksResult(const MergeArgs& args) { return args.check_sorted && args.input_count == 2; }

// Cuts the inputs into pieces with outputs of equal size.
template <typename Bits, typename Ordering>
void Split(const MergeArgs& args, const Ordering& order, const MergeScratch<Bits>& scratch) {
  const int32_t inputs = args.input_count;
  const int64_t total = args.TotalCount();
  std::fill(scratch.splits, scratch.splits + inputs, int64_t{0});
  for (int64_t piece = 0; piece < scratch.pieces; ++piece) {
    const int64_t steps = PieceBegin(total, piece + 1, scratch.pieces) - PieceBegin(total, piece, scratch.pieces);
    int64_t* begin = scratch.splits + piece * inputs;
    CoRanks<Bits>(args.inputs, inputs, order, begin, steps, scratch.low, scratch.high, begin + inputs);
  }
}

// Whether equal keys have equal bits, and the type has a vector merge.
template <typename Bits, bool kFloat>
constexpr bool MergesVectors(const KeyOrder<Bits, kFloat>&) {
  return !kFloat && kVectorMerges<Bits>;
}

// Merges all pieces of two inputs without values. Returns whether the inputs are sorted.
template <typename Bits, typename Ordering>
bool MergeVectors(const MergeArgs& args, const Ordering& order, const MergeScratch<Bits>& scratch, Parallel& parallel) {
  const int64_t total = args.TotalCount();
  std::atomic<bool> in_order{true};
  parallel.ForPieces(scratch.pieces, [&](int64_t piece) {
    const int64_t* begin = scratch.splits + 2 * piece;
    const int64_t* end = begin + 2;
    const Bits* a = Keys<Bits>(args, 0) + begin[0];
    const Bits* b = Keys<Bits>(args, 1) + begin[1];
    Bits* out = static_cast<Bits*>(args.keys_out) + PieceBegin(total, piece, scratch.pieces);
    // Codes of integers are keys with some bits flipped: the bits of Encode(0).
    if (!VectorMerge(a, end[0] - begin[0], b, end[1] - begin[1], order.Encode(0), out)) in_order = false;
  });
  for (int64_t split = 2; split < 2 * scratch.pieces; ++split) {
    const int64_t at = scratch.splits[split];
    const Bits* keys = Keys<Bits>(args, split % 2);
    if (at > 0 && at < args.inputs[split % 2].count && order.Before(keys[at], keys[at - 1])) return false;
  }
  return in_order;
}

// Merges all pieces. If ChecksResult, returns whether the result is in order: the inputs are subsequences of the
// result, so that this tells whether they are sorted, and the result is still in the cache.
template <typename Bits, typename Ordering, typename Copier>
bool MergePieces(const MergeArgs& args, const Ordering& order, const Copier& copy_value,
                 const MergeScratch<Bits>& scratch, Parallel& parallel) {
  const int32_t inputs = args.input_count;
  const int64_t total = args.TotalCount();
  Bits* keys_out = static_cast<Bits*>(args.keys_out);
  std::atomic<bool> in_order{true};
  parallel.ForPieces(scratch.pieces, [&](int64_t piece) {
    const int64_t first = PieceBegin(total, piece, scratch.pieces);
    const int64_t* begin = scratch.splits + piece * inputs;
    const int64_t* end = begin + inputs;
    if (inputs == 2) {
      // By value: the compiler would load through a reference again for every key.
      const auto before = [order](Bits a, Bits b) { return order.Before(a, b); };
      const int64_t a_count = end[0] - begin[0], b_count = end[1] - begin[1];
      Bits* const out = keys_out + first;
      bool wrong = false;
      const auto check = [&wrong, out, before](int64_t check_begin, int64_t check_end) {
        const auto is_before = before;
        bool any = false;
        for (int64_t i = check_begin; i < check_end; ++i) any |= is_before(out[i], out[i - 1]);
        wrong |= any;
      };
      MergeInterleaved(
          Keys<Bits>(args, 0) + begin[0], a_count, Keys<Bits>(args, 1) + begin[1], b_count, before,
          [&copy_value, out, first, begin](int64_t i, bool from_a, int64_t position, Bits key) {
            out[i] = key;
            copy_value(first + i, from_a ? 0 : 1, begin[from_a ? 0 : 1] + position);
          },
          [&](int64_t part, int64_t done_begin, int64_t done_end) {
            if (ChecksResult(args)) check(std::max(done_begin, part + 1), done_end);
          });
      for (int stream = 1; ChecksResult(args) && stream < kMergeStreams; ++stream) {
        const int64_t part = MergeStreamBegin(a_count + b_count, stream);
        if (part > 0) check(part, part + 1);
      }
      if (wrong) in_order.store(false, std::memory_order_relaxed);
    } else {
      int64_t out = first;
      // Cursors are a copy: the previous piece reads these splits as its end.
      int64_t* cursors = scratch.cursors + piece * inputs;
      std::copy(begin, end, cursors);
      MergeMany<Bits>(args, order, cursors, end, scratch.heads + piece * inputs,
                      [&](int32_t input, int64_t position, Bits key) {
                        keys_out[out] = key;
                        copy_value(out, input, position);
                        ++out;
                      });
    }
  });
  for (int64_t piece = 1; ChecksResult(args) && piece < scratch.pieces; ++piece) {
    const int64_t first = PieceBegin(total, piece, scratch.pieces);
    if (order.Before(keys_out[first], keys_out[first - 1])) return false;
  }
  return in_order;
}

// Reports the first unsorted input. Returns whether there is one.
template <typename Bits, typename Ordering>
bool FindUnsorted(const MergeArgs& args, const Ordering& order, Parallel& parallel, OperatorReport* report) {
  for (int32_t input = 0; input < args.input_count; ++input) {
    const int64_t unsorted = FirstUnsorted(Keys<Bits>(args, input), args.inputs[input].count, order, parallel);
    if (unsorted == args.inputs[input].count) continue;
    report->fault = OperatorReport::Fault::kUnsorted;
    report->input = input;
    report->index = unsorted;
    return true;
  }
  return false;
}

}  // namespace

int64_t MergeWorkspaceBytes(const MergeArgs& args, int threads) {
  Workspace measure(nullptr);
  WithKeyOrder(args.key_type, args.order,
               [&](auto order) { TakeScratch<decltype(order.Encode(0))>(args, threads, measure); });
  return measure.used_bytes();
}

void Merge(const MergeArgs& args, void* workspace_bytes, Parallel& parallel, OperatorReport* report) {
  *report = OperatorReport();
  // The textbook variants differ in their use of a GPU's shared memory. The CPU has one algorithm and reports it.
  report->merge_algorithm = MergeAlgorithm::kMergePath;
  WithKeyOrder(args.key_type, args.order, [&](auto order) {
    using Bits = decltype(order.Encode(0));
    if (args.check_sorted && !ChecksResult(args) && FindUnsorted<Bits>(args, order, parallel, report)) return;
    if (args.TotalCount() == 0) return;
    Workspace workspace(workspace_bytes);
    const MergeScratch<Bits> scratch = TakeScratch<Bits>(args, parallel.threads(), workspace);
    Split<Bits>(args, order, scratch);
    const auto merge = [&](const auto& copy_value) {
      return MergePieces<Bits>(args, order, copy_value, scratch, parallel);
    };
    if constexpr (MergesVectors(decltype(order)())) {
      if (args.value_bytes == 0 && args.input_count == 2) {
        const bool in_order = MergeVectors<Bits>(args, order, scratch, parallel);
        if (args.check_sorted && !in_order) FindUnsorted<Bits>(args, order, parallel, report);
        return;
      }
    }
    bool in_order = true;
    if (args.value_bytes == 0) {
      in_order = merge([](int64_t, int32_t, int64_t) {});
    } else {
      WithRecordCopier(args.value_bytes, [&](auto copy) {
        in_order = merge([&](int64_t out, int32_t input, int64_t position) {
          copy(args.values_out, out, args.inputs[input].values, position);
        });
      });
    }
    if (!in_order) FindUnsorted<Bits>(args, order, parallel, report);
  });
}

void SplitRuns(const SplitArgs& args) {
  WithKeyOrder(args.key_type, args.order, [&](auto order) {
    using Bits = decltype(order.Encode(0));
    const int64_t none[kMaxSplitInputs] = {};
    int64_t low[kMaxSplitInputs], high[kMaxSplitInputs];
    const int64_t* begin = none;
    int64_t* end = args.splits;
    for (int64_t p = 0; p < args.position_count; ++p, end += args.input_count) {
      const int64_t steps = args.positions[p] - (p == 0 ? 0 : args.positions[p - 1]);
      CoRanks<Bits>(args.inputs, args.input_count, order, begin, steps, low, high, end);
      begin = end;
    }
  });
}

}  // namespace corank::cpu
