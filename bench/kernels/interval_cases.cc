#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
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

/// Mean lengths of intervals: the lengths that goals name, and enough around them to plot rate against length.
struct Shape {
  enum class Kind { kUniform, kMostlyEmpty, kOneGiant };
  Kind kind = Kind::kUniform;
  int64_t mean = 1;
  bool has_empty = false;  // uniform in [0, 2 mean], otherwise in [1, 2 mean - 1]

  std::string Name() const {
    switch (kind) {
      case Kind::kMostlyEmpty:
        return "15 of 16 empty";
      case Kind::kOneGiant:
        return "one giant, others 1";
      default:
        return absl::StrCat("mean ", mean);
    }
  }
};

constexpr int64_t kMeans[] = {1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096, 16384, 65536};

/// Intervals on the GPU: counts uniform in [least, greatest], their exclusive sums, and, for moves, destinations in
/// random order.
struct IntervalData {
  Memory counts, offsets, destinations, values, ours, reference, workspace;
  size_t workspace_bytes = 0;
  int64_t intervals = 0;
  int64_t total = 0;
};

/// About `elements` elements.
absl::StatusOr<std::shared_ptr<IntervalData>> MakeIntervals(int64_t elements, const Shape& shape, Gpu* gpu) {
  const int64_t intervals = std::max<int64_t>(elements / shape.mean, 1);
  std::vector<int64_t> special;
  if (shape.kind == Shape::Kind::kMostlyEmpty) {
    special.assign(static_cast<size_t>(intervals), 0);
    for (size_t i = 7; i < special.size(); i += 16) special[i] = 16 * shape.mean;
  } else if (shape.kind == Shape::Kind::kOneGiant) {
    special.assign(static_cast<size_t>(intervals), 1);
    special[special.size() / 3] = elements - intervals + 1;
  }
  auto data = std::make_shared<IntervalData>();
  data->intervals = intervals;
  const int64_t bytes = intervals * static_cast<int64_t>(sizeof(int64_t));
  absl::Status status =
      ToStatus(CubExclusiveSum(nullptr, nullptr, intervals, nullptr, &data->workspace_bytes, nullptr), "sizing");
  status.Update(CreateAll({{&data->counts, bytes},
                           {&data->offsets, bytes},
                           {&data->workspace, static_cast<int64_t>(data->workspace_bytes)}}));
  if (!status.ok()) return status;
  int64_t last_offset = 0, last_count = 0;
  status = gpu->Run([&](cudaStream_t stream) {
    int64_t* const d_counts = data->counts.as<int64_t>();
    int64_t* const d_offsets = data->offsets.as<int64_t>();
    cudaError_t error = special.empty() ? FillCounts(d_counts, intervals, shape.has_empty ? 0 : 1,
                                                     shape.has_empty ? 2 * shape.mean : 2 * shape.mean - 1, stream)
                                        : cudaMemcpyAsync(d_counts, special.data(), special.size() * sizeof(int64_t),
                                                          cudaMemcpyHostToDevice, stream);
    if (error != cudaSuccess) return error;
    size_t size = data->workspace_bytes;
    error = CubExclusiveSum(d_counts, d_offsets, intervals, data->workspace.get(), &size, stream);
    if (error != cudaSuccess) return error;
    error = cudaMemcpyAsync(&last_offset, d_offsets + intervals - 1, sizeof(int64_t), cudaMemcpyDeviceToHost, stream);
    if (error != cudaSuccess) return error;
    return cudaMemcpyAsync(&last_count, d_counts + intervals - 1, sizeof(int64_t), cudaMemcpyDeviceToHost, stream);
  });
  if (!status.ok()) return status;
  data->total = last_offset + last_count;
  return data;
}

