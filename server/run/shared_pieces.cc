#include "server/run/shared_pieces.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/wire_enums.h"
#include "server/base/status_macros.h"
#include "server/memory/region_registry.h"
#include "server/run/device_ops/merge.h"
#include "server/run/device_ops/sort.h"
#include "server/run/run_merge.h"
#include "server/run/run_sort.h"

namespace corank {
namespace {

// Copies of these sizes reach the full speed of the bus. The first copy out waits for at most this much of a merge and,
// if the inputs are copied in by tiles, for their copies.
constexpr int64_t kTileBytes = int64_t{32} << 20;
constexpr int64_t kTileBytesFromHost = int64_t{16} << 20;

// Most bytes of an inline input beside others in shared memory. It is copied to aligned memory.
constexpr int64_t kMostMessageBytes = int64_t{1} << 20;

int64_t TileRows(const RowShape& shape, const JobMemory& memory, int64_t tile_bytes) {
  constexpr int64_t kTileShare = 32;  // leaves room for the runs beside some tiles, their inputs and the workspace
  return std::max<int64_t>(1, std::min(tile_bytes, memory.max_device_bytes() / kTileShare) / shape.row_bytes());
}

RowShape ShapeOf(const Operand& keys, const Operand* values, Order order) {
  RowShape shape;
  shape.key_type = KeyTypeOf(keys.type);
  shape.order = order;
  shape.key_bytes = keys.element_bytes;
  shape.value_bytes = values == nullptr ? 0 : values->element_bytes;
  return shape;
}

// Whether a result is small and goes into the response, which borrows it, or goes to a place that the host can write.
bool GoesToHost(const std::shared_ptr<ResultTarget>& target) {
  return target == nullptr || target->HostPlace() != nullptr;
}

// A result in progress.
struct HostResult {
  HostResult(const std::shared_ptr<ResultTarget>& to, int64_t bytes)
      : target(to),
        owned(to == nullptr ? std::make_shared<std::vector<char>>(static_cast<size_t>(bytes)) : nullptr),
        place(owned == nullptr ? to->HostPlace() : owned->data()) {}

  ResultArray Result(ResultRole role, v1::ElementType type, int32_t element_bytes, int64_t count) const {
    return {role, type, element_bytes, count, place, target, nullptr, owned};
  }

  const std::shared_ptr<ResultTarget> target;
  const std::shared_ptr<std::vector<char>> owned;  // null if the target has memory
  char* const place;
};

// Whether pieces of the array can be read in place.
bool IsOnHost(const Operand& array) {
  return array.is_shared || (!array.on_device && array.size_bytes() <= kMostMessageBytes);
}

// Bytes that PlaceInput allocates for an input of IsOnHost.
int64_t PlaceBytes(const Operand& array) { return array.is_shared ? 0 : array.size_bytes(); }

// The address at which kernels, too, read an input of IsOnHost, aligned for its elements.
struct HostInput {
  std::shared_ptr<StreamBlock> copy;  // null for arrays in shared memory
  const char* place = nullptr;
};

absl::StatusOr<HostInput> PlaceInput(const Operand& array, absl::string_view field, JobMemory& memory) {
  const int64_t bytes = PlaceBytes(array);
  if (bytes == 0) return HostInput{nullptr, static_cast<const char*>(array.bytes)};
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<StreamBlock> copy, memory.AllocateHost(bytes, field));
  std::memcpy(copy->data(), array.bytes, static_cast<size_t>(bytes));
  const char* const place = copy->data();
  return HostInput{std::move(copy), place};
}

// Before the first byte of any result is written.
absl::Status CheckPlaces(std::initializer_list<const std::shared_ptr<ResultTarget>*> targets) {
  for (const std::shared_ptr<ResultTarget>* target : targets) {
    if (*target != nullptr) CORANK_RETURN_IF_ERROR((*target)->Check());
  }
  return absl::OkStatus();
}

class SharedSort final : public Operation {
 public:
  SharedSort(SortOperation::Spec spec, std::shared_ptr<JobMemory> memory, int64_t piece_bytes)
      : spec_(std::move(spec)), memory_(std::move(memory)), piece_bytes_(piece_bytes) {}

