#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "kernels/cuda/sort/segment_schedule.h"
#include "kernels/cuda/sort/segment_tuning.h"
#include "kernels/cuda/sort/selection_rules.h"
#include "kernels/cuda/sort/tuning.h"
#include "tests/faults/engine_workloads.h"
#include "tests/faults/workload_request.h"
#include "tests/support/distributions.h"

namespace corank::testing {
namespace {

struct SortOf {
  KeyType type = KeyType::kUint32;
  Order order = Order::kAscending;
  SortAlgorithm algorithm = SortAlgorithm::kAuto;
  int64_t count = 3000;
  Source keys;  // none: uniform ones
  int value_bytes = 0;
  Source values;  // none: random bytes
  bool indices = false;
  std::vector<int64_t> segment_offsets;
  int64_t offset = 0;
  int64_t limit = -1;
  Pace pace = Pace::kPhases;
};

WorkloadRun Sort(SortOf of) {
  if (!of.keys) of.keys = Uploaded(MakeKeys(of.type, Distribution::kUniform, of.count, 1));
  if (!of.values && of.value_bytes > 0) of.values = Uploaded(MakeBytes(of.count * of.value_bytes, 2));
  return Whole(
      [of](Request& request) -> absl::Status {
        SortArgs args;
        args.key_type = of.type;
        args.order = of.order;
        args.algorithm = of.algorithm;
        args.count = of.count;
        args.offset = of.offset;
        args.limit = of.limit;
        if (!of.segment_offsets.empty()) {
          CORANK_ASSIGN_OR_RETURN(args.segment_offsets, request.Numbers(of.segment_offsets));
          args.segment_count = static_cast<int64_t>(of.segment_offsets.size()) - 1;
        }
        const int64_t results = args.ResultCount();
        CORANK_ASSIGN_OR_RETURN(args.keys_in, of.keys(request));
        CORANK_ASSIGN_OR_RETURN(args.keys_out, request.Output(results * KeyBytes(of.type)));
        if (of.value_bytes > 0) {
          args.value_bytes = of.value_bytes;
          CORANK_ASSIGN_OR_RETURN(args.values_in, of.values(request));
          CORANK_ASSIGN_OR_RETURN(args.values_out, request.Output(results * of.value_bytes));
        }
        if (of.indices) {
          CORANK_ASSIGN_OR_RETURN(args.indices_out, request.Output(results * IndexBytes(of.count - 1)));
        }
        return request.Run(&EngineStream::Sort, args);
      },
      of.pace);
}

// More arrays than one launch takes. The first ones are so long that the launch must request its shared memory.
WorkloadRun SortEach() {
  std::vector<int64_t> counts(cuda::kSmallArrays + 1, 100);
  counts[0] = kSortEachKeys;
  const Bytes keys = MakeKeys(KeyType::kFloat64, Distribution::kUniform, kSortEachKeys, 1);
  return Whole(
      [=](Request& request) -> absl::Status {
        CORANK_ASSIGN_OR_RETURN(const void* const d_keys, request.Input(keys));
        std::vector<SortArgs> sorts(counts.size());
        std::vector<OperatorReport> reports(sorts.size());
        for (size_t i = 0; i < sorts.size(); ++i) {
          sorts[i].key_type = KeyType::kFloat64;
          sorts[i].count = counts[i];
          sorts[i].keys_in = d_keys;
          CORANK_ASSIGN_OR_RETURN(sorts[i].keys_out, request.Output(counts[i] * KeyBytes(KeyType::kFloat64)));
        }
        CORANK_RETURN_IF_ERROR(request.stream().SortEach(sorts, reports.data()));
        request.report() = reports.back();
        return absl::OkStatus();
      },
      Pace::kBrief);
}

// Enough keys that AUTO looks at them, and just enough of the results to show the outcome.
SortOf Looked(KeyType type) {
  SortOf of;
  of.type = type;
  of.count = cuda::kAutoLookCount;
  SortArgs args;
  args.count = of.count;
  for (args.limit = 1; cuda::PlanSelection(args).capacity > 0;) ++args.limit;
  of.limit = args.limit;
  return of;
}

// Repeats these keys up to that count.
Source Looked(KeyType type, const Bytes& pattern) { return Repeated(pattern, cuda::kAutoLookCount * KeyBytes(type)); }

Bytes LookedPattern(KeyType type, Distribution distribution) { return MakeKeys(type, distribution, 1 << 16, 1); }

// 16 live bits that begin in the middle of a byte: two digits in three bytes.
Bytes FewLiveBits() {
  Bytes keys = LookedPattern(KeyType::kUint32, Distribution::kSixteenBits);
  for (size_t i = 0; i < keys.size(); i += sizeof(uint32_t)) {
    uint32_t key;
    std::memcpy(&key, &keys[i], sizeof(key));
    key <<= 4;
    std::memcpy(&keys[i], &key, sizeof(key));
  }
  return keys;
}

Workload Of(std::string name, SortAlgorithm taken, std::vector<std::string> kernels, const SortOf& of) {
  return {std::move(name), Sort(of), std::move(kernels), taken};
}

}  // namespace

std::vector<Workload> SortWorkloads() {
  using cuda::SmallForm;
  using cuda::SmallPlanFor;
  using cuda::SmallShape;
  constexpr auto kMergesort = SortAlgorithm::kMergesort, kRadix = SortAlgorithm::kRadix,
                 kOddEven = SortAlgorithm::kOddEvenMergesort;
  constexpr int kRoomyBlock = 227 * 1024;  // bytes of shared memory
  constexpr int64_t kInBlock = 1000;
  static_assert(SmallPlanFor(kInBlock, SmallForm::kRank32, true, kRoomyBlock).shape == SmallShape::kOneBlock);
  constexpr int64_t kInCluster = cuda::SmallClusterCount(cuda::kSmallClusterItems[1]);
  static_assert(SmallPlanFor(kInCluster, SmallForm::kRank64, true, kRoomyBlock).shape == SmallShape::kOneCluster);
  static_assert(SmallPlanFor(kInCluster + 1, SmallForm::kRank32, true, kRoomyBlock).shape == SmallShape::kTwoLaunches);
  // The largest count that AUTO leaves to the small sort: its runs are so long that the launch must request its shared
  // memory.
  constexpr int64_t kLastSmall = cuda::AutoRadixCount(sizeof(uint32_t)) - 1;
  static_assert(SmallPlanFor(kLastSmall, SmallForm::kRankIndex32, true, kRoomyBlock).run == cuda::kSmallLongestRun);
  // The least count without an index, and the least count beyond the small sort.
  constexpr int64_t kUnindexed = cuda::SmallSortLimit(SmallForm::kRankIndex32) + 1;
  constexpr int64_t kBeyondSmall = cuda::SmallSortLimit(SmallForm::kRank32) + 1;
  static_assert(kUnindexed < kBeyondSmall);
  constexpr int64_t kDigits = 50'000;  // few, so that the tests are quick
  constexpr int64_t kWindows = 2 * int64_t{cuda::OddEvenTuningFor(sizeof(uint32_t), 0).window} + 1;
  constexpr int64_t kWindow = cuda::SegmentTuningFor(sizeof(uint32_t), false).Window();
  constexpr int64_t kGiant = cuda::LongSegment::kLeastGiant;
  const auto special = [](int64_t count) {
    return Uploaded(MakeKeys(KeyType::kFloat32, Distribution::kSpecialFloats, count, 1));
  };

  std::vector<Workload> all;
  const auto add = [&](const char* name, SortAlgorithm taken, std::vector<std::string> kernels, auto change) {
    SortOf of;
    change(of);
    all.push_back(Of(name, taken, std::move(kernels), of));
  };
  add("brief sort", kMergesort, {"SmallSortKernel<"}, [](SortOf& of) { of.count = kInBlock, of.pace = Pace::kBrief; });
  all.push_back({"sort of each", SortEach(), {"SmallEachKernel<"}, kMergesort});
  add("cluster sort", kMergesort, {"SmallClusterKernel<"},
      [](SortOf& of) { of.count = kInCluster, of.type = KeyType::kUint64; });
  add("small sort", kMergesort, {"SmallSortKernel<"}, [](SortOf& of) { of.count = kInCluster + 1; });
  add("small sort of floats by index", kMergesort, {"SmallSortKernel<"},
      [](SortOf& of) { of.count = kLastSmall, of.type = KeyType::kFloat32; });
  add("small sort of floats by rank", kMergesort, {"SmallSortKernel<", "CountBitsKernel<", "WriteBitsKernel<"},
      [&](SortOf& of) {
        of.count = kUnindexed, of.type = KeyType::kFloat32, of.algorithm = kMergesort;
        of.keys = special(kUnindexed);
      });
  add("small sort with records", kMergesort, {"SmallSortKernel<", "GatherKernel<"},
      [](SortOf& of) { of.count = kInCluster + 1, of.value_bytes = 24; });
  add("mergesort of floats", kMergesort,
      {"TileSortKernel<", "MultiwayPartitionKernel<false", "MultiwayMergeKernel<", "CountBitsKernel<",
       "WriteBitsKernel<"},
      [&](SortOf& of) {
        of.count = kBeyondSmall, of.type = KeyType::kFloat32, of.algorithm = kMergesort;
        of.keys = special(kBeyondSmall);
      });
  add("mergesort with values", kMergesort, {"TileSortKernel<", "MultiwayMergeKernel<"},
      [](SortOf& of) { of.count = kUnindexed, of.value_bytes = 4, of.algorithm = kMergesort; });
  add("odd-even mergesort", kOddEven, {"WindowSortKernel<", "StridedMergeKernel<", "WindowMergeKernel<"},
      [](SortOf& of) { of.count = kWindows, of.algorithm = kOddEven; });
  add("odd-even mergesort of signed keys", kOddEven, {"::RankOfRaw<", "::Decode<", "GatherKernel<"},
      [](SortOf& of) { of.type = KeyType::kInt32, of.value_bytes = 2, of.algorithm = kOddEven; });
  add("odd-even mergesort of floats", kOddEven, {"::RankOfRaw<", "GatherKernel<"},
      [](SortOf& of) { of.type = KeyType::kFloat64, of.algorithm = kOddEven; });
  add("sort by digits", kRadix, {"RadixHistogramKernel<", "RadixPassKernel<"},
      [](SortOf& of) { of.count = cuda::AutoRadixCount(sizeof(uint32_t)); });
  add("sort of floats by digits", kRadix, {"RadixPassKernel<unsigned int, true"},
      [](SortOf& of) { of.count = kDigits, of.type = KeyType::kFloat32, of.algorithm = kRadix; });
  add("sort of bytes by digits", kRadix, {"RadixPassKernel<unsigned char"},
      [](SortOf& of) { of.count = kDigits, of.type = KeyType::kInt8, of.algorithm = kRadix; });
  add("sort by digits with values", kRadix, {"RadixPassKernel<"},
      [](SortOf& of) { of.count = kDigits, of.value_bytes = 4, of.algorithm = kRadix; });
  add("argsort by digits", kRadix, {"RadixPassKernel<unsigned long"},
      [](SortOf& of) { of.count = kDigits, of.type = KeyType::kUint64, of.indices = true, of.algorithm = kRadix; });
  add("first keys by digits with values", kRadix, {"RadixPassKernel<"},
      [](SortOf& of) { of.count = kDigits, of.limit = 10, of.value_bytes = 8, of.algorithm = kRadix; });
  // An empty segment, one that fits into a window, one that is merged, and a giant.
  add("sort of segments", kMergesort,
      {"PlanKernel(", "SegmentWindowKernel<", "LongSegmentsKernel<", "GiantSegmentsKernel<"}, [](SortOf& of) {
        of.segment_offsets = {0, 10, 10, 3 * kWindow, 3 * kWindow + kGiant};
        of.count = of.segment_offsets.back();
      });
  add("sort of segments of floats with records", kMergesort,
      {"::RankOfRaw<", "SegmentWindowKernel<", "LongSegmentsKernel<", "GatherKernel<"}, [](SortOf& of) {
        of.segment_offsets = {0, 10, 3 * kWindow};
        of.count = of.segment_offsets.back(), of.type = KeyType::kFloat32, of.value_bytes = 3;
      });
  // Every segment has as many keys, so that the results fill the outputs.
  add("first keys of segments with values", kMergesort,
      {"SegmentWindowKernel<", "MarkLimitedKernel(", "WriteNumberKernel("}, [](SortOf& of) {
        of.segment_offsets = {0, 1000, 2000, 3000};
        of.count = of.segment_offsets.back(), of.value_bytes = 4, of.limit = 100;
      });
  add("first keys of segments of floats with records", kMergesort, {"MarkLimitedKernel(", "GatherKernel<"},
      [](SortOf& of) {
        of.segment_offsets = {0, 1000, 2000, 3000};
        of.count = of.segment_offsets.back(), of.type = KeyType::kFloat64, of.value_bytes = 3, of.limit = 100;
      });
  return all;
}

std::vector<Workload> LookWorkloads() {
  constexpr KeyType kWord = KeyType::kUint32, kLong = KeyType::kUint64;
  constexpr int64_t kCount = cuda::kAutoLookCount;
  const Source numbers = Counted(sizeof(uint32_t), kCount);
  const Source uniform = Looked(kWord, LookedPattern(kWord, Distribution::kUniform));
  const Source few_distinct = Looked(kWord, LookedPattern(kWord, Distribution::kSixteenDistinct));

  std::vector<Workload> all;
  const auto add = [&](const char* name, SortAlgorithm taken, std::vector<std::string> kernels, auto change) {
    SortOf of = Looked(kWord);
    change(of);
    kernels.push_back("::SampleKernel<");
    all.push_back(Of(name, taken, std::move(kernels), of));
  };
  // Digits are counted while the sample is in flight.
  add("look at uniform keys", SortAlgorithm::kRadix, {"RadixHistogramKernel<", "RadixPassKernel<"},
      [&](SortOf& of) { of.keys = uniform; });
  add("look at uniform pairs of eight bytes", SortAlgorithm::kMergesort, {"TileSortKernel<", "MultiwayMergeKernel<"},
      [&](SortOf& of) {
        of = Looked(kLong);
        of.keys = Looked(kLong, LookedPattern(kLong, Distribution::kUniform));
        of.values = Counted(sizeof(uint64_t), kCount), of.value_bytes = 8;
      });
  add("look at sorted keys with values", SortAlgorithm::kCopy, {"ExamineKernel<"},
      [&](SortOf& of) { of.keys = of.values = numbers, of.value_bytes = 4; });
  add("look at sorted keys with indices", SortAlgorithm::kCopy, {"ExamineKernel<", "SequenceKernel<"},
      [&](SortOf& of) { of.keys = numbers, of.indices = true; });
  add("look at reversed keys with values", SortAlgorithm::kReverse, {"ExamineKernel<", "ReverseKernel<"},
      [&](SortOf& of) { of.keys = of.values = numbers, of.value_bytes = 4, of.order = Order::kDescending; });
  add("look at reversed keys with indices", SortAlgorithm::kReverse, {"ExamineKernel<", "SequenceKernel<"},
      [&](SortOf& of) { of.keys = numbers, of.indices = true, of.order = Order::kDescending; });
  // Floats by their bits: zero and denormals. Rows of two bytes are gathered.
  add("look at runs of floats with records", SortAlgorithm::kMergeRuns,
      {"ExamineKernel<", "MultiwayPartitionKernel<false", "MultiwayMergeKernel<", "RestoreRunBitsKernel<",
       "GatherKernel<"},
      [&](SortOf& of) {
        of.type = KeyType::kFloat32, of.keys = Counted(sizeof(float), kCount, /*runs=*/3);
        of.value_bytes = 2, of.values = Counted(sizeof(uint32_t), kCount / 2);
      });
  add("look at few distinct keys", SortAlgorithm::kCount, {"::CountKernel<unsigned int>", "FillKernel<"},
      [&](SortOf& of) { of.keys = few_distinct; });
  add("look at few distinct keys with indices", SortAlgorithm::kCount,
      {"::CountKernel<unsigned int>", "FillKernel<", "RadixPassKernel<unsigned char"},
      [&](SortOf& of) { of.keys = few_distinct, of.indices = true; });
  add("look at few live bits", SortAlgorithm::kRadix, {"ExamineKernel<", "RadixPassKernel<"},
      [&](SortOf& of) { of.keys = Looked(kWord, FewLiveBits()); });

  const auto add_first = [&](const char* name, std::vector<std::string> kernels, auto change) {
    SortOf of = Looked(kWord);
    of.keys = uniform, of.limit = 10;
    change(of);
    kernels.insert(kernels.end(), {"SelectSampleKernel<", "ThresholdKernel<", "::SelectKernel<", "SmallSortKernel<"});
    all.push_back(Of(name, SortAlgorithm::kMergesort, std::move(kernels), of));
  };
  add_first("look for the first keys", {}, [](SortOf&) {});
  add_first("look for the first keys with values", {"WriteSelectedKernel<", "GatherKernel<"},
            [&](SortOf& of) { of.values = numbers, of.value_bytes = 4; });
  add_first("look for the first keys of eight bytes with indices", {"GatherKernel<"}, [&](SortOf& of) {
    of.type = kLong, of.keys = Looked(kLong, LookedPattern(kLong, Distribution::kUniform)), of.indices = true;
  });
  const auto add_middle = [&](const char* name, std::vector<std::string> kernels, auto change) {
    SortOf of = Looked(kWord);
    of.keys = uniform, of.offset = kCount / 2, of.limit = 10;
    change(of);
    kernels.insert(kernels.end(), {"SampleBandKernel<", "::BandKernel<"});
    all.push_back(Of(name, SortAlgorithm::kMergesort, std::move(kernels), of));
  };
  add_middle("look for keys in the middle", {}, [](SortOf&) {});
  add_middle("look for keys in the middle with values", {"WriteSelectedKernel<", "GatherKernel<"},
             [&](SortOf& of) { of.values = numbers, of.value_bytes = 4; });
  add_middle("look for keys in the middle of eight bytes with indices", {"GatherKernel<"}, [&](SortOf& of) {
    of.type = kLong, of.keys = Looked(kLong, LookedPattern(kLong, Distribution::kUniform)), of.indices = true;
  });
  SortOf segments = Looked(kWord);
  segments.keys = uniform, segments.limit = 100, segments.values = numbers, segments.value_bytes = 4;
  segments.segment_offsets = {0, kCount / 2, kCount};
  all.push_back(Of("look for the first keys of segments", SortAlgorithm::kMergesort,
                   {"SegmentSampleKernel<", "SegmentSelectKernel<", "SegmentSortKernel<", "GatherKernel<"}, segments));
  return all;
}

}  // namespace corank::testing