/// Adds destinations in random order that cover [0, total), as the sources do.
absl::Status AddDestinations(IntervalData* data, Gpu* gpu) {
  const int64_t bytes = data->intervals * static_cast<int64_t>(sizeof(int64_t));
  Memory shuffled_counts, shuffled_offsets;
  absl::Status status =
      CreateAll({{&data->destinations, bytes}, {&shuffled_counts, bytes}, {&shuffled_offsets, bytes}});
  if (!status.ok()) return status;
  return gpu->Run([&](cudaStream_t stream) {
    cudaError_t error = Permute(data->counts.as<int64_t>(), shuffled_counts.as<int64_t>(), data->intervals, stream);
    if (error != cudaSuccess) return error;
    size_t size = data->workspace_bytes;
    error = CubExclusiveSum(shuffled_counts.as<int64_t>(), shuffled_offsets.as<int64_t>(), data->intervals,
                            data->workspace.get(), &size, stream);
    if (error != cudaSuccess) return error;
    return Unpermute(shuffled_offsets.as<int64_t>(), data->destinations.as<int64_t>(), data->intervals, stream);
  });
}

absl::StatusOr<double> RunMove(const IntervalData& data, bool check_overlap, Gpu* gpu) {
  MoveArgs args;
  args.source = data.values.get();
  args.destination = data.ours.get();
  args.element_bytes = sizeof(uint32_t);
  args.source_offsets = data.offsets.as<int64_t>();
  args.destination_offsets = data.destinations.as<int64_t>();
  args.counts = data.counts.as<int64_t>();
  args.interval_count = data.intervals;
  args.total = data.total;
  args.check_overlap = check_overlap;
  args.destination_count = data.total;
  return gpu->Time(args);
}

absl::StatusOr<Contest> PrepareMove(const Row& identity, const Shape& shape, const Ceilings* ceilings, Gpu* gpu) {
  const auto made = MakeIntervals(identity.n, shape, gpu);
  if (!made.ok()) return made.status();
  const std::shared_ptr<IntervalData> data = *made;
  const int64_t bytes = data->total * static_cast<int64_t>(sizeof(uint32_t));
  absl::Status status = AddDestinations(data.get(), gpu);
  status.Update(CreateAll({{&data->values, bytes}, {&data->ours, bytes}, {&data->reference, bytes}}));
  if (!status.ok()) return status;
  const auto cub = [data](void* d_workspace, size_t* size, cudaStream_t stream) {
    return CubBatchedCopy(data->values.as<uint32_t>(), data->reference.as<uint32_t>(), data->offsets.as<int64_t>(),
                          data->destinations.as<int64_t>(), data->counts.as<int64_t>(), data->intervals, d_workspace,
                          size, stream);
  };
  status = ToStatus(cub(nullptr, &data->workspace_bytes, gpu->stream()), "sizing");
  status.Update(CreateAll({{&data->workspace, static_cast<int64_t>(data->workspace_bytes)}}));
  if (!status.ok()) return status;
  status = gpu->Run([&](cudaStream_t stream) {
    InputSpec spec;
    spec.count = data->total;
    return FillKeys(spec, data->values.as<uint32_t>(), stream);
  });
  if (!status.ok()) return status;

  Contest contest;
  contest.contestants.push_back({"corank", [=] { return RunMove(*data, false, gpu); }});
  contest.contestants.push_back({"corank, checked", [=] { return RunMove(*data, true, gpu); }});
  contest.contestants.push_back({"cub::DeviceCopy::Batched", [=] {
                                   return gpu->Time([&](cudaStream_t stream) {
                                     size_t size = data->workspace_bytes;
                                     return cub(data->workspace.get(), &size, stream);
                                   });
                                 }});
  contest.check = [=] { return gpu->CompareBits(data->ours.get(), data->reference.get(), bytes); };
  contest.rows = [=](const std::vector<Summary>& seconds) {
    std::vector<Row> rows;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      Row row = identity;
      row.row = side == 0 ? "move intervals" : "move intervals, overlap check";
      row.n = data->total;
      row.reference_name = "cub::DeviceCopy::Batched";
      row.ours = GigaPerSecond(seconds[side], 2.0 * static_cast<double>(bytes));
      row.reference = GigaPerSecond(seconds[2], 2.0 * static_cast<double>(bytes));
      row.ceiling = ceilings->copy;
      row.details["intervals"] = static_cast<double>(data->intervals);
      const auto is_one_of = [&](std::initializer_list<int64_t> means) {
        return side == 0 && shape.kind == Shape::Kind::kUniform &&
               std::find(means.begin(), means.end(), shape.mean) != means.end();
      };
      if (is_one_of({1, 4, 16})) row.RequireRatio(3.0);
      if (is_one_of({64, 1024, 65536})) row.RequirePartOfCeiling(0.75);
      row.note = side == 0 ? "read + write of elements; overlap check off" : "CUB does not check";
      rows.push_back(std::move(row));
    }
    return rows;
  };
  return contest;
}

