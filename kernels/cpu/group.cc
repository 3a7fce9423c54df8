#include "kernels/cpu/group.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "kernels/common/column_sort.h"  // ValidityBytes
#include "kernels/common/key_order.h"
#include "kernels/common/run_reduction.h"
#include "kernels/cpu/records.h"
#include "kernels/cpu/sorted_check.h"
#include "kernels/cpu/workspace.h"

namespace corank::cpu {
namespace {

constexpr int64_t kGroupGrain = int64_t{1} << 14;

struct Scratch {
  void* starts = nullptr;       // the first position of each group
  void* values = nullptr;       // in the order of the keys
  uint8_t* validity = nullptr;  // of these
};

bool OwnsStarts(const GroupArgs& args) { return args.firsts_out == nullptr || args.indices != nullptr; }

Scratch TakeScratch(const GroupArgs& args, Workspace& workspace) {
  Scratch scratch;
  const int64_t index_bytes = IndexBytes(args.count - 1);
  scratch.starts = OwnsStarts(args) ? workspace.Take<char>(args.count * index_bytes) : args.firsts_out;
  if (args.indices == nullptr) return scratch;
  if (args.ReadsValues()) scratch.values = workspace.Take<char>(args.count * KeyBytes(args.value_type));
  if (args.values_validity != nullptr) scratch.validity = workspace.Take<uint8_t>(ValidityBytes(args.count));
  return scratch;
}

struct Piece {
  int64_t begin, end;
};
Piece PieceAt(int64_t piece, int64_t count) {
  return {piece * kGroupPiece, std::min(count, (piece + 1) * kGroupPiece)};
}
int64_t Pieces(int64_t count) { return (count + kGroupPiece - 1) / kGroupPiece; }

// Calls fn(begin, end, segment_begin) for the part of a piece in each segment, which begins at segment_begin.
template <typename Fn>
void ForSegments(const GroupArgs& args, int64_t piece, const Fn& fn) {
  const auto [begin, end] = PieceAt(piece, args.count);
  if (!args.HasSegments()) return fn(begin, end, int64_t{0});
  const int64_t* const last = args.segment_offsets + args.segment_count;
  const int64_t* next = std::upper_bound(args.segment_offsets, last, begin);
  for (int64_t at = begin; at < end; ++next) {
    if (*next == at) continue;  // an empty segment
    const int64_t part_end = std::min(end, *next);
    fn(at, part_end, next[-1]);
    at = part_end;
  }
}

// The first key that comes before the previous one of its segment, or `count`.
template <typename Bits, typename Ordering>
int64_t FirstUnsortedInSegments(const GroupArgs& args, const Ordering& order, Parallel& parallel) {
  const Bits* keys = static_cast<const Bits*>(args.keys);
  if (!args.HasSegments()) return FirstUnsorted(keys, args.count, order, parallel);
  std::atomic<int64_t> least{args.count};
  parallel.ForPieces(Pieces(args.count), [&](int64_t piece) {
    ForSegments(args, piece, [&](int64_t begin, int64_t end, int64_t segment_begin) {
      int64_t found = std::max(begin, segment_begin + 1);
      while (found < end && !order.Before(keys[found], keys[found - 1])) ++found;
      int64_t known = least.load(std::memory_order_relaxed);
      while (found < end && found < known && !least.compare_exchange_weak(known, found)) {
      }
    });
  });
  return least.load();
}

// The groups that begin before each piece, and their number at the end. Writes the starts and keys of the groups.
template <typename Index, typename Bits, typename Ordering>
std::vector<int64_t> FindGroups(const GroupArgs& args, const Ordering& order, Index* starts, Parallel& parallel) {
  const Bits* keys = static_cast<const Bits*>(args.keys);
  Bits* keys_out = static_cast<Bits*>(args.keys_out);
  const auto differs = [&](int64_t i) { return order.RankOfRaw(keys[i]) != order.RankOfRaw(keys[i - 1]); };
  const int64_t pieces = Pieces(args.count);
  std::vector<int64_t> before(static_cast<size_t>(pieces) + 1, 0);
  parallel.ForPieces(pieces, [&](int64_t piece) {
    int64_t heads = 0;
    ForSegments(args, piece, [&](int64_t begin, int64_t end, int64_t segment_begin) {
      if (begin == segment_begin) ++heads;
      for (int64_t i = std::max(begin, segment_begin + 1); i < end; ++i) heads += static_cast<int64_t>(differs(i));
    });
    before[static_cast<size_t>(piece) + 1] = heads;
  });
  for (size_t i = 1; i < before.size(); ++i) before[i] += before[i - 1];
  parallel.ForPieces(pieces, [&](int64_t piece) {
    int64_t group = before[static_cast<size_t>(piece)];
    ForSegments(args, piece, [&](int64_t begin, int64_t end, int64_t segment_begin) {
      for (int64_t i = begin; i < end; ++i) {
        if (i > segment_begin && !differs(i)) continue;
        starts[group] = static_cast<Index>(i);
        if (keys_out != nullptr) keys_out[group] = keys[i];
        ++group;
      }
    });
  });
  return before;
}

// The sum of the values [begin, end), which values(i) reads, in the tree of run_reduction.h.
template <typename Op, typename Values>
typename Op::Sum Reduce(const Op& op, const Values& values, int64_t begin, int64_t end) {
  using Sum = typename Op::Sum;
  if constexpr (!Op::kOrdered) {
    Sum sum = op.Identity();
    for (int64_t i = begin; i < end; ++i) sum = op.Add(sum, op.FromValue(values(i)));
    return sum;
  } else {
    // The nodes that wait for their right neighbour, one for each level of the tree.
    Sum waiting[64];
    uint64_t has_waiting = 0;
    for (int64_t i = begin; i < end;) {
      const auto value = [&](int64_t j) { return op.FromValue(values(i + j)); };
      const auto pair = [&](int64_t j) { return op.Add(value(j), value(j + 1)); };
      int level = 0;
      Sum sum;
      if (i % 8 == 0 && i + 8 <= end) {
        level = 3;
        sum = op.Add(op.Add(pair(0), pair(2)), op.Add(pair(4), pair(6)));
      } else {
        sum = value(0);
      }
      i += int64_t{1} << level;
      for (; (i >> level & 1) == 0; ++level) {  // a right neighbour; the run may begin behind its left one
        if ((has_waiting >> level & 1) == 0) continue;
        sum = op.Add(waiting[level], sum);
        has_waiting ^= uint64_t{1} << level;
      }
      waiting[level] = sum;
      has_waiting |= uint64_t{1} << level;
    }
    Sum sum = op.Identity();
    for (; has_waiting != 0; has_waiting &= has_waiting - 1) {
      sum = op.Add(waiting[__builtin_ctzll(has_waiting)], sum);
    }
    return sum;
  }
}

// Joins neighbours until one node is left.
template <typename Op, typename Finish>
RunNode<typename Op::Sum> JoinAll(const Op& op, std::vector<RunNode<typename Op::Sum>> nodes, const Finish& finish) {
  while (nodes.size() > 1) {
    const size_t pairs = nodes.size() / 2;
    for (size_t i = 0; i < pairs; ++i) nodes[i] = JoinRuns(op, nodes[2 * i], nodes[2 * i + 1], finish);
    if (nodes.size() % 2 == 1) nodes[pairs] = nodes.back();
    nodes.resize((nodes.size() + 1) / 2);
  }
  return nodes.front();
}

// Writes the reduction of every group. Returns the first group whose result does not fit, or -1.
template <typename Op, typename Values, typename Index>
int64_t ReduceGroups(const Op& op, const Values& values, int64_t count, const Index* starts,
                     const std::vector<int64_t>& before, void* out, Parallel& parallel) {
  using Sum = typename Op::Sum;
  auto* results = static_cast<typename Op::Out*>(out);
  std::atomic<int64_t> overflow{before.back()};
  const auto finish = [&](int64_t group, const Sum& sum) {
    if (op.Finish(sum, &results[group])) return;
    int64_t known = overflow.load(std::memory_order_relaxed);
    while (group < known && !overflow.compare_exchange_weak(known, group)) {
    }
  };
  std::vector<RunNode<Sum>> nodes(before.size() - 1);
  parallel.ForPieces(Pieces(count), [&](int64_t piece) {
    const auto [begin, end] = PieceAt(piece, count);
    const int64_t first = before[static_cast<size_t>(piece)], last = before[static_cast<size_t>(piece) + 1];
    RunNode<Sum>& node = nodes[static_cast<size_t>(piece)];
    node.has_head = first < last;
    node.heads = first;
    node.lead = Reduce(op, values, begin, node.has_head ? static_cast<int64_t>(starts[first]) : end);
    for (int64_t group = first; group + 1 < last; ++group) {
      finish(group, Reduce(op, values, static_cast<int64_t>(starts[group]), static_cast<int64_t>(starts[group + 1])));
    }
    node.tail = node.has_head ? Reduce(op, values, static_cast<int64_t>(starts[last - 1]), end) : node.lead;
  });
  finish(before.back() - 1, JoinAll(op, std::move(nodes), finish).tail);
  return overflow == before.back() ? -1 : overflow.load();
}

template <typename Index>
void WriteCountsAndFirsts(const GroupArgs& args, const Index* starts, int64_t groups, Parallel& parallel) {
  if (args.counts_out != nullptr) {
    parallel.ForRange(groups, kGroupGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t next = i + 1 < groups ? static_cast<int64_t>(starts[i + 1]) : args.count;
        args.counts_out[i] = next - static_cast<int64_t>(starts[i]);
      }
    });
  }
  if (args.firsts_out != nullptr && args.indices != nullptr) {
    GatherRecords(
        args.firsts_out, args.indices, sizeof(Index), groups,
        [&](int64_t i) { return static_cast<int64_t>(starts[i]); }, parallel);
  }
}

