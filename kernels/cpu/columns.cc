#include "kernels/cpu/columns.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/common/merge_path.h"
#include "kernels/common/row_code.h"
#include "kernels/cpu/item_merge.h"
#include "kernels/cpu/item_sort.h"
#include "kernels/cpu/records.h"
#include "kernels/cpu/segment_limit.h"
#include "kernels/cpu/sorted_check.h"
#include "kernels/cpu/workspace.h"

namespace corank::cpu {
namespace {

constexpr int64_t kRowGrain = int64_t{1} << 13;
constexpr int64_t kLongRun = int64_t{1} << 15;  // long enough for all threads
constexpr int64_t kSampledRows = 4096;
constexpr int32_t kMostMergedRuns = 8;  // a sort of more is faster than a pass for each doubling

struct Buffers {
  Item128* items;
  Item128* temp;
  void* segments;   // the number of each row's segment
  int64_t* begins;  // of the results of each segment, if they are limited
};

Buffers TakeBuffers(const ColumnSortArgs& args, Workspace& workspace) {
  Buffers buffers{};
  buffers.items = workspace.Take<Item128>(args.count);
  buffers.temp = workspace.Take<Item128>(args.count);
  if (args.segment_count > 0) buffers.segments = workspace.Take<char>(args.count * IndexBytes(args.segment_count - 1));
  if (args.LimitsSegments()) buffers.begins = workspace.Take<int64_t>(args.segment_count + 1);
  return buffers;
}

// The least rank of each column of integers.
void FindBases(const RowOrder& order, int64_t count, uint64_t* bases, Parallel& parallel) {
  for (int i = 0; i < order.column_count(); ++i) {
    if (!order.HasBase(i)) continue;
    std::atomic<uint64_t> base{~uint64_t{0}};
    parallel.ForRange(count, kRowGrain, [&](int64_t begin, int64_t end) {
      uint64_t least = base;
      for (int64_t row = begin; row < end; ++row) least = std::min(least, order.Rank(i, row));
      uint64_t known = base;
      while (least < known && !base.compare_exchange_weak(known, least)) {
      }
    });
    bases[i] = base;
  }
}

// What codes are made by.
struct Findings {
  RowSurvey survey;          // common_bytes are whole words
  int64_t stream_bytes = 0;  // up to where streams of different rows differ; any byte after what codes are made of

