#include "bench/shards/interval_cases.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/harness/inputs.h"
#include "bench/shards/arrays.h"
#include "bench/shards/worker.h"
#include "server/run/device_ops/expand.h"
#include "server/run/device_ops/move.h"

namespace corank::bench {
namespace {

constexpr int64_t kMeanCount = 64;  // of a value in the expanded array

Operand OperandOf(const void* place, v1::ElementType type, int32_t element_bytes, int64_t count) {
  Operand operand;
  operand.type = type;
  operand.element_bytes = element_bytes;
  operand.count = count;
  operand.bytes = place;
  operand.is_shared = true;
  return operand;
}

// The memory of the keys has the room of the result, and so for the values and their counts.
std::unique_ptr<Operation> ExpandOf(const Data& data, size_t index) {
  ExpandOperation::Spec spec;
  const int64_t intervals = data.count / kMeanCount;
  auto* const values = static_cast<uint32_t*>(data.keys->data());
  spec.values = OperandOf(values, v1::ELEMENT_TYPE_UINT32, sizeof(uint32_t), intervals);
  spec.counts = OperandOf(values + 2 * intervals, v1::ELEMENT_TYPE_INT64, sizeof(int64_t), intervals);
  spec.total = data.count;
  spec.target = std::make_shared<PinnedTarget>(data.sorted_keys[index]->data());
  return std::make_unique<ExpandOperation>(std::move(spec));
}

void FillExpand(const Data& data, const InputSpec& uniform) {
  const int64_t intervals = data.count / kMeanCount;
  auto* const values = static_cast<uint32_t*>(data.keys->data());
  auto* const counts = reinterpret_cast<int64_t*>(values + 2 * intervals);
  OnAllCores(intervals / 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = 2 * begin; i < 2 * end; ++i) values[i] = InputKey<uint32_t>(uniform, i);
    for (int64_t i = begin; i < end; ++i) {  // two counts together have twice the mean
      counts[2 * i] = InputKey<uint32_t>(uniform, i) % (2 * kMeanCount + 1);
      counts[2 * i + 1] = 2 * kMeanCount - counts[2 * i];
    }
  });
}

// Half of the memory of the keys holds the source, and the rest offsets and counts.
template <int64_t kLength>
std::unique_ptr<Operation> GatherOf(const Data& data, size_t index) {
  MoveOperation::Spec spec;
  spec.op = Operator::kGatherIntervals;
  const int64_t intervals = data.count / kLength;
  auto* const source = static_cast<uint32_t*>(data.keys->data());
  spec.source = OperandOf(source, v1::ELEMENT_TYPE_UINT32, sizeof(uint32_t), data.count / 2);
  spec.source_offsets = OperandOf(source + data.count / 2, v1::ELEMENT_TYPE_INT64, sizeof(int64_t), intervals);
  spec.counts = OperandOf(source + data.count * 3 / 4, v1::ELEMENT_TYPE_INT64, sizeof(int64_t), intervals);
  spec.total = spec.result_count = data.count;
  spec.target = std::make_shared<PinnedTarget>(data.sorted_keys[index]->data());
  return std::make_unique<MoveOperation>(std::move(spec));
}

template <int64_t kLength>
void FillGather(const Data& data, const InputSpec& uniform) {
  const int64_t intervals = data.count / kLength;
  auto* const source = static_cast<uint32_t*>(data.keys->data());
  auto* const offsets = reinterpret_cast<int64_t*>(source + data.count / 2);
  auto* const counts = reinterpret_cast<int64_t*>(source + data.count * 3 / 4);
  OnAllCores(data.count / 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) source[i] = InputKey<uint32_t>(uniform, i);
  });
  for (int64_t i = 0; i < intervals; ++i) {
    offsets[i] = InputKey<uint32_t>(uniform, i) % (data.count / 2 - kLength + 1);
    counts[i] = kLength;
  }
}

