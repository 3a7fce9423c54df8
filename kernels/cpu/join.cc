#include "kernels/cpu/join.h"

#include <algorithm>
#include <cstdint>

#include "kernels/common/key_buckets.h"
#include "kernels/common/key_order.h"
#include "kernels/cpu/records.h"
#include "kernels/cpu/sort.h"
#include "kernels/cpu/sorted_check.h"
#include "kernels/cpu/workspace.h"

namespace corank::cpu {
namespace {

int64_t Pieces(int64_t count) { return (count + kJoinPiece - 1) / kJoinPiece; }

SortArgs SortOf(const JoinArgs& args, void* keys_out, void* rows_out) {
  SortArgs sort;
  sort.key_type = args.key_type;
  sort.count = args.right_count;
  sort.keys_in = args.right;
  sort.keys_out = keys_out;
  sort.indices_out = rows_out;
  return sort;
}

struct Scratch {
  void* keys;                 // of the right in order; null: args.right
  void* rows;                 // their row numbers; null: their positions
  void* sort;                 // workspace
  void* table;                // of the buckets
  void* begins;               // of each row of the left, the position of its first partner
  void* counts;               // and the number of its partners
  int64_t* rows_before;       // rows of the result before each piece of the left; the last one: all
  uint8_t* has_partner;       // for the first key of each run of the right
  uint8_t* is_matched;        // for each row of the right
  int64_t* unmatched_before;  // rows of the right without a partner before each piece; the last one: all
};

Scratch TakeScratch(const JoinArgs& args, int threads, Workspace& workspace) {
  Scratch scratch = {};
  Workspace sorting(nullptr);
  const int64_t index_bytes = JoinIndexBytes(args.left_count, args.right_count);
  if (!args.right_sorted) {
    scratch.keys = workspace.Take<char>(args.right_count * KeyBytes(args.key_type));
    scratch.rows = workspace.Take<char>(args.right_count * IndexBytes(args.right_count - 1));
    // Sizes depend on which outputs there are, not on where they are.
    char present = 0;
    sorting = workspace;  // the rest takes the same memory, because nothing writes it before the sort is over
    scratch.sort = sorting.Take<char>(SortWorkspaceBytes(SortOf(args, &present, &present), threads));
  }
  scratch.table = workspace.Take<char>(KeyBucketEntries(args.right_count, kJoinBucket) * index_bytes);
  if (!args.count_only) {
    scratch.begins = workspace.Take<char>(args.left_count * index_bytes);
    scratch.counts = workspace.Take<char>(args.left_count * index_bytes);
  }
  scratch.rows_before = workspace.Take<int64_t>(Pieces(args.left_count) + 1);
  if (KeepsUnmatchedRight(args.kind)) {
    scratch.has_partner = workspace.Take<uint8_t>(args.right_count);
    scratch.is_matched = workspace.Take<uint8_t>(args.right_count);
    scratch.unmatched_before = workspace.Take<int64_t>(Pieces(args.right_count) + 1);
  }
  if (sorting.used_bytes() > workspace.used_bytes()) workspace = sorting;
  return scratch;
}

// Turns the numbers of the pieces, each at the place behind its own, into sums.
int64_t SumPieces(int64_t* before, int64_t pieces) {
  before[0] = 0;
  for (int64_t i = 0; i < pieces; ++i) before[i + 1] = AddJoinRows(before[i], before[i + 1]);
  return before[pieces];
}

template <typename Bits, typename Ordering>
struct Ranks {
  const Bits* keys;
  Ordering order;
  Bits operator[](int64_t i) const { return order.RankOfRaw(keys[i]); }
};

// One join, with the row numbers' unsigned type. No partner: all bits set, which is -1.
template <typename Bits, typename Index, typename Ordering>
class Joiner {
 public:
  Joiner(const JoinArgs& args, const Ordering& order, const Scratch& scratch, Parallel& parallel)
      : args_(args),
        scratch_(scratch),
        parallel_(parallel),
        left_{static_cast<const Bits*>(args.left), order},
        right_{static_cast<const Bits*>(scratch.keys != nullptr ? scratch.keys : args.right), order},
        table_(static_cast<Index*>(scratch.table)),
        begins_(static_cast<Index*>(scratch.begins)),
        counts_(static_cast<Index*>(scratch.counts)) {}

  void Run(JoinReport* report) {
    if (scratch_.has_partner != nullptr) parallel_.Zero(scratch_.has_partner, args_.right_count);
    if (args_.right_count > 0) FillTable();
    const int64_t joined = FindPartners();
    const int64_t unmatched = scratch_.is_matched == nullptr ? 0 : FindUnmatched();
    report->rows = AddJoinRows(joined, unmatched);
    if (args_.count_only || report->rows > args_.max_rows) return;
    WriteJoined(joined);
    if (unmatched > 0) WriteUnmatched(joined);
  }