  bool operator==(const Findings& other) const {
    return survey.common_bytes == other.survey.common_bytes && stream_bytes == other.stream_bytes &&
           std::equal(survey.differing, survey.differing + RowSurvey::kWords, other.survey.differing);
  }
};

// The words of streams that codes may take, from the beginning on.
constexpr int kMostCommonWords = RowSurvey::kMaxCommonBytes / 8, kMostWords = kMostCommonWords + RowSurvey::kWords;

// By the bits that differ in each word of the streams.
template <typename DifferingAt>
Findings Survey(int64_t stream_bytes, const DifferingAt& differing_at) {
  Findings found;
  int i = 0, common = 0, bits = 0;
  for (; i - common < RowSurvey::kWords && 8 * int64_t{i} < stream_bytes && bits < 64; ++i) {
    const uint64_t differing = differing_at(i);
    if (differing == 0 && bits == 0 && i < kMostCommonWords) {
      ++common;
      continue;
    }
    found.survey.differing[i - common] = differing;
    bits += __builtin_popcountll(differing);
  }
  found.survey.common_bytes = static_cast<uint32_t>(8 * common);
  found.stream_bytes = std::min(stream_bytes, 8 * int64_t{i} + 1);  // beyond their words, codes do not depend on it
  return found;
}

Findings SurveySample(const RowOrder& order, int64_t count) {
  const int64_t step = std::max<int64_t>(1, count / kSampledRows);
  int64_t end = order.ends_in_strings() ? 0 : order.stream_bytes();
  for (int64_t row = 0; row < count && end < order.stream_bytes(); row += step) {
    end = std::max(end, order.StringEnd(row));
  }
  return Survey(end, [&](int i) {
    const uint64_t first = order.Word(0, 8 * i);
    uint64_t differing = 0;
    for (int64_t row = step; row < count; row += step) differing |= order.Word(row, 8 * i) ^ first;
    return differing;
  });
}

// Makes the item of each row: its code above its number. Returns what holds for all rows, as far as it read them. If
// that differs from `guess`, the items are of no use.
Findings MakeItems(const RowOrder& order, int64_t count, const Findings& guess, Item128* items, Parallel& parallel) {
  const RowCode code(guess.survey, guess.stream_bytes);
  const int common = static_cast<int>(guess.survey.common_bytes / 8);
  uint64_t first_row[kMostWords];
  for (int i = 0; i < common + RowSurvey::kWords; ++i) first_row[i] = order.Word(0, 8 * i);
  std::atomic<uint64_t> differing_of_all[kMostWords] = {};
  std::atomic<int64_t> end_of_all{order.ends_in_strings() ? 0 : order.stream_bytes()};
  parallel.ForRange(count, kRowGrain, [&](int64_t begin, int64_t end) {
    uint64_t differing[kMostWords] = {};
    int64_t last_end = end_of_all;
    for (int64_t row = begin; row < end; ++row) {
      const auto word_at = [&](int i) {
        const uint64_t word = order.Word(row, 8 * i);
        differing[i] |= word ^ first_row[i];
        return word;
      };
      for (int i = 0; i < common; ++i) word_at(i);
      items[row].lo = static_cast<uint64_t>(row);
      items[row].hi = code.Make([&](int i) { return word_at(common + i); });
      if (last_end < order.stream_bytes()) last_end = std::max(last_end, order.StringEnd(row));
    }
    for (int i = 0; i < common + RowSurvey::kWords; ++i) differing_of_all[i].fetch_or(differing[i]);
    int64_t known = end_of_all;
    while (known < last_end && !end_of_all.compare_exchange_weak(known, last_end)) {
    }
  });
  return Survey(end_of_all, [&](int i) { return differing_of_all[i].load(); });
}

// Makes the items by what a sample of the rows shows, which most often holds for all rows. Returns how many of their
// first bytes rows of equal code have in common: all, order.stream_bytes(), if they are equal.
int64_t MakeItems(const RowOrder& order, int64_t count, Item128* items, Parallel& parallel) {
  Findings guess = SurveySample(order, count);
  for (;;) {
    const Findings found = MakeItems(order, count, guess, items, parallel);
    if (found == guess) break;
    guess = found;
  }
  const int64_t next_byte = RowCode(guess.survey, guess.stream_bytes).next_byte();
  return next_byte < guess.stream_bytes ? next_byte : order.stream_bytes();
}

// Sorts items that may be in order already, because many rows are often equal.
template <typename Before>
void SortUnlessSorted(Item128* begin, Item128* end, const Before& before) {
  if (!std::is_sorted(begin, end, before)) std::sort(begin, end, before);
}

// Merges sorted runs in pairs, until there is one. Run r is from[ends[r], ends[r + 1]). Returns the place of the
// result: from or to. `before` is a strict total order.
template <typename Before>
Item128* MergeRuns(Item128* from, Item128* to, std::vector<int64_t> ends, const Before& before, Parallel& parallel) {
  const int64_t count = ends.back();
  const int64_t pieces = PieceCount(count, kRowGrain, parallel.threads());
  while (ends.size() > 2) {
    const auto end_of = [&ends](size_t run) { return ends[std::min(run + 1, ends.size() - 1)]; };
    parallel.ForPieces(pieces, [&](int64_t piece) {
      const int64_t begin = PieceBegin(count, piece, pieces), end = PieceBegin(count, piece + 1, pieces);
      auto run = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end() - 1, begin) - ends.begin() - 1) / 2 * 2;
      for (int64_t at = begin; at < end; run += 2) {
        const int64_t a_begin = ends[run], a_end = end_of(run), b_end = end_of(run + 1);
        const int64_t last = std::min(end, b_end);
        const auto split = [&](int64_t to_split) {
          return CoRank(to_split - a_begin, from + a_begin, a_end - a_begin, from + a_end, b_end - a_end, before);
        };
        const int64_t a = split(at), a_last = split(last);
        Item128* out = to + at;
        MergeRanges(from + a_begin, a, a_last, from + a_end, at - a_begin - a, last - a_begin - a_last, before,
                    [&](bool, int64_t, const Item128& item) { *out++ = item; });
        at = last;
      }
    });
    std::swap(from, to);
    size_t runs = 0;
    for (size_t run = 0; run + 1 < ends.size(); run += 2) ends[++runs] = end_of(run + 1);
    ends.resize(runs + 1);
  }
  return from;
}

