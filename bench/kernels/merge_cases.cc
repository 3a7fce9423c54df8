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

constexpr int kMaxInputs = 8;

/// `inputs` sorted arrays of one length in one piece of memory, and room for two merges of all of them.
struct MergeData {
  Memory inputs, ours, reference, spare, workspace;
  size_t workspace_bytes = 0;
  int64_t count = 0;  // of one input
  int input_count = 0;

  template <typename Key>
  const Key* input(int i) const {
    return inputs.as<Key>() + i * count;
  }
};

template <typename Key>
absl::StatusOr<std::shared_ptr<MergeData>> MakeData(int64_t total, int input_count, Gpu* gpu) {
  auto data = std::make_shared<MergeData>();
  data->count = total / input_count;
  data->input_count = input_count;
  const int64_t bytes = total * static_cast<int64_t>(sizeof(Key));
  for (Memory* memory : {&data->inputs, &data->ours, &data->reference, &data->spare}) {
    absl::StatusOr<Memory> created = Memory::Create(bytes);
    if (!created.ok()) return created.status();
    *memory = *std::move(created);
  }
  SortReference<Key> sort;
  sort.count = data->count;
  size_t sort_bytes = 0, merge_bytes = 0;
  absl::Status status = ToStatus(CubRadixSortKeys<Key>(sort, nullptr, &sort_bytes, gpu->stream()), "sizing");
  status.Update(ToStatus(CubMerge<Key>(data->input<Key>(0), total / 2, data->input<Key>(0), total / 2,
                                       data->reference.as<Key>(), nullptr, &merge_bytes, gpu->stream()),
                         "sizing"));
  if (!status.ok()) return status;
  data->workspace_bytes = std::max(sort_bytes, merge_bytes);
  absl::StatusOr<Memory> workspace = Memory::Create(static_cast<int64_t>(data->workspace_bytes));
  if (!workspace.ok()) return workspace.status();
  data->workspace = *std::move(workspace);
  status = gpu->Run([&](cudaStream_t stream) {
    InputSpec spec;
    spec.count = data->count;
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < input_count && error == cudaSuccess; ++i) {
      spec.seed = static_cast<uint64_t>(i) + 1;
      error = FillKeys(spec, data->spare.as<Key>(), stream);
      if (error != cudaSuccess) break;
      sort.keys_in = data->spare.as<Key>();
      sort.keys_out = data->inputs.as<Key>() + i * data->count;
      size_t size = data->workspace_bytes;
      error = CubRadixSortKeys<Key>(sort, data->workspace.get(), &size, stream);
    }
    return error;
  });
  if (!status.ok()) return status;
  return data;
}

template <typename Key>
absl::StatusOr<double> RunOurs(const MergeData& data, MergeAlgorithm algorithm, bool check_sorted, Gpu* gpu) {
  std::array<MergeInput, kMaxInputs> inputs;
  for (int i = 0; i < data.input_count; ++i) inputs[static_cast<size_t>(i)] = {data.input<Key>(i), nullptr, data.count};
  MergeArgs args;
  args.key_type = sizeof(Key) == 4 ? KeyType::kUint32 : KeyType::kUint64;
  args.algorithm = algorithm;
  args.inputs = inputs.data();
  args.input_count = data.input_count;
  args.keys_out = data.ours.get();
  args.check_sorted = check_sorted;
  return gpu->Time(args);
}

