#include <algorithm>
#include <atomic>
#include <utility>

#include "kernels/engine/alignment.h"
#include "kernels/engine/each_shard.h"
#include "server/base/status_macros.h"
#include "server/model/parts.h"
#include "server/run/device_ops/move.h"
#include "server/run/sharded_operation.h"

namespace corank {

bool ShardedMove::Takes(const MoveOperation& whole) {
  return CanShare(whole) && (AnySharded(whole) || whole.results().front().count > 0);
}

ShardedMove::ShardedMove(std::unique_ptr<MoveOperation> whole, uint64_t devices, int64_t tile_bytes)
    : whole_(std::move(whole)), devices_(SharingDevices(devices)), tile_bytes_(tile_bytes) {}

ShardedMove::Part::Part(Lane& lane, int device)
    : inputs(lane, device, kPartStream, /*count=*/1, &stats),
      turns(lane, device, kFirstTileStream, kTileStreams, &stats) {}

int64_t ShardedMove::TileIntervals() const {
  const int64_t most = std::max<int64_t>(1, tile_bytes_ / PartMoves::IntervalBytes(devices()));
  return std::min(most, std::max<int64_t>(1, spec().counts.count));
}

MoveArgs ShardedMove::CheckArgs() const {
  MoveArgs args;
  args.element_bytes = spec().source.element_bytes;
  args.interval_count = spec().counts.count;
  args.total = spec().total;
  args.destination_count = spec().result_count;
  return args;
}

int64_t ShardedMove::device_bytes(const Engine& engine) const {
  const auto part_bytes = [this](const Operand& array) {
    return IsSharded(array) ? 0 : PartCount(array.count, devices(), 0) * array.element_bytes;
  };
  int64_t bytes = part_bytes(spec().source);
  const PendingResult& result = whole_->results().front();
  if (!IsSharded(result.target)) bytes += PartCount(result.count, devices(), 0) * result.element_bytes;
  if (checks_overlap()) {
    MoveArgs check = CheckArgs();
    const int64_t any = 0;
    check.destination_offsets = &any;
    bytes += 2 * spec().counts.size_bytes() + engine.WorkspaceBytes(check);
  }
  MoveArgs tile = CheckArgs();
  tile.interval_count = TileIntervals();
  const int64_t tile_bytes = TileIntervals() * PartMoves::IntervalBytes(devices());
  return bytes + kTileStreams * (tile_bytes + PartMoves::WorkspaceBytes(tile, devices(), engine));
}

int64_t ShardedMove::host_bytes() const {
  return devices() * kTileStreams * AlignUp(TileIntervals() * PartMoves::IntervalBytes(devices()));
}

absl::Status ShardedMove::TakeParts(std::vector<std::unique_ptr<Part>>& parts, Operand& source) {
  std::vector<const void*> shards;
  for (int64_t i = 0; i < devices(); ++i) {
    Part& part = *parts[static_cast<size_t>(i)];
    CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, part.inputs.Next());
    CORANK_ASSIGN_OR_RETURN(shards.emplace_back(), TakePart(*stream, source, devices(), i));
    const PendingResult& result = whole_->results().front();
    part.begin = PartBegin(result.count, devices(), i);
    part.count = PartCount(result.count, devices(), i);
    if (part.count > 0) {
      const int64_t bytes = part.count * result.element_bytes;
      CORANK_ASSIGN_OR_RETURN(void* const place, IsSharded(result.target)
                                                     ? result.target->AllocateShard(static_cast<size_t>(i))
                                                     : stream->AllocateDevice(bytes));
      part.d_destination = static_cast<char*>(place);
      CORANK_RETURN_IF_ERROR(spec().initial ? CopyElements(*stream, *spec().initial, part.begin, part.count, place)
                                            : stream->Zero(place, bytes));
    }
    CORANK_RETURN_IF_ERROR(stream->EndCopyIn());
    CORANK_RETURN_IF_ERROR(stream->EndKernels());
  }
  source.shards = std::move(shards);
  return absl::OkStatus();
}

absl::Status ShardedMove::Check(EngineStream& stream, OperatorReport* report) const {
  MoveArgs args = CheckArgs();
  const auto take = [&](const Operand& numbers) -> absl::StatusOr<const int64_t*> {
    CORANK_ASSIGN_OR_RETURN(void* const copy, stream.AllocateDevice(numbers.size_bytes()));
    CORANK_RETURN_IF_ERROR(CopyElements(stream, numbers, 0, numbers.count, copy));
    return static_cast<const int64_t*>(copy);
  };
  CORANK_ASSIGN_OR_RETURN(args.counts, take(spec().counts));
  CORANK_ASSIGN_OR_RETURN(args.destination_offsets, take(*spec().destination_offsets));
  CORANK_RETURN_IF_ERROR(stream.EndCopyIn());
  CORANK_RETURN_IF_ERROR(stream.Move(args, report));
  return stream.EndKernels();
}

