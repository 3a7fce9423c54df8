#include "kernels/cpu/sort.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/common/key_order.h"
#include "kernels/common/merge_path.h"
#include "kernels/cpu/float_codes.h"
#include "kernels/cpu/item_sort.h"
#include "kernels/cpu/rank_prefix.h"
#include "kernels/cpu/records.h"
#include "kernels/cpu/segment_limit.h"
#include "kernels/cpu/sorted_check.h"
#include "kernels/cpu/workspace.h"

namespace corank::cpu {
namespace {

constexpr int64_t kElementGrain = int64_t{1} << 14;
// Below this size, choosing a prefix costs as much as it saves.
constexpr int64_t kLeastByPrefix = 1024;

bool MovesIndices(const SortArgs& args) { return args.indices_out != nullptr || args.value_bytes > 0; }

// Whether rank and index together fit into 64 bits.
bool PacksIn64Bits(const SortArgs& args) {
  const int key_bits = 8 * KeyBytes(args.key_type);
  return key_bits < 64 && args.count <= int64_t{1} << (64 - key_bits);
}

// Whether the keys' codes are the items. Zeros and NaNs complicate float codes; only the plain case handles them.
bool SortsCodes(const SortArgs& args) {
  if (MovesIndices(args)) return false;
  if (!IsFloat(args.key_type)) return true;
  return (args.algorithm == SortAlgorithm::kAuto || args.algorithm == SortAlgorithm::kRadix) &&
         args.segment_offsets == nullptr && args.ResultCount() == args.count;
}

bool SortsInKeysOut(const SortArgs& args) {
  return SortsCodes(args) && args.ResultCount() == args.count && !args.LimitsSegments();
}

SortAlgorithm Resolve(SortAlgorithm algorithm) {
  return algorithm == SortAlgorithm::kAuto || algorithm == SortAlgorithm::kCopy ? SortAlgorithm::kRadix : algorithm;
}

template <typename Item>
struct Buffers {
  Item* items;
  Item* temp;
  int64_t* begins;  // of the results of each segment, if they are limited
};

template <typename Item>
Buffers<Item> TakeBuffers(const SortArgs& args, int threads, Workspace& workspace) {
  Buffers<Item> buffers{static_cast<Item*>(args.keys_out), nullptr, nullptr};
  if (!SortsInKeysOut(args)) buffers.items = workspace.Take<Item>(args.count);
  if (args.LimitsSegments() || NeedsTemp(args.count, Resolve(args.algorithm), threads)) {
    buffers.temp = workspace.Take<Item>(args.count);
  }
  if (args.LimitsSegments()) buffers.begins = workspace.Take<int64_t>(args.segment_count + 1);
  return buffers;
}

// Sorts the items by `args` and returns the place of the results, report->results items.
template <typename Item>
Item* SortAsAsked(const SortArgs& args, Buffers<Item> buffers, Parallel& parallel, OperatorReport* report) {
  const SortAlgorithm algorithm = Resolve(args.algorithm);
  report->sort_algorithm = algorithm;
  if (args.segment_offsets != nullptr) {
    // Other algorithms than RADIX sort everything, as their name in the report promises.
    const int64_t limit = args.LimitsSegments() && algorithm == SortAlgorithm::kRadix ? args.limit : args.count;
    SortItemSegments(buffers.items, buffers.temp, args.segment_offsets, args.segment_count, limit, algorithm, parallel);
    if (!args.LimitsSegments()) return buffers.items;
    report->results = PackSegments(buffers.items, buffers.temp, args.segment_offsets, args.segment_count, args.limit,
                                   buffers.begins, parallel);
    return buffers.temp;
  }
  ItemBand sorted{0, args.count};
  if (algorithm == SortAlgorithm::kRadix && args.ResultCount() < args.count) {
    const int64_t end = ResultsEnd(args.count, args.offset, args.limit);
    sorted = SelectBand(buffers.items, args.count, args.offset, end, parallel);
    if (sorted.count == args.count) sorted.count = SelectItems(buffers.items, args.count, end, parallel);
  }
  return SortItems(buffers.items, buffers.temp, sorted.count, algorithm, parallel) + (args.offset - sorted.below);
}

template <typename Bits, typename Ordering>
void SortCodes(const SortArgs& args, Buffers<Bits> buffers, const Ordering& order, Parallel& parallel,
               OperatorReport* report) {
  const Bits* keys = static_cast<const Bits*>(args.keys_in);
  Bits* out = static_cast<Bits*>(args.keys_out);
  // Choose the start so that the last pass over memory ends in `out`.
  if (buffers.items == out && args.segment_offsets == nullptr &&
      EndsInTemp<Bits>(args.count, Resolve(args.algorithm), parallel.threads())) {
    std::swap(buffers.items, buffers.temp);
  }
  parallel.ForRange(args.count, kElementGrain, [&order, keys, to = buffers.items](int64_t begin, int64_t end) {
    const Ordering own = order;  // a copy, which the compiler knows is not written to
    for (int64_t i = begin; i < end; ++i) to[i] = own.Encode(keys[i]);
  });
  const Bits* sorted = SortAsAsked(args, buffers, parallel, report);
  if (sorted == out && order.Decode(Bits{0}) == 0) return;  // integers with no bits to flip: codes are keys
  parallel.ForRange(report->results, kElementGrain, [&order, sorted, out](int64_t begin, int64_t end) {
    const Ordering own = order;
    for (int64_t i = begin; i < end; ++i) out[i] = own.Decode(sorted[i]);
  });
}

// Rank above index, in 64 bits or in 128.
template <typename Bits>
struct Packed64 {
  static constexpr int kShift = 64 - 8 * static_cast<int>(sizeof(Bits));
  using Item = uint64_t;
  static Item Make(Bits rank, int64_t index) {
    return static_cast<uint64_t>(rank) << kShift | static_cast<uint64_t>(index);
  }
  static Bits Rank(Item item) { return static_cast<Bits>(item >> kShift); }
  static int64_t Index(Item item) { return static_cast<int64_t>(item & ((uint64_t{1} << kShift) - 1)); }
};

template <typename Bits>
struct Packed128 {
  using Item = Item128;
  static Item Make(Bits rank, int64_t index) {
    Item item;
    item.lo = static_cast<uint64_t>(index);
    item.hi = rank;
    return item;
  }
  static Bits Rank(const Item& item) { return static_cast<Bits>(item.hi); }
  static int64_t Index(const Item& item) { return static_cast<int64_t>(item.lo); }
};

// Writes every requested value and index at [0, count). source(i) is the input index of the i-th result.
template <typename Source>
void Gather(const SortArgs& args, int64_t count, const Source& source, Parallel& parallel) {
  if (args.value_bytes > 0) {
    GatherRecords(args.values_out, args.values_in, args.value_bytes, count, source, parallel);
  }
  if (args.indices_out != nullptr) {
    WithIndexType(IndexBytes(args.count - 1), [&](auto zero) {
      auto* indices = static_cast<decltype(zero)*>(args.indices_out);
      parallel.ForRange(count, kElementGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) indices[i] = static_cast<decltype(zero)>(source(i));
      });
    });
  }
}

