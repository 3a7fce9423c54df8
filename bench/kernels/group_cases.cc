#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/kernels/cases.h"
#include "bench/kernels/reference.h"
#include "kernels/common/group.h"

namespace corank::bench {
namespace {

constexpr int64_t kMeans[] = {1, 16, 1024, int64_t{1} << 20};

/// Sorted keys on the GPU in groups of random lengths.
struct GroupData {
  Memory keys, values, distinct, results, reference_distinct, reference_results, runs, workspace;
  size_t workspace_bytes = 0;
  int64_t groups = 0;
};

absl::StatusOr<std::shared_ptr<GroupData>> MakeGroups(int64_t count, int64_t mean, Gpu* gpu) {
  auto data = std::make_shared<GroupData>();
  std::mt19937_64 random(1);
  std::vector<uint32_t> keys(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++data->groups) {
    const int64_t end = std::min(count, i + 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(2 * mean - 1)));
    std::fill(keys.begin() + i, keys.begin() + end, static_cast<uint32_t>(data->groups));
    i = end;
  }
  std::vector<uint64_t> values(static_cast<size_t>(count));
  for (uint64_t& value : values) value = random() >> 32;
  const absl::Status created = CreateAll({{&data->keys, 4 * count},
                                          {&data->distinct, 4 * count},
                                          {&data->reference_distinct, 4 * count},
                                          {&data->values, 8 * count},
                                          {&data->results, 8 * count},
                                          {&data->reference_results, 8 * count},
                                          {&data->runs, sizeof(int64_t)}});
  if (!created.ok()) return created;
  const absl::Status copied = gpu->Run([&](cudaStream_t stream) {
    const cudaError_t error =
        cudaMemcpyAsync(data->keys.get(), keys.data(), keys.size() * sizeof(uint32_t), cudaMemcpyHostToDevice, stream);
    if (error != cudaSuccess) return error;
    return cudaMemcpyAsync(data->values.get(), values.data(), values.size() * sizeof(uint64_t), cudaMemcpyHostToDevice,
                           stream);
  });
  if (!copied.ok()) return copied;
  return data;
}

/// Sums of the values of each group, or the lengths of the groups.
absl::StatusOr<Contest> PrepareGroup(const Row& identity, int64_t mean, bool sums, Gpu* gpu) {
  const auto made = MakeGroups(identity.n, mean, gpu);
  if (!made.ok()) return made.status();
  const std::shared_ptr<GroupData> data = *made;
  const int64_t count = identity.n;
  const auto cub = [=](void* d_workspace, size_t* size, cudaStream_t stream) {
    if (!sums) {
      return CubRunLengthEncode(data->keys.as<uint32_t>(), count, data->reference_distinct.as<uint32_t>(),
                                data->reference_results.as<int64_t>(), data->runs.as<int64_t>(), d_workspace, size,
                                stream);
    }
    return CubReduceByKey(data->keys.as<uint32_t>(), data->values.as<uint64_t>(), count,
                          data->reference_distinct.as<uint32_t>(), data->reference_results.as<uint64_t>(),
                          data->runs.as<int64_t>(), d_workspace, size, stream);
  };
  absl::Status sized = ToStatus(cub(nullptr, &data->workspace_bytes, gpu->stream()), "sizing");
  if (sized.ok()) sized = CreateAll({{&data->workspace, static_cast<int64_t>(data->workspace_bytes)}});
  if (!sized.ok()) return sized;
  const auto ours = [=](bool check_sorted) {
    GroupArgs args;
    args.check_sorted = check_sorted;
    args.count = count;
    args.keys = data->keys.get();
    args.keys_out = data->distinct.get();
    args.value_type = KeyType::kUint64;
    args.values = data->values.get();
    if (sums) {
      args.sums_out = data->results.get();
    } else {
      args.counts_out = data->results.as<int64_t>();
    }
    return gpu->Time(args);
  };

  Contest contest;
  contest.contestants.push_back({"corank", [=] { return ours(false); }});
  contest.contestants.push_back({"corank, checked", [=] { return ours(true); }});
  contest.contestants.push_back({identity.reference_name, [=] {
                                   return gpu->Time([&](cudaStream_t stream) {
                                     size_t size = data->workspace_bytes;
                                     return cub(data->workspace.get(), &size, stream);
                                   });
                                 }});
  contest.check = [=] {
    absl::Status same = gpu->CompareBits(data->distinct.get(), data->reference_distinct.get(), data->groups * 4);
    same.Update(gpu->CompareBits(data->results.get(), data->reference_results.get(), data->groups * 8));
    return same;
  };
  contest.rows = [=](const std::vector<Summary>& seconds) {
    std::vector<Row> rows;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      Row row = identity;
      if (side == 1) row.row += ", order checked";
      row.ours = GigaPerSecond(seconds[side], static_cast<double>(count));
      row.reference = GigaPerSecond(seconds[2], static_cast<double>(count));
      row.details["groups"] = static_cast<double>(data->groups);
      if (side == 1) row.note = "CUB does not check";
      rows.push_back(std::move(row));
    }
    return rows;
  };
  return contest;
}

}  // namespace

void AddGroupCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases) {
  for (const int64_t mean : kMeans) {
    for (const bool sums : {false, true}) {
      Row identity;
      identity.row = sums ? "group and sum" : "group and count";
      identity.type = sums ? "u32, values u64" : "u32";
      identity.n = options.Count(26);
      identity.distribution = absl::StrCat("mean ", mean);
      identity.unit = "Gkeys/s";
      identity.reference_name = sums ? "cub::DeviceReduce::ReduceByKey" : "cub::DeviceRunLengthEncode::Encode";
      cases->push_back(CaseOf(absl::StrCat("group/", sums ? "sum" : "count", "/mean", mean), options, identity,
                              [=] { return PrepareGroup(identity, mean, sums, gpu); }));
    }
  }
}

}  // namespace corank::bench