 private:
  void FillTable() {
    const int64_t count = args_.right_count, last = KeyBucketEntries(count, kJoinBucket) - 1;
    buckets_ = KeyBuckets<Bits>(right_[0], right_[count - 1], KeyBucketBits(count, kJoinBucket));
    // Each key fills the entries behind the bucket of the key before it, up to its own bucket. The keys are in order.
    parallel_.ForPieces(Pieces(count), [&](int64_t piece) {
      const int64_t begin = piece * kJoinPiece, end = std::min(count, begin + kJoinPiece);
      int64_t entry = begin == 0 ? 0 : buckets_.BucketOf(right_[begin - 1]) + 1;
      for (int64_t i = begin; i < end; ++i) {
        for (const int64_t bucket = buckets_.BucketOf(right_[i]); entry <= bucket; ++entry) {
          table_[entry] = static_cast<Index>(i);
        }
      }
      if (end < count) return;
      for (; entry <= last; ++entry) table_[entry] = static_cast<Index>(count);
    });
  }

  // The rows of the right with the keys of `count` rows of the left, at most kJoinBatch. Each loop prefetches what the
  // next one reads, so the batch waits for memory about as long as one row would.
  void FindBatch(int64_t first, int64_t count, KeyRun<Index>* runs) const {
    Bits ranks[kJoinBatch];
    int64_t buckets[kJoinBatch];
    for (int64_t i = 0; i < count; ++i) {
      ranks[i] = left_[first + i];
      buckets[i] = buckets_.Holds(ranks[i]) ? buckets_.BucketOf(ranks[i]) : -1;
      __builtin_prefetch(&table_[std::max<int64_t>(0, buckets[i])]);
    }
    for (int64_t i = 0; i < count; ++i) {
      runs[i] = buckets[i] < 0 ? KeyRun<Index>{0, 0} : BucketRun(table_, buckets[i]);
      __builtin_prefetch(&right_.keys[runs[i].begin]);
      if (runs[i].count > 0) __builtin_prefetch(&right_.keys[runs[i].begin + runs[i].count - 1]);
    }
    if (buckets_.IsExact()) return;
    for (int64_t i = 0; i < count; ++i) runs[i] = RunWithin(runs[i], ranks[i]);
  }

  // The run of a rank within a bucket; it begins at 0 if it is empty.
  KeyRun<Index> RunWithin(KeyRun<Index> bucket, Bits rank) const {
    if (bucket.count > kJoinScan) return FindRunWithin(right_, bucket, rank);
    Index less = 0, equal = 0;
    for (Index i = 0; i < bucket.count; ++i) {
      const Bits key = right_[bucket.begin + i];
      less += key < rank;
      equal += key == rank;
    }
    return {equal > 0 ? bucket.begin + less : 0, equal};
  }

  // Returns the rows of the result that have a row of the left.
  int64_t FindPartners() {
    const int64_t pieces = Pieces(args_.left_count);
    parallel_.ForPieces(pieces, [&](int64_t piece) {
      const int64_t begin = piece * kJoinPiece, end = std::min(args_.left_count, begin + kJoinPiece);
      int64_t rows = 0;
      KeyRun<Index> runs[kJoinBatch] = {};
      for (int64_t first = begin; first < end; first += kJoinBatch) {
        const int64_t count = std::min(kJoinBatch, end - first);
        if (args_.right_count > 0) FindBatch(first, count, runs);
        for (int64_t i = 0; i < count; ++i) {
          const KeyRun<Index> run = runs[i];
          rows += JoinedRows(args_.kind, static_cast<int64_t>(run.count));
          if (begins_ != nullptr) {
            begins_[first + i] = run.begin;
            counts_[first + i] = run.count;
          }
          if (scratch_.has_partner != nullptr && run.count > 0) {
            // Several threads may write the same byte.
            __atomic_store_n(&scratch_.has_partner[run.begin], uint8_t{1}, __ATOMIC_RELAXED);
          }
        }
      }
      scratch_.rows_before[piece + 1] = rows;
    });
    return SumPieces(scratch_.rows_before, pieces);
  }

  int64_t RightRow(int64_t position) const {
    if (scratch_.rows == nullptr) return position;
    return IndexBytes(args_.right_count - 1) == 4
               ? static_cast<int64_t>(static_cast<const uint32_t*>(scratch_.rows)[position])
               : static_cast<int64_t>(static_cast<const uint64_t*>(scratch_.rows)[position]);
  }

