#include "kernels/engine/sharded_sort.h"

#include <algorithm>
#include <utility>

namespace corank {
namespace {

// More tiles hide more of the first pull and the last merge, and cost more launches.
constexpr int64_t kMostTiles = 16;
// One is pulled while one is merged.
constexpr int64_t kBuffers = 2;
// Pieces lie as far from a multiple of this as where they come from.
constexpr int64_t kAlignment = 16;

// A shard's sorted rows that may be among the result's.
int64_t KeptRows(const ShardedSort::Options& options, int64_t count) {
  return options.limit >= 0 ? std::min(options.limit, count) : count;
}

int64_t TilesOf(const ShardedSort::Options& options, int64_t count) {
  const int64_t bytes = count * (KeyBytes(options.key_type) + options.value_bytes);
  return std::clamp<int64_t>(bytes / options.tile_bytes, 1, kMostTiles);
}

int64_t TileRows(const ShardedSort::Options& options, int64_t count) {
  const int64_t tiles = TilesOf(options, count);
  return (count + tiles - 1) / tiles;
}

int64_t BufferBytes(int64_t rows, int64_t shards, int64_t element_bytes) {
  return element_bytes == 0 ? 0 : rows * element_bytes + 2 * shards * kAlignment;
}

SortArgs SortOf(const ShardedSort::Options& options, const Shard& shard) {
  SortArgs args;
  args.key_type = options.key_type;
  args.order = options.order;
  args.algorithm = options.algorithm;
  args.count = shard.count;
  args.limit = options.limit;
  args.keys_in = shard.keys_in;
  args.values_in = shard.values_in;
  args.value_bytes = options.value_bytes;
  return args;
}

MergeArgs MergeOf(const ShardedSort::Options& options, const std::vector<MergeInput>& pieces) {
  MergeArgs args;
  args.key_type = options.key_type;
  args.order = options.order;
  args.inputs = pieces.data();
  args.input_count = static_cast<int32_t>(pieces.size());
  args.value_bytes = options.value_bytes;
  args.check_sorted = false;
  return args;
}

absl::Status Allocate(EngineStream& stream, int64_t bytes, char** to) {
  if (bytes == 0) return absl::OkStatus();
  const absl::StatusOr<void*> memory = stream.AllocateDevice(bytes);
  if (memory.ok()) *to = static_cast<char*>(*memory);
  return memory.status();
}

// Pulls `bytes` to the first place from *end on that is as aligned as `from`, which becomes *end's.
absl::StatusOr<const char*> PullTo(EngineStream& stream, char** end, const void* from, int64_t bytes) {
  const auto distance = reinterpret_cast<uintptr_t>(from) - reinterpret_cast<uintptr_t>(*end);
  char* const place = *end + distance % kAlignment;
  *end = place + bytes;
  absl::Status pulled = stream.Pull(place, from, bytes);
  if (!pulled.ok()) return pulled;
  return place;
}

}  // namespace

ShardedSort::ShardedSort(const Options& options, std::vector<Shard> shards)
    : options_(options),
      key_bytes_(KeyBytes(options.key_type)),
      shards_(std::move(shards)),
      sorted_(shards_.size()),
      are_sorted_(shards_.size()),
      tiles_(shards_.size()),
      buffers_(shards_.size()),
      reports_(shards_.size()) {
  for (size_t i = 0; i < size(); ++i) {
    const int64_t count = shards_[i].result_count, rows = TileRows(options_, count);
    for (int64_t first = 0; first < count; first += rows) {
      Tile tile;
      tile.first = first;
      tile.count = std::min(rows, count - first);
      tiles_[i].push_back(std::move(tile));
    }
  }
}

int64_t ShardedSort::WorkspaceBytes(const Options& options, int64_t count, int64_t result_count, int shards,
                                    const Engine& engine) {
  const int64_t key_bytes = KeyBytes(options.key_type), value_bytes = options.value_bytes;
  int64_t any = 0;
  Shard shard;
  shard.count = count;
  shard.keys_in = &any;
  if (value_bytes > 0) shard.values_in = &any;
  SortArgs sort = SortOf(options, shard);
  sort.keys_out = &any;
  if (value_bytes > 0) sort.values_out = &any;
  const int64_t tile_rows = TileRows(options, result_count);
  int64_t merge = 0;  // of any number of pieces, because some may be empty
  for (int pieces = 1; pieces <= shards; ++pieces) {
    std::vector<MergeInput> inputs(static_cast<size_t>(pieces));
    for (MergeInput& input : inputs) input.count = tile_rows / pieces + 1;
    merge = std::max(merge, engine.WorkspaceBytes(MergeOf(options, inputs)));
  }
  const int64_t buffer = BufferBytes(tile_rows, shards, key_bytes) + BufferBytes(tile_rows, shards, value_bytes);
  return KeptRows(options, count) * (key_bytes + value_bytes) + engine.WorkspaceBytes(sort) + kBuffers * buffer +
         TilesOf(options, result_count) * merge;
}

absl::Status ShardedSort::SortEach() {
  for (size_t i = 0; i < size(); ++i) {
    const Shard& shard = shards_[i];
    const int64_t kept = KeptRows(options_, shard.count);
    absl::Status status = Allocate(*shard.stream, kept * key_bytes_, &sorted_[i].keys);
    if (status.ok()) status = Allocate(*shard.stream, kept * options_.value_bytes, &sorted_[i].values);
    if (!status.ok()) return status;
    SortArgs args = SortOf(options_, shard);
    args.keys_out = sorted_[i].keys;
    args.values_out = sorted_[i].values;
    if (absl::Status enqueued = shard.stream->Sort(args, &reports_[i]); !enqueued.ok()) return enqueued;
    const absl::StatusOr<const void*> point = shard.stream->MarkPoint();
    if (!point.ok()) return point.status();
    are_sorted_[i] = *point;
  }
  return absl::OkStatus();
}

absl::Status ShardedSort::Cut(EngineStream& stream) {
  std::vector<MergeInput> runs(size());
  std::vector<int64_t> positions;
  int64_t first = 0;
  for (size_t i = 0; i < size(); ++i) {
    runs[i] = {sorted_[i].keys, nullptr, KeptRows(options_, shards_[i].count)};
    for (Tile& tile : tiles_[i]) {
      tile.cut = positions.size();
      positions.push_back(first + tile.first);
    }
    first += shards_[i].result_count;
  }
  positions.push_back(first);
  cuts_.resize(positions.size() * size());
  SplitArgs args;
  args.key_type = options_.key_type;
  args.order = options_.order;
  args.inputs = runs.data();
  args.input_count = static_cast<int32_t>(size());
  args.positions = positions.data();
  args.position_count = static_cast<int64_t>(positions.size());
  args.splits = cuts_.data();
  absl::Status enqueued = stream.Begin();
  for (size_t i = 0; i < size() && enqueued.ok(); ++i) enqueued = stream.After(are_sorted_[i]);
  if (enqueued.ok()) enqueued = stream.SplitRuns(args);
  const absl::Status finished = stream.Finish().status();
  return enqueued.ok() ? finished : enqueued;
}

absl::Status ShardedSort::Pull(EngineStream& stream, MergeInput* piece, Rows* pulled) const {
  const absl::StatusOr<const char*> keys = PullTo(stream, &pulled->keys, piece->keys, piece->count * key_bytes_);
  if (!keys.ok()) return keys.status();
  piece->keys = *keys;
  if (options_.value_bytes == 0) return absl::OkStatus();
  const absl::StatusOr<const char*> values =
      PullTo(stream, &pulled->values, piece->values, piece->count * options_.value_bytes);
  if (!values.ok()) return values.status();
  piece->values = *values;
  return absl::OkStatus();
}

absl::Status ShardedSort::MergeTile(size_t shard, size_t number) {
  const Shard& to = shards_[shard];
  std::vector<Tile>& tiles = tiles_[shard];
  Tile& tile = tiles[number];
  if (number >= kBuffers) {
    const absl::Status waits = to.puller->After(tiles[number - kBuffers].is_merged);
    if (!waits.ok()) return waits;
  }
  Rows pulled = buffers_[shard][number % kBuffers];
  for (size_t from = 0; from < size(); ++from) {
    const int64_t begin = cuts_[tile.cut * size() + from], end = cuts_[(tile.cut + 1) * size() + from];
    if (begin == end) continue;
    MergeInput piece{sorted_[from].keys + begin * key_bytes_, nullptr, end - begin};
    if (options_.value_bytes > 0) piece.values = sorted_[from].values + begin * options_.value_bytes;
    if (from != shard) {
      if (absl::Status enqueued = Pull(*to.puller, &piece, &pulled); !enqueued.ok()) return enqueued;
    }
    tile.pieces.push_back(piece);
  }
  const absl::StatusOr<const void*> is_pulled = to.puller->MarkPoint();
  if (!is_pulled.ok()) return is_pulled.status();
  if (absl::Status waits = to.stream->After(*is_pulled); !waits.ok()) return waits;
  MergeArgs args = MergeOf(options_, tile.pieces);
  args.keys_out = static_cast<char*>(to.keys_out) + tile.first * key_bytes_;
  if (options_.value_bytes > 0) {
    args.values_out = static_cast<char*>(to.values_out) + tile.first * options_.value_bytes;
  }
  if (absl::Status enqueued = to.stream->Merge(args, &tile.report); !enqueued.ok()) return enqueued;
  const absl::StatusOr<const void*> is_merged = to.stream->MarkPoint();
  if (is_merged.ok()) tile.is_merged = *is_merged;
  return is_merged.status();
}

absl::Status ShardedSort::MergePieces() {
  size_t most_tiles = 0;
  for (size_t i = 0; i < size(); ++i) {
    if (tiles_[i].empty()) continue;
    most_tiles = std::max(most_tiles, tiles_[i].size());
    const auto shards = static_cast<int64_t>(size()), rows = tiles_[i].front().count;
    for (int64_t j = 0; j < kBuffers; ++j) {
      Rows& buffer = buffers_[i].emplace_back();
      absl::Status status = Allocate(*shards_[i].puller, BufferBytes(rows, shards, key_bytes_), &buffer.keys);
      if (status.ok()) {
        status = Allocate(*shards_[i].puller, BufferBytes(rows, shards, options_.value_bytes), &buffer.values);
      }
      if (!status.ok()) return status;
    }
    for (const void* const point : are_sorted_) {
      if (absl::Status waits = shards_[i].puller->After(point); !waits.ok()) return waits;
    }
  }
  // Tile by tile, so that no device waits until all of another's work is enqueued.
  for (size_t tile = 0; tile < most_tiles; ++tile) {
    for (size_t i = 0; i < size(); ++i) {
      if (tile >= tiles_[i].size()) continue;
      if (absl::Status enqueued = MergeTile(i, tile); !enqueued.ok()) return enqueued;
    }
  }
  return absl::OkStatus();
}

}  // namespace corank
