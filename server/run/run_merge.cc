#include "server/run/run_merge.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/common/co_ranks.h"
#include "kernels/common/key_order.h"
#include "server/base/status_macros.h"
#include "server/run/engine_stream_ring.h"

namespace corank {
namespace {

// From device memory, the device makes tiles faster than the bus carries them away. From host memory, inputs arrive as
// slowly as tiles leave: one tile is copied in, one is merged and one is copied out, and the next waits for the first
// and the last.
constexpr int kMergeStreams = 3, kMergeStreamsFromHost = 5;

// Whether the last key before each split of a run in host memory may precede the first one after it. The checks within
// tiles do not cover this pair.
bool InOrderAcross(const RowShape& shape, const std::vector<SortedRun>& runs, const std::vector<int64_t>& splits) {
  return WithKeyOrder(shape.key_type, shape.order, [&](const auto& order) {
    using Bits = decltype(order.Encode(0));
    for (size_t i = 0; i < splits.size(); ++i) {
      const SortedRun& run = runs[i % runs.size()];
      if (splits[i] <= 0 || splits[i] >= run.count) continue;
      Bits pair[2];
      std::memcpy(pair, run.keys + (splits[i] - 1) * static_cast<int64_t>(sizeof(Bits)), sizeof(pair));
      if (order.Before(pair[1], pair[0])) return false;
    }
    return true;
  });
}

// Does the copies of all tiles, with one stream for each direction. A device picks any of the copies that wait on
// several streams, so the tile that is needed next may come last and take up to five times as long.
class TileCopies {
 public:
  // The lane's extra streams `first` and the next.
  TileCopies(Lane& lane, int first, v1::RequestStats* stats)
      : in_turn_(lane, 1, stats, first), out_turn_(lane, 1, stats, first + 1) {}

  absl::Status Begin() {
    CORANK_ASSIGN_OR_RETURN(in_, in_turn_.Next());
    CORANK_ASSIGN_OR_RETURN(out_, out_turn_.Next());
    CORANK_RETURN_IF_ERROR(out_->EndCopyIn());
    return out_->EndKernels();
  }
  absl::Status In(void* d_to, const void* h_from, int64_t bytes) { return in_->CopyToDevice(d_to, h_from, bytes); }
  // `stream` waits for all copies to the device so far.
  absl::Status EndIn(EngineStream& stream) {
    CORANK_ASSIGN_OR_RETURN(const void* const point, in_->MarkPoint());
    return stream.After(point);
  }
  // Later copies from the device wait for the work of `stream` so far.
  absl::Status BeginOut(EngineStream& stream) {
    CORANK_ASSIGN_OR_RETURN(const void* const point, stream.MarkPoint());
    return out_->After(point);
  }
  absl::Status Out(const ResultBuffer& result, int64_t bytes) { return out_->Download(result, bytes); }
  // `stream` waits for all copies from the device so far.
  absl::Status EndOut(EngineStream& stream) {
    CORANK_ASSIGN_OR_RETURN(const void* const point, out_->MarkPoint());
    return stream.After(point);
  }
  absl::Status Finish() {
    CORANK_RETURN_IF_ERROR(in_->EndCopyIn());
    CORANK_RETURN_IF_ERROR(in_turn_.FinishAll());
    return out_turn_.FinishAll();
  }

 private:
  EngineStreamRing in_turn_, out_turn_;
  EngineStream* in_ = nullptr;
  EngineStream* out_ = nullptr;
};

// One tile on one stream.
class TileMaker {
 public:
  TileMaker(const RowShape& shape, const std::vector<SortedRun>& runs, bool check_sorted, TileCopies& copies,
            EngineStream& stream)
      : shape_(shape), runs_(runs), check_sorted_(check_sorted), copies_(copies), stream_(stream) {}