absl::Status ShardedMove::MoveInto(Part& part, Lane& lane, const Operand& source,
                                   const std::atomic<bool>& has_failed) const {
  int64_t from = 0;
  for (int64_t i = 0; i < spec().counts.count && !has_failed;) {
    CORANK_RETURN_IF_ERROR(lane.CheckWanted());
    const int64_t end = std::min(i + TileIntervals(), spec().counts.count);
    CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, part.turns.Next());
    PartMoves moves(*stream, PartsOf(source));
    CORANK_RETURN_IF_ERROR(moves.Begin(end - i));
    for (; i < end; ++i) {
      const int64_t count = NumberAt(spec().counts, i), to = NumberAt(*spec().destination_offsets, i);
      if (spec().source_offsets) from = NumberAt(*spec().source_offsets, i);
      const int64_t first = std::max(to, part.begin), last = std::min(to + count, part.begin + part.count);
      if (first < last) moves.Add(from + (first - to), first - part.begin, last - first);
      from += count;
    }
    CORANK_RETURN_IF_ERROR(moves.Copy());
    CORANK_RETURN_IF_ERROR(stream->EndCopyIn());
    MoveArgs args;
    args.element_bytes = spec().source.element_bytes;
    args.destination = part.d_destination;
    args.destination_count = part.count;
    CORANK_RETURN_IF_ERROR(moves.Run(args, &part.moved));
    CORANK_RETURN_IF_ERROR(stream->EndKernels());
  }
  return part.turns.FinishAll();
}

absl::Status ShardedMove::Return(const RowResult& result, Part& part) const {
  char* const place = result.column().place;
  if (place == nullptr || part.count == 0) return absl::OkStatus();
  const int64_t element_bytes = spec().source.element_bytes;
  CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, part.turns.Next());
  CORANK_RETURN_IF_ERROR(stream->EndCopyIn());
  CORANK_RETURN_IF_ERROR(stream->EndKernels());
  return stream->CopyToHost(place + part.begin * element_bytes, part.d_destination, part.count * element_bytes);
}

absl::Status ShardedMove::Execute(Lane& lane, Outcome& outcome) {
  CORANK_ASSIGN_OR_RETURN(const std::vector<RowResult> results, RowResult::Make(whole_->results()));
  OperatorReport checked;
  std::vector<std::unique_ptr<Part>> parts;
  for (const int device : devices_) parts.push_back(std::make_unique<Part>(lane, device));
  Operand source = spec().source;
  CORANK_RETURN_IF_ERROR(TakeParts(parts, source));
  if (checks_overlap() && spec().total > 0) {
    CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, parts.front()->turns.Next());
    CORANK_RETURN_IF_ERROR(Check(*stream, &checked));
    CORANK_RETURN_IF_ERROR(parts.front()->turns.FinishAll());
    if (checked.fault != OperatorReport::Fault::kNone) return whole_->FaultStatus(checked);
  }
  for (const std::unique_ptr<Part>& part : parts) CORANK_RETURN_IF_ERROR(part->inputs.FinishAll());
  lane.set_next_stage(Stage::kKernel);
  for (const std::unique_ptr<Part>& part : parts) CORANK_RETURN_IF_ERROR(part->turns.Make(kTileStreams));
  CORANK_RETURN_IF_ERROR(RetryForThreads(OnEachShard(parts.size(), [&](size_t i, const std::atomic<bool>& has_failed) {
    return MoveInto(*parts[i], lane, source, has_failed);
  })));
  lane.set_next_stage(Stage::kCopyOut);
  CORANK_RETURN_IF_ERROR(lane.CheckWanted());
  std::vector<const v1::RequestStats*> stats;
  for (const std::unique_ptr<Part>& part : parts) {
    CORANK_RETURN_IF_ERROR(Return(results.front(), *part));
    stats.push_back(&part->stats);
  }
  for (const std::unique_ptr<Part>& part : parts) CORANK_RETURN_IF_ERROR(part->turns.FinishAll());
  AddLongest(stats, &outcome.stats);
  outcome.SetDevices(op(), static_cast<int>(devices()));
  for (const RowResult& result : results) outcome.results.push_back(result.Collect());
  return absl::OkStatus();
}

}  // namespace corank
