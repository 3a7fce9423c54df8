#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/kernels/cases.h"
#include "bench/kernels/device_inputs.h"
#include "bench/kernels/reference.h"

namespace corank::bench {
namespace {

constexpr int kMostInputs = 32;

/// `inputs` sorted arrays of equal length, one after the other, and room for merges of all of them.
struct MergeData {
  KeyArrays inputs, ours, reference, spare;
  Memory workspace;
  size_t workspace_bytes = 0;
  int64_t count = 0;  // of one input
  int input_count = 0;
  int64_t key_bytes = 0, value_bytes = 0;  // of all; 0: no values
  KeyType type = KeyType::kUint32;
};

/// The inputs of a merge: `input_count` arrays of keys of a type, alone or with u32 values.
struct MergeWork {
  KeyType type;
  bool pairs;
  int input_count;

  std::string Name() const { return absl::StrCat(IsFloat(type) ? "f" : "u", 8 * KeyBytes(type), pairs ? "+u32" : ""); }
};

template <typename Key>
MergeRange<Key> RangeOf(const KeyArrays& arrays, int64_t start, int64_t count) {
  const auto* const values = arrays.values.as<uint32_t>();
  return {arrays.keys.as<Key>() + start, values == nullptr ? nullptr : values + start, count};
}

template <typename Key>
absl::Status FillSorted(MergeData* data, bool is_float, Gpu* gpu) {
  return gpu->Run([&](cudaStream_t stream) {
    SortReference<Key> sort;
    sort.count = data->count;
    InputSpec spec;
    spec.count = data->count;
    spec.shift = is_float ? 2 : 0;
    cudaError_t error = data->value_bytes == 0 ? cudaSuccess
                                               : FillPositions(data->inputs.values.as<uint32_t>(),
                                                               data->count * data->input_count, stream);
    for (int i = 0; i < data->input_count && error == cudaSuccess; ++i) {
      spec.seed = static_cast<uint64_t>(i) + 1;
      error = FillKeys(spec, data->spare.keys.as<Key>(), stream);
      if (error != cudaSuccess) break;
      sort.keys_in = data->spare.keys.as<Key>();
      sort.keys_out = data->inputs.keys.as<Key>() + i * data->count;
      size_t size = data->workspace_bytes;
      error = CubRadixSortKeys<Key>(sort, data->workspace.get(), &size, stream);
    }
    return error;
  });
}

template <typename Key>
absl::StatusOr<std::shared_ptr<MergeData>> MakeData(int64_t total, const MergeWork& work, Gpu* gpu) {
  auto data = std::make_shared<MergeData>();
  data->type = work.type;
  data->count = total / work.input_count;
  data->input_count = work.input_count;
  data->key_bytes = total * static_cast<int64_t>(sizeof(Key));
  data->value_bytes = work.pairs ? total * static_cast<int64_t>(sizeof(uint32_t)) : 0;
  absl::Status status;
  for (KeyArrays* arrays : {&data->inputs, &data->ours, &data->reference, &data->spare}) {
    status.Update(arrays->Create(data->key_bytes, data->value_bytes));
  }
  if (!status.ok()) return status;
  SortReference<Key> sort;
  sort.count = data->count;
  size_t sort_bytes = 0, merge_bytes = 0;
  const MergeRange<Key> half = RangeOf<Key>(data->inputs, 0, total / 2);
  status.Update(ToStatus(CubRadixSortKeys<Key>(sort, nullptr, &sort_bytes, gpu->stream()), "sizing"));
  status.Update(ToStatus(CubMerge<Key>(half, half, data->reference.keys.as<Key>(),
                                       data->reference.values.as<uint32_t>(), nullptr, &merge_bytes, gpu->stream()),
                         "sizing"));
  data->workspace_bytes = std::max(sort_bytes, merge_bytes);
  absl::StatusOr<Memory> workspace = Memory::Create(static_cast<int64_t>(data->workspace_bytes));
  status.Update(workspace.status());
  if (!status.ok()) return status;
  data->workspace = *std::move(workspace);
  status = FillSorted<Key>(data.get(), IsFloat(work.type), gpu);
  if (!status.ok()) return status;
  return data;
}

template <typename Key>
absl::StatusOr<double> RunOurs(const MergeData& data, MergeAlgorithm algorithm, bool check_sorted, Gpu* gpu) {
  std::array<MergeInput, kMostInputs> inputs;
  for (int i = 0; i < data.input_count; ++i) {
    const MergeRange<Key> range = RangeOf<Key>(data.inputs, i * data.count, data.count);
    inputs[static_cast<size_t>(i)] = {range.keys, range.values, range.count};
  }
  MergeArgs args;
  args.key_type = data.type;
  args.algorithm = algorithm;
  args.inputs = inputs.data();
  args.input_count = data.input_count;
  args.keys_out = data.ours.keys.get();
  args.values_out = data.ours.values.get();
  args.value_bytes = data.value_bytes == 0 ? 0 : static_cast<int32_t>(sizeof(uint32_t));
  args.check_sorted = check_sorted;
  return gpu->Time(args);
}

int PassesOf(int input_count) {
  int passes = 0;
  while (1 << passes < input_count) ++passes;
  return passes;
}

/// Merges neighbours until one array is left in data.reference.
template <typename Key>
cudaError_t MergeByPasses(const MergeData& data, cudaStream_t stream) {
  const KeyArrays* from = &data.inputs;
  int passes = PassesOf(data.input_count);
  for (int64_t run = data.count; run < data.count * data.input_count; run *= 2) {
    const KeyArrays* const to = --passes % 2 == 0 ? &data.reference : &data.spare;
    for (int64_t start = 0; start < data.count * data.input_count; start += 2 * run) {
      size_t size = data.workspace_bytes;
      auto* const values = to->values.as<uint32_t>();
      const cudaError_t error = CubMerge<Key>(RangeOf<Key>(*from, start, run), RangeOf<Key>(*from, start + run, run),
                                              to->keys.as<Key>() + start, values == nullptr ? nullptr : values + start,
                                              data.workspace.get(), &size, stream);
      if (error != cudaSuccess) return error;
    }
    from = to;
  }
  return cudaSuccess;
}

/// One row of a merge contest.
struct Variant {
  std::string row;
  MergeAlgorithm algorithm;
  bool check_sorted;
};

/// The given variants of our merge beside CUB's merge, which takes as many passes as it needs.
template <typename Key>
absl::StatusOr<Contest> PrepareMerge(const Row& identity, const MergeWork& work, const std::vector<Variant>& variants,
                                     const std::function<void(const Variant&, Row*)>& set_goal, Gpu* gpu) {
  const auto made = MakeData<Key>(identity.n, work, gpu);
  if (!made.ok()) return made.status();
  const std::shared_ptr<MergeData> data = *made;
  Contest contest;
  for (const Variant& variant : variants) {
    contest.contestants.push_back(
        {variant.row, [=] { return RunOurs<Key>(*data, variant.algorithm, variant.check_sorted, gpu); }});
  }
  contest.contestants.push_back(
      {"cub::DeviceMerge",
       [data, gpu] { return gpu->Time([&](cudaStream_t stream) { return MergeByPasses<Key>(*data, stream); }); }});
  contest.check = [data, variants, gpu] {
    for (const Variant& variant : variants) {
      const absl::Status cleared = gpu->Run([&](cudaStream_t stream) {
        const cudaError_t error =
            cudaMemsetAsync(data->ours.keys.get(), 0, static_cast<size_t>(data->key_bytes), stream);
        if (error != cudaSuccess || data->value_bytes == 0) return error;
        return cudaMemsetAsync(data->ours.values.get(), 0, static_cast<size_t>(data->value_bytes), stream);
      });
      if (!cleared.ok()) return cleared;
      const absl::StatusOr<double> seconds = RunOurs<Key>(*data, variant.algorithm, variant.check_sorted, gpu);
      if (!seconds.ok()) return seconds.status();
      absl::Status equal = gpu->CompareBits(data->ours.keys.get(), data->reference.keys.get(), data->key_bytes);
      if (data->value_bytes > 0) {
        equal.Update(gpu->CompareBits(data->ours.values.get(), data->reference.values.get(), data->value_bytes));
      }
      if (!equal.ok()) return absl::InternalError(absl::StrCat(variant.row, ": ", equal.message()));
    }
    return absl::OkStatus();
  };
  contest.rows = [identity, variants, set_goal, work, data](const std::vector<Summary>& seconds) {
    const auto bytes = 2.0 * static_cast<double>(data->key_bytes + data->value_bytes);
    std::vector<Row> rows;
    for (size_t i = 0; i < variants.size(); ++i) {
      Row row = identity;
      row.row = variants[i].row;
      row.reference_name =
          absl::StrCat("cub::DeviceMerge", IsFloat(work.type) ? " of the bits as unsigned" : "",
                       work.input_count == 2 ? "" : absl::StrCat(", ", PassesOf(work.input_count), " passes"));
      row.ours = GigaPerSecond(seconds[i], bytes);
      row.reference = GigaPerSecond(seconds.back(), bytes);
      if (!variants[i].check_sorted) row.note = "inputs assumed to be sorted";
      set_goal(variants[i], &row);
      rows.push_back(std::move(row));
    }
    return rows;
  };
  return contest;
}

void AddContest(const KernelBenchOptions& options, const Row& identity, const std::string& name, const MergeWork& work,
                const std::vector<Variant>& variants, const std::function<void(const Variant&, Row*)>& set_goal,
                Gpu* gpu, std::vector<Case>* cases) {
  cases->push_back(CaseOf(name, options, identity, [=] {
    return KeyBytes(work.type) == 4 ? PrepareMerge<uint32_t>(identity, work, variants, set_goal, gpu)
                                    : PrepareMerge<uint64_t>(identity, work, variants, set_goal, gpu);
  }));
}

Row Identity(const std::string& row, const MergeWork& work, const std::string& distribution,
             const KernelBenchOptions& options) {
  Row identity;
  identity.row = row;
  identity.type = work.Name();
  identity.n = options.Count(28);
  identity.distribution = distribution;
  identity.unit = "GB/s";
  return identity;
}

void AddMerge(const KernelBenchOptions& options, KeyType type, bool pairs, Gpu* gpu, const Ceilings* ceilings,
              std::vector<Case>* cases) {
  const MergeWork work{type, pairs, 2};
  const bool has_goal = !pairs && !IsFloat(type);  // one of copy
  const auto set_goal = [ceilings, has_goal](const Variant& variant, Row* row) {
    row->ceiling = ceilings->copy;
    if (variant.algorithm != MergeAlgorithm::kAuto) return;
    if (has_goal) {
      row->RequirePartOfCeiling(0.92);
    } else {
      row->RequireRatio(1.0);
    }
  };
  std::vector<Variant> variants = {{"merge AUTO", MergeAlgorithm::kAuto, true},
                                   {"merge AUTO, assume sorted", MergeAlgorithm::kAuto, false}};
  if (has_goal) {
    variants.insert(variants.end(), {{"merge BASIC", MergeAlgorithm::kBasic, true},
                                     {"merge TILED", MergeAlgorithm::kTiled, true},
                                     {"merge CIRCULAR_BUFFER", MergeAlgorithm::kCircularBuffer, true}});
  }
  AddContest(options, Identity("merge", work, "uniform halves", options), absl::StrCat("merge/", work.Name()), work,
             variants, set_goal, gpu, cases);
}

/// `goal`: the wanted speed-up over the passes of cub::DeviceMerge.
void AddMultiwayMerge(const KernelBenchOptions& options, const MergeWork& work, double goal, Gpu* gpu,
                      std::vector<Case>* cases) {
  const std::string k = absl::StrCat(work.input_count);
  AddContest(
      options, Identity("merge k-way", work, absl::StrCat("k = ", k), options),
      absl::StrCat("merge/", work.Name(), "/k", k), work, {{"merge k-way", MergeAlgorithm::kAuto, true}},
      [goal](const Variant&, Row* row) { row->RequireRatio(goal); }, gpu, cases);
}

}  // namespace

void AddMergeCases(const KernelBenchOptions& options, Gpu* gpu, const Ceilings* ceilings, std::vector<Case>* cases) {
  for (const bool pairs : {false, true}) {
    for (const KeyType type : {KeyType::kUint32, KeyType::kUint64, KeyType::kFloat32, KeyType::kFloat64}) {
      AddMerge(options, type, pairs, gpu, ceilings, cases);
    }
  }
  AddMultiwayMerge(options, {KeyType::kUint32, false, 8}, 2.0, gpu, cases);
  for (const MergeWork& work : {MergeWork{KeyType::kUint32, false, 4}, MergeWork{KeyType::kUint32, false, kMostInputs},
                                MergeWork{KeyType::kUint64, false, 8}, MergeWork{KeyType::kFloat32, false, 8},
                                MergeWork{KeyType::kUint32, true, 8}, MergeWork{KeyType::kUint64, true, 8}}) {
    AddMultiwayMerge(options, work, 1.0, gpu, cases);
  }
}

}  // namespace corank::bench
