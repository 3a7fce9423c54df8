#include "bench/shards/table_cases.h"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/harness/inputs.h"
#include "bench/shards/arrays.h"
#include "server/run/device_ops/sharded_column_sort.h"

namespace corank::bench {
namespace {

// A lane that keeps its streams' memory from one run to the next, as in a server.
class BenchLane final : public Lane {
 public:
  explicit BenchLane(std::vector<Engine*> engines) : engines_(std::move(engines)) {}
  absl::Status Prepare() { return StreamOn(0, 0).status(); }
  EngineStream& stream() override { return *streams_.at({0, 0}); }
  Engine& engine() override { return *engines_.front(); }
  absl::StatusOr<EngineStream*> ExtraStream(int i) override { return StreamOn(0, i + 1); }
  absl::StatusOr<EngineStream*> StreamOn(int device, int i) override {
    std::unique_ptr<EngineStream>& stream = streams_[{device, i}];
    if (stream == nullptr) {
      auto made = engines_[static_cast<size_t>(device)]->CreateStream();
      if (!made.ok()) return made.status();
      stream = *std::move(made);
    }
    return stream.get();
  }
  absl::Status CheckWanted() override { return absl::OkStatus(); }

 private:
  const std::vector<Engine*> engines_;
  std::map<std::pair<int, int>, std::unique_ptr<EngineStream>> streams_;
};

// A result in pinned memory.
class PinnedTarget final : public ResultTarget {
 public:
  explicit PinnedTarget(void* h_place) : h_place_(h_place) {}
  absl::StatusOr<ResultBuffer> Allocate(EngineStream& stream, int64_t bytes) override {
    return stream.AllocateResultAt(h_place_, bytes);
  }
  char* HostPlace() const override { return static_cast<char*>(h_place_); }
  absl::Status Commit(v1::Array*) override { return absl::OkStatus(); }

 private:
  void* const h_place_;
};

// Data's values are a second column.
ColumnSortOperation::Spec SpecOf(const Data& data, size_t index) {
  ColumnSortOperation::Spec spec;
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
class TableSorter {
 public:
  TableSorter(std::shared_ptr<Data> data, size_t index, const std::vector<Engine*>& engines)
      : data_(std::move(data)), lane_(engines) {
    const uint64_t devices = (uint64_t{1} << engines.size()) - 1;
    auto whole = std::make_unique<ColumnSortOperation>(SpecOf(*data_, index));
    sort_ = engines.size() == 1 ? std::move(whole) : whole->Sharded(devices);
  }

  absl::StatusOr<double> Run() {
    if (absl::Status prepared = lane_.Prepare(); !prepared.ok()) return prepared;
    Outcome outcome;
    const absl::Time start = absl::Now();
    if (absl::Status done = sort_->Execute(lane_, outcome); !done.ok()) return done;
    return absl::ToDoubleSeconds(absl::Now() - start);
  }

 private:
  const std::shared_ptr<Data> data_;
  BenchLane lane_;
  std::unique_ptr<Operation> sort_;
};

template <typename Bits>
absl::StatusOr<Contest> Prepare(const Row& row, const std::vector<Engine*>& engines) {
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
  return ContestOf(
      data, row, [](size_t) { return 1.0; }, engines,
      [=](size_t index, const std::vector<Engine*>& on) {
        auto sorter = std::make_shared<TableSorter>(data, index, on);
        return [sorter] { return sorter->Run(); };
      });
}

template <typename Bits>
void Add(const ShardsBenchOptions& options, const std::vector<Engine*>& engines, std::vector<Case>* cases) {
  Case entry;
  Row& row = entry.failure_row;
  row.row = "sort by columns from host memory";
  row.type = absl::StrCat("u", 8 * sizeof(Bits), "+u", 8 * sizeof(Bits));
  row.n = (int64_t{1} << options.log2_host_bytes) / static_cast<int64_t>(2 * sizeof(Bits));
  row.distribution = "sixteen values, uniform";
  row.unit = "Grows/s";
  entry.name = absl::StrCat("table/", row.type);
  entry.repetitions = options.repetitions;
  entry.prepare = [=] { return Prepare<Bits>(row, engines); };
  cases->push_back(std::move(entry));
}

}  // namespace

void AddShardTableCases(const ShardsBenchOptions& options, const std::vector<Engine*>& engines,
                        std::vector<Case>* cases) {
  Add<uint32_t>(options, engines, cases);
  Add<uint64_t>(options, engines, cases);
}

}  // namespace corank::bench