template <typename Pack, typename Bits, typename Ordering>
void SortPacked(const SortArgs& args, Buffers<typename Pack::Item> buffers, const Ordering& order, Parallel& parallel,
                OperatorReport* report) {
  using Item = typename Pack::Item;
  const Bits* keys = static_cast<const Bits*>(args.keys_in);
  Bits* out = static_cast<Bits*>(args.keys_out);
  parallel.ForRange(args.count, kElementGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) buffers.items[i] = Pack::Make(order.RankOfRaw(keys[i]), i);
  });
  const Item* sorted = SortAsAsked(args, buffers, parallel, report);
  if (out != nullptr) {
    parallel.ForRange(report->results, kElementGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        // A rank determines the bits of its key unless equal keys differ in their bits.
        const Bits rank = Pack::Rank(sorted[i]);
        out[i] = order.IsAmbiguous(rank) ? keys[Pack::Index(sorted[i])] : order.Decode(rank);
      }
    });
  }
  Gather(
      args, report->results, [&](int64_t i) { return Pack::Index(sorted[i]); }, parallel);
}

// Sorts 64-bit keys completely by prefixes of their ranks, unless too many prefixes are equal. Returns whether it did.
template <typename Ordering>
bool SortByPrefixes(const SortArgs& args, Workspace workspace, const Ordering& order, Parallel& parallel,
                    OperatorReport* report) {
  if (args.count < kLeastByPrefix || args.segment_offsets != nullptr || args.ResultCount() < args.count) return false;
  const uint64_t* keys = static_cast<const uint64_t*>(args.keys_in);
  const auto rank = [&](int64_t i) { return order.RankOfRaw(keys[i]); };
  const RankPrefix prefix = ChooseRankPrefix(args.count, rank, parallel);
  if (!TellsRanksApart(prefix, args.count, rank)) return false;
  const Buffers<uint64_t> buffers = TakeBuffers<uint64_t>(args, parallel.threads(), workspace);
  parallel.ForRange(args.count, kElementGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) buffers.items[i] = prefix.Item(rank(i), i);
  });
  uint64_t* const sorted = SortAsAsked(args, buffers, parallel, report);
  if (!OrderEqualPrefixes(prefix, sorted, args.count, rank, parallel)) return false;
  const auto source = [&](int64_t i) { return prefix.Index(sorted[i]); };
  if (args.keys_out != nullptr) {
    GatherRecords(args.keys_out, args.keys_in, sizeof(uint64_t), args.count, source, parallel);
  }
  Gather(args, args.count, source, parallel);
  return true;
}