// Sorts items[0, count) with all threads. `before` is a strict total order.
template <typename Before>
void SortByAll(Item128* items, Item128* temp, int64_t count, const Before& before, Parallel& parallel) {
  const int64_t pieces = PieceCount(count, kLongRun / 4, parallel.threads());
  const int64_t width = (count + pieces - 1) / pieces;
  parallel.ForPieces(pieces, [&](int64_t piece) {
    SortUnlessSorted(items + std::min(piece * width, count), items + std::min((piece + 1) * width, count), before);
  });
  std::vector<int64_t> ends;
  for (int64_t piece = 0; piece <= pieces; ++piece) ends.push_back(std::min(piece * width, count));
  if (MergeRuns(items, temp, std::move(ends), before, parallel) != items) {
    parallel.Copy(items, temp, count * static_cast<int64_t>(sizeof(Item128)));
  }
}

// The order of items whose rows are equal in their first `equal_bytes` bytes if their codes are.
struct RowLess {
  const RowOrder& order;
  int64_t equal_bytes;

  bool operator()(const Item128& x, const Item128& y) const {
    if (x.hi != y.hi) return x.hi < y.hi;
    const int difference = order.Compare(static_cast<int64_t>(x.lo), static_cast<int64_t>(y.lo), equal_bytes);
    return difference != 0 ? difference < 0 : x.lo < y.lo;
  }
};

// Sorts each run of items with equal codes by their rows, which are equal in their first `equal_bytes` bytes.
void SortRuns(const RowOrder& order, int64_t equal_bytes, Item128* items, Item128* temp, int64_t count,
              Parallel& parallel) {
  const RowLess before{order, equal_bytes};
  const auto run_end = [&](int64_t begin, int64_t limit) {
    int64_t end = begin + 1;
    while (end < limit && items[end].hi == items[begin].hi) ++end;
    return end;
  };
  // A run belongs to the piece in which it begins. The loop finds these beginnings before the first run is sorted.
  const int64_t pieces = PieceCount(count, kRowGrain, parallel.threads());
  std::vector<int64_t> piece_begin(static_cast<size_t>(pieces) + 1, count);
  parallel.ForPieces(pieces, [&](int64_t piece) {
    int64_t begin = PieceBegin(count, piece, pieces);
    while (begin > 0 && begin < count && items[begin].hi == items[begin - 1].hi) ++begin;
    piece_begin[static_cast<size_t>(piece)] = begin;
  });
  std::vector<int64_t> long_runs(static_cast<size_t>((count + kLongRun - 1) / kLongRun), -1);
  parallel.ForPieces(pieces, [&](int64_t piece) {
    const int64_t limit = piece_begin[static_cast<size_t>(piece) + 1];
    for (int64_t begin = piece_begin[static_cast<size_t>(piece)]; begin < limit;) {
      const int64_t end = run_end(begin, limit);
      if (end - begin >= kLongRun) {
        long_runs[static_cast<size_t>(begin / kLongRun)] = begin;  // no other long run can begin in this section
      } else if (end - begin > 1) {
        SortUnlessSorted(items + begin, items + end, before);
      }
      begin = end;
    }
  });
  for (int64_t begin : long_runs) {
    if (begin >= 0) SortByAll(items + begin, temp + begin, run_end(begin, count) - begin, before, parallel);
  }
}

// Reports the first row that is out of order in its run. Returns whether there is one. `items` are the rows in the
// order of the input.
bool FindUnsorted(const ColumnSortArgs& args, const RowOrder& order, int64_t equal_bytes, const Item128* items,
                  Parallel& parallel, OperatorReport* report) {
  const int64_t* const offsets = args.run_offsets;
  const auto run_of = [&](int64_t row) {
    return static_cast<int32_t>(std::upper_bound(offsets, offsets + args.run_count, row) - offsets - 1);
  };
  const int64_t found = FirstOutOfOrder(args.count, parallel, [&](int64_t row) {
    if (items[row - 1].hi < items[row].hi) return false;
    const bool falls = items[row - 1].hi > items[row].hi || order.Compare(row - 1, row, equal_bytes) > 0;
    return falls && offsets[run_of(row)] != row;
  });
  if (found == args.count) return false;
  report->fault = OperatorReport::Fault::kUnsorted;
  report->input = run_of(found);
  report->index = found - offsets[report->input];
  return true;
}

