#include "kernels/engine/sharded_sort.h"

#include <algorithm>

namespace corank {
namespace {

SortArgs SortOf(const ShardedSort::Options& options, const Shard& shard) {
  SortArgs args;
  args.key_type = options.key_type;
  args.order = options.order;
  args.algorithm = options.algorithm;
  args.count = shard.count;
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

}  // namespace

ShardedSort::ShardedSort(const Options& options, std::vector<Shard> shards)
    : options_(options),
      key_bytes_(KeyBytes(options.key_type)),
      shards_(std::move(shards)),
      sorted_(shards_.size()),
      are_sorted_(shards_.size()),
      pieces_(shards_.size()),
      reports_(shards_.size()) {}

int64_t ShardedSort::WorkspaceBytes(const Options& options, int64_t count, int shards, const Engine& engine) {
  int64_t any = 0;
  SortArgs sort = SortOf(options, {nullptr, count, &any, options.value_bytes > 0 ? &any : nullptr});
  sort.keys_out = &any;
  if (options.value_bytes > 0) sort.values_out = &any;
  std::vector<MergeInput> pieces(static_cast<size_t>(shards));
  for (MergeInput& piece : pieces) piece.count = count / shards + 1;
  const int64_t rows = count * (KeyBytes(options.key_type) + options.value_bytes);
  const int64_t copies = options.exchange == Exchange::kCopy ? 2 : 1;
  return copies * rows + engine.WorkspaceBytes(sort) + engine.WorkspaceBytes(MergeOf(options, pieces));
}

absl::Status ShardedSort::Allocate(const Shard& shard, int64_t count, Rows* rows) const {
  const auto allocate = [&](int64_t bytes, char** to) {
    if (bytes == 0) return absl::OkStatus();
    const absl::StatusOr<void*> memory = shard.stream->AllocateDevice(bytes);
    if (memory.ok()) *to = static_cast<char*>(*memory);
    return memory.status();
  };
  absl::Status status = allocate(count * key_bytes_, &rows->keys);
  if (status.ok()) status = allocate(count * options_.value_bytes, &rows->values);
  return status;
}

absl::Status ShardedSort::SortEach() {
  for (size_t i = 0; i < size(); ++i) {
    const Shard& shard = shards_[i];
    if (absl::Status allocated = Allocate(shard, shard.count, &sorted_[i]); !allocated.ok()) return allocated;
    SortArgs args = SortOf(options_, shard);
    args.keys_out = sorted_[i].keys;
    args.values_out = sorted_[i].values;
    if (absl::Status enqueued = shard.stream->Sort(args, &reports_[i].first); !enqueued.ok()) return enqueued;
    const absl::StatusOr<const void*> point = shard.stream->MarkPoint();
    if (!point.ok()) return point.status();
    are_sorted_[i] = *point;
  }
  return absl::OkStatus();
}

absl::Status ShardedSort::Cut(EngineStream& stream) {
  std::vector<MergeInput> runs(size());
  std::vector<int64_t> positions = {0};
  for (size_t i = 0; i < size(); ++i) {
    runs[i] = {sorted_[i].keys, nullptr, shards_[i].count};
    positions.push_back(positions.back() + shards_[i].count);
  }
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

absl::StatusOr<MergeInput> ShardedSort::Piece(size_t from, size_t to, Rows* copies) const {
  const int64_t begin = CutAt(to, from), count = CutAt(to + 1, from) - begin;
  const int64_t value_bytes = options_.value_bytes;
  MergeInput piece{sorted_[from].keys + begin * key_bytes_, nullptr, count};
  if (value_bytes > 0) piece.values = sorted_[from].values + begin * value_bytes;
  if (options_.exchange == Exchange::kRead || from == to || count == 0) return piece;
  EngineStream& stream = *shards_[to].stream;
  absl::Status copied = stream.Copy(copies->keys, piece.keys, count * key_bytes_);
  if (copied.ok()) copied = stream.Copy(copies->values, piece.values, count * value_bytes);
  if (!copied.ok()) return copied;
  piece.keys = copies->keys;
  copies->keys += count * key_bytes_;
  if (value_bytes == 0) return piece;
  piece.values = copies->values;
  copies->values += count * value_bytes;
  return piece;
}

absl::Status ShardedSort::MergePieces() {
  for (size_t to = 0; to < size(); ++to) {
    const Shard& shard = shards_[to];
    Rows copies;
    if (options_.exchange == Exchange::kCopy) {
      const int64_t own = CutAt(to + 1, to) - CutAt(to, to);
      if (absl::Status allocated = Allocate(shard, shard.count - own, &copies); !allocated.ok()) return allocated;
    }
    for (const void* const point : are_sorted_) {
      if (absl::Status after = shard.stream->After(point); !after.ok()) return after;
    }
    std::vector<MergeInput>& pieces = pieces_[to];
    for (size_t from = 0; from < size(); ++from) {
      const absl::StatusOr<MergeInput> piece = Piece(from, to, &copies);
      if (!piece.ok()) return piece.status();
      if (piece->count > 0) pieces.push_back(*piece);
    }
    MergeArgs args = MergeOf(options_, pieces);
    args.keys_out = shard.keys_out;
    args.values_out = shard.values_out;
    if (absl::Status enqueued = shard.stream->Merge(args, &reports_[to].second); !enqueued.ok()) return enqueued;
  }
  return absl::OkStatus();
}

}  // namespace corank