template <typename Bits, typename Ordering>
bool IsInOrder(const SortArgs& args, const Ordering& order, Parallel& parallel) {
  const Bits* keys = static_cast<const Bits*>(args.keys_in);
  if (args.segment_offsets == nullptr) return FirstUnsorted(keys, args.count, order, parallel) == args.count;
  std::atomic<bool> in_order{true};
  parallel.ForRange(args.segment_count, 16, [&](int64_t segment_begin, int64_t segment_end) {
    for (int64_t segment = segment_begin; segment < segment_end && in_order.load(std::memory_order_relaxed);
         ++segment) {
      const int64_t begin = args.segment_offsets[segment];
      const int64_t length = args.segment_offsets[segment + 1] - begin;
      if (FirstUnsorted(keys + begin, length, order, parallel) < length) in_order = false;
    }
  });
  return in_order;
}

void CopyAll(const SortArgs& args, Parallel& parallel, OperatorReport* report) {
  const auto copy = [&](void* out, const void* in, int64_t bytes) {
    parallel.Copy(out, static_cast<const char*>(in) + args.offset * bytes, args.ResultCount() * bytes);
  };
  if (args.keys_out != nullptr) copy(args.keys_out, args.keys_in, KeyBytes(args.key_type));
  if (args.value_bytes > 0) copy(args.values_out, args.values_in, args.value_bytes);
  SortArgs indices_only = args;
  indices_only.value_bytes = 0;
  Gather(
      indices_only, args.ResultCount(), [&args](int64_t i) { return args.offset + i; }, parallel);
  report->sort_algorithm = SortAlgorithm::kCopy;
}

template <typename Bits, bool kFloat>
void SortTyped(const SortArgs& args, void* workspace_bytes, const KeyOrder<Bits, kFloat>& order, Parallel& parallel,
               OperatorReport* report) {
  if (args.algorithm == SortAlgorithm::kAuto && !args.LimitsSegments() && IsInOrder<Bits>(args, order, parallel)) {
    return CopyAll(args, parallel, report);
  }
  Workspace workspace(workspace_bytes, SpareMemories(args.spare));
  if (SortsCodes(args)) {
    const Buffers<Bits> buffers = TakeBuffers<Bits>(args, parallel.threads(), workspace);
    if constexpr (kFloat) {
      SortFloatCodes(static_cast<const Bits*>(args.keys_in), static_cast<Bits*>(args.keys_out), buffers.temp,
                     args.count, args.order, order, parallel);
      report->sort_algorithm = SortAlgorithm::kRadix;
    } else {
      SortCodes(args, buffers, order, parallel, report);
    }
    return;
  }
  if constexpr (sizeof(Bits) < 8) {
    if (PacksIn64Bits(args)) {
      using Pack = Packed64<Bits>;
      return SortPacked<Pack, Bits>(args, TakeBuffers<uint64_t>(args, parallel.threads(), workspace), order, parallel,
                                    report);
    }
  } else if (SortByPrefixes(args, workspace, order, parallel, report)) {
    return;
  }
  SortPacked<Packed128<Bits>, Bits>(args, TakeBuffers<Item128>(args, parallel.threads(), workspace), order, parallel,
                                    report);
}

}  // namespace

int64_t SortWorkspaceBytes(const SortArgs& asked, int threads) {
  const SortArgs args = asked.WithoutLoneSegment();
  Workspace measure(nullptr, SpareMemories(args.spare));
  if (SortsCodes(args)) {
    WithKeyOrder(args.key_type, args.order,
                 [&](auto order) { TakeBuffers<decltype(order.Encode(0))>(args, threads, measure); });
  } else if (PacksIn64Bits(args)) {
    TakeBuffers<uint64_t>(args, threads, measure);
  } else {
    TakeBuffers<Item128>(args, threads, measure);
  }
  return measure.used_bytes();
}

void Sort(const SortArgs& asked, void* workspace, Parallel& parallel, OperatorReport* report) {
  const SortArgs args = asked.WithoutLoneSegment();
  *report = OperatorReport();
  report->results = args.ResultCount();
  if (args.ResultCount() == 0) {
    report->sort_algorithm = args.algorithm == SortAlgorithm::kAuto ? SortAlgorithm::kCopy : args.algorithm;
    return;
  }
  WithKeyOrder(args.key_type, args.order, [&](auto order) { SortTyped(args, workspace, order, parallel, report); });
}

}  // namespace corank::cpu