  // Rows [begin[i], end[i]) of each run i belong to the tile.
  absl::Status Enqueue(const int64_t* begin, const int64_t* end, const RowSink::Tile& tile, OperatorReport* report) {
    int64_t count = 0;
    for (size_t i = 0; i < runs_.size(); ++i) {
      if (end[i] == begin[i]) continue;
      count += end[i] - begin[i];
      MergeInput input{nullptr, nullptr, end[i] - begin[i]};
      CORANK_ASSIGN_OR_RETURN(input.keys, Readable(runs_[i], runs_[i].keys, begin[i], end[i], shape_.key_bytes, tile));
      if (shape_.value_bytes > 0) {
        CORANK_ASSIGN_OR_RETURN(input.values,
                                Readable(runs_[i], runs_[i].values, begin[i], end[i], shape_.value_bytes, tile));
      }
      inputs_.push_back(input);
    }
    if (!runs_.front().on_device) CORANK_RETURN_IF_ERROR(copies_.EndIn(stream_));
    CORANK_RETURN_IF_ERROR(stream_.EndCopyIn());
    if (inputs_.size() == 1 && check_sorted_) inputs_.emplace_back();  // a merge with an empty run checks the order too
    if (inputs_.size() == 1) {
      CORANK_RETURN_IF_ERROR(stream_.EndKernels());
      if (tile.keys != nullptr) {
        CORANK_RETURN_IF_ERROR(CopyOut(tile.keys, inputs_[0].keys, count * shape_.key_bytes, tile));
      }
      return CopyOut(tile.values, inputs_[0].values, count * shape_.value_bytes, tile);
    }
    CORANK_ASSIGN_OR_RETURN(const ResultBuffer keys, Result(tile.keys, count * shape_.key_bytes, tile));
    CORANK_ASSIGN_OR_RETURN(const ResultBuffer values, Result(tile.values, count * shape_.value_bytes, tile));
    auto args = shape_.ArgsOf<MergeArgs>();
    args.inputs = inputs_.data();
    args.input_count = static_cast<int32_t>(inputs_.size());
    args.keys_out = keys.device;
    args.values_out = values.device;
    args.value_bytes = shape_.value_bytes;
    args.algorithm = kTileMergeAlgorithm;
    args.check_sorted = check_sorted_;
    CORANK_RETURN_IF_ERROR(stream_.Merge(args, report));
    CORANK_RETURN_IF_ERROR(stream_.EndKernels());
    if (tile.on_device) return absl::OkStatus();
    CORANK_RETURN_IF_ERROR(copies_.BeginOut(stream_));
    if (keys.host != nullptr) CORANK_RETURN_IF_ERROR(copies_.Out(keys, count * shape_.key_bytes));
    if (values.host != nullptr) CORANK_RETURN_IF_ERROR(copies_.Out(values, count * shape_.value_bytes));
    return copies_.EndOut(stream_);
  }

 private:
  // The address at which kernels read a piece of a run. A lone piece is only copied, from where it is.
  absl::StatusOr<const void*> Readable(const SortedRun& run, const char* rows, int64_t begin, int64_t end,
                                       int64_t bytes, const RowSink::Tile& tile) {
    const char* const from = rows + begin * bytes;
    if (run.on_device || (runs_.size() == 1 && !tile.on_device)) return from;
    CORANK_ASSIGN_OR_RETURN(void* copy, stream_.AllocateDevice((end - begin) * bytes));
    CORANK_RETURN_IF_ERROR(copies_.In(copy, from, (end - begin) * bytes));
    return copy;
  }
  absl::Status CopyOut(char* to, const void* from, int64_t bytes, const RowSink::Tile& tile) {
    if (bytes == 0) return absl::OkStatus();
    return tile.on_device ? stream_.Copy(to, from, bytes) : stream_.CopyToHost(to, from, bytes);
  }
  absl::StatusOr<ResultBuffer> Result(char* place, int64_t bytes, const RowSink::Tile& tile) {
    if (bytes == 0) return ResultBuffer();
    if (place == nullptr) {  // the merge needs the keys anyway
      CORANK_ASSIGN_OR_RETURN(void* const unwanted, stream_.AllocateDevice(bytes));
      return ResultBuffer{unwanted, nullptr};
    }
    if (tile.on_device) return ResultBuffer{place, nullptr};
    return stream_.AllocateResultAt(place, bytes);
  }

