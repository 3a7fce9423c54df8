#include "bench/kernels/sort_contest.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/kernels/device_inputs.h"
#include "bench/kernels/reference.h"

namespace corank::bench {
namespace {

constexpr double kPublishedOddEvenSeconds = 9.16;

/// All memory of one contest. Each of our algorithms has its own output, so that each is checked.
struct SortData {
  KeyArrays input, reference;
  std::vector<KeyArrays> ours;
  std::vector<SortAlgorithm> taken;
  Memory workspace;
  int64_t key_bytes = 0, value_bytes = 0;
};

absl::StatusOr<std::shared_ptr<SortData>> Allocate(int64_t key_bytes, int64_t value_bytes, size_t algorithms) {
  auto data = std::make_shared<SortData>();
  data->key_bytes = key_bytes;
  data->value_bytes = value_bytes;
  data->ours.resize(algorithms);
  data->taken.resize(algorithms);
  absl::Status status = data->input.Create(key_bytes, value_bytes);
  status.Update(data->reference.Create(key_bytes, value_bytes));
  for (KeyArrays& arrays : data->ours) status.Update(arrays.Create(key_bytes, value_bytes));
  if (!status.ok()) return status;
  return data;
}

Contestant Ours(const std::shared_ptr<SortData>& data, size_t index, KeyType type, int64_t count,
                SortAlgorithm algorithm, Gpu* gpu) {
  return {SortAlgorithmName(algorithm), [=]() -> absl::StatusOr<double> {
            SortArgs args;
            args.key_type = type;
            args.algorithm = algorithm;
            args.count = count;
            args.keys_in = data->input.keys.get();
            args.keys_out = data->ours[index].keys.get();
            args.values_in = data->input.values.get();
            args.values_out = data->ours[index].values.get();
            args.value_bytes = static_cast<int32_t>(data->value_bytes / count);
            return gpu->Time(args, &data->taken[index]);
          }};
}

template <typename Key, typename Value>
using CubSort = cudaError_t (*)(const SortReference<Key, Value>&, void*, size_t*, cudaStream_t);

/// A contestant for one of CUB's sorts; grows the shared workspace to the size that it needs.
template <typename Key, typename Value = uint32_t>
absl::StatusOr<Contestant> Reference(const std::shared_ptr<SortData>& data, const std::string& name, int64_t count,
                                     CubSort<Key, Value> sort, size_t* workspace_bytes, Gpu* gpu) {
  SortReference<Key, Value> args;
  args.keys_in = data->input.keys.as<Key>();
  args.keys_out = data->reference.keys.as<Key>();
  args.values_in = data->input.values.as<Value>();
  args.values_out = data->reference.values.as<Value>();
  args.count = count;
  size_t bytes = 0;
  const absl::Status status = ToStatus(sort(args, nullptr, &bytes, gpu->stream()), name);
  if (!status.ok()) return status;
  *workspace_bytes = std::max(*workspace_bytes, bytes);
  return Contestant{name, [=] {
                      return gpu->Time([&](cudaStream_t stream) {
                        size_t size = bytes;
                        return sort(args, data->workspace.get(), &size, stream);
                      });
                    }};
}

absl::Status CompareAll(const SortData& data, Gpu* gpu) {
  absl::Status status;
  for (const KeyArrays& ours : data.ours) {
    status.Update(gpu->CompareBits(ours.keys.get(), data.reference.keys.get(), data.key_bytes));
    if (data.value_bytes > 0) {
      status.Update(gpu->CompareBits(ours.values.get(), data.reference.values.get(), data.value_bytes));
    }
  }
  return status;
}

/// The goals of the two sort rows.
void SetSortGoal(bool is_auto, Distribution distribution, bool pairs, size_t key_bytes, size_t value_bytes, Row* row) {
  constexpr int64_t kBig = int64_t{1} << 28;
  constexpr int64_t kSmall = int64_t{1} << 17;
  const bool is_uniform = distribution == Distribution::kUniform;
  if (!is_auto) {
    if (value_bytes == 8) return;  // there is none
    if (is_uniform && row->n == kBig) row->RequireRatio(key_bytes == 8 && !pairs ? 1.8 : 2.0);
    return;
  }
  if (is_uniform) {
    row->RequireRatio(row->n <= kSmall ? 1.5 : 1.0);
  } else if (row->n == kBig &&
             (distribution == Distribution::kSorted || distribution == Distribution::kReversed ||
              distribution == Distribution::kAllEqual || distribution == Distribution::kSixteenRuns)) {
    row->RequireRatio(4.0);
  } else if (row->n == kBig && !pairs && key_bytes == 8 &&
             (distribution == Distribution::kSixteenBits || distribution == Distribution::kSixteenValues)) {
    row->RequireRatio(2.0);
  } else {
    row->RequireRatio(1.0);
  }
}

absl::Status FillInput(const SortData& data, const InputSpec& input, Gpu* gpu) {
  return gpu->Run([&](cudaStream_t stream) {
    const cudaError_t error = data.key_bytes / input.count == 4
                                  ? FillKeys(input, data.input.keys.as<uint32_t>(), stream)
                                  : FillKeys(input, data.input.keys.as<uint64_t>(), stream);
    if (error != cudaSuccess || data.value_bytes == 0) return error;
    const int64_t words = data.value_bytes / static_cast<int64_t>(sizeof(uint32_t));
    return FillPositions(data.input.values.as<uint32_t>(), words, stream);
  });
}

}  // namespace

std::string SortWork::TypeName(int key_bytes, int value_bytes) const {
  const std::string keys = absl::StrCat(is_float ? "f" : "u", 8 * key_bytes);
  return pairs ? absl::StrCat(keys, "+u", 8 * value_bytes) : keys;
}

template <typename Key, typename Value>
absl::StatusOr<Contest> PrepareSort(const SortWork& work, Gpu* gpu) {
  const int64_t count = work.input.count;
  const int64_t value_bytes = work.pairs ? count * static_cast<int64_t>(sizeof(Value)) : 0;
  const auto allocated = Allocate(count * static_cast<int64_t>(sizeof(Key)), value_bytes, 2);
  if (!allocated.ok()) return allocated.status();
  const std::shared_ptr<SortData> data = *allocated;
  absl::Status status = FillInput(*data, work.input, gpu);

  size_t workspace_bytes = 0;
  CubSort<Key, Value> radix_sort = CubRadixSortPairs<Key, Value>, merge_sort = CubMergeSortPairs<Key, Value>;
  if constexpr (sizeof(Value) == sizeof(uint32_t)) {
    if (!work.pairs) radix_sort = CubRadixSortKeys<Key>, merge_sort = CubMergeSortKeys<Key>;
  }
  const auto radix = Reference<Key, Value>(data, "cub::DeviceRadixSort", count, radix_sort, &workspace_bytes, gpu);
  const auto merge = Reference<Key, Value>(data, "cub::DeviceMergeSort", count, merge_sort, &workspace_bytes, gpu);
  absl::StatusOr<Memory> workspace = Memory::Create(static_cast<int64_t>(workspace_bytes));
  status.Update(radix.status());
  status.Update(merge.status());
  status.Update(workspace.status());
  if (!status.ok()) return status;
  data->workspace = *std::move(workspace);

  const KeyType type = sizeof(Key) == 4 ? work.is_float ? KeyType::kFloat32 : KeyType::kUint32
                       : work.is_float  ? KeyType::kFloat64
                                        : KeyType::kUint64;
  Contest contest;
  contest.contestants.push_back(Ours(data, 0, type, count, SortAlgorithm::kAuto, gpu));
  contest.contestants.push_back(Ours(data, 1, type, count, SortAlgorithm::kMergesort, gpu));
  contest.contestants.push_back(*radix);
  contest.contestants.push_back(*merge);
  contest.check = [data, gpu] { return CompareAll(*data, gpu); };
  contest.rows = [work, data, count](const std::vector<Summary>& seconds) {
    std::vector<Row> rows;
    const double elements = static_cast<double>(count);
    for (const size_t ours : {size_t{0}, size_t{1}}) {
      const size_t best = ours == 0 && seconds[2].median <= seconds[3].median ? 2 : 3;
      Row row;
      row.row = ours == 0 ? "sort AUTO" : "sort MERGESORT";
      row.type = work.TypeName(sizeof(Key), sizeof(Value));
      row.n = count;
      row.distribution = DistributionName(work.input.distribution);
      row.unit = work.pairs ? "Gpairs/s" : "Gkeys/s";
      row.reference_name = absl::StrCat(best == 2 ? "cub::DeviceRadixSort" : "cub::DeviceMergeSort",
                                        work.is_float ? " of the bits as unsigned" : "");
      row.ours = GigaPerSecond(seconds[ours], elements);
      row.reference = GigaPerSecond(seconds[best], elements);
      row.details["ours_us"] = seconds[ours].median * 1e6;
      row.details["cub_radix_us"] = seconds[2].median * 1e6;
      row.details["cub_merge_us"] = seconds[3].median * 1e6;
      if (ours == 0) row.note = absl::StrCat("took ", SortAlgorithmName(data->taken[0]));
      if (!work.is_float) {
        SetSortGoal(ours == 0, work.input.distribution, work.pairs, sizeof(Key), sizeof(Value), &row);
      } else if (ours == 0) {
        row.RequireRatio(1.0);
      }
      rows.push_back(std::move(row));
    }
    return rows;
  };
  return contest;
}

template absl::StatusOr<Contest> PrepareSort<uint32_t>(const SortWork&, Gpu*);
template absl::StatusOr<Contest> PrepareSort<uint64_t>(const SortWork&, Gpu*);
template absl::StatusOr<Contest> PrepareSort<uint64_t, uint64_t>(const SortWork&, Gpu*);

template <typename Key>
absl::StatusOr<Contest> PrepareLook(const SortWork& work, const Row& identity, Gpu* gpu) {
  const int64_t count = work.input.count;
  const int64_t value_bytes = work.pairs ? count * static_cast<int64_t>(sizeof(uint32_t)) : 0;
  const auto allocated = Allocate(count * static_cast<int64_t>(sizeof(Key)), value_bytes, 2);
  if (!allocated.ok()) return allocated.status();
  const std::shared_ptr<SortData> data = *allocated;
  const absl::Status status = FillInput(*data, work.input, gpu);
  if (!status.ok()) return status;
  const KeyType type = sizeof(Key) == 4 ? KeyType::kUint32 : KeyType::kUint64;
  Contest contest;
  contest.contestants.push_back(Ours(data, 0, type, count, SortAlgorithm::kAuto, gpu));
  contest.contestants.push_back(Ours(data, 1, type, count, SortAlgorithm::kRadix, gpu));
  contest.check = [data, gpu] {
    if (data->taken[0] != SortAlgorithm::kRadix) return absl::InternalError("AUTO did not take RADIX");
    const KeyArrays &looked = data->ours[0], &plain = data->ours[1];
    absl::Status equal = gpu->CompareBits(looked.keys.get(), plain.keys.get(), data->key_bytes);
    if (data->value_bytes > 0) {
      equal.Update(gpu->CompareBits(looked.values.get(), plain.values.get(), data->value_bytes));
    }
    return equal;
  };
  contest.rows = [identity, count](const std::vector<Summary>& seconds) {
    Row row = identity;
    row.reference_name = "corank RADIX, which does not look";
    row.ours = GigaPerSecond(seconds[0], static_cast<double>(count));
    row.reference = GigaPerSecond(seconds[1], static_cast<double>(count));
    row.note = "what AUTO's look at the data costs";
    row.RequireRatio(0.95);
    return std::vector<Row>{row};
  };
  return contest;
}

template absl::StatusOr<Contest> PrepareLook<uint32_t>(const SortWork&, const Row&, Gpu*);
template absl::StatusOr<Contest> PrepareLook<uint64_t>(const SortWork&, const Row&, Gpu*);

template <typename Key>
absl::StatusOr<Contest> PrepareOddEvenSort(const InputSpec& input, Gpu* gpu) {
  constexpr bool kSigned = std::is_signed_v<Key>;
  constexpr KeyType kType = kSigned ? KeyType::kInt32 : KeyType::kUint32;
  const int64_t count = input.count;
  const auto allocated = Allocate(count * static_cast<int64_t>(sizeof(Key)), 0, 3);
  if (!allocated.ok()) return allocated.status();
  const std::shared_ptr<SortData> data = *allocated;
  absl::Status status = FillInput(*data, input, gpu);
  size_t workspace_bytes = 0;
  const auto radix = Reference<Key>(data, "cub::DeviceRadixSort", count, CubRadixSortKeys<Key>, &workspace_bytes, gpu);
  absl::StatusOr<Memory> workspace = Memory::Create(static_cast<int64_t>(workspace_bytes));
  status.Update(radix.status());
  status.Update(workspace.status());
  if (!status.ok()) return status;
  data->workspace = *std::move(workspace);

  Contest contest;
  contest.contestants.push_back(Ours(data, 0, kType, count, SortAlgorithm::kOddEvenMergesort, gpu));
  contest.contestants.push_back(Ours(data, 1, kType, count, SortAlgorithm::kMergesort, gpu));
  contest.contestants.push_back(Ours(data, 2, kType, count, SortAlgorithm::kAuto, gpu));
  contest.contestants.push_back(*radix);
  contest.check = [data, gpu] { return CompareAll(*data, gpu); };
  contest.rows = [data, input, count](const std::vector<Summary>& seconds) {
    const bool is_full_size = count == 1000000000;
    std::vector<Row> rows;
    // The other sorts of u32 keys have their own rows.
    for (size_t ours = 0; ours < (kSigned ? 3 : 1); ++ours) {
      Row row;
      row.row = ours == 0 ? "sort ODD_EVEN_MERGESORT" : ours == 1 ? "sort MERGESORT" : "sort AUTO";
      row.type = kSigned ? "i32" : "u32";
      row.n = count;
      row.distribution = DistributionName(input.distribution);
      row.better = Better::kLower;
      row.unit = "s";
      row.ours = seconds[ours];
      row.reference_name = "cub::DeviceRadixSort";
      row.reference = seconds[3];
      row.details["gkeys_per_s"] = static_cast<double>(count) / seconds[ours].median * 1e-9;
      if (ours == 2) row.note = absl::StrCat("took ", SortAlgorithmName(data->taken[2]));
      if (ours == 0 && is_full_size) {
        row.details["published_vulkan_s"] = kPublishedOddEvenSeconds;
        row.note = "published Vulkan shader: 9.16 s on an RTX 2070, not run here";
        row.goal = "<= 0.5 s";
        row.met = row.ours.median <= 0.5;
      }
      rows.push_back(std::move(row));
    }
    return rows;
  };
  return contest;
}

template absl::StatusOr<Contest> PrepareOddEvenSort<int32_t>(const InputSpec&, Gpu*);
template absl::StatusOr<Contest> PrepareOddEvenSort<uint32_t>(const InputSpec&, Gpu*);

}  // namespace corank::bench