/// Merges neighbours until one array is left in data.reference.
template <typename Key>
cudaError_t MergeByPasses(const MergeData& data, cudaStream_t stream) {
  const Key* from = data.inputs.as<Key>();
  int passes = 0;
  for (int64_t run = data.count; run < data.count * data.input_count; run *= 2) ++passes;
  for (int64_t run = data.count; run < data.count * data.input_count; run *= 2) {
    Key* const to = --passes % 2 == 0 ? data.reference.as<Key>() : data.spare.as<Key>();
    for (int64_t start = 0; start < data.count * data.input_count; start += 2 * run) {
      size_t size = data.workspace_bytes;
      const cudaError_t error =
          CubMerge<Key>(from + start, run, from + start + run, run, to + start, data.workspace.get(), &size, stream);
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

/// The given variants of ours beside CUB's merge, in as many passes as it needs.
template <typename Key>
absl::StatusOr<Contest> PrepareMerge(const Row& identity, int input_count, const std::vector<Variant>& variants,
                                     const std::function<void(const Variant&, Row*)>& set_goal, Gpu* gpu) {
  const auto made = MakeData<Key>(identity.n, input_count, gpu);
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
  contest.check = [data, variants, identity, gpu] {
    const int64_t bytes = identity.n * static_cast<int64_t>(sizeof(Key));
    for (const Variant& variant : variants) {
      const absl::Status cleared = gpu->Run([&](cudaStream_t stream) {
        return cudaMemsetAsync(data->ours.get(), 0, static_cast<size_t>(bytes), stream);
      });
      if (!cleared.ok()) return cleared;
      const absl::StatusOr<double> seconds = RunOurs<Key>(*data, variant.algorithm, variant.check_sorted, gpu);
      if (!seconds.ok()) return seconds.status();
      const absl::Status equal = gpu->CompareBits(data->ours.get(), data->reference.get(), bytes);
      if (!equal.ok()) return absl::InternalError(absl::StrCat(variant.row, ": ", equal.message()));
    }
    return absl::OkStatus();
  };
  contest.rows = [identity, variants, set_goal, input_count](const std::vector<Summary>& seconds) {
    const double bytes = 2.0 * sizeof(Key) * static_cast<double>(identity.n);
    std::vector<Row> rows;
    for (size_t i = 0; i < variants.size(); ++i) {
      Row row = identity;
      row.row = variants[i].row;
      row.reference_name = input_count == 2 ? "cub::DeviceMerge" : "cub::DeviceMerge, 3 passes";
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

template <typename Key>
void AddMerge(const KernelBenchOptions& options, Gpu* gpu, const Ceilings* ceilings, std::vector<Case>* cases) {
  Case entry;
  Row& identity = entry.failure_row;
  identity.row = "merge";
  identity.type = absl::StrCat("u", 8 * sizeof(Key));
  identity.n = options.Count(28);
  identity.distribution = "uniform halves";
  identity.unit = "GB/s";
  entry.name = absl::StrCat("merge/", identity.type);
  entry.repetitions = options.Repetitions(identity.n);
  const auto set_goal = [ceilings](const Variant& variant, Row* row) {
    const double part = row->ours.median * 1e9 / ceilings->copy_bytes_per_second;
    row->ceiling = part;
    if (variant.algorithm == MergeAlgorithm::kAuto) row->RequireCeiling(part, 0.92, "device copy");
  };
  entry.prepare = [identity, set_goal, gpu] {
    const std::vector<Variant> variants = {{"merge AUTO", MergeAlgorithm::kAuto, true},
                                           {"merge AUTO, assume sorted", MergeAlgorithm::kAuto, false},
                                           {"merge BASIC", MergeAlgorithm::kBasic, true},
                                           {"merge TILED", MergeAlgorithm::kTiled, true},
                                           {"merge CIRCULAR_BUFFER", MergeAlgorithm::kCircularBuffer, true}};
    return PrepareMerge<Key>(identity, 2, variants, set_goal, gpu);
  };
  cases->push_back(std::move(entry));
}

}  // namespace

void AddMergeCases(const KernelBenchOptions& options, Gpu* gpu, const Ceilings* ceilings, std::vector<Case>* cases) {
  AddMerge<uint32_t>(options, gpu, ceilings, cases);
  AddMerge<uint64_t>(options, gpu, ceilings, cases);

  Case entry;
  Row& identity = entry.failure_row;
  identity.row = "merge k-way";
  identity.type = "u32";
  identity.n = options.Count(28);
  identity.distribution = "k = 8";
  identity.unit = "GB/s";
  entry.name = "merge/u32/k8";
  entry.repetitions = options.Repetitions(identity.n);
  entry.prepare = [identity, gpu] {
    return PrepareMerge<uint32_t>(
        identity, kMaxInputs, {{"merge k-way", MergeAlgorithm::kAuto, true}},
        [](const Variant&, Row* row) { row->RequireRatio(2.0); }, gpu);
  };
  cases->push_back(std::move(entry));
}

}  // namespace corank::bench
