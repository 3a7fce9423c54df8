#include "server/run/device_ops/sharded_intervals.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

#include "kernels/engine/alignment.h"
#include "kernels/engine/each_shard.h"
#include "server/base/status_macros.h"
#include "server/model/parts.h"
#include "server/run/engine_stream_ring.h"
#include "server/run/row_sink.h"
#include "server/run/sharded_operation.h"

namespace corank {

bool ShardedIntervals::Takes(const IntervalOperation& whole) {
  if (!CanShare(whole)) return false;
  return AnySharded(whole) || (whole.results().front().count > 0 && !whole.OverwritesInputs());
}

ShardedIntervals::ShardedIntervals(std::unique_ptr<IntervalOperation> whole, uint64_t devices, int64_t tile_bytes)
    : whole_(std::move(whole)), devices_(SharingDevices(devices)), tile_bytes_(tile_bytes) {
  for (Operand* const input : whole_->whole_inputs()) {
    if (IsSharded(*input)) continue;
    divided_.push_back({input, *input});
    input->bytes = nullptr;
    input->on_device = true;
    input->shards.resize(devices_.size());
  }
}

int64_t ShardedIntervals::TileRows() const {
  int64_t row_bytes = 0;
  for (const PendingResult& result : whole_->results()) row_bytes += result.element_bytes;
  const int64_t part_rows = PartCount(rows(), static_cast<int64_t>(devices_.size()), 0);
  return std::clamp<int64_t>(tile_bytes_ / row_bytes, 1, std::max<int64_t>(1, part_rows));
}

int64_t ShardedIntervals::TileIntervals() const {
  const int64_t most = std::max<int64_t>(1, tile_bytes_ / whole_->interval_bytes());
  return std::min(most, std::max<int64_t>(1, whole_->counts().count));
}

int64_t ShardedIntervals::device_bytes(const Engine& engine) const {
  int64_t tile = whole_->PieceBytes(engine, TileIntervals(), TileRows());
  for (const PendingResult& result : whole_->results()) {
    if (!IsSharded(result.target)) tile += TileRows() * result.element_bytes;
  }
  whole_->AnyInput([&](const Operand& input) {
    // One element for each interval is copied from the device that has it.
    if (input.on_device && !IsSharded(input)) tile += TileIntervals() * input.element_bytes;
    return false;
  });
  int64_t parts = 0;
  for (const Divided& divided : divided_) {
    parts += PartCount(divided.input->count, static_cast<int64_t>(devices_.size()), 0) * divided.input->element_bytes;
  }
  return parts + kTileStreams * tile;
}

int64_t ShardedIntervals::host_bytes() const {
  const auto tiles = kTileStreams * static_cast<int64_t>(devices_.size());
  return tiles * AlignUp(TileIntervals() * whole_->interval_host_bytes());
}

absl::Status ShardedIntervals::Divide(Lane& lane, v1::RequestStats* stats) {
  if (divided_.empty()) return absl::OkStatus();
  std::vector<v1::RequestStats> times(devices_.size());
  std::deque<EngineStreamRing> streams;
  for (size_t i = 0; i < devices_.size(); ++i) {
    streams.emplace_back(lane, devices_[i], kPartStream, /*count=*/1, &times[i]);
    CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, streams.back().Next());
    for (const Divided& divided : divided_) {
      const auto parts = static_cast<int64_t>(devices_.size()), part = static_cast<int64_t>(i);
      CORANK_ASSIGN_OR_RETURN(divided.input->shards[i], TakePart(*stream, divided.whole, parts, part));
    }
    CORANK_RETURN_IF_ERROR(stream->EndCopyIn());
    CORANK_RETURN_IF_ERROR(stream->EndKernels());
  }
  std::vector<const v1::RequestStats*> all;
  for (size_t i = 0; i < devices_.size(); ++i) {
    CORANK_RETURN_IF_ERROR(streams[i].FinishAll());
    all.push_back(&times[i]);
  }
  AddLongest(all, stats);
  lane.set_next_stage(Stage::kKernel);
  return lane.CheckWanted();
}

// A device's part of the rows.
class ShardedIntervals::Part {
 public:
  Part(Lane& lane, int device, int64_t first, int64_t rows)
      : lane_(lane), first_(first), left_(rows), turns_(lane, device, kFirstTileStream, kTileStreams, &stats_) {}

  const v1::RequestStats& stats() const { return stats_; }

