#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/bits.h"
#include "absl/strings/str_cat.h"
#include "bench/kernels/cases.h"
#include "bench/kernels/device_inputs.h"
#include "bench/kernels/reference.h"
#include "kernels/common/rank.h"

namespace corank::bench {
namespace {

constexpr int kLog2Mean = 4;  // keys of a group on average
constexpr int64_t kSegment = 1000;

/// Sorted keys on the GPU, and room for the ranks.
struct RankData {
  Memory keys, ours, reference, workspace, offsets;
  size_t workspace_bytes = 0;
};

absl::StatusOr<Contest> PrepareRanks(const Row& identity, RankMethod method, bool by_segments, Gpu* gpu) {
  const auto data = std::make_shared<RankData>();
  const int64_t count = identity.n;
  SortReference<uint32_t> sort;
  sort.count = count;
  absl::Status status =
      ToStatus(CubRadixSortKeys<uint32_t>(sort, nullptr, &data->workspace_bytes, gpu->stream()), "sizing");
  // Thrust's scan wants a few words for each of its tiles.
  data->workspace_bytes = std::max(data->workspace_bytes, static_cast<size_t>(count / 8) + (size_t{1} << 20));
  status.Update(CreateAll({{&data->keys, 4 * count},
                           {&data->ours, 4 * count},
                           {&data->reference, 4 * count},
                           {&data->workspace, static_cast<int64_t>(data->workspace_bytes)}}));
  std::vector<int64_t> offsets;
  if (by_segments) {
    for (int64_t at = 0; at < count; at += kSegment) offsets.push_back(at);
    offsets.push_back(count);
    status.Update(CreateAll({{&data->offsets, 8 * static_cast<int64_t>(offsets.size())}}));
  }
  if (!status.ok()) return status;
  status = gpu->Run([&](cudaStream_t stream) {
    InputSpec spec;
    spec.count = count;
    spec.shift = 32 - (absl::bit_width(static_cast<uint64_t>(count)) - 1 - kLog2Mean);
    const cudaError_t error = FillKeys(spec, data->ours.as<uint32_t>(), stream);
    if (error != cudaSuccess) return error;
    sort.keys_in = data->ours.as<uint32_t>();
    sort.keys_out = data->keys.as<uint32_t>();
    size_t size = data->workspace_bytes;
    if (by_segments) {
      const cudaError_t copied =
          cudaMemcpyAsync(data->offsets.get(), offsets.data(), 8 * offsets.size(), cudaMemcpyHostToDevice, stream);
      if (copied != cudaSuccess) return copied;
    }
    return CubRadixSortKeys<uint32_t>(sort, data->workspace.get(), &size, stream);
  });
  if (!status.ok()) return status;

  RankArgs args;
  args.check_sorted = false;
  args.count = count;
  args.keys = data->keys.get();
  args.rank_method = method;
  args.ranks_out = data->ours.get();
  if (by_segments) {
    args.segment_offsets = data->offsets.as<int64_t>();
    args.segment_count = static_cast<int64_t>(offsets.size()) - 1;
  }

  Contest contest;
  contest.contestants.push_back({"corank", [=] { return gpu->Time(args); }});
  contest.contestants.push_back(
      {identity.reference_name, [=] {
         return gpu->Time([&](cudaStream_t stream) {
           if (by_segments) {
             return ThrustSegmentRanks(data->keys.as<uint32_t>(), count, static_cast<uint32_t>(kSegment),
                                       data->reference.as<uint32_t>(), data->workspace.get(), data->workspace_bytes,
                                       stream);
           }
           return ThrustRanks(method, data->keys.as<uint32_t>(), count, data->reference.as<uint32_t>(),
                              data->workspace.get(), data->workspace_bytes, stream);
         });
       }});
  contest.check = [=] { return gpu->CompareBits(data->ours.get(), data->reference.get(), 4 * count); };
  contest.rows = [=](const std::vector<Summary>& seconds) {
    Row row = identity;
    row.ours = GigaPerSecond(seconds[0], static_cast<double>(count));
    row.reference = GigaPerSecond(seconds[1], static_cast<double>(count));
    return std::vector<Row>{row};
  };
  return contest;
}

}  // namespace

void AddRankCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases) {
  for (const auto& [method, name] : {std::pair(RankMethod::kDense, "dense"), std::pair(RankMethod::kMin, "min"),
                                     std::pair(RankMethod::kOrdinal, "ordinal")}) {
    Row identity;
    identity.row = absl::StrCat("rank ", name);
    identity.type = "u32";
    identity.n = options.Count(28);
    identity.distribution = absl::StrCat("sorted, mean ", 1 << kLog2Mean);
    identity.unit = "Gkeys/s";
    identity.reference_name = method == RankMethod::kOrdinal ? "thrust::sequence" : "thrust::inclusive_scan";
    cases->push_back(CaseOf(absl::StrCat("rank/", name), options, identity,
                            [=, method = method] { return PrepareRanks(identity, method, false, gpu); }));
  }
  Row identity;
  identity.row = "rank dense by segments";
  identity.type = "u32";
  identity.n = options.Count(28);
  identity.distribution = absl::StrCat("segments of ", kSegment, ", mean ", 1 << kLog2Mean);
  identity.unit = "Gkeys/s";
  identity.reference_name = "thrust::inclusive_scan_by_key";
  cases->push_back(CaseOf("rank/segments", options, identity,
                          [=] { return PrepareRanks(identity, RankMethod::kDense, true, gpu); }));
}

}  // namespace corank::bench