template <typename Index, typename Rank>
void WriteRanks(const GroupArgs& args, const Index* starts, const std::vector<int64_t>& before, Parallel& parallel) {
  const auto* const indices = static_cast<const Index*>(args.indices);
  auto* const ranks = static_cast<Rank*>(args.ranks_out);
  const int64_t groups = before.back();
  parallel.ForPieces(Pieces(args.count), [&](int64_t piece) {
    int64_t next = before[static_cast<size_t>(piece)];  // the first group that begins after position i
    ForSegments(args, piece, [&](int64_t begin, int64_t end, int64_t segment) {
      // Of the segment. Its first key begins a group.
      const int64_t first_group =
          segment == begin ? next : std::lower_bound(starts, starts + next, static_cast<Index>(segment)) - starts;
      for (int64_t i = begin; i < end; ++i) {
        if (next < groups && static_cast<int64_t>(starts[next]) == i) ++next;
        const int64_t first = static_cast<int64_t>(starts[next - 1]) - segment;
        const int64_t last = (next < groups ? static_cast<int64_t>(starts[next]) : args.count) - segment;
        Rank& rank = ranks[indices == nullptr ? i : static_cast<int64_t>(indices[i])];
        if constexpr (std::is_same_v<Rank, double>) {
          rank = AverageRank(first, last);
        } else {
          rank = static_cast<Rank>(RankOf(args.rank_method, i - segment, next - 1 - first_group, first, last));
        }
      }
    });
  });
}

}  // namespace

