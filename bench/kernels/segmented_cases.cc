#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/kernels/cases.h"
#include "bench/kernels/device_inputs.h"
#include "bench/kernels/reference.h"

namespace corank::bench {
namespace {

struct SegmentedData {
  Memory keys, offsets, ours, reference, workspace;
  size_t workspace_bytes = 0;
};

absl::StatusOr<Contest> PrepareSegmented(const Row& identity, int64_t length, Gpu* gpu) {
  auto data = std::make_shared<SegmentedData>();
  const int64_t count = identity.n;
  const int64_t segments = count / length;
  const int64_t bytes = count * static_cast<int64_t>(sizeof(uint32_t));
  for (Memory* memory : {&data->keys, &data->ours, &data->reference}) {
    absl::StatusOr<Memory> created = Memory::Create(bytes);
    if (!created.ok()) return created.status();
    *memory = *std::move(created);
  }
  absl::StatusOr<Memory> offsets = Memory::Create((segments + 1) * static_cast<int64_t>(sizeof(int64_t)));
  if (!offsets.ok()) return offsets.status();
  data->offsets = *std::move(offsets);
  absl::Status status =
      ToStatus(CubSegmentedSort(data->keys.as<uint32_t>(), data->reference.as<uint32_t>(), count,
                                data->offsets.as<int64_t>(), segments, nullptr, &data->workspace_bytes, gpu->stream()),
               "sizing");
  absl::StatusOr<Memory> workspace = Memory::Create(static_cast<int64_t>(data->workspace_bytes));
  status.Update(workspace.status());
  if (!status.ok()) return status;
  data->workspace = *std::move(workspace);
  status = gpu->Run([&](cudaStream_t stream) {
    InputSpec spec;
    spec.count = count;
    const cudaError_t error = FillKeys(spec, data->keys.as<uint32_t>(), stream);
    return error != cudaSuccess ? error : FillSteps(data->offsets.as<int64_t>(), segments + 1, length, stream);
  });
  if (!status.ok()) return status;

  Contest contest;
  contest.contestants.push_back({"corank", [=] {
                                   SortArgs args;
                                   args.count = count;
                                   args.keys_in = data->keys.get();
                                   args.keys_out = data->ours.get();
                                   args.segment_offsets = data->offsets.as<int64_t>();
                                   args.segment_count = segments;
                                   return gpu->Time(args, nullptr);
                                 }});
  contest.contestants.push_back({"cub::DeviceSegmentedSort", [=] {
                                   return gpu->Time([&](cudaStream_t stream) {
                                     size_t size = data->workspace_bytes;
                                     return CubSegmentedSort(data->keys.as<uint32_t>(), data->reference.as<uint32_t>(),
                                                             count, data->offsets.as<int64_t>(), segments,
                                                             data->workspace.get(), &size, stream);
                                   });
                                 }});
  contest.check = [=] { return gpu->CompareBits(data->ours.get(), data->reference.get(), bytes); };
  contest.rows = [identity](const std::vector<Summary>& seconds) {
    Row row = identity;
    row.reference_name = "cub::DeviceSegmentedSort";
    row.ours = GigaPerSecond(seconds[0], static_cast<double>(row.n));
    row.reference = GigaPerSecond(seconds[1], static_cast<double>(row.n));
    row.goal = "ratio >= 1 and >= 30 Gkeys/s";
    row.met = row.Ratio() >= 1.0 && row.ours.median >= 30.0;
    return std::vector<Row>{row};
  };
  return contest;
}

}  // namespace

void AddSegmentedCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases) {
  for (const int64_t length : {16, 128, 1024, 4096, 65536}) {
    Case entry;
    Row& identity = entry.failure_row;
    identity.row = "segmented sort";
    identity.type = "u32";
    identity.n = options.Count(26);
    identity.distribution = absl::StrCat("segments of ", length);
    identity.unit = "Gkeys/s";
    entry.name = absl::StrCat("segmented/u32/", length);
    entry.repetitions = options.Repetitions(identity.n);
    entry.prepare = [identity, length, gpu] { return PrepareSegmented(identity, length, gpu); };
    cases->push_back(std::move(entry));
  }
}

}  // namespace corank::bench
