#include "kernels/engine/sharded_sort.h"

#include <algorithm>
#include <utility>

#include "kernels/engine/each_shard.h"
#include "kernels/engine/key_cuts.h"

namespace corank {
namespace {

// A shard's sorted rows that may be among the result's.
int64_t KeptRows(const ShardedSort::Options& options, int64_t count) {
  return options.limit >= 0 && options.limit < count - options.offset ? options.offset + options.limit : count;
}

SortArgs SortOf(const ShardedSort::Options& options, const Shard& shard) {
  SortArgs args;
  args.key_type = options.key_type;
  args.order = options.order;
  args.algorithm = options.algorithm;
  args.count = shard.count;
  args.limit = KeptRows(options, shard.count);
  args.keys_in = shard.keys;
  args.values_in = shard.values;
  args.value_bytes = options.value_bytes;
  if (options.lends_keys) args.spare[0] = {shard.result.keys, shard.count * KeyBytes(options.key_type)};
  if (options.lends_values) args.spare[1] = {shard.result.values, shard.count * options.value_bytes};
  return args;
}

ShardedMerge::Options MergeOf(const ShardedSort::Options& options) {
  ShardedMerge::Options merge;
  merge.key_type = options.key_type;
  merge.order = options.order;
  merge.value_bytes = options.value_bytes;
  merge.are_linked = options.are_linked;
  merge.tile_bytes = options.tile_bytes;
  merge.offset = options.offset;
  return merge;
}

int64_t CutsOf(const ShardedSort::Options& options, int64_t result_count, int shards) {
  return ShardedMerge::MostCuts(MergeOf(options), result_count, shards);
}

std::vector<ShardResult> ResultsOf(const std::vector<Shard>& shards) {
  std::vector<ShardResult> results;
  for (const Shard& shard : shards) results.push_back(shard.result);
  return results;
}

}  // namespace

ShardedSort::ShardedSort(const Options& options, std::vector<Shard> shards)
    : options_(options),
      shards_(std::move(shards)),
      reports_(shards_.size()),
      merge_(MergeOf(options), ResultsOf(shards_)) {}

int64_t ShardedSort::WorkspaceBytes(const Options& options, int64_t count, int64_t result_count, int shards,
                                    const Engine& engine) {
  int64_t any = 0;
  Shard shard;
  shard.count = count;
  shard.keys = shard.result.keys = &any;
  if (options.value_bytes > 0) shard.values = shard.result.values = &any;
  SortArgs sort = SortOf(options, shard);
  sort.keys_out = &any;
  if (options.value_bytes > 0) sort.values_out = &any;
  const int64_t kept = KeptRows(options, count);
  const int64_t cuts = options.are_linked ? 0
                                          : KeyCuts::DeviceBytes(options.key_type, kept, shards,
                                                                 CutsOf(options, result_count, shards), engine);
  return kept * (KeyBytes(options.key_type) + options.value_bytes) + engine.WorkspaceBytes(sort) + cuts +
         ShardedMerge::WorkspaceBytes(MergeOf(options), result_count, shards, engine);
}

int64_t ShardedSort::HostBytes(const Options& options, int64_t count, int64_t result_count, int shards) {
  if (options.are_linked) return 0;
  return shards * kRelayBytes +
         KeyCuts::HostBytes(options.key_type, KeptRows(options, count), shards, CutsOf(options, result_count, shards));
}

absl::Status ShardedSort::SortEach() {
  are_sorted_.resize(shards_.size());
  sorted_.resize(shards_.size());
  return OnEachShard(shards_.size(), [this](size_t i) { return SortShard(i); });
}

absl::Status ShardedSort::SortShard(size_t shard) {
  EngineStream& stream = *shards_[shard].result.stream;
  SortArgs args = SortOf(options_, shards_[shard]);
  const int64_t kept = KeptRows(options_, shards_[shard].count);
  const auto allocate = [&](int64_t bytes, void** to) {
    if (bytes == 0) return absl::OkStatus();
    const absl::StatusOr<void*> memory = stream.AllocateDevice(bytes);
    if (memory.ok()) *to = *memory;
    return memory.status();
  };
  absl::Status status = allocate(kept * KeyBytes(options_.key_type), &args.keys_out);
  if (status.ok()) status = allocate(kept * options_.value_bytes, &args.values_out);
  if (status.ok()) status = stream.Sort(args, &reports_[shard]);
  if (!status.ok()) return status;
  const absl::StatusOr<const void*> point = stream.MarkPoint();
  if (!point.ok()) return point.status();
  are_sorted_[shard] = *point;
  sorted_[shard] = {static_cast<const char*>(args.keys_out), static_cast<const char*>(args.values_out), kept, shard};
  return absl::OkStatus();
}

}  // namespace corank