int64_t GroupWorkspaceBytes(const GroupArgs& args) {
  Workspace measure(nullptr);
  TakeScratch(args, measure);
  return measure.used_bytes();
}

void Group(const GroupArgs& args, void* workspace_bytes, Parallel& parallel, GroupReport* report) {
  *report = GroupReport();
  if (args.count == 0) return;
  Workspace workspace(workspace_bytes);
  const Scratch scratch = TakeScratch(args, workspace);
  WithIndexType(IndexBytes(args.count - 1), [&](auto zero) {
    using Index = decltype(zero);
    Index* starts = static_cast<Index*>(scratch.starts);
    std::vector<int64_t> before;
    WithKeyOrder(args.key_type, args.order, [&](auto order) {
      using Bits = decltype(order.Encode(0));
      if (args.check_sorted) {
        const int64_t unsorted = FirstUnsortedInSegments<Bits>(args, order, parallel);
        if (unsorted < args.count) report->unsorted = unsorted;
      }
      if (report->unsorted < 0) before = FindGroups<Index, Bits>(args, order, starts, parallel);
    });
    if (report->unsorted >= 0) return;
    report->groups = before.back();
    WriteCountsAndFirsts(args, starts, report->groups, parallel);
    if (args.ranks_out != nullptr && args.rank_method == RankMethod::kAverage) {
      WriteRanks<Index, double>(args, starts, before, parallel);
    } else if (args.ranks_out != nullptr) {
      WithIndexType(RankBytes(args.rank_method, args.count),
                    [&](auto rank) { WriteRanks<Index, decltype(rank)>(args, starts, before, parallel); });
    }
    if (!args.Reduces()) return;
    const void* values = args.values;
    const uint8_t* validity = args.values_validity;
    const auto source = [&](int64_t i) { return static_cast<int64_t>(static_cast<const Index*>(args.indices)[i]); };
    if (scratch.values != nullptr) {
      GatherRecords(scratch.values, values, KeyBytes(args.value_type), args.count, source, parallel);
      values = scratch.values;
    }
    if (scratch.validity != nullptr) {
      GatherBits(scratch.validity, validity, args.count, source, parallel);
      validity = scratch.validity;
    }
    const auto is_valid = [validity](int64_t i) { return (validity[i / 8] >> (i % 8) & 1) != 0; };
    const auto reduce = [&](void* out) {
      return [&, out](const auto& op) {
        using Value = typename std::decay_t<decltype(op)>::Value;
        const auto value = [from = static_cast<const Value*>(values)](int64_t i) { return from[i]; };
        if (validity == nullptr) return ReduceGroups(op, value, args.count, starts, before, out, parallel);
        const auto value_or_nothing = [&](int64_t i) { return is_valid(i) ? value(i) : op.Nothing(); };
        return ReduceGroups(op, value_or_nothing, args.count, starts, before, out, parallel);
      };
    };
    if (args.sums_out != nullptr) report->overflow = WithSum(args.value_type, args.count, reduce(args.sums_out));
    if (args.minima_out != nullptr) WithExtreme(args.value_type, false, reduce(args.minima_out));
    if (args.maxima_out != nullptr) WithExtreme(args.value_type, true, reduce(args.maxima_out));
    if (args.value_counts_out != nullptr) {
      const auto one = [&](int64_t i) { return static_cast<uint8_t>(validity == nullptr || is_valid(i)); };
      ReduceGroups(IntegerSum<uint8_t, int64_t>(), one, args.count, starts, before, args.value_counts_out, parallel);
    }
  });
}

}  // namespace corank::cpu