// Merges the runs of args into the order of all rows. Returns the place of the result.
Item128* MergeRows(const ColumnSortArgs& args, const RowOrder& order, int64_t equal_bytes, const Buffers& buffers,
                   Parallel& parallel) {
  std::vector<int64_t> ends(args.run_offsets, args.run_offsets + args.run_count + 1);
  if (equal_bytes >= order.stream_bytes()) return MergeRuns(buffers.items, buffers.temp, ends, ItemLess(), parallel);
  return MergeRuns(buffers.items, buffers.temp, ends, RowLess{order, equal_bytes}, parallel);
}

void GatherStrings(const KeyColumn& column, const Item128* rows, int64_t count, Parallel& parallel) {
  const auto length = [&](int64_t i) { return column.offsets[rows[i].lo + 1] - column.offsets[rows[i].lo]; };
  const int64_t pieces = PieceCount(count, kRowGrain, parallel.threads());
  std::vector<int64_t> starts(static_cast<size_t>(pieces) + 1, 0);
  parallel.ForPieces(pieces, [&](int64_t piece) {
    int64_t bytes = 0;
    const int64_t end = PieceBegin(count, piece + 1, pieces);
    for (int64_t i = PieceBegin(count, piece, pieces); i < end; ++i) bytes += length(i);
    starts[static_cast<size_t>(piece) + 1] = bytes;
  });
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  const char* data = static_cast<const char*>(column.data);
  char* out = static_cast<char*>(column.data_out);
  column.offsets_out[0] = 0;
  parallel.ForPieces(pieces, [&](int64_t piece) {
    int64_t at = starts[static_cast<size_t>(piece)];
    const int64_t end = PieceBegin(count, piece + 1, pieces);
    for (int64_t i = PieceBegin(count, piece, pieces); i < end; ++i) {
      if (length(i) > 0) std::memcpy(out + at, data + column.offsets[rows[i].lo], static_cast<size_t>(length(i)));
      at += length(i);
      column.offsets_out[i + 1] = at;
    }
  });
}

void GatherOutputs(const ColumnSortArgs& args, const Item128* rows, int64_t count, Parallel& parallel) {
  const auto source = [rows](int64_t i) { return static_cast<int64_t>(rows[i].lo); };
  for (int i = 0; i < args.column_count; ++i) {
    const KeyColumn& column = args.columns[i];
    if (column.kind == ColumnKind::kStrings) {
      if (column.offsets_out != nullptr) GatherStrings(column, rows, count, parallel);
    } else if (column.data_out != nullptr) {
      GatherRecords(column.data_out, column.data, column.row_bytes, count, source, parallel);
    }
    if (column.validity_out != nullptr) GatherBits(column.validity_out, column.validity, count, source, parallel);
  }
  if (args.value_bytes > 0) {
    GatherRecords(args.values_out, args.values_in, args.value_bytes, count, source, parallel);
  }
  if (args.indices_out != nullptr) {
    WithIndexType(IndexBytes(args.count - 1), [&](auto zero) {
      auto* indices = static_cast<decltype(zero)*>(args.indices_out);
      parallel.ForRange(count, kRowGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) indices[i] = static_cast<decltype(zero)>(rows[i].lo);
      });
    });
  }
}