  /// Before a thread of its own makes the rows: its streams, and its place in sharded results.
  absl::Status Prepare(size_t shard, const IntervalOperation& whole) {
    for (const PendingResult& result : whole.results()) {
      d_places_.push_back(nullptr);
      if (!IsSharded(result.target)) continue;
      CORANK_ASSIGN_OR_RETURN(void* const place, result.target->AllocateShard(shard));
      d_places_.back() = static_cast<char*>(place);
    }
    return turns_.Make(kTileStreams);
  }
  absl::Status Make(const IntervalOperation& whole, int64_t most_rows, int64_t most_intervals,
                    const std::vector<RowResult>& rows, const std::atomic<bool>& has_failed) {
    IntervalCursor cursor(whole.counts());
    if (first_ > 0 && left_ > 0) cursor.Next(first_, whole.counts().count);
    while (left_ > 0 && !has_failed) {
      CORANK_RETURN_IF_ERROR(lane_.CheckWanted());
      CORANK_RETURN_IF_ERROR(MakeTile(whole, cursor.Next(std::min(most_rows, left_), most_intervals), rows));
    }
    CORANK_RETURN_IF_ERROR(turns_.FinishAll());
    return status_;
  }

 private:
  absl::Status MakeTile(const IntervalOperation& whole, const IntervalCursor::Piece& piece,
                        const std::vector<RowResult>& rows) {
    if (piece.intervals == 0) return absl::InternalError("the intervals have fewer elements than their counts say");
    if (piece.rows == 0) return absl::OkStatus();
    CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, turns_.Next());
    const auto report = std::make_shared<OperatorReport>();
    turns_.WhenDone([this, report, &whole] {
      if (report->fault != OperatorReport::Fault::kNone) status_.Update(whole.FaultStatus(*report));
    });
    std::vector<void*> d_out;
    for (size_t i = 0; i < d_places_.size(); ++i) {
      const int64_t element_bytes = whole.results()[i].element_bytes;
      if (d_places_[i] != nullptr) {
        d_out.push_back(d_places_[i] + made_ * element_bytes);
      } else {
        CORANK_ASSIGN_OR_RETURN(d_out.emplace_back(), stream->AllocateDevice(piece.rows * element_bytes));
      }
    }
    CORANK_RETURN_IF_ERROR(whole.MakePiece(*stream, piece, d_out, report.get()));
    CORANK_RETURN_IF_ERROR(stream->EndKernels());
    for (size_t i = 0; i < rows.size(); ++i) {
      const PendingResult& result = whole.results()[i];
      if (d_places_[i] != nullptr) continue;
      char* const place = rows[i].column().place + (first_ + made_) * result.element_bytes;
      CORANK_RETURN_IF_ERROR(stream->CopyToHost(place, d_out[i], piece.rows * result.element_bytes));
    }
    made_ += piece.rows;
    left_ -= piece.rows;
    return absl::OkStatus();
  }

  Lane& lane_;
  const int64_t first_;  // row of the result
  int64_t made_ = 0, left_;
  std::vector<char*> d_places_;  // null: the result is not sharded
  v1::RequestStats stats_;
  absl::Status status_;  // what the tiles report
  EngineStreamRing turns_;
};

absl::Status ShardedIntervals::Execute(Lane& lane, Outcome& outcome) {
  CORANK_ASSIGN_OR_RETURN(const std::vector<RowResult> results, RowResult::Make(whole_->results()));
  CORANK_RETURN_IF_ERROR(Divide(lane, &outcome.stats));
  const auto devices = static_cast<int64_t>(devices_.size());
  std::deque<Part> parts;
  for (size_t i = 0; i < devices_.size(); ++i) {
    const auto part = static_cast<int64_t>(i);
    parts.emplace_back(lane, devices_[i], PartBegin(rows(), devices, part), PartCount(rows(), devices, part));
    CORANK_RETURN_IF_ERROR(parts.back().Prepare(i, *whole_));
  }
  lane.set_next_stage(Stage::kCopyOut);
  CORANK_RETURN_IF_ERROR(RetryForThreads(OnEachShard(parts.size(), [&](size_t i, const std::atomic<bool>& has_failed) {
    return parts[i].Make(*whole_, TileRows(), TileIntervals(), results, has_failed);
  })));
  std::vector<const v1::RequestStats*> stats;
  for (Part& part : parts) {
    stats.push_back(&part.stats());
  }
  AddLongest(stats, &outcome.stats);
  outcome.SetDevices(op(), static_cast<int>(devices));
  for (const RowResult& result : results) outcome.results.push_back(result.Collect());
  return absl::OkStatus();
}

}  // namespace corank