  static bool Takes(const SortOperation::Spec& spec) {
    return !spec.segment_offsets && spec.limit != 0 && spec.keys.count > 0 && IsOnHost(spec.keys) &&
           (spec.keys.is_shared || (spec.values && spec.values->is_shared)) &&
           (!spec.want_keys || GoesToHost(spec.keys_target)) &&
           (!spec.want_indices || GoesToHost(spec.indices_target)) &&
           (!spec.values || (IsOnHost(*spec.values) && GoesToHost(spec.values_target)));
  }

  Operator op() const override { return Operator::kSort; }
  int64_t work_bytes() const override {
    const StreamedSort sort = Streamed(spec_);
    const int64_t result_bytes = (spec_.want_keys ? sort.shape.key_bytes : 0) + sort.shape.value_bytes;
    return spec_.keys.size_bytes() + (spec_.values ? spec_.values->size_bytes() : 0) +
           sort.ResultCount(spec_.keys.count) * result_bytes;
  }
  int64_t device_bytes(const Engine& engine) const override {
    return RunSorter::DeviceBytes(Streamed(spec_), spec_.keys.count, piece_bytes_, kTileBytes, *memory_, engine);
  }
  int64_t host_bytes() const override { return HostBytes(spec_, piece_bytes_, *memory_); }
  static int64_t HostBytes(const SortOperation::Spec& spec, int64_t piece_bytes, const JobMemory& memory) {
    const int64_t placed = PlaceBytes(spec.keys) + (spec.values ? PlaceBytes(*spec.values) : 0);
    return placed + RunSorter::HostBytes(Streamed(spec), spec.keys.count, piece_bytes, memory);
  }

  absl::Status Execute(Lane& lane, Outcome& outcome) override {
    const Operand* const values = spec_.values ? &*spec_.values : nullptr;
    const StreamedSort sort = Streamed(spec_);
    std::vector<StreamInput> inputs = {Input("keys", spec_.keys)};
    if (values != nullptr) inputs.push_back(Input("values", *values));
    memory_->SetEngine(&lane.engine());
    CORANK_ASSIGN_OR_RETURN(const HostInput keys_in, PlaceInput(spec_.keys, "keys", *memory_));
    HostInput values_in;
    if (values != nullptr) {
      CORANK_ASSIGN_OR_RETURN(values_in, PlaceInput(*values, "values", *memory_));
    }
    RunSorter sorter(sort, inputs, piece_bytes_, memory_.get(), &lane, &outcome.stats);
    CORANK_RETURN_IF_ERROR(sorter.AddAll({keys_in.place, values_in.place}));
    CORANK_ASSIGN_OR_RETURN(std::vector<SortedRun> runs, sorter.Finish());
    lane.set_next_stage(Stage::kCopyOut);
    outcome.stats.set_runs(runs.size() > 1 ? static_cast<int32_t>(runs.size()) : 0);
    outcome.stats.set_out_of_core(sorter.out_of_core());
    outcome.sort_algorithm = ToWire(sorter.algorithm());
    CORANK_RETURN_IF_ERROR(ReduceRuns(lane, sort.shape, *memory_, sort.field, runs, &outcome.stats));
    CORANK_RETURN_IF_ERROR(CheckPlaces({&spec_.keys_target, &spec_.values_target, &spec_.indices_target}));
    const int64_t count = sort.ResultCount(spec_.keys.count);
    std::optional<HostResult> keys_out, values_out;
    const std::shared_ptr<ResultTarget>& values_target =
        spec_.want_indices ? spec_.indices_target : spec_.values_target;
    if (spec_.want_keys) keys_out.emplace(spec_.keys_target, count * sort.shape.key_bytes);
    if (sort.shape.value_bytes > 0) values_out.emplace(values_target, count * sort.shape.value_bytes);
    PlaceSink sink(sort.shape, keys_out ? keys_out->place : nullptr, values_out ? values_out->place : nullptr,
                   /*on_device=*/false);
    CORANK_RETURN_IF_ERROR(
        MergeFirstRows(lane, sort.shape, runs, count, TileRows(sort.shape, *memory_, kTileBytes), sink, &outcome.stats)
            .status());
    if (keys_out) {
      outcome.results.push_back(keys_out->Result(ResultRole::kKeys, spec_.keys.type, spec_.keys.element_bytes, count));
    }
    if (values != nullptr) {
      outcome.results.push_back(values_out->Result(ResultRole::kValues, values->type, values->element_bytes, count));
    } else if (spec_.want_indices) {
      const int32_t bytes = sort.shape.value_bytes;
      outcome.results.push_back(values_out->Result(ResultRole::kIndices, IndexType(bytes), bytes, count));
    }
    return absl::OkStatus();
  }

