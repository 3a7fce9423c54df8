#include "kernels/engine/sharded_merge.h"

#include <algorithm>
#include <utility>

#include "kernels/common/co_ranks.h"
#include "kernels/common/key_order.h"
#include "kernels/engine/alignment.h"
#include "kernels/engine/key_cuts.h"

namespace corank {
namespace {

// More tiles hide more of the first copy in and the last copy out, and cost more launches.
constexpr int64_t kMostTiles = 16;
// One is filled while one is merged.
constexpr int64_t kBuffers = 2;

int64_t TilesOf(const ShardedMerge::Options& options, int64_t count) {
  const int64_t bytes = count * (KeyBytes(options.key_type) + options.value_bytes);
  return std::clamp<int64_t>(bytes / options.tile_bytes, 1, kMostTiles);
}

int64_t TileRows(const ShardedMerge::Options& options, int64_t count) {
  const int64_t tiles = TilesOf(options, count);
  return (count + tiles - 1) / tiles;
}

int64_t BufferBytes(int64_t rows, int64_t runs, int64_t element_bytes) {
  return element_bytes == 0 ? 0 : rows * element_bytes + runs * kArrayAlignment;
}

MergeArgs MergeOf(const ShardedMerge::Options& options, const std::vector<MergeInput>& pieces) {
  MergeArgs args;
  args.key_type = options.key_type;
  args.order = options.order;
  args.algorithm = options.algorithm;
  args.inputs = pieces.data();
  args.input_count = static_cast<int32_t>(pieces.size());
  args.value_bytes = options.value_bytes;
  args.check_sorted = options.check_sorted && options.is_on_host;  // other runs are checked as a whole
  return args;
}

// A search for nothing.
SearchArgs CheckOf(const ShardedMerge::Options& options, const void* keys, int64_t count) {
  SearchArgs args;
  args.key_type = options.key_type;
  args.order = options.order;
  args.haystack = keys;
  args.haystack_count = count;
  args.check_sorted = true;
  return args;
}

absl::Status Allocate(EngineStream& stream, int64_t bytes, char** to) {
  if (bytes == 0) return absl::OkStatus();
  const absl::StatusOr<void*> memory = stream.AllocateDevice(bytes);
  if (memory.ok()) *to = static_cast<char*>(*memory);
  return memory.status();
}

}  // namespace

ShardedMerge::ShardedMerge(const Options& options, std::vector<ShardResult> shards)
    : options_(options),
      key_bytes_(KeyBytes(options.key_type)),
      shards_(std::move(shards)),
      tiles_(shards_.size()),
      buffers_(shards_.size()) {
  int64_t before = options_.offset;
  for (size_t i = 0; i < size(); ++i) {
    const int64_t count = shards_[i].count, rows = TileRows(options_, count);
    for (int64_t first = 0; first < count; first += rows) {
      Tile tile;
      tile.first = first;
      tile.count = std::min(rows, count - first);
      tile.cut = positions_.size();
      positions_.push_back(before + first);
      tiles_[i].push_back(std::move(tile));
    }
    before += count;
  }
  positions_.push_back(before);
}

int64_t ShardedMerge::WorkspaceBytes(const Options& options, int64_t count, int runs, const Engine& engine) {
  const int64_t rows = TileRows(options, count);
  int64_t merge = 0;
  // Empty pieces of runs on devices are left out, so that a merge has any number of them.
  for (int pieces = options.is_on_host ? runs : 1; pieces <= runs; ++pieces) {
    std::vector<MergeInput> inputs(static_cast<size_t>(pieces));
    for (MergeInput& input : inputs) input.count = rows / pieces + 1;
    merge = std::max(merge, engine.WorkspaceBytes(MergeOf(options, inputs)));
  }
  const int64_t buffer =
      BufferBytes(rows, runs, KeyBytes(options.key_type)) + BufferBytes(rows, runs, options.value_bytes);
  const bool checks_runs = options.check_sorted && !options.is_on_host;
  const int64_t check = checks_runs ? engine.WorkspaceBytes(CheckOf(options, nullptr, count)) : 0;
  return kBuffers * buffer + TilesOf(options, count) * merge + runs * check;
}

int64_t ShardedMerge::MostCuts(const Options& options, int64_t count, int shards) {
  return shards * TilesOf(options, count) + 1;
}

absl::Status ShardedMerge::Cut(std::vector<Run> runs, std::vector<const void*> are_ready, EngineStream& stream) {
  runs_ = std::move(runs);
  are_ready_ = std::move(are_ready);
  cuts_.resize(positions_.size() * runs_.size());
  if (options_.check_sorted) checks_.resize(runs_.size());
  for (size_t i = 0; i < checks_.size(); ++i) {
    if (absl::Status enqueued = CheckRun(runs_[i], &checks_[i]); !enqueued.ok()) return enqueued;
  }
  const std::vector<MergeInput> inputs = KeysOfRuns();
  SplitArgs args;
  args.key_type = options_.key_type;
  args.order = options_.order;
  args.inputs = inputs.data();
  args.input_count = static_cast<int32_t>(inputs.size());
  args.positions = positions_.data();
  args.position_count = static_cast<int64_t>(positions_.size());
  args.splits = cuts_.data();
  absl::Status enqueued = stream.Begin();
  for (size_t i = 0; i < are_ready_.size() && enqueued.ok(); ++i) enqueued = stream.After(are_ready_[i]);
  if (enqueued.ok()) enqueued = stream.SplitRuns(args);
  const absl::Status finished = stream.Finish().status();
  enqueued.Update(finished);
  if (enqueued.ok() && !SplitsFit(args)) CutAnywhere();
  return enqueued;
}

std::vector<MergeInput> ShardedMerge::KeysOfRuns() const {
  std::vector<MergeInput> keys;
  for (const Run& run : runs_) keys.push_back({run.keys, nullptr, run.count});
  return keys;
}

absl::Status ShardedMerge::CutBySamples(std::vector<Run> runs, std::vector<const void*> are_ready,
                                        const std::vector<EngineStream*>& streams) {
  runs_ = std::move(runs);
  are_ready_ = std::move(are_ready);
  cuts_.resize(positions_.size() * runs_.size());
  KeyCuts cuts(options_.key_type, options_.order, KeysOfRuns(), positions_);
  const auto copy = [&](absl::Status (KeyCuts::*enqueue)(size_t, EngineStream&)) {
    absl::Status status;
    size_t begun = 0;
    for (; begun < streams.size() && status.ok(); ++begun) {
      EngineStream& stream = *streams[begun];
      status = stream.Begin();
      for (size_t i = 0; i < are_ready_.size() && status.ok(); ++i) status = stream.After(are_ready_[i]);
      if (status.ok()) status = (cuts.*enqueue)(begun, stream);
    }
    for (size_t i = 0; i < begun; ++i) status.Update(streams[i]->Finish().status());
    return status;
  };
  absl::Status status = copy(&KeyCuts::CopySamples);
  if (!status.ok()) return status;
  cuts.FindRanges();
  status = copy(&KeyCuts::CopyRanges);
  if (status.ok()) cuts.Find(cuts_.data());
  return status;
}

absl::Status ShardedMerge::CheckRun(const Run& run, Check* check) {
  if (run.count == 0) return absl::OkStatus();
  EngineStream& stream = *shards_[run.shard].stream;
  const absl::StatusOr<void*> memory = stream.AllocateHost(2 * key_bytes_);
  if (!memory.ok()) return memory.status();
  auto* const h_ends = static_cast<char*>(*memory);
  check->h_first = h_ends;
  check->h_last = h_ends + key_bytes_;
  absl::Status status = stream.CopyToHost(h_ends, run.keys, key_bytes_);
  if (status.ok()) {
    status = stream.CopyToHost(h_ends + key_bytes_, run.keys + (run.count - 1) * key_bytes_, key_bytes_);
  }
  if (status.ok()) status = stream.Search(CheckOf(options_, run.keys, run.count), &check->report);
  return status;
}

// Cuts of runs that are out of order, which may be none of a merge: the runs in turn.
void ShardedMerge::CutAnywhere() {
  for (size_t cut = 0; cut < positions_.size(); ++cut) {
    int64_t left = positions_[cut];
    for (size_t i = 0; i < runs_.size(); ++i) {
      const int64_t taken = std::min(left, runs_[i].count);
      CutAt(cut)[i] = taken;
      left -= taken;
    }
  }
}

void ShardedMerge::CutOnHost(std::vector<Run> runs) {
  runs_ = std::move(runs);
  cuts_.resize(positions_.size() * runs_.size());
  int64_t* const most = CutAt(positions_.size() - 1);
  for (size_t i = 0; i < runs_.size(); ++i) most[i] = runs_[i].count;
  size_t known = 0;
  for (const std::vector<Tile>& tiles : tiles_) {
    if (tiles.empty() || tiles.front().cut == 0) continue;
    const size_t cut = tiles.front().cut;
    CutOnHost(CutAt(known), positions_[cut] - positions_[known], most, CutAt(cut));
    known = cut;
  }
}

void ShardedMerge::CutOnHost(const int64_t* begin, int64_t rows, const int64_t* most, int64_t* end) {
  std::vector<MergeInput> inputs;
  for (size_t i = 0; i < runs_.size(); ++i) inputs.push_back({runs_[i].keys, nullptr, most[i]});
  std::vector<int64_t> low(runs_.size()), high(runs_.size());
  WithKeyOrder(options_.key_type, options_.order, [&](const auto& order) {
    using Bits = decltype(order.Encode(0));
    CoRanks<Bits>(inputs.data(), static_cast<int32_t>(inputs.size()), order, begin, rows, low.data(), high.data(), end);
  });
}

// The merges of tiles check the keys within them.
void ShardedMerge::CheckOrderAt(const int64_t* cut) {
  WithKeyOrder(options_.key_type, options_.order, [&](const auto& order) {
    using Bits = decltype(order.Encode(0));
    for (size_t i = 0; i < runs_.size(); ++i) {
      if (cut[i] == 0 || cut[i] == runs_[i].count) continue;
      const KeysFrom<Bits> keys({runs_[i].keys, nullptr, runs_[i].count}, cut[i]);
      if (order.Before(keys[0], keys[-1])) in_order_ = false;
    }
  });
}

// The rows that tile `number` of a shard merges, by run: where they lie, or where CopyPieces copies them.
std::vector<MergeInput> ShardedMerge::PiecesOf(size_t shard, size_t number) {
  const Tile& tile = tiles_[shard][number];
  const int64_t* const begin = CutAt(tile.cut);
  const int64_t* const end = CutAt(tile.cut + 1);
  Rows free = buffers_[shard][number % kBuffers];
  std::vector<MergeInput> pieces;
  for (size_t i = 0; i < runs_.size(); ++i) {
    const Run& run = runs_[i];
    const int64_t count = end[i] - begin[i];
    const bool is_here = !options_.is_on_host && run.shard == shard;
    const auto place = [&](const char* rows, char*& buffer, int64_t element_bytes) -> const char* {
      if (is_here) return rows + begin[i] * element_bytes;
      const char* const copied = buffer;
      buffer += AlignUp(count * element_bytes);
      return copied;
    };
    MergeInput& piece = pieces.emplace_back();
    piece.count = count;
    piece.keys = place(run.keys, free.keys, key_bytes_);
    if (options_.value_bytes > 0) piece.values = place(run.values, free.values, options_.value_bytes);
  }
  return pieces;
}

// `d_to`: of PiecesOf.
absl::Status ShardedMerge::CopyRows(EngineStream& stream, const void* d_to, const char* from, int64_t bytes) const {
  void* const d_buffer = const_cast<void*>(d_to);
  if (bytes == 0) return absl::OkStatus();
  return options_.is_on_host ? stream.CopyToDevice(d_buffer, from, bytes) : stream.Copy(d_buffer, from, bytes);
}

// Copies what tile `number` of another shard, or of this one if the runs lie in host memory, needs of the runs here.
absl::Status ShardedMerge::CopyPiecesTo(size_t shard, size_t to, size_t number) {
  if (number >= tiles_[to].size()) return absl::OkStatus();
  Tile& tile = tiles_[to][number];
  EngineStream& copier = *shards_[shard].copier;
  absl::Status status;
  if (options_.are_linked) status = copier.After(last_copies_[to]);
  if (number >= kBuffers) status.Update(copier.After(tiles_[to][number - kBuffers].is_merged));
  const std::vector<MergeInput> pieces = PiecesOf(to, number);
  const int64_t* const first_rows = CutAt(tile.cut);
  for (size_t i = 0; i < runs_.size() && status.ok(); ++i) {
    const Run& run = runs_[i];
    if (!options_.is_on_host && run.shard != shard) continue;
    const auto copy = [&](const void* d_to, const char* rows, int64_t element_bytes) {
      if (element_bytes == 0) return absl::OkStatus();
      return CopyRows(copier, d_to, rows + first_rows[i] * element_bytes, pieces[i].count * element_bytes);
    };
    status = copy(pieces[i].keys, run.keys, key_bytes_);
    if (status.ok()) status = copy(pieces[i].values, run.values, options_.value_bytes);
  }
  if (!status.ok()) return status;
  const absl::StatusOr<const void*> is_copied = copier.MarkPoint();
  if (!is_copied.ok()) return is_copied.status();
  last_copies_[to] = *is_copied;
  tile.are_copied.push_back(*is_copied);
  return absl::OkStatus();
}

// Sends all shards the pieces of their tiles `number`, in steps: in each, a device sends to one other and receives from
// one other.
absl::Status ShardedMerge::SendPieces(size_t number) {
  absl::Status status;
  for (size_t step = 1; step < size(); ++step) {
    for (size_t i = 0; i < size() && status.ok(); ++i) status = CopyPiecesTo(i, (i + step) % size(), number);
  }
  return status;
}

absl::Status ShardedMerge::Send(const ShardResult& to, const Tile& tile) const {
  if (to.sender == nullptr) return absl::OkStatus();
  absl::Status status = to.sender->After(tile.is_merged);
  if (status.ok() && tile.first == 0) status = to.sender->EndKernels();
  const auto send = [&](char* h_rows, const void* rows, int64_t element_bytes) {
    if (!status.ok() || h_rows == nullptr || element_bytes == 0) return;
    const int64_t first = tile.first * element_bytes;
    status = to.sender->CopyToHost(h_rows + first, static_cast<const char*>(rows) + first, tile.count * element_bytes);
  };
  send(to.h_keys, to.keys, key_bytes_);
  send(to.h_values, to.values, options_.value_bytes);
  return status;
}

void ShardedMerge::CutTileOnHost(size_t shard, size_t number) {
  std::vector<Tile>& tiles = tiles_[shard];
  if (number >= tiles.size()) return;
  const Tile& tile = tiles[number];
  // The cut after the last tile of the part is known.
  if (number + 1 < tiles.size()) {
    CutOnHost(CutAt(tile.cut), tile.count, CutAt(tiles.back().cut + 1), CutAt(tile.cut + 1));
  }
  if (options_.check_sorted) CheckOrderAt(CutAt(tile.cut));
}

absl::Status ShardedMerge::MergeTile(size_t shard, size_t number) {
  if (number >= tiles_[shard].size()) return absl::OkStatus();
  const ShardResult& to = shards_[shard];
  Tile& tile = tiles_[shard][number];
  for (const void* const is_copied : tile.are_copied) {
    if (absl::Status waits = to.stream->After(is_copied); !waits.ok()) return waits;
  }
  if (options_.is_on_host && number == 0) {
    if (absl::Status marked = to.stream->EndCopyIn(); !marked.ok()) return marked;
  }
  tile.pieces = PiecesOf(shard, number);
  if (!options_.is_on_host) {
    const auto is_empty = [](const MergeInput& piece) { return piece.count == 0; };
    tile.pieces.erase(std::remove_if(tile.pieces.begin(), tile.pieces.end(), is_empty), tile.pieces.end());
  }
  MergeArgs args = MergeOf(options_, tile.pieces);
  args.keys_out = static_cast<char*>(to.keys) + tile.first * key_bytes_;
  if (options_.value_bytes > 0) args.values_out = static_cast<char*>(to.values) + tile.first * options_.value_bytes;
  if (absl::Status enqueued = to.stream->Merge(args, &tile.report); !enqueued.ok()) return enqueued;
  const absl::StatusOr<const void*> is_merged = to.stream->MarkPoint();
  if (!is_merged.ok()) return is_merged.status();
  tile.is_merged = *is_merged;
  return Send(to, tile);
}

absl::Status ShardedMerge::PrepareCopies(size_t shard) {
  EngineStream& copier = *shards_[shard].copier;
  const auto runs = static_cast<int64_t>(runs_.size());
  const int64_t rows = tiles_[shard].empty() ? 0 : tiles_[shard].front().count;
  for (int64_t i = 0; i < kBuffers && rows > 0; ++i) {
    Rows& buffer = buffers_[shard].emplace_back();
    absl::Status status = Allocate(copier, BufferBytes(rows, runs, key_bytes_), &buffer.keys);
    if (status.ok()) status = Allocate(copier, BufferBytes(rows, runs, options_.value_bytes), &buffer.values);
    if (!status.ok()) return status;
  }
  if (!options_.is_on_host) {
    const absl::StatusOr<const void*> are_allocated = copier.MarkPoint();
    if (!are_allocated.ok()) return are_allocated.status();
    are_allocated_[shard] = *are_allocated;
  }
  for (const void* const point : are_ready_) {
    if (absl::Status waits = copier.After(point); !waits.ok()) return waits;
  }
  return absl::OkStatus();
}

// Memory is allocated in the order of its copier's stream, and other copiers write it.
absl::Status ShardedMerge::AwaitBuffers(size_t shard) {
  for (size_t other = 0; other < size(); ++other) {
    if (other == shard) continue;
    if (absl::Status waits = shards_[shard].copier->After(are_allocated_[other]); !waits.ok()) return waits;
  }
  return absl::OkStatus();
}

absl::Status ShardedMerge::MergeFromHost(size_t shard) {
  absl::Status status = PrepareCopies(shard);
  for (size_t tile = 0; tile < tiles_[shard].size() && status.ok(); ++tile) {
    CutTileOnHost(shard, tile);
    status = CopyPiecesTo(shard, shard, tile);
    if (status.ok()) status = MergeTile(shard, tile);
  }
  if (status.ok()) status = shards_[shard].copier->EndCopyIn();
  if (status.ok()) status = shards_[shard].stream->EndKernels();
  return status;
}

// The copies of a tile are enqueued while the merges of the tile before are.
absl::Status ShardedMerge::SendAllPieces(size_t tiles, Barrier& barrier) {
  bool all_ok = barrier.ArriveAndWait(true);
  absl::Status status;
  for (size_t i = 0; i < size() && all_ok && status.ok(); ++i) status = AwaitBuffers(i);
  for (size_t tile = 0; tile < tiles && all_ok; ++tile) {
    if (status.ok()) status = SendPieces(tile);
    all_ok = barrier.ArriveAndWait(status.ok());
  }
  return status;
}

absl::Status ShardedMerge::MergeTiles(size_t shard, size_t tiles, Barrier& barrier) {
  absl::Status status = PrepareCopies(shard);
  bool all_ok = barrier.ArriveAndWait(status.ok());
  for (size_t tile = 0; tile < tiles && all_ok; ++tile) {
    all_ok = barrier.ArriveAndWait(status.ok());
    if (all_ok) status = MergeTile(shard, tile);
  }
  if (all_ok && status.ok()) status = shards_[shard].stream->EndKernels();
  return status;
}

absl::Status ShardedMerge::Merge() {
  are_allocated_.assign(size(), nullptr);
  last_copies_.assign(size(), nullptr);
  if (options_.is_on_host) {
    return OnEachShard(size(), [this](size_t i) { return MergeFromHost(i); });
  }
  size_t most_tiles = 0;
  for (const std::vector<Tile>& tiles : tiles_) most_tiles = std::max(most_tiles, tiles.size());
  // One thread enqueues all copies, so that each can wait for the copy before it to the same device.
  Barrier barrier(size() + 1);
  return OnEachShard(size() + 1, [&](size_t i) {
    return i == size() ? SendAllPieces(most_tiles, barrier) : MergeTiles(i, most_tiles, barrier);
  });
}

bool ShardedMerge::in_order() const {
  const auto is_in_order = [](const Tile& tile) { return tile.report.fault == OperatorReport::Fault::kNone; };
  return in_order_ && !disorder() && std::all_of(tiles_.begin(), tiles_.end(), [&](const std::vector<Tile>& tiles) {
           return std::all_of(tiles.begin(), tiles.end(), is_in_order);
         });
}

std::optional<ShardedMerge::Disorder> ShardedMerge::disorder() const {
  return WithKeyOrder(options_.key_type, options_.order, [this](const auto& order) -> std::optional<Disorder> {
    using Bits = decltype(order.Encode(0));
    const auto key_at = [](const char* h_key) { return KeysFrom<Bits>({h_key, nullptr, 1}, 0)[0]; };
    const char* h_before = nullptr;  // the last key so far of the array
    for (size_t i = 0; i < checks_.size(); ++i) {
      const Check& check = checks_[i];
      if (!runs_[i].continues) h_before = nullptr;
      if (check.h_first == nullptr) continue;
      if (h_before != nullptr && order.Before(key_at(check.h_first), key_at(h_before))) return Disorder{i, 0};
      if (check.report.fault != OperatorReport::Fault::kNone) return Disorder{i, check.report.index};
      h_before = check.h_last;
    }
    return std::nullopt;
  });
}

const OperatorReport& ShardedMerge::report() const {
  const auto has_tiles = [](const std::vector<Tile>& tiles) { return !tiles.empty(); };
  return std::find_if(tiles_.begin(), tiles_.end(), has_tiles)->front().report;
}

}  // namespace corank