absl::StatusOr<Contest> PrepareExpand(const Row& identity, const Shape& shape, const Ceilings* ceilings, Gpu* gpu) {
  const auto made = MakeIntervals(identity.n, shape, gpu);
  if (!made.ok()) return made.status();
  const std::shared_ptr<IntervalData> data = *made;
  const int64_t bytes = data->total * static_cast<int64_t>(sizeof(uint32_t));
  absl::Status status =
      CreateAll({{&data->values, data->intervals * static_cast<int64_t>(sizeof(uint32_t))}, {&data->ours, bytes}});
  status.Update(CreateAll({{&data->reference, bytes}}));
  if (!status.ok()) return status;
  status = gpu->Run([&](cudaStream_t stream) {
    InputSpec spec;
    spec.count = data->intervals;
    return FillKeys(spec, data->values.as<uint32_t>(), stream);
  });
  if (!status.ok()) return status;

  Contest contest;
  contest.contestants.push_back({"corank", [=] {
                                   ExpandArgs args;
                                   args.values = data->values.get();
                                   args.element_bytes = sizeof(uint32_t);
                                   args.counts = data->counts.as<int64_t>();
                                   args.interval_count = data->intervals;
                                   args.out = data->ours.get();
                                   args.total = data->total;
                                   return gpu->Time(args);
                                 }});
  contest.contestants.push_back({"cudaMemset", [=] {
                                   return gpu->Time([&](cudaStream_t stream) {
                                     return cudaMemsetAsync(data->reference.get(), 0, static_cast<size_t>(bytes),
                                                            stream);
                                   });
                                 }});
  contest.check = [=] {
    return gpu->ExpectNoDifferences([&](uint64_t* d_counter, cudaStream_t stream) {
      return CheckExpand(data->offsets.as<int64_t>(), data->intervals, data->values.as<uint32_t>(),
                         data->ours.as<uint32_t>(), data->total, d_counter, stream);
    });
  };
  contest.rows = [=](const std::vector<Summary>& seconds) {
    Row row = identity;
    row.n = data->total;
    row.reference_name = "cudaMemset of the result";
    row.ours = GigaPerSecond(seconds[0], static_cast<double>(bytes));
    row.reference = GigaPerSecond(seconds[1], static_cast<double>(bytes));
    row.details["intervals"] = static_cast<double>(data->intervals);
    row.ceiling = ceilings->write;
    if (shape.mean == 25) row.RequirePartOfCeiling(0.8);
    return std::vector<Row>{row};
  };
  return contest;
}

