#include "kernels/engine/sharded_sort.h"

#include <algorithm>
#include <utility>

namespace corank {
namespace {

// A shard's sorted rows that may be among the result's.
int64_t KeptRows(const ShardedSort::Options& options, int64_t count) {
  return options.limit >= 0 ? std::min(options.limit, count) : count;
}

SortArgs SortOf(const ShardedSort::Options& options, const Shard& shard) {
  SortArgs args;
  args.key_type = options.key_type;
  args.order = options.order;
  args.algorithm = options.algorithm;
  args.count = shard.count;
  args.limit = options.limit;
  args.keys_in = shard.keys;
  args.values_in = shard.values;
  args.value_bytes = options.value_bytes;
  return args;
}

ShardedMerge::Options MergeOf(const ShardedSort::Options& options) {
  ShardedMerge::Options merge;
  merge.key_type = options.key_type;
  merge.order = options.order;
  merge.value_bytes = options.value_bytes;
  merge.tile_bytes = options.tile_bytes;
  return merge;
}

ShardedBuckets::Options BucketsOf(const ShardedSort::Options& options) {
  return {options.key_type, options.order, options.value_bytes};
}

std::vector<ShardResult> ResultsOf(const std::vector<Shard>& shards) {
  std::vector<ShardResult> results;
  for (const Shard& shard : shards) results.push_back(shard.result);
  return results;
}

// With two shards, merges move as many rows over the links and are as fast.
constexpr int64_t kLeastBucketShards = 3;

// Whether buckets would be worth a look at the keys.
bool MayTakeBuckets(const ShardedSort::Options& options, int64_t rows, int64_t shards) {
  const bool any_algorithm = options.algorithm == SortAlgorithm::kAuto || options.algorithm == SortAlgorithm::kRadix;
  return shards >= kLeastBucketShards && options.limit < 0 && any_algorithm && !IsFloat(options.key_type) &&
         rows >= ShardedBuckets::kBuckets * options.least_bucket_rows;
}

}  // namespace

ShardedSort::ShardedSort(const Options& options, std::vector<Shard> shards)
    : options_(options),
      shards_(std::move(shards)),
      reports_(shards_.size()),
      buckets_(BucketsOf(options), shards_),
      merge_(MergeOf(options), ResultsOf(shards_)) {}

int64_t ShardedSort::WorkspaceBytes(const Options& options, int64_t count, int64_t result_count, int shards,
                                    const Engine& engine) {
  int64_t any = 0;
  Shard shard;
  shard.count = count;
  shard.keys = &any;
  if (options.value_bytes > 0) shard.values = &any;
  SortArgs sort = SortOf(options, shard);
  sort.keys_out = &any;
  if (options.value_bytes > 0) sort.values_out = &any;
  const int64_t merge =
      engine.WorkspaceBytes(sort) + ShardedMerge::WorkspaceBytes(MergeOf(options), result_count, shards, engine);
  const int64_t rows = KeptRows(options, count) * (KeyBytes(options.key_type) + options.value_bytes);
  if (!MayTakeBuckets(options, count * shards, shards)) return rows + merge;
  const ShardedBuckets::Options buckets = BucketsOf(options);
  return rows + ShardedBuckets::DivisionBytes(buckets, count, engine) +
         std::max(merge, ShardedBuckets::SortBytes(buckets, result_count, engine));
}

absl::Status ShardedSort::AllocateRows() {
  for (const Shard& shard : shards_) {
    const int64_t kept = KeptRows(options_, shard.count);
    ShardedBuckets::Rows& rows = rows_.emplace_back();
    EngineStream& stream = *shard.result.stream;
    absl::Status status = AllocateDevice(stream, kept * KeyBytes(options_.key_type), &rows.keys);
    if (status.ok()) status = AllocateDevice(stream, kept * options_.value_bytes, &rows.values);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ShardedSort::SortEach(EngineStream& waits) {
  if (absl::Status allocated = AllocateRows(); !allocated.ok()) return allocated;
  int64_t rows = 0;
  for (const Shard& shard : shards_) rows += shard.count;
  if (MayTakeBuckets(options_, rows, static_cast<int64_t>(shards_.size()))) {
    const absl::StatusOr<bool> promises = buckets_.Look(waits);
    if (!promises.ok()) return promises.status();
    takes_buckets_ = *promises;
  }
  return takes_buckets_ ? buckets_.Divide(rows_) : SortShards();
}

absl::Status ShardedSort::SortShards() {
  for (size_t i = 0; i < shards_.size(); ++i) {
    EngineStream& stream = *shards_[i].result.stream;
    SortArgs args = SortOf(options_, shards_[i]);
    args.keys_out = rows_[i].keys;
    args.values_out = rows_[i].values;
    if (absl::Status sorted = stream.Sort(args, &reports_[i]); !sorted.ok()) return sorted;
    const absl::StatusOr<const void*> point = stream.MarkPoint();
    if (!point.ok()) return point.status();
    are_sorted_.push_back(*point);
    sorted_.push_back({rows_[i].keys, rows_[i].values, KeptRows(options_, shards_[i].count), i});
  }
  return absl::OkStatus();
}

absl::Status ShardedSort::Cut(EngineStream& waits) {
  if (takes_buckets_) {
    const absl::StatusOr<bool> fits = buckets_.Cut(waits);
    if (!fits.ok()) return fits.status();
    takes_buckets_ = *fits;
    if (takes_buckets_) return absl::OkStatus();
    if (absl::Status sorted = SortShards(); !sorted.ok()) return sorted;
  }
  return merge_.Cut(sorted_, are_sorted_, waits);
}

absl::Status ShardedSort::Exchange() {
  if (!takes_buckets_) return merge_.Merge();
  for (OperatorReport& report : reports_) report.sort_algorithm = SortAlgorithm::kRadix;
  return buckets_.Sort();
}

}  // namespace corank