 private:
  static StreamedSort Streamed(const SortOperation::Spec& spec) {
    StreamedSort sort;
    sort.shape = ShapeOf(spec.keys, spec.values ? &*spec.values : nullptr, spec.order);
    sort.algorithm = spec.algorithm;
    sort.limit = spec.limit;
    if (spec.values) sort.values_input = 1;
    if (spec.want_indices) sort.shape.value_bytes = IndexBytes(spec.keys.count - 1);
    sort.parts = 0;  // no piece lies on the host before its sort
    return sort;
  }
  static StreamInput Input(const char* field, const Operand& array) {
    return {field, 0, array.type, array.element_bytes, array.count, false};
  }

  const SortOperation::Spec spec_;
  const std::shared_ptr<JobMemory> memory_;
  const int64_t piece_bytes_;
};

class SharedMerge final : public Operation {
 public:
  SharedMerge(std::unique_ptr<MergeOperation> whole, std::shared_ptr<JobMemory> memory)
      : whole_(std::move(whole)), memory_(std::move(memory)) {}

  // The merge writes tiles while later parts of the inputs are still unread.
  static bool Takes(const MergeOperation::Spec& spec) {
    if (spec.keys.size() > static_cast<size_t>(kMaxSplitInputs)) return false;
    if (!GoesToHost(spec.keys_target) || !GoesToHost(spec.values_target)) return false;
    const int64_t total = Rows(spec);
    if (total == 0) return false;
    bool any_is_shared = false;
    for (const auto* inputs : {&spec.keys, &spec.values}) {
      for (const Operand& input : *inputs) {
        if (!IsOnHost(input)) return false;
        any_is_shared = any_is_shared || input.is_shared;
        if (Overlaps(input, spec.keys_target, total * spec.keys[0].element_bytes)) return false;
        if (!spec.values.empty() && Overlaps(input, spec.values_target, total * spec.values[0].element_bytes)) {
          return false;
        }
      }
    }
    return any_is_shared;
  }

  Operator op() const override { return Operator::kMerge; }
  int64_t work_bytes() const override { return whole_->work_bytes(); }
  int64_t host_bytes() const override { return HostBytes(whole_->spec()); }
  static int64_t HostBytes(const MergeOperation::Spec& spec) {
    int64_t bytes = 0;
    for (const auto* inputs : {&spec.keys, &spec.values}) {
      for (const Operand& input : *inputs) bytes += PlaceBytes(input);
    }
    return bytes;
  }
  int64_t device_bytes(const Engine& engine) const override {
    const MergeOperation::Spec& spec = whole_->spec();
    const RowShape shape = ShapeOf(spec.keys.front(), spec.values.empty() ? nullptr : &spec.values.front(), spec.order);
    const int64_t tiles = TileMemory(engine, shape, static_cast<int64_t>(spec.keys.size()), Rows(spec),
                                     kTileBytesFromHost, /*on_device=*/false);
    return std::min(memory_->max_device_bytes(), tiles);
  }

