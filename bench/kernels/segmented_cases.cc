#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/kernels/cases.h"
#include "bench/kernels/device_inputs.h"
#include "bench/kernels/reference.h"

namespace corank::bench {
namespace {

using Offsets = std::vector<int64_t>;

struct SegmentedData {
  Memory keys, values, offsets, ours, our_values, reference, reference_values, workspace;
  size_t workspace_bytes = 0;
};

/// A way to cut `count` keys into segments.
struct Layout {
  std::string name;
  std::function<Offsets(int64_t count)> offsets;
};

/// Segments of next() keys, the last one shorter.
template <typename Next>
Offsets CutBy(int64_t count, Next next) {
  Offsets offsets = {0};
  while (offsets.back() < count) offsets.push_back(std::min<int64_t>(count, offsets.back() + next()));
  return offsets;
}

Layout EqualSegments(int64_t length) {
  return {absl::StrCat("segments of ", length),
          [length](int64_t count) { return CutBy(count, [length] { return length; }); }};
}

/// P(length >= x) = 1 / x^exponent, up to a quarter of all keys.
Layout PowerLaw(double exponent) {
  return {absl::StrCat("power-law segments, exponent ", exponent), [exponent](int64_t count) {
            std::mt19937_64 random(1);
            std::uniform_real_distribution<double> uniform(0.0, 1.0);
            const int64_t longest = count / 4;
            return CutBy(count, [&] {
              const double length = std::pow(1.0 - uniform(random), -1.0 / exponent);
              return static_cast<int64_t>(std::min(length, static_cast<double>(longest)));
            });
          }};
}

Layout OneGiant() {
  return {"one giant among a million of 0 to 7 keys", [](int64_t count) {
            const int64_t tiny = std::min<int64_t>(1'000'000, count / 16);
            Offsets offsets = {0};
            for (int64_t i = 0; i < tiny / 2; ++i) offsets.push_back(offsets.back() + i % 8);
            offsets.push_back(count - offsets.back());
            for (int64_t i = 0; i < tiny / 2; ++i) offsets.push_back(offsets.back() + i % 8);
            return offsets;
          }};
}

Layout ManyEmpty() {
  return {"segments of 16, a million empty ones first", [](int64_t count) {
            Offsets offsets(1'000'000, 0);
            const Offsets equal = CutBy(count, [] { return 16; });
            offsets.insert(offsets.end(), equal.begin(), equal.end());
            return offsets;
          }};
}

absl::Status Fill(SegmentedData& data, const InputSpec& spec, const Offsets& offsets, bool pairs, Gpu* gpu) {
  const int64_t count = spec.count;
  const int64_t bytes = count * static_cast<int64_t>(sizeof(uint32_t));
  const int64_t offset_bytes = static_cast<int64_t>(offsets.size() * sizeof(int64_t));
  std::vector<std::pair<Memory*, int64_t>> wanted = {
      {&data.keys, bytes}, {&data.ours, bytes}, {&data.reference, bytes}, {&data.offsets, offset_bytes}};
  if (pairs) {
    wanted.insert(wanted.end(), {{&data.values, bytes}, {&data.our_values, bytes}, {&data.reference_values, bytes}});
  }
  for (const auto& [memory, size] : wanted) {
    absl::StatusOr<Memory> created = Memory::Create(size);
    if (!created.ok()) return created.status();
    *memory = *std::move(created);
  }
  return gpu->Run([&](cudaStream_t stream) {
    cudaError_t error = FillKeys(spec, data.keys.as<uint32_t>(), stream);
    if (error == cudaSuccess && pairs) error = FillPositions(data.values.as<uint32_t>(), count, stream);
    if (error != cudaSuccess) return error;
    return cudaMemcpyAsync(data.offsets.get(), offsets.data(), offset_bytes, cudaMemcpyHostToDevice, stream);
  });
}

/// The input of a sort. Keys are uniform by default.
struct Work {
  Layout layout;
  bool pairs = false;
  Distribution distribution = Distribution::kUniform;
};

absl::StatusOr<Contest> PrepareSegmented(const Row& identity, const Work& work, Gpu* gpu) {
  auto data = std::make_shared<SegmentedData>();
  const bool pairs = work.pairs;
  const int64_t count = identity.n;
  const Offsets offsets = work.layout.offsets(count);
  const auto segments = static_cast<int64_t>(offsets.size()) - 1;
  InputSpec input;
  input.distribution = work.distribution;
  input.count = count;
  absl::Status status = Fill(*data, input, offsets, pairs, gpu);
  if (!status.ok()) return status;
  const auto run_reference = [=](void* d_workspace, size_t* size, cudaStream_t stream) {
    if (!pairs) {
      return CubSegmentedSort(data->keys.as<uint32_t>(), data->reference.as<uint32_t>(), count,
                              data->offsets.as<int64_t>(), segments, d_workspace, size, stream);
    }
    SortReference<uint32_t> args;
    args.keys_in = data->keys.as<uint32_t>();
    args.keys_out = data->reference.as<uint32_t>();
    args.values_in = data->values.as<uint32_t>();
    args.values_out = data->reference_values.as<uint32_t>();
    args.count = count;
    return CubSegmentedSortPairs(args, data->offsets.as<int64_t>(), segments, d_workspace, size, stream);
  };
  status = ToStatus(run_reference(nullptr, &data->workspace_bytes, gpu->stream()), "sizing");
  absl::StatusOr<Memory> workspace = Memory::Create(static_cast<int64_t>(data->workspace_bytes));
  status.Update(workspace.status());
  if (!status.ok()) return status;
  data->workspace = *std::move(workspace);

  Contest contest;
  contest.contestants.push_back({"corank", [=] {
                                   SortArgs args;
                                   args.count = count;
                                   args.keys_in = data->keys.get();
                                   args.keys_out = data->ours.get();
                                   args.segment_offsets = data->offsets.as<int64_t>();
                                   args.segment_count = segments;
                                   if (pairs) {
                                     args.values_in = data->values.get();
                                     args.values_out = data->our_values.get();
                                     args.value_bytes = sizeof(uint32_t);
                                   }
                                   return gpu->Time(args, nullptr);
                                 }});
  contest.contestants.push_back({"cub::DeviceSegmentedSort", [=] {
                                   return gpu->Time([&](cudaStream_t stream) {
                                     size_t size = data->workspace_bytes;
                                     return run_reference(data->workspace.get(), &size, stream);
                                   });
                                 }});
  contest.check = [=] {
    const int64_t bytes = count * static_cast<int64_t>(sizeof(uint32_t));
    absl::Status same = gpu->CompareBits(data->ours.get(), data->reference.get(), bytes);
    if (pairs) same.Update(gpu->CompareBits(data->our_values.get(), data->reference_values.get(), bytes));
    return same;
  };
  contest.rows = [identity, work](const std::vector<Summary>& seconds) {
    Row row = identity;
    row.reference_name = "cub::DeviceSegmentedSort";
    row.ours = GigaPerSecond(seconds[0], static_cast<double>(row.n));
    row.reference = GigaPerSecond(seconds[1], static_cast<double>(row.n));
    if (work.distribution == Distribution::kUniform) {
      row.goal = work.pairs ? "ratio >= 1" : "ratio >= 1 and >= 30 Gkeys/s";
      row.met = row.Ratio() >= 1.0 && (work.pairs || row.ours.median >= 30.0);
    }
    return std::vector<Row>{row};
  };
  return contest;
}

void AddSegmented(const KernelBenchOptions& options, const Work& work, Gpu* gpu, std::vector<Case>* cases) {
  Case entry;
  Row& identity = entry.failure_row;
  identity.row = "segmented sort";
  identity.type = work.pairs ? "u32+u32" : "u32";
  identity.n = options.Count(26);
  identity.distribution = work.layout.name;
  if (work.distribution != Distribution::kUniform) {
    identity.distribution = absl::StrCat(DistributionName(work.distribution), ", ", work.layout.name);
  }
  identity.unit = work.pairs ? "Gpairs/s" : "Gkeys/s";
  entry.name = absl::StrCat("segmented/", identity.type, "/", identity.distribution);
  entry.repetitions = options.Repetitions(identity.n);
  entry.prepare = [identity, work, gpu] { return PrepareSegmented(identity, work, gpu); };
  cases->push_back(std::move(entry));
}

}  // namespace

void AddSegmentedCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases) {
  for (const int log2 : {0, 2, 4, 6, 7, 8, 10, 12, 14, 16, 20, 26}) {
    AddSegmented(options, {EqualSegments(options.Count(log2))}, gpu, cases);
  }
  for (const Layout& layout : {PowerLaw(0.6), PowerLaw(1.0), OneGiant(), ManyEmpty()}) {
    AddSegmented(options, {layout}, gpu, cases);
  }
  for (const int log2 : {4, 7, 10, 12, 16, 20}) {
    AddSegmented(options, {EqualSegments(options.Count(log2)), /*pairs=*/true}, gpu, cases);
  }
  for (const int log2 : {4, 10, 16, 20}) {  // one way to sort segments each
    for (const Distribution distribution : kAllDistributions) {
      // The adversary works for a single array only.
      if (distribution == Distribution::kUniform || distribution == Distribution::kMergeAdversary) continue;
      AddSegmented(options, {EqualSegments(options.Count(log2)), /*pairs=*/false, distribution}, gpu, cases);
    }
  }
}

}  // namespace corank::bench