// As a gather, to places in another order.
template <int64_t kLength>
std::unique_ptr<Operation> MoveOf(const Data& data, size_t index) {
  MoveOperation::Spec spec;
  const int64_t intervals = data.count / kLength;
  auto* const source = static_cast<uint32_t*>(data.keys->data());
  spec.source = OperandOf(source, v1::ELEMENT_TYPE_UINT32, sizeof(uint32_t), data.count / 2);
  spec.source_offsets = OperandOf(source + data.count / 2, v1::ELEMENT_TYPE_INT64, sizeof(int64_t), intervals);
  spec.counts = OperandOf(source + data.count * 3 / 4, v1::ELEMENT_TYPE_INT64, sizeof(int64_t), intervals);
  spec.destination_offsets = OperandOf(source + data.count * 7 / 8, v1::ELEMENT_TYPE_INT64, sizeof(int64_t), intervals);
  spec.total = spec.result_count = data.count;
  spec.target = std::make_shared<PinnedTarget>(data.sorted_keys[index]->data());
  return std::make_unique<MoveOperation>(std::move(spec));
}

template <int64_t kLength>
void FillMove(const Data& data, const InputSpec& uniform) {
  FillGather<kLength>(data, uniform);
  const int64_t intervals = data.count / kLength;  // a power of two, so an odd factor permutes them
  auto* const to = reinterpret_cast<int64_t*>(static_cast<uint32_t*>(data.keys->data()) + data.count * 7 / 8);
  for (int64_t i = 0; i < intervals; ++i) to[i] = i * 0x9E3779B1 % intervals * kLength;
}

using Fill = void (*)(const Data& data, const InputSpec& uniform);
using Make = std::unique_ptr<Operation> (*)(const Data& data, size_t index);

absl::StatusOr<Contest> Prepare(const Row& row, Fill fill, Make make, const std::vector<Engine*>& engines,
                                bool are_linked) {
  auto made = AllocateData(row.n, sizeof(uint32_t), /*value_bytes=*/0, engines);
  if (!made.ok()) return made.status();
  const std::shared_ptr<Data> data = *made;
  InputSpec uniform;
  uniform.distribution = Distribution::kUniform;
  uniform.count = row.n;
  fill(*data, uniform);
  return ContestOf(
      data, row, [](size_t) { return 1.0; }, engines,
      [=](size_t index, const std::vector<Engine*>& on) {
        return [data, worker = std::make_shared<Worker>(make(*data, index), on, are_linked)] { return worker->Run(); };
      });
}

void Add(const ShardsBenchOptions& options, const std::vector<Engine*>& engines, const char* name,
         const std::string& counts, Fill fill, Make make, std::vector<Case>* cases) {
  Case entry;
  Row& row = entry.failure_row;
  row.row = absl::StrCat(name, " from host memory");
  row.type = "u32";
  row.n = (int64_t{1} << options.log2_host_bytes) / static_cast<int64_t>(sizeof(uint32_t));
  row.distribution = counts;
  row.unit = "Grows/s";
  entry.name = absl::StrCat("intervals/", name, "/", counts);
  entry.repetitions = options.repetitions;
  entry.prepare = [=, are_linked = options.are_linked] { return Prepare(row, fill, make, engines, are_linked); };
  cases->push_back(std::move(entry));
}

template <int64_t kLength>
void AddMoves(const ShardsBenchOptions& options, const std::vector<Engine*>& engines, std::vector<Case>* cases) {
  const std::string counts = absl::StrCat("intervals of ", kLength, " from everywhere");
  Add(options, engines, "gather", counts, FillGather<kLength>, GatherOf<kLength>, cases);
  Add(options, engines, "move", counts, FillMove<kLength>, MoveOf<kLength>, cases);
}

}  // namespace

void AddShardIntervalCases(const ShardsBenchOptions& options, const std::vector<Engine*>& engines,
                           std::vector<Case>* cases) {
  Add(options, engines, "expand", "counts of 0 to 128", FillExpand, ExpandOf, cases);
  AddMoves<512>(options, engines, cases);
  AddMoves<1024>(options, engines, cases);
  AddMoves<4096>(options, engines, cases);
}

}  // namespace corank::bench