absl::StatusOr<Contest> PrepareLoadBalance(const Row& identity, const Shape& shape, Gpu* gpu) {
  const auto made = MakeIntervals(identity.n, shape, gpu);
  if (!made.ok()) return made.status();
  const std::shared_ptr<IntervalData> data = *made;
  const int64_t bytes = data->total * static_cast<int64_t>(sizeof(uint32_t));
  const absl::Status status = CreateAll({{&data->ours, bytes}, {&data->values, bytes}, {&data->reference, bytes}});
  if (!status.ok()) return status;

  Contest contest;
  contest.contestants.push_back({"corank", [=] {
                                   LoadBalanceArgs args;
                                   args.counts = data->counts.as<int64_t>();
                                   args.object_count = data->intervals;
                                   args.total = data->total;
                                   args.objects_out = data->ours.get();
                                   args.ranks_out = data->values.get();
                                   return gpu->Time(args);
                                 }});
  contest.contestants.push_back({"thrust::upper_bound", [=] {
                                   return gpu->Time([&](cudaStream_t stream) {
                                     return ThrustUpperBound(data->offsets.as<int64_t>(), data->intervals, data->total,
                                                             data->reference.as<uint32_t>(), stream);
                                   });
                                 }});
  contest.check = [=] {
    return gpu->ExpectNoDifferences([&](uint64_t* d_counter, cudaStream_t stream) {
      return CheckLoadBalance(data->offsets.as<int64_t>(), data->intervals, data->ours.as<uint32_t>(),
                              data->values.as<uint32_t>(), data->total, d_counter, stream);
    });
  };
  contest.rows = [=](const std::vector<Summary>& seconds) {
    Row row = identity;
    row.n = data->total;
    row.reference_name = "thrust::upper_bound";
    row.note = "ours sums the counts and writes ranks too; thrust is given the sums and writes objects only";
    row.ours = GigaPerSecond(seconds[0], static_cast<double>(data->total));
    row.reference = GigaPerSecond(seconds[1], static_cast<double>(data->total));
    row.details["objects"] = static_cast<double>(data->intervals);
    if (shape.kind == Shape::Kind::kUniform && shape.mean <= 1000) row.RequireRatio(5.0);
    return std::vector<Row>{row};
  };
  return contest;
}

Row Identity(const std::string& row, int64_t count, const Shape& shape, const std::string& unit) {
  Row identity;
  identity.row = row;
  identity.type = "u32";
  identity.n = count;
  identity.distribution = shape.Name();
  identity.unit = unit;
  return identity;
}

}  // namespace

void AddIntervalCases(const KernelBenchOptions& options, Gpu* gpu, const Ceilings* ceilings, std::vector<Case>* cases) {
  const auto add = [&](const std::string& name, const Row& identity,
                       std::function<absl::StatusOr<Contest>(const Row&)> prepare) {
    cases->push_back(
        CaseOf(name, options, identity, [identity, prepare = std::move(prepare)] { return prepare(identity); }));
  };
  const auto add_move = [&](const std::string& name, const Shape& shape) {
    add(absl::StrCat("move/", name), Identity("move intervals", options.Count(27), shape, "GB/s"),
        [=](const Row& identity) { return PrepareMove(identity, shape, ceilings, gpu); });
  };
  const auto add_expand = [&](const std::string& name, const Shape& shape) {
    add(absl::StrCat("expand/", name), Identity("expand intervals", options.Count(27), shape, "GB/s"),
        [=](const Row& identity) { return PrepareExpand(identity, shape, ceilings, gpu); });
  };
  const auto add_load_balance = [&](const std::string& name, const Shape& shape) {
    add(absl::StrCat("load-balance/", name), Identity("load balance", options.Count(26), shape, "Gitems/s"),
        [=](const Row& identity) { return PrepareLoadBalance(identity, shape, gpu); });
  };
  for (const int64_t mean : kMeans) {
    const std::string name = absl::StrCat("mean", mean);
    add_move(name, {Shape::Kind::kUniform, mean, false});
    add_expand(name, {Shape::Kind::kUniform, mean, true});
    add_load_balance(name, {Shape::Kind::kUniform, mean, mean == 1});
  }
  add_expand("mean25", {Shape::Kind::kUniform, 25, true});
  for (const int64_t mean : {10, 100, 1000}) {
    add_load_balance(absl::StrCat("mean", mean), {Shape::Kind::kUniform, mean, false});
  }
  const Shape empty = {Shape::Kind::kMostlyEmpty, 1, true}, giant = {Shape::Kind::kOneGiant, 4, false};
  add_move("empty", empty);
  add_expand("empty", empty);
  add_load_balance("empty", empty);
  add_move("giant", giant);
  add_expand("giant", giant);
  add_load_balance("giant", giant);
}

}  // namespace corank::bench
