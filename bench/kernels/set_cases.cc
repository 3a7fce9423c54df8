#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/kernels/cases.h"
#include "bench/kernels/device_inputs.h"
#include "bench/kernels/reference.h"
#include "kernels/common/sets.h"

namespace corank::bench {
namespace {

constexpr std::pair<SetOperation, const char*> kOperations[] = {
    {SetOperation::kUnion, "union"},
    {SetOperation::kIntersection, "intersection"},
    {SetOperation::kDifference, "difference"},
    {SetOperation::kSymmetricDifference, "symmetric difference"},
};

/// Two sorted sides on the GPU, and room for the results.
struct SetData {
  Memory left, right, ours, reference, workspace;
  size_t workspace_bytes = 0;
  int64_t count = 0;            // of each side
  int64_t reference_count = 0;  // of the result
};

/// Two sides of random keys. About 0.4 of the keys of each side have a partner. `shift`: the bits that the keys are
/// short of 32.
absl::StatusOr<std::shared_ptr<SetData>> MakeSides(int64_t count, int shift, Gpu* gpu) {
  auto data = std::make_shared<SetData>();
  data->count = count;
  SortReference<uint32_t> sort;
  sort.count = count;
  size_t bytes = 0;
  absl::Status status = ToStatus(CubRadixSortKeys<uint32_t>(sort, nullptr, &bytes, gpu->stream()), "sizing");
  // Thrust wants a cut for each of its tiles, and a copy of neither side.
  data->workspace_bytes = std::max(bytes, static_cast<size_t>(count) + (size_t{1} << 20));
  status.Update(CreateAll({{&data->left, 4 * count},
                           {&data->right, 4 * count},
                           {&data->ours, 8 * count},
                           {&data->reference, 8 * count},
                           {&data->workspace, static_cast<int64_t>(data->workspace_bytes)}}));
  if (!status.ok()) return status;
  InputSpec spec;
  spec.count = count;
  spec.shift = shift;
  for (const Memory* side : {&data->left, &data->right}) {
    ++spec.seed;
    status.Update(gpu->Run([&](cudaStream_t stream) {
      const cudaError_t error = FillKeys(spec, data->reference.as<uint32_t>(), stream);
      if (error != cudaSuccess) return error;
      sort.keys_in = data->reference.as<uint32_t>();
      sort.keys_out = side->as<uint32_t>();
      size_t size = data->workspace_bytes;
      return CubRadixSortKeys<uint32_t>(sort, data->workspace.get(), &size, stream);
    }));
  }
  if (!status.ok()) return status;
  return data;
}

absl::StatusOr<Contest> PrepareSets(const Row& identity, SetOperation operation, int shift, Gpu* gpu) {
  const auto made = MakeSides(identity.n / 2, shift, gpu);
  if (!made.ok()) return made.status();
  const std::shared_ptr<SetData> data = *made;
  SetArgs args;
  args.operation = operation;
  args.left = {data->left.get(), nullptr, data->count};
  args.right = {data->right.get(), nullptr, data->count};
  args.keys_out = data->ours.get();

  Contest contest;
  contest.contestants.push_back({"corank", [=] { return gpu->Time(args); }});
  contest.contestants.push_back({identity.reference_name, [=] {
                                   return gpu->Time([&](cudaStream_t stream) {
                                     return ThrustSets(operation, data->left.as<uint32_t>(), data->count,
                                                       data->right.as<uint32_t>(), data->count,
                                                       data->reference.as<uint32_t>(), &data->reference_count,
                                                       data->workspace.get(), data->workspace_bytes, stream);
                                   });
                                 }});
  contest.contestants.push_back({"corank, merge", [=] {
                                   const MergeInput inputs[] = {args.left, args.right};
                                   MergeArgs merge;
                                   merge.inputs = inputs;
                                   merge.input_count = 2;
                                   merge.keys_out = data->ours.get();
                                   return gpu->Time(merge);
                                 }});
  contest.check = [=] {
    const absl::StatusOr<double> seconds = gpu->Time(args);
    if (!seconds.ok()) return seconds.status();
    return gpu->CompareBits(data->ours.get(), data->reference.get(), data->reference_count * 4);
  };
  contest.rows = [=](const std::vector<Summary>& seconds) {
    Row row = identity;
    row.ours = GigaPerSecond(seconds[0], static_cast<double>(identity.n));
    row.reference = GigaPerSecond(seconds[1], static_cast<double>(identity.n));
    row.details["results"] = static_cast<double>(data->reference_count);
    row.details["of_our_merge"] = seconds[2].median / seconds[0].median;
    row.RequireRatio(2.0);
    return std::vector<Row>{row};
  };
  return contest;
}

}  // namespace

void AddSetCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases) {
  for (const auto& [operation, name] : kOperations) {
    Row identity;
    identity.row = absl::StrCat("set ", name);
    identity.type = "u32";
    identity.n = options.Count(28);
    identity.distribution = "uniform halves";
    identity.unit = "Gkeys/s";
    identity.reference_name = "thrust::set_*";
    cases->push_back(CaseOf(absl::StrCat("sets/", name), options, identity,
                            [=, operation = operation] { return PrepareSets(identity, operation, 4, gpu); }));
  }
}

}  // namespace corank::bench