  absl::Status Execute(Lane& lane, Outcome& outcome) override {
    memory_->SetEngine(&lane.engine());
    const MergeOperation::Spec& spec = whole_->spec();
    const RowShape shape = ShapeOf(spec.keys.front(), spec.values.empty() ? nullptr : &spec.values.front(), spec.order);
    std::vector<SortedRun> runs;
    for (size_t i = 0; i < spec.keys.size(); ++i) {
      SortedRun& run = runs.emplace_back();
      CORANK_ASSIGN_OR_RETURN(run.keys, ReadableAt(spec.keys[i], "keys", run));
      if (!spec.values.empty()) {
        CORANK_ASSIGN_OR_RETURN(run.values, ReadableAt(spec.values[i], "values", run));
      }
      run.count = spec.keys[i].count;
      run.on_device = false;
    }
    CORANK_RETURN_IF_ERROR(CheckPlaces({&spec.keys_target, &spec.values_target}));
    const int64_t total = Rows(spec);
    const HostResult keys_out(spec.keys_target, total * shape.key_bytes);
    std::optional<HostResult> values_out;
    if (shape.value_bytes > 0) values_out.emplace(spec.values_target, total * shape.value_bytes);
    PlaceSink sink(shape, keys_out.place, values_out ? values_out->place : nullptr, /*on_device=*/false);
    bool in_order = true;
    lane.set_next_stage(Stage::kCopyOut);
    CORANK_RETURN_IF_ERROR(MergeInTiles(lane, shape, runs, TileRows(shape, *memory_, kTileBytesFromHost), sink,
                                        &outcome.stats, &in_order));
    // The operator on whole arrays reports the element that is out of order, and defines the merge of unsorted inputs.
    if (!in_order) return whole_->Execute(lane, outcome);
    outcome.stats.set_out_of_core(total > memory_->MostRowsInCore(shape.row_bytes()));
    outcome.merge_algorithm = ToWire(kTileMergeAlgorithm);
    outcome.results.push_back(
        keys_out.Result(ResultRole::kKeys, spec.keys.front().type, spec.keys.front().element_bytes, total));
    if (values_out) {
      const Operand& like = spec.values.front();
      outcome.results.push_back(values_out->Result(ResultRole::kValues, like.type, like.element_bytes, total));
    }
    return absl::OkStatus();
  }

 private:
  static int64_t Rows(const MergeOperation::Spec& spec) {
    int64_t rows = 0;
    for (const Operand& keys : spec.keys) rows += keys.count;
    return rows;
  }
  // The run keeps the memory alive.
  absl::StatusOr<const char*> ReadableAt(const Operand& input, absl::string_view field, SortedRun& run) {
    CORANK_ASSIGN_OR_RETURN(HostInput placed, PlaceInput(input, field, *memory_));
    if (placed.copy != nullptr) run.memory.push_back(std::move(placed.copy));
    return placed.place;
  }
  static bool Overlaps(const Operand& input, const std::shared_ptr<ResultTarget>& target, int64_t bytes) {
    if (!input.is_shared || input.size_bytes() == 0 || target == nullptr) return false;
    // Not by address: the same memory may be registered, and therefore mapped, twice.
    const std::optional<ObjectPlace> from = FindObjectPlace(input.bytes), to = FindObjectPlace(target->HostPlace());
    if (!to) return false;  // the response's own memory
    return !from || (from->device == to->device && from->inode == to->inode && from->offset < to->offset + bytes &&
                     to->offset < from->offset + input.size_bytes());
  }

  const std::unique_ptr<MergeOperation> whole_;
  const std::shared_ptr<JobMemory> memory_;
};

}  // namespace

std::unique_ptr<Operation> InPieces(std::unique_ptr<Operation> operation, std::shared_ptr<JobMemory> memory,
                                    int64_t piece_bytes) {
  if (const auto* sort = dynamic_cast<const SortOperation*>(operation.get())) {
    // An operation that needs too much host memory is checked, and refused, as a whole.
    if (SharedSort::Takes(sort->spec()) &&
        SharedSort::HostBytes(sort->spec(), piece_bytes, *memory) <= memory->max_host_bytes()) {
      return std::make_unique<SharedSort>(sort->spec(), std::move(memory), piece_bytes);
    }
  } else if (auto* merge = dynamic_cast<MergeOperation*>(operation.get())) {
    if (SharedMerge::Takes(merge->spec()) && SharedMerge::HostBytes(merge->spec()) <= memory->max_host_bytes()) {
      static_cast<void>(operation.release());
      return std::make_unique<SharedMerge>(std::unique_ptr<MergeOperation>(merge), std::move(memory));
    }
  }
  return operation;
}

}  // namespace corank