// Rows of equal code are equal in their first `equal_bytes` bytes. `heads` has room for a byte of each row.
void WriteRanks(const ColumnSortArgs& args, const RowOrder& order, int64_t equal_bytes, const Item128* rows,
                uint8_t* heads, Parallel& parallel) {
  const bool codes_decide = equal_bytes >= order.stream_bytes();
  const auto is_head = [&](int64_t i) {
    if (i == 0 || rows[i].hi != rows[i - 1].hi) return true;
    if (codes_decide) return false;
    return order.Compare(static_cast<int64_t>(rows[i - 1].lo), static_cast<int64_t>(rows[i].lo), equal_bytes) != 0;
  };
  const int64_t pieces = PieceCount(args.count, kRowGrain, parallel.threads());
  std::vector<int64_t> before(static_cast<size_t>(pieces) + 1, 0);
  parallel.ForPieces(pieces, [&](int64_t piece) {
    int64_t found = 0;
    const int64_t end = PieceBegin(args.count, piece + 1, pieces);
    for (int64_t i = PieceBegin(args.count, piece, pieces); i < end; ++i) {
      heads[i] = is_head(i) ? 1 : 0;
      found += heads[i];
    }
    before[static_cast<size_t>(piece) + 1] = found;
  });
  std::partial_sum(before.begin(), before.end(), before.begin());
  WithIndexType(IndexBytes(args.count), [&](auto zero) {
    auto* const ranks = static_cast<decltype(zero)*>(args.ranks_out);
    parallel.ForPieces(pieces, [&](int64_t piece) {
      int64_t rank = before[static_cast<size_t>(piece)];
      const int64_t end = PieceBegin(args.count, piece + 1, pieces);
      for (int64_t i = PieceBegin(args.count, piece, pieces); i < end; ++i) {
        rank += heads[i];
        ranks[rows[i].lo] = static_cast<decltype(zero)>(rank);
      }
    });
  });
}

}  // namespace

int64_t ColumnSortWorkspaceBytes(const ColumnSortArgs& args) {
  Workspace measure(nullptr);
  TakeBuffers(args, measure);
  return measure.used_bytes();
}

void SortColumns(const ColumnSortArgs& args, void* workspace_bytes, Parallel& parallel, OperatorReport* report) {
  *report = OperatorReport();
  report->results = args.ResultCount();
  const bool merges = args.run_count > 0 && args.run_count <= kMostMergedRuns;
  report->sort_algorithm = merges                                   ? SortAlgorithm::kMergeRuns
                           : args.algorithm == SortAlgorithm::kAuto ? SortAlgorithm::kRadix
                                                                    : args.algorithm;
  if (args.HasNoWork()) {
    if (args.algorithm == SortAlgorithm::kAuto) report->sort_algorithm = SortAlgorithm::kCopy;
    return GatherOutputs(args, nullptr, 0, parallel);
  }
  Workspace workspace(workspace_bytes);
  const Buffers buffers = TakeBuffers(args, workspace);
  if (args.segment_count > 0) {
    parallel.ForRange(args.count, kRowGrain, [&](int64_t begin, int64_t end) {
      NumberSegments(args.segment_offsets, args.segment_count, begin, end, buffers.segments);
    });
  }
  uint64_t bases[RowOrder::kMaxColumns] = {};
  RowOrder order = OrderOf(args, buffers.segments);
  FindBases(order, args.count, bases, parallel);
  order.set_bases(bases);
  const int64_t equal_bytes = MakeItems(order, args.count, buffers.items, parallel);
  if (args.run_count > 0 && FindUnsorted(args, order, equal_bytes, buffers.items, parallel, report)) return;
  Item128* sorted = nullptr;
  if (merges) {
    sorted = MergeRows(args, order, equal_bytes, buffers, parallel);
  } else {
    sorted = SortItems(buffers.items, buffers.temp, args.count, report->sort_algorithm, parallel);
    if (equal_bytes < order.stream_bytes()) {
      SortRuns(order, equal_bytes, sorted, sorted == buffers.items ? buffers.temp : buffers.items, args.count,
               parallel);
    }
  }
  if (args.LimitsSegments()) {
    Item128* const spare = sorted == buffers.items ? buffers.temp : buffers.items;
    report->results =
        PackSegments(sorted, spare, args.segment_offsets, args.segment_count, args.limit, buffers.begins, parallel);
    sorted = spare;
  }
  GatherOutputs(args, sorted + std::min(args.offset, args.count), report->results, parallel);
  if (args.ranks_out != nullptr) {
    Item128* const spare = sorted == buffers.items ? buffers.temp : buffers.items;
    WriteRanks(args, order, equal_bytes, sorted, reinterpret_cast<uint8_t*>(spare), parallel);
  }
}

}  // namespace corank::cpu
