#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/kernels/cases.h"
#include "bench/kernels/sort_contest.h"
#include "kernels/cuda/sort/tuning.h"

namespace corank::bench {
namespace {

template <typename Key, typename Value = uint32_t>
void AddSort(const KernelBenchOptions& options, SortWork work, Gpu* gpu, std::vector<Case>* cases) {
  if (work.input.distribution == Distribution::kMergeAdversary) {
    // The adversary targets our own mergesort, at a size at which its tiles pair up in every pass.
    const cuda::MergesortTuning tuning =
        cuda::MergesortTuningFor(sizeof(Key), cuda::MergeFormOf(sizeof(Key), work.pairs ? sizeof(Value) : 0));
    work.input.adversary = {tuning.SortTile(), tuning.merge.items};
    const int64_t most = work.input.count;
    work.input.count = tuning.SortTile();
    while (work.input.count * 2 <= most) work.input.count *= 2;
  }
  Case entry;
  Row& row = entry.failure_row;
  row.row = "sort AUTO, MERGESORT";
  row.type = work.TypeName(sizeof(Key), sizeof(Value));
  row.n = work.input.count;
  row.distribution = DistributionName(work.input.distribution);
  row.unit = work.pairs ? "Gpairs/s" : "Gkeys/s";
  entry.name = absl::StrCat("sort/", row.type, "/", row.distribution, "/", work.input.count);
  entry.repetitions = options.Repetitions(work.input.count);
  entry.prepare = [work, gpu] { return PrepareSort<Key, Value>(work, gpu); };
  cases->push_back(std::move(entry));
}

template <typename Key, typename Value = uint32_t>
void AddSort(const KernelBenchOptions& options, Distribution distribution, int64_t count, bool pairs, Gpu* gpu,
             std::vector<Case>* cases) {
  SortWork work;
  work.pairs = pairs;
  work.input.distribution = distribution;
  work.input.count = count;
  AddSort<Key, Value>(options, work, gpu, cases);
}

template <typename Key>
void AddFloatSort(const KernelBenchOptions& options, int64_t count, bool pairs, Gpu* gpu, std::vector<Case>* cases) {
  SortWork work;
  work.pairs = pairs;
  work.is_float = true;
  work.input.count = count;
  work.input.shift = 2;
  AddSort<Key>(options, work, gpu, cases);
}

template <typename Key>
void AddLook(const KernelBenchOptions& options, int64_t count, bool pairs, Gpu* gpu, std::vector<Case>* cases) {
  SortWork work;
  work.pairs = pairs;
  work.input.count = count;
  Case entry;
  Row& row = entry.failure_row;
  row.row = "sort AUTO beside RADIX";
  row.type = work.TypeName(sizeof(Key));
  row.n = count;
  row.distribution = DistributionName(work.input.distribution);
  row.unit = pairs ? "Gpairs/s" : "Gkeys/s";
  entry.name = absl::StrCat("look/", row.type, "/", count);
  entry.repetitions = options.Repetitions(count);
  entry.prepare = [work, row, gpu] { return PrepareLook<Key>(work, row, gpu); };
  cases->push_back(std::move(entry));
}

template <typename Key>
void AddOddEvenSort(Distribution distribution, int64_t count, Gpu* gpu, std::vector<Case>* cases) {
  InputSpec input;
  input.distribution = distribution;
  input.count = count;
  Case entry;
  Row& row = entry.failure_row;
  row.row = "sort ODD_EVEN_MERGESORT";
  row.type = std::is_signed_v<Key> ? "i32" : "u32";
  row.n = count;
  row.distribution = DistributionName(distribution);
  row.unit = "s";
  entry.name = absl::StrCat("sort/", row.type, "/odd-even/", row.distribution, "/", count);
  entry.repetitions = 3;
  entry.prepare = [input, gpu] { return PrepareOddEvenSort<Key>(input, gpu); };
  cases->push_back(std::move(entry));
}

}  // namespace

void AddSortCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases) {
  std::vector<int64_t> counts;
  for (const int log2 : {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 30}) {
    if (log2 <= options.max_log2) counts.push_back(int64_t{1} << log2);
  }
  for (const int64_t odd :
       {1000, 1025, 3000, 5000, 8193, 12345, 40000, 100000, 200000, 400000, 700001, 1000003, 1100009, 50000017}) {
    if (odd <= options.Count(63)) counts.push_back(odd);
  }
  for (const int64_t count : counts) {
    AddSort<uint32_t>(options, Distribution::kUniform, count, false, gpu, cases);
    AddSort<uint64_t>(options, Distribution::kUniform, count, false, gpu, cases);
    AddSort<uint32_t>(options, Distribution::kUniform, count, true, gpu, cases);
    AddSort<uint64_t>(options, Distribution::kUniform, count, true, gpu, cases);
  }
  for (const int log2 : {16, 20, 22, 24, 26, 27, 28, 30}) {
    if (log2 > options.max_log2) continue;
    AddSort<uint64_t, uint64_t>(options, Distribution::kUniform, options.Count(log2), true, gpu, cases);
  }
  for (const int log2 : {20, 28}) {  // fewer keys than AUTO looks at, and more
    for (const Distribution distribution : kAllDistributions) {
      if (distribution == Distribution::kUniform || (log2 == 20 && options.max_log2 <= 20)) continue;
      AddSort<uint32_t>(options, distribution, options.Count(log2), false, gpu, cases);
      AddSort<uint64_t>(options, distribution, options.Count(log2), false, gpu, cases);
      AddSort<uint32_t>(options, distribution, options.Count(log2), true, gpu, cases);
      AddSort<uint64_t>(options, distribution, options.Count(log2), true, gpu, cases);
    }
  }
  for (const int log2 : {12, 16, 20, 24, 28}) {
    if (log2 > options.max_log2) continue;
    for (const bool pairs : {false, true}) {
      AddFloatSort<uint32_t>(options, options.Count(log2), pairs, gpu, cases);
      AddFloatSort<uint64_t>(options, options.Count(log2), pairs, gpu, cases);
    }
  }
  for (const int log2 : {22, 24, 28}) {
    if (log2 > options.max_log2) continue;
    AddLook<uint32_t>(options, options.Count(log2), false, gpu, cases);
    AddLook<uint64_t>(options, options.Count(log2), false, gpu, cases);
    AddLook<uint32_t>(options, options.Count(log2), true, gpu, cases);
  }

  AddOddEvenSort<int32_t>(Distribution::kUniform, options.max_log2 >= 28 ? 1000000000 : options.Count(28), gpu, cases);
  for (const Distribution distribution : kAllDistributions) {
    if (distribution == Distribution::kMergeAdversary) continue;  // a network has none
    AddOddEvenSort<uint32_t>(distribution, options.Count(26), gpu, cases);
  }
}

}  // namespace corank::bench