  const RowShape& shape_;
  const std::vector<SortedRun>& runs_;
  const bool check_sorted_;
  TileCopies& copies_;
  EngineStream& stream_;
  std::vector<MergeInput> inputs_;
};

}  // namespace

int64_t TileMemory(const Engine& engine, const RowShape& shape, int64_t runs, int64_t rows, int64_t tile_bytes,
                   bool on_device) {
  if (rows == 0 || runs < 2) return 0;  // a single run is only copied
  const int64_t tile_rows = std::min(rows, std::max<int64_t>(1, tile_bytes / shape.row_bytes()));
  std::vector<MergeInput> inputs(static_cast<size_t>(std::min<int64_t>(runs, kMaxSplitInputs)));
  for (MergeInput& input : inputs) input.count = tile_rows / static_cast<int64_t>(inputs.size()) + 1;
  auto args = shape.ArgsOf<MergeArgs>();
  args.inputs = inputs.data();
  args.input_count = static_cast<int32_t>(inputs.size());
  args.value_bytes = shape.value_bytes;
  const int64_t tiles = (rows + tile_rows - 1) / tile_rows;
  const int64_t streams = std::min<int64_t>(on_device ? kMergeStreams : kMergeStreamsFromHost, tiles);
  const int64_t copies = on_device ? 1 : 2;  // the result, and its input
  return streams * (copies * tile_rows * shape.row_bytes() + engine.WorkspaceBytes(args));
}

int64_t TileShare(const JobMemory& memory) { return memory.max_device_bytes() / 32; }

absl::StatusOr<std::vector<int64_t>> RunMerger::Cut(const std::vector<SortedRun>& runs, int64_t begin, int64_t end,
                                                    int64_t tile_rows, bool* fits) {
  const size_t ways = runs.size();
  std::vector<int64_t> positions;
  for (int64_t first = begin; first < end; first += tile_rows) positions.push_back(first);
  positions.push_back(end);
  if (ways == 1) return positions;
  std::vector<MergeInput> inputs(ways);
  for (size_t i = 0; i < ways; ++i) inputs[i] = {runs[i].keys, nullptr, runs[i].count};
  std::vector<int64_t> splits(positions.size() * ways);
  auto args = shape_.ArgsOf<SplitArgs>();
  args.inputs = inputs.data();
  args.input_count = static_cast<int32_t>(ways);
  args.positions = positions.data();
  args.position_count = static_cast<int64_t>(positions.size());
  args.splits = splits.data();
  EngineStream& stream = lane_.stream();
  CORANK_RETURN_IF_ERROR(stream.Begin());
  absl::Status enqueued = stream.EndCopyIn();
  if (enqueued.ok()) enqueued = stream.SplitRuns(args);
  if (enqueued.ok()) enqueued = stream.EndKernels();
  CORANK_RETURN_IF_ERROR(FinishStream(stream, enqueued, stats_));
  *fits = SplitsFit(args);
  return splits;
}

absl::StatusOr<std::vector<int64_t>> RunMerger::MergeRows(int64_t begin, int64_t end,
                                                          const std::vector<SortedRun>& runs, RowSink& sink,
                                                          bool* in_order) {
  const int64_t tile_rows = sink.tile_rows();
  bool fits = true;
  CORANK_ASSIGN_OR_RETURN(const std::vector<int64_t> splits, Cut(runs, begin, end, tile_rows, &fits));
  if (in_order != nullptr) {
    *in_order = fits && InOrderAcross(shape_, runs, splits);
    if (!*in_order) return std::vector<int64_t>();
  } else if (!fits) {
    return absl::InternalError("sorted runs were cut wrongly");
  }
  const int streams = runs.front().on_device ? kMergeStreams : kMergeStreamsFromHost;
  EngineStreamRing turns(lane_, streams, stats_, /*first=*/0, EngineStreamRing::Counted::kKernels);
  TileCopies copies(lane_, streams, stats_);  // destroyed before the tiles' memory
  CORANK_RETURN_IF_ERROR(copies.Begin());
  const int64_t* split = splits.data();
  for (int64_t first = begin; first < end; first += tile_rows, split += runs.size()) {
    CORANK_RETURN_IF_ERROR(lane_.CheckWanted());
    CORANK_ASSIGN_OR_RETURN(const RowSink::Tile tile, sink.Take(std::min(tile_rows, end - first), &turns));
    CORANK_ASSIGN_OR_RETURN(EngineStream* const stream, turns.Next());
    const auto report = std::make_shared<OperatorReport>();
    turns.WhenDone([&sink, tile, report, in_order] {
      if (in_order != nullptr && report->fault != OperatorReport::Fault::kNone) *in_order = false;
      sink.Done(tile);
    });
    if (in_order != nullptr && !*in_order) break;
    CORANK_RETURN_IF_ERROR(TileMaker(shape_, runs, in_order != nullptr, copies, *stream)
                               .Enqueue(split, split + runs.size(), tile, report.get()));
  }
  CORANK_RETURN_IF_ERROR(turns.FinishAll());
  CORANK_RETURN_IF_ERROR(copies.Finish());
  return std::vector<int64_t>(splits.end() - static_cast<ptrdiff_t>(runs.size()), splits.end());
}

absl::Status RunMerger::MergeAll(const std::vector<SortedRun>& runs, RowSink& sink, bool* in_order) {
  int64_t rows = 0;
  for (const SortedRun& run : runs) rows += run.count;
  return MergeRows(0, rows, runs, sink, in_order).status();
}

absl::StatusOr<SortedRun> RunMerger::MergeGroup(const std::vector<SortedRun>& group, JobMemory& memory,
                                                absl::string_view field) {
  SortedRun merged;
  merged.on_device = group.front().on_device;
  for (const SortedRun& run : group) merged.count += run.count;
  char* data[2] = {nullptr, nullptr};
  for (const int column : {0, 1}) {
    const int64_t bytes = merged.count * (column == 0 ? shape_.key_bytes : shape_.value_bytes);
    if (bytes == 0) continue;
    CORANK_ASSIGN_OR_RETURN(const std::shared_ptr<StreamBlock> block,
                            merged.on_device ? memory.AllocateDevice(bytes, field) : memory.AllocateHost(bytes, field));
    data[column] = block->data();
    merged.memory.push_back(block);
  }
  merged.keys = data[0];
  merged.values = data[1];
  RowSink sink(shape_, data[0], data[1], merged.on_device, TileShare(memory));
  CORANK_RETURN_IF_ERROR(MergeAll(group, sink));
  return merged;
}

absl::Status RunMerger::Reduce(std::vector<SortedRun>& runs, JobMemory& memory, absl::string_view field) {
  constexpr auto kWays = static_cast<ptrdiff_t>(kMaxSplitInputs);
  while (runs.size() > static_cast<size_t>(kWays)) {
    std::vector<SortedRun> merged;
    for (auto run = runs.begin(); run < runs.end(); run += std::min(kWays, runs.end() - run)) {
      // Moved out, so that a group's memory is freed once it is merged.
      std::vector<SortedRun> group(std::make_move_iterator(run),
                                   std::make_move_iterator(run + std::min(kWays, runs.end() - run)));
      if (group.size() == 1) {
        merged.push_back(std::move(group.front()));
        continue;
      }
      CORANK_ASSIGN_OR_RETURN(SortedRun one, MergeGroup(group, memory, field));
      merged.push_back(std::move(one));
    }
    runs = std::move(merged);
  }
  return absl::OkStatus();
}

}  // namespace corank
