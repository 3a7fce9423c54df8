#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/kernels/cases.h"
#include "bench/kernels/device_inputs.h"
#include "bench/kernels/reference.h"
#include "kernels/common/select.h"

namespace corank::bench {
namespace {

/// Random elements and flags on the GPU, and room for the results.
struct SelectData {
  Memory elements, flags, threshold, ours, reference, our_count, reference_count, workspace;
  size_t workspace_bytes = 0;
  int64_t selected = 0;
};

absl::StatusOr<Contest> PrepareSelect(const Row& identity, bool partition, bool by_flags, double share, Gpu* gpu) {
  const auto data = std::make_shared<SelectData>();
  const int64_t count = identity.n;
  const auto threshold = static_cast<uint32_t>(share * static_cast<double>(uint64_t{1} << 32));
  absl::Status status = CreateAll({{&data->elements, 4 * count},
                                   {&data->flags, count},
                                   {&data->threshold, 4},
                                   {&data->ours, 4 * count},
                                   {&data->reference, 4 * count},
                                   {&data->our_count, 8},
                                   {&data->reference_count, 8}});
  if (!status.ok()) return status;
  SelectReference reference;
  reference.elements = data->elements.as<uint32_t>();
  reference.flags = by_flags ? data->flags.as<uint8_t>() : nullptr;
  reference.threshold = threshold;
  reference.count = count;
  reference.out = data->reference.as<uint32_t>();
  reference.count_out = data->reference_count.as<int64_t>();
  const auto cub = partition ? CubPartition : CubSelect;
  status = ToStatus(cub(reference, nullptr, &data->workspace_bytes, gpu->stream()), "sizing");
  status.Update(CreateAll({{&data->workspace, static_cast<int64_t>(data->workspace_bytes)}}));
  if (!status.ok()) return status;
  status = gpu->Run([&](cudaStream_t stream) {
    InputSpec spec;
    spec.count = count;
    cudaError_t error = FillKeys(spec, data->elements.as<uint32_t>(), stream);
    if (error == cudaSuccess) error = FillFlags(data->flags.as<uint8_t>(), count, share, stream);
    if (error != cudaSuccess) return error;
    return cudaMemcpyAsync(data->threshold.get(), &threshold, sizeof(threshold), cudaMemcpyHostToDevice, stream);
  });
  if (!status.ok()) return status;

  SelectArgs args;
  args.by = by_flags ? SelectBy::kFlags : SelectBy::kThreshold;
  args.partition = partition;
  args.count = count;
  args.elements = data->elements.get();
  args.flags = data->flags.as<uint8_t>();
  args.threshold = data->threshold.get();
  args.elements_out = data->ours.get();
  args.count_out = data->our_count.as<int64_t>();

  Contest contest;
  contest.contestants.push_back({"corank", [=] { return gpu->Time(args); }});
  contest.contestants.push_back({identity.reference_name, [=] {
                                   return gpu->Time([&](cudaStream_t stream) {
                                     size_t size = data->workspace_bytes;
                                     return cub(reference, data->workspace.get(), &size, stream);
                                   });
                                 }});
  contest.check = [=] {
    absl::Status same = gpu->CompareBits(data->our_count.get(), data->reference_count.get(), sizeof(int64_t));
    same.Update(gpu->Run([&](cudaStream_t stream) {
      return cudaMemcpyAsync(&data->selected, data->our_count.get(), sizeof(int64_t), cudaMemcpyDeviceToHost, stream);
    }));
    if (!same.ok()) return same;
    const int64_t selected = data->selected;
    same = gpu->CompareBits(data->ours.get(), data->reference.get(), 4 * selected);
    if (!partition) return same;
    same.Update(gpu->ExpectNoDifferences([&](uint64_t* d_counter, cudaStream_t stream) {
      return CountReversedDifferences(data->ours.as<uint32_t>() + selected, data->reference.as<uint32_t>() + selected,
                                      count - selected, d_counter, stream);
    }));
    return same;
  };
  contest.rows = [=](const std::vector<Summary>& seconds) {
    Row row = identity;
    row.ours = GigaPerSecond(seconds[0], static_cast<double>(count));
    row.reference = GigaPerSecond(seconds[1], static_cast<double>(count));
    row.details["selected"] = static_cast<double>(data->selected);
    if (partition) row.note = "CUB writes the other elements backwards";
    return std::vector<Row>{row};
  };
  return contest;
}

}  // namespace

void AddSelectCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases) {
  for (const bool partition : {false, true}) {
    for (const bool by_flags : {true, false}) {
      for (const double share : {0.5, 0.01}) {
        const char* const work = partition ? "partition" : "select";
        Row identity;
        identity.row = absl::StrCat(work, by_flags ? " by flags" : " by threshold");
        identity.type = "u32";
        identity.n = options.Count(28);
        identity.distribution = absl::StrCat("share ", share);
        identity.unit = "Gkeys/s";
        identity.reference_name =
            absl::StrCat("cub::Device", partition ? "Partition" : "Select", "::", by_flags ? "Flagged" : "If");
        cases->push_back(CaseOf(absl::StrCat(work, "/", by_flags ? "flags" : "threshold", "/", share), options,
                                identity, [=] { return PrepareSelect(identity, partition, by_flags, share, gpu); }));
      }
    }
  }
}

}  // namespace corank::bench