  void PrefetchRightRow(Index position) const {
    if (scratch_.rows == nullptr) return;
    __builtin_prefetch(static_cast<const char*>(scratch_.rows) +
                       static_cast<int64_t>(position) * IndexBytes(args_.right_count - 1));
  }

  int64_t FindUnmatched() {
    const int64_t pieces = Pieces(args_.right_count);
    parallel_.ForPieces(pieces, [&](int64_t piece) {
      const int64_t begin = piece * kJoinPiece, end = std::min(args_.right_count, begin + kJoinPiece);
      int64_t head = RunBegin(right_, begin);
      for (int64_t i = begin; i < end; ++i) {
        if (i > begin && right_[i] != right_[i - 1]) head = i;
        scratch_.is_matched[RightRow(i)] = scratch_.has_partner[head];
      }
    });
    parallel_.ForPieces(pieces, [&](int64_t piece) {
      const int64_t begin = piece * kJoinPiece, end = std::min(args_.right_count, begin + kJoinPiece);
      scratch_.unmatched_before[piece + 1] =
          std::count(scratch_.is_matched + begin, scratch_.is_matched + end, uint8_t{0});
    });
    return SumPieces(scratch_.unmatched_before, pieces);
  }

  void WriteJoined(int64_t joined) const {
    constexpr int64_t kRows = int64_t{1} << 16, kAhead = 16;
    const int64_t pieces = Pieces(args_.left_count);
    parallel_.ForPieces((joined + kRows - 1) / kRows, [&](int64_t part) {
      const int64_t begin = part * kRows, end = std::min(joined, begin + kRows);
      const int64_t* const before = scratch_.rows_before;
      const int64_t piece = std::upper_bound(before, before + pieces, begin) - before - 1;
      int64_t at = before[piece];  // the first row of the result that left row i has
      for (int64_t i = piece * kJoinPiece; at < end; ++i) {
        if (i + kAhead < args_.left_count) PrefetchRightRow(begins_[i + kAhead]);
        const auto partners = static_cast<int64_t>(counts_[i]);
        const int64_t rows = JoinedRows(args_.kind, partners);
        for (int64_t row = std::max(at, begin); row < std::min(at + rows, end); ++row) {
          const int64_t partner = partners == 0 ? -1 : RightRow(static_cast<int64_t>(begins_[i]) + row - at);
          Write(row, i, partner);
        }
        at += rows;
      }
    });
  }

  void WriteUnmatched(int64_t joined) const {
    parallel_.ForPieces(Pieces(args_.right_count), [&](int64_t piece) {
      const int64_t begin = piece * kJoinPiece, end = std::min(args_.right_count, begin + kJoinPiece);
      int64_t row = joined + scratch_.unmatched_before[piece];
      for (int64_t i = begin; i < end; ++i) {
        if (scratch_.is_matched[i] == 0) Write(row++, -1, i);
      }
    });
  }

  void Write(int64_t row, int64_t left, int64_t right) const {
    static_cast<Index*>(args_.left_out)[row] = static_cast<Index>(left);
    if (args_.right_out != nullptr) static_cast<Index*>(args_.right_out)[row] = static_cast<Index>(right);
  }

  const JoinArgs& args_;
  const Scratch& scratch_;
  Parallel& parallel_;
  const Ranks<Bits, Ordering> left_, right_;
  KeyBuckets<Bits> buckets_;
  Index* const table_;
  Index* const begins_;
  Index* const counts_;
};

}  // namespace

int64_t JoinWorkspaceBytes(const JoinArgs& args, int threads) {
  Workspace measure(nullptr);
  TakeScratch(args, threads, measure);
  return measure.used_bytes();
}

void Join(const JoinArgs& args, void* workspace_bytes, Parallel& parallel, JoinReport* report) {
  *report = JoinReport();
  Workspace workspace(workspace_bytes);
  const Scratch scratch = TakeScratch(args, parallel.threads(), workspace);
  WithKeyOrder(args.key_type, Order::kAscending, [&](auto order) {
    using Bits = decltype(order.Encode(0));
    if (args.right_sorted) {
      const int64_t unsorted = FirstUnsorted(static_cast<const Bits*>(args.right), args.right_count, order, parallel);
      if (unsorted < args.right_count) report->unsorted = unsorted;
    } else if (args.right_count > 0) {
      OperatorReport unused;
      Sort(SortOf(args, scratch.keys, scratch.rows), scratch.sort, parallel, &unused);
    }
    if (report->unsorted >= 0) return;
    WithIndexType(JoinIndexBytes(args.left_count, args.right_count), [&](auto zero) {
      Joiner<Bits, decltype(zero), decltype(order)>(args, order, scratch, parallel).Run(report);
    });
  });
  if (args.count_out != nullptr) *args.count_out = report->rows;
}

}  // namespace corank::cpu
