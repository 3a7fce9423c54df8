#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/kernels/cases.h"
#include "bench/kernels/device_inputs.h"
#include "bench/kernels/reference.h"
#include "kernels/common/operators.h"
#include "kernels/common/select.h"

namespace corank::bench {
namespace {

constexpr int64_t kElementsEach = 128;  // elements for each inserted one

/// An insertion on the GPU, as clients send it: a Move of the elements between the positions and of the inserted ones.
struct InsertData {
  Memory source;                  // the elements, then the inserted ones
  Memory positions;               // where to insert, ascending, 32 bits
  Memory source_offsets, counts;  // of the intervals
  Memory removed, flags;          // the positions of the inserted elements in the result, ascending
  Memory ours, reference, removed_count, workspace;
  size_t workspace_bytes = 0;
  int64_t elements = 0, inserted = 0, intervals = 0;
};

template <typename T>
absl::Status Upload(const std::vector<T>& from, Memory* to, Gpu* gpu) {
  const size_t bytes = from.size() * sizeof(T);
  const absl::Status created = CreateAll({{to, static_cast<int64_t>(bytes)}});
  if (!created.ok()) return created;
  return gpu->Run([&](cudaStream_t stream) {
    return cudaMemcpyAsync(to->get(), from.data(), bytes, cudaMemcpyHostToDevice, stream);
  });
}

/// Random positions, and the intervals that insert there.
absl::Status AddPositions(InsertData* data, Gpu* gpu) {
  std::mt19937_64 random(1);
  std::vector<uint32_t> positions(static_cast<size_t>(data->inserted));
  for (uint32_t& position : positions) position = static_cast<uint32_t>(random() % (data->elements + 1));
  std::sort(positions.begin(), positions.end());
  std::vector<int64_t> source_offsets, counts, removed;
  const auto add = [&](int64_t begin, int64_t length) {
    if (length == 0) return;
    source_offsets.push_back(begin);
    counts.push_back(length);
  };
  int64_t done = 0;
  for (int64_t i = 0; i < data->inserted; ++i) {
    const int64_t position = positions[static_cast<size_t>(i)];
    add(done, position - done);
    add(data->elements + i, 1);
    removed.push_back(position + i);
    done = position;
  }
  add(done, data->elements - done);
  data->intervals = static_cast<int64_t>(counts.size());
  absl::Status status = Upload(positions, &data->positions, gpu);
  status.Update(Upload(source_offsets, &data->source_offsets, gpu));
  status.Update(Upload(counts, &data->counts, gpu));
  status.Update(Upload(removed, &data->removed, gpu));
  return status;
}

absl::StatusOr<std::shared_ptr<InsertData>> MakeInsertion(int64_t elements, Gpu* gpu) {
  auto data = std::make_shared<InsertData>();
  data->elements = elements;
  data->inserted = elements / kElementsEach;
  const int64_t total = data->elements + data->inserted;
  absl::Status status = AddPositions(data.get(), gpu);
  SelectReference sizing;
  sizing.count = total;
  sizing.flags = data->positions.as<uint8_t>();  // any that is not null
  status.Update(
      ToStatus(CubRemove(sizing, nullptr, 0, nullptr, nullptr, &data->workspace_bytes, gpu->stream()), "sizing"));
  // Thrust's merge wants a cut for each of its tiles.
  data->workspace_bytes = std::max(data->workspace_bytes, static_cast<size_t>(total) + (size_t{1} << 20));
  status.Update(CreateAll({{&data->source, 4 * total},
                           {&data->flags, total},
                           {&data->ours, 4 * total},
                           {&data->reference, 4 * total},
                           {&data->removed_count, sizeof(int64_t)},
                           {&data->workspace, static_cast<int64_t>(data->workspace_bytes)}}));
  if (!status.ok()) return status;
  InputSpec spec;
  spec.count = total;
  status = gpu->Run([&](cudaStream_t stream) { return FillKeys(spec, data->source.as<uint32_t>(), stream); });
  if (!status.ok()) return status;
  return data;
}

/// The rate of the elements of the longer side.
Row RateRow(const Row& identity, const InsertData& data, const std::vector<Summary>& seconds) {
  const auto total = static_cast<double>(data.elements + data.inserted);
  Row row = identity;
  row.ours = GigaPerSecond(seconds[0], total);
  row.reference = GigaPerSecond(seconds[1], total);
  row.details["positions"] = static_cast<double>(data.inserted);
  return row;
}

absl::StatusOr<Contest> PrepareInsert(const Row& identity, Gpu* gpu) {
  const auto made = MakeInsertion(identity.n, gpu);
  if (!made.ok()) return made.status();
  const std::shared_ptr<InsertData> data = *made;
  MoveArgs args;
  args.source = data->source.get();
  args.destination = data->ours.get();
  args.source_offsets = data->source_offsets.as<int64_t>();
  args.counts = data->counts.as<int64_t>();
  args.interval_count = data->intervals;
  args.total = args.destination_count = data->elements + data->inserted;

  Contest contest;
  contest.contestants.push_back({"corank", [=] { return gpu->Time(args); }});
  contest.contestants.push_back({identity.reference_name, [=] {
                                   return gpu->Time([&](cudaStream_t stream) {
                                     const uint32_t* const elements = data->source.as<uint32_t>();
                                     return ThrustInsert(elements, data->elements, data->positions.as<uint32_t>(),
                                                         elements + data->elements, data->inserted,
                                                         data->reference.as<uint32_t>(), data->workspace.get(),
                                                         data->workspace_bytes, stream);
                                   });
                                 }});
  contest.check = [=] { return gpu->CompareBits(data->ours.get(), data->reference.get(), 4 * args.total); };
  contest.rows = [=](const std::vector<Summary>& seconds) {
    Row row = RateRow(identity, *data, seconds);
    row.note = "a Move of intervals; the positions are ascending";
    return std::vector<Row>{row};
  };
  return contest;
}

absl::StatusOr<Contest> PrepareRemove(const Row& identity, Gpu* gpu) {
  const auto made = MakeInsertion(identity.n, gpu);
  if (!made.ok()) return made.status();
  const std::shared_ptr<InsertData> data = *made;
  SelectArgs args;
  args.by = SelectBy::kPositions;
  args.negate = true;
  args.count = data->elements + data->inserted;
  args.elements = data->source.get();
  args.positions = data->removed.as<int64_t>();
  args.position_count = data->inserted;
  args.elements_out = data->ours.get();
  SelectReference reference;
  reference.elements = data->source.as<uint32_t>();
  reference.flags = data->flags.as<uint8_t>();
  reference.count = args.count;
  reference.out = data->reference.as<uint32_t>();
  reference.count_out = data->removed_count.as<int64_t>();

  Contest contest;
  contest.contestants.push_back({"corank", [=] { return gpu->Time(args); }});
  contest.contestants.push_back({identity.reference_name, [=] {
                                   return gpu->Time([&](cudaStream_t stream) {
                                     size_t size = data->workspace_bytes;
                                     return CubRemove(reference, args.positions, args.position_count,
                                                      data->flags.as<uint8_t>(), data->workspace.get(), &size, stream);
                                   });
                                 }});
  contest.check = [=] { return gpu->CompareBits(data->ours.get(), data->reference.get(), 4 * data->elements); };
  contest.rows = [=](const std::vector<Summary>& seconds) {
    return std::vector<Row>{RateRow(identity, *data, seconds)};
  };
  return contest;
}

}  // namespace

void AddInsertCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases) {
  for (const bool insert : {true, false}) {
    Row identity;
    identity.row = insert ? "insert" : "remove";
    identity.type = "u32";
    identity.n = options.Count(27);
    identity.distribution = absl::StrCat("1 position for ", kElementsEach, " elements");
    identity.unit = "Gkeys/s";
    identity.reference_name = insert ? "thrust::merge_by_key" : "clear flags, cub::DeviceSelect::Flagged";
    cases->push_back(CaseOf(identity.row, options, identity,
                            [=] { return insert ? PrepareInsert(identity, gpu) : PrepareRemove(identity, gpu); }));
  }
}

}  // namespace corank::bench
