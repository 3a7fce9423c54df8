#include "server/run/external_merge.h"

#include <algorithm>
#include <vector>

#include "proto/wire_enums.h"
#include "server/base/status_macros.h"
#include "server/run/chunk_merge.h"
#include "server/run/run_merge.h"

namespace corank {
namespace {

// Copies of this size reach the full speed of the bus. The first copy out waits for the copies in and the merge of one
// tile.
constexpr int64_t kMergeTileBytes = int64_t{16} << 20;

bool IsStreamed(const MergeOperation::Spec& merge) { return merge.keys.front().is_streamed(); }

bool TakesStreams(const MergeOperation::Spec& merge) {
  for (const auto* inputs : {&merge.keys, &merge.values}) {
    for (const Operand& input : *inputs) {
      if (!input.is_streamed() || !input.has_count) return false;
    }
  }
  return TakesRows(merge.keys_target) && (merge.values.empty() || TakesRows(merge.values_target));
}

bool TakesShared(const MergeOperation& whole) {
  const MergeOperation::Spec& merge = whole.spec();
  if (merge.keys.size() > static_cast<size_t>(kMaxSplitInputs) || RowsOf(merge) == 0) return false;
  bool any_is_shared = false;
  for (const auto* inputs : {&merge.keys, &merge.values}) {
    for (const Operand& input : *inputs) {
      if (!RowSource::CanRead(input)) return false;
      any_is_shared = any_is_shared || input.is_shared;
    }
  }
  return any_is_shared && WritesApart(whole);
}

}  // namespace

bool WritesApart(const MergeOperation& merge) {
  return RowResult::CanHold(merge.spec().keys_target) && RowResult::CanHold(merge.spec().values_target) &&
         !merge.OverwritesInputs();
}

std::unique_ptr<const ExternalWork> ExternalMerge::For(const MergeOperation& whole) {
  const MergeOperation::Spec& merge = whole.spec();
  if (!(IsStreamed(merge) ? TakesStreams(merge) : TakesShared(whole))) return nullptr;
  auto work = std::make_unique<ExternalWork>();
  work->strategy = Strategy::kExternalMerge;
  work->is_streamed = IsStreamed(merge);
  work->host_bytes = [merge](int64_t, int64_t, const JobMemory& memory) { return HostBytes(merge, memory); };
  work->make = [merge](ExternalMeans means) { return std::make_unique<ExternalMerge>(merge, std::move(means)); };
  return work;
}

int64_t ExternalMerge::HostBytes(const MergeOperation::Spec& merge, const JobMemory& memory) {
  if (IsStreamed(merge)) return ChunkMerger::HostBytes(merge, memory);
  int64_t bytes = 0;
  for (const auto* inputs : {&merge.keys, &merge.values}) {
    for (const Operand& input : *inputs) bytes += RowSource::CopyBytes(input);
  }
  return bytes;
}

int64_t ExternalMerge::device_bytes(const Engine& engine) const {
  const JobMemory& memory = *means_.memory;
  if (means_.pipe != nullptr) return ChunkMerger::DeviceBytes(spec_, means_.pipe->tile_bytes(), memory, engine);
  return std::min(memory.max_device_bytes(), TileMemory(engine, ShapeOf(spec_), static_cast<int64_t>(spec_.keys.size()),
                                                        RowsOf(spec_), kMergeTileBytes,
                                                        /*on_device=*/false));
}

absl::Status ExternalMerge::Work(Lane& lane, Outcome& outcome) {
  std::vector<std::pair<absl::string_view, const Operand*>> arrays;
  for (const Operand& keys : spec_.keys) arrays.emplace_back("keys", &keys);
  for (const Operand& values : spec_.values) arrays.emplace_back("values", &values);
  CORANK_ASSIGN_OR_RETURN(RowSource source, RowSource::Open(arrays, means_.pipe.get(), *means_.memory));
  MergeOperation whole(spec_);
  CORANK_ASSIGN_OR_RETURN(const std::vector<RowResult> results, RowResult::Make(whole.results()));
  RowSink sink(ShapeOf(spec_), results.front().column(),
               spec_.values.empty() ? RowSink::Column() : results.back().column(), means_.pipe.get(), &lane,
               std::min(kMergeTileBytes, TileShare(*means_.memory)));
  if (means_.pipe != nullptr) {
    CORANK_RETURN_IF_ERROR(MergeChunks(source, sink, lane, outcome));
  } else {
    bool in_order = true;
    CORANK_RETURN_IF_ERROR(MergeComplete(source, sink, lane, outcome, &in_order));
    // The operator on whole arrays reports the element that is out of order, and defines the merge of unsorted inputs.
    if (!in_order) return whole.Execute(lane, outcome);
    outcome.stats.set_out_of_core(RowsOf(spec_) > means_.memory->MostRowsInCore(ShapeOf(spec_).row_bytes()));
  }
  outcome.merge_algorithm = ToWire(kTileMergeAlgorithm);
  for (const RowResult& result : results) outcome.results.push_back(result.Collect());
  return absl::OkStatus();
}

absl::Status ExternalMerge::MergeChunks(RowSource& source, RowSink& sink, Lane& lane, Outcome& outcome) {
  const bool comes_in_order = means_.pipe->options().parts == 1;
  ChunkMerger merger(spec_, source, comes_in_order, &sink, means_.memory.get(), &lane, &outcome.stats);
  CORANK_RETURN_IF_ERROR(
      source.ReceiveAll(lane, [&merger](std::vector<InputChunk> chunks) { return merger.Add(std::move(chunks)); }));
  lane.set_next_stage(Stage::kCopyOut);
  outcome.stats.set_out_of_core(merger.out_of_core());
  return RowsOf(spec_) > 0 ? merger.Finish() : absl::OkStatus();
}

absl::Status ExternalMerge::MergeComplete(const RowSource& source, RowSink& sink, Lane& lane, Outcome& outcome,
                                          bool* in_order) {
  const RowShape shape = ShapeOf(spec_);
  const std::vector<RowSource::Array>& arrays = source.arrays();
  std::vector<SortedRun> runs;
  for (size_t i = 0; i < spec_.keys.size(); ++i) {
    const char* const values = spec_.values.empty() ? nullptr : arrays[spec_.keys.size() + i].rows;
    runs.push_back({arrays[i].rows, values, arrays[i].count, /*on_device=*/false, {}});
  }
  lane.set_next_stage(Stage::kCopyOut);
  return RunMerger(lane, shape, &outcome.stats).MergeAll(runs, sink, in_order);
}

}  // namespace corank
