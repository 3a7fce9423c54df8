#include "bench/shards/table_cases.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/harness/inputs.h"
#include "bench/shards/arrays.h"
#include "bench/shards/worker.h"
#include "server/run/device_ops/column_sort.h"

namespace corank::bench {
namespace {

using Offsets = std::shared_ptr<const std::vector<int64_t>>;  // of segments; null: none

// Data's values are a second column.
ColumnSortOperation::Spec SpecOf(const Data& data, const Offsets& offsets, size_t index) {
  ColumnSortOperation::Spec spec;
  if (offsets != nullptr) {
    Operand& operand = spec.segment_offsets.emplace();
    operand.type = v1::ELEMENT_TYPE_INT64;
    operand.element_bytes = sizeof(int64_t);
    operand.count = static_cast<int64_t>(offsets->size());
    operand.bytes = offsets->data();
    operand.owner = offsets;
  }
  const auto add = [&](const Memory& from, const Memory& to) {
    ColumnSortOperation::Column& column = spec.columns.emplace_back();
    column.data.element_bytes = static_cast<int32_t>(data.key_bytes);
    column.data.type = data.key_bytes == 4 ? v1::ELEMENT_TYPE_UINT32 : v1::ELEMENT_TYPE_UINT64;
    column.data.count = data.count;
    column.data.bytes = from->data();
    column.data.is_shared = true;
    column.result_count = data.count;
    column.data_target = std::make_shared<PinnedTarget>(to->data());
  };
  add(data.keys, data.sorted_keys[index]);
  add(data.values, data.sorted_values[index]);
  return spec;
}

// Sorts on some devices, copies included.
std::shared_ptr<Worker> SorterOf(const Data& data, const Offsets& offsets, size_t index,
                                 const std::vector<Engine*>& engines, bool are_linked) {
  return std::make_shared<Worker>(std::make_unique<ColumnSortOperation>(SpecOf(data, offsets, index)), engines,
                                  are_linked);
}

Offsets SegmentsOf(int64_t rows, int64_t rows_of_segment) {
  if (rows_of_segment == 0) return nullptr;
  std::vector<int64_t> offsets;
  for (int64_t row = 0; row < rows; row += rows_of_segment) offsets.push_back(row);
  offsets.push_back(rows);
  return std::make_shared<const std::vector<int64_t>>(std::move(offsets));
}

template <typename Bits>
absl::StatusOr<Contest> Prepare(const Row& row, int64_t rows_of_segment, const std::vector<Engine*>& engines,
                                bool are_linked) {
  auto made = AllocateData(row.n, sizeof(Bits), sizeof(Bits), engines);
  if (!made.ok()) return made.status();
  const std::shared_ptr<Data> data = *made;
  InputSpec few, many;
  few.distribution = Distribution::kSixteenValues;
  many.distribution = Distribution::kUniform;
  few.count = many.count = row.n;
  auto* const first = static_cast<Bits*>(data->keys->data());
  auto* const second = static_cast<Bits*>(data->values->data());
  OnAllCores(row.n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) first[i] = InputKey<Bits>(few, i);
    for (int64_t i = begin; i < end; ++i) second[i] = InputKey<Bits>(many, i);
  });
  const Offsets offsets = SegmentsOf(row.n, rows_of_segment);
  return ContestOf(
      data, row, [](size_t) { return 1.0; }, engines,
      [=](size_t index, const std::vector<Engine*>& on) {
        return [data, sorter = SorterOf(*data, offsets, index, on, are_linked)] { return sorter->Run(); };
      });
}

template <typename Bits>
void Add(const ShardsBenchOptions& options, int64_t rows_of_segment, const std::vector<Engine*>& engines,
         std::vector<Case>* cases) {
  Case entry;
  Row& row = entry.failure_row;
  row.row = rows_of_segment > 0 ? "sort by columns and segments from host memory" : "sort by columns from host memory";
  row.type = absl::StrCat("u", 8 * sizeof(Bits), "+u", 8 * sizeof(Bits));
  row.n = (int64_t{1} << options.log2_host_bytes) / static_cast<int64_t>(2 * sizeof(Bits));
  row.distribution = "sixteen values, uniform";
  row.unit = "Grows/s";
  entry.name = absl::StrCat(rows_of_segment > 0 ? "segments/" : "table/", row.type);
  entry.repetitions = options.repetitions;
  entry.prepare = [=, are_linked = options.are_linked] {
    return Prepare<Bits>(row, rows_of_segment, engines, are_linked);
  };
  cases->push_back(std::move(entry));
}

}  // namespace

void AddShardTableCases(const ShardsBenchOptions& options, const std::vector<Engine*>& engines,
                        std::vector<Case>* cases) {
  Add<uint32_t>(options, 0, engines, cases);
  Add<uint64_t>(options, 0, engines, cases);
  Add<uint32_t>(options, 1000, engines, cases);
}

}  // namespace corank::bench
