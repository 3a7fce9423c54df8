#include "kernels/engine/sharded_buckets.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "kernels/common/key_order.h"

namespace corank {
namespace {

// More groups hide more of the first copy, and cost more launches.
constexpr int64_t kGroups = 16;
// One is filled and one is full while one is sorted.
constexpr size_t kSlots = 3;
// Of the sample, the needles, their positions and the offsets of buckets.
constexpr int64_t kTablesBytes = int64_t{64} << 10;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t MostBucketRows(int64_t part) { return part / ShardedBuckets::kLeastOfPart; }
int64_t MostGroupRows(int64_t part) { return CeilDiv(part, kGroups); }

SortArgs SortOf(const ShardedBuckets::Options& options, int64_t count, const ShardedBuckets::Rows& from,
                const ShardedBuckets::Rows& to) {
  SortArgs args;
  args.key_type = options.key_type;
  args.order = options.order;
  args.algorithm = SortAlgorithm::kRadix;
  args.count = count;
  args.keys_in = from.keys;
  args.keys_out = to.keys;
  args.values_in = from.values;
  args.values_out = to.values;
  args.value_bytes = options.value_bytes;
  return args;
}

// `d_offsets`: of the buckets.
SortArgs GroupSortOf(const ShardedBuckets::Options& options, int64_t count, const ShardedBuckets::Rows& from,
                     const ShardedBuckets::Rows& to, const int64_t* d_offsets, int64_t buckets) {
  SortArgs args = SortOf(options, count, from, to);
  args.segment_offsets = d_offsets;
  args.segment_count = buckets;
  args.has_large_segments = true;
  return args;
}

SortArgs DivisionOf(const ShardedBuckets::Options& options, int64_t count, const ShardedBuckets::Rows& from,
                    const ShardedBuckets::Rows& to) {
  SortArgs args = SortOf(options, count, from, to);
  args.by_leading_byte = true;
  return args;
}

MoveArgs SampleOf(const ShardedBuckets::Options& options) {
  MoveArgs args;
  args.element_bytes = KeyBytes(options.key_type);
  args.interval_count = ShardedBuckets::kRuns;
  args.total = ShardedBuckets::kRuns * ShardedBuckets::kRunKeys;
  args.check_overlap = false;
  return args;
}

SearchArgs SearchOf(const ShardedBuckets::Options& options, const void* keys, int64_t count) {
  SearchArgs args;
  args.key_type = options.key_type;
  args.order = options.order;
  args.haystack = keys;
  args.haystack_count = count;
  args.needle_count = ShardedBuckets::kBuckets - 1;
  args.check_sorted = false;
  return args;
}

// The least key of each bucket but the first.
std::vector<char> NeedlesOf(const ShardedBuckets::Options& options) {
  return WithKeyOrder(options.key_type, options.order, [](const auto& order) {
    using Bits = decltype(order.Encode(0));
    constexpr int kLowBits = 8 * static_cast<int>(sizeof(Bits)) - 8;
    std::vector<char> needles((ShardedBuckets::kBuckets - 1) * sizeof(Bits));
    for (int i = 1; i < ShardedBuckets::kBuckets; ++i) {
      const Bits key = order.Decode(static_cast<Bits>(static_cast<Bits>(i) << kLowBits));
      std::memcpy(needles.data() + static_cast<size_t>(i - 1) * sizeof(Bits), &key, sizeof(key));
    }
    return needles;
  });
}

}  // namespace

ShardedBuckets::ShardedBuckets(const Options& options, std::vector<Shard> shards)
    : options_(options),
      key_bytes_(KeyBytes(options.key_type)),
      shards_(std::move(shards)),
      needles_(NeedlesOf(options)),
      devices_(shards_.size()) {
  parts_.push_back(0);
  for (const Shard& shard : shards_) {
    parts_.push_back(parts_.back() + shard.result.count);
    largest_part_ = std::max(largest_part_, shard.result.count);
  }
}

int64_t ShardedBuckets::DivisionBytes(const Options& options, int64_t count, const Engine& engine) {
  char any = 0;
  const Rows rows{&any, options.value_bytes > 0 ? &any : nullptr};
  return kTablesBytes + engine.WorkspaceBytes(SampleOf(options)) +
         engine.WorkspaceBytes(DivisionOf(options, count, rows, rows)) +
         engine.WorkspaceBytes(SearchOf(options, &any, count));
}

int64_t ShardedBuckets::SortBytes(const Options& options, int64_t result_count, const Engine& engine) {
  char any = 0;
  const int64_t no_offsets = 0;
  const Rows rows{&any, options.value_bytes > 0 ? &any : nullptr};
  const int64_t row_bytes = KeyBytes(options.key_type) + options.value_bytes;
  const int64_t group = MostGroupRows(result_count), edge = MostBucketRows(result_count);
  // The first sort may be that of one bucket, which takes less.
  return (kSlots * group + edge) * row_bytes + engine.WorkspaceBytes(SortOf(options, group, rows, rows)) +
         engine.WorkspaceBytes(GroupSortOf(options, group, rows, rows, &no_offsets, kBuckets));
}

bool ShardedBuckets::Promises(const Options& options, const void* h_sample, int64_t keys, int shards) {
  return WithKeyOrder(options.key_type, options.order, [&](const auto& order) {
    using Bits = decltype(order.Encode(0));
    constexpr int kLowBits = 8 * static_cast<int>(sizeof(Bits)) - 8;
    const auto* const sample = static_cast<const Bits*>(h_sample);
    std::array<int64_t, kBuckets> counts{};
    int64_t runs_in_order = 0;
    for (int64_t run = 0; run < keys; run += kRunKeys) {
      bool ascends = true, descends = true;
      for (int64_t i = run; i < run + kRunKeys; ++i) {
        ++counts[static_cast<size_t>(order.RankOfRaw(sample[i]) >> kLowBits)];
        if (i == run) continue;
        ascends = ascends && !order.Before(sample[i], sample[i - 1]);
        descends = descends && !order.Before(sample[i - 1], sample[i]);
      }
      if (ascends || descends) ++runs_in_order;
    }
    const int64_t most = *std::max_element(counts.begin(), counts.end());
    return most * kLeastOfPart * shards <= keys && 2 * runs_in_order * kRunKeys <= keys;
  });
}

absl::Status ShardedBuckets::WaitForAll(const std::vector<const void*>& points, EngineStream& stream) {
  absl::Status status = stream.Begin();
  for (size_t i = 0; i < points.size() && status.ok(); ++i) status = stream.After(points[i]);
  status.Update(stream.Finish().status());
  return status;
}

absl::StatusOr<bool> ShardedBuckets::Look(EngineStream& waits) {
  constexpr int64_t kKeys = kRuns * kRunKeys;
  std::vector<const void*> points;
  std::vector<const void*> h_samples;
  lengths_.assign(kRuns, kRunKeys);
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (shards_[i].count < kKeys) return false;
    EngineStream& stream = *shards_[i].result.stream;
    for (int64_t run = 0; run < kRuns; ++run) devices_[i].runs.push_back(shards_[i].count / kRuns * run);
    const absl::StatusOr<const void*> d_runs = stream.Upload(devices_[i].runs.data(), kRuns * int64_t{sizeof(int64_t)});
    const absl::StatusOr<const void*> d_lengths = stream.Upload(lengths_.data(), kRuns * int64_t{sizeof(int64_t)});
    const absl::StatusOr<void*> d_sample = stream.AllocateDevice(kKeys * key_bytes_);
    const absl::StatusOr<void*> h_sample = stream.AllocateHost(kKeys * key_bytes_);
    absl::Status status;
    for (const absl::Status& made : {d_runs.status(), d_lengths.status(), d_sample.status(), h_sample.status()}) {
      status.Update(made);
    }
    if (!status.ok()) return status;
    MoveArgs sample = SampleOf(options_);
    sample.source = shards_[i].keys;
    sample.destination = *d_sample;
    sample.source_offsets = static_cast<const int64_t*>(*d_runs);
    sample.counts = static_cast<const int64_t*>(*d_lengths);
    status = stream.Move(sample, &devices_[i].report);
    if (status.ok()) status = stream.CopyToHost(*h_sample, *d_sample, kKeys * key_bytes_);
    if (!status.ok()) return status;
    const absl::StatusOr<const void*> point = stream.MarkPoint();
    if (!point.ok()) return point.status();
    points.push_back(*point);
    h_samples.push_back(*h_sample);
  }
  if (absl::Status waited = WaitForAll(points, waits); !waited.ok()) return waited;
  std::vector<char> all;
  for (const void* const h_sample : h_samples) {
    const char* const keys = static_cast<const char*>(h_sample);
    all.insert(all.end(), keys, keys + kKeys * key_bytes_);
  }
  const auto shards = static_cast<int>(shards_.size());
  return Promises(options_, all.data(), kKeys * shards, shards);
}

absl::Status ShardedBuckets::Divide(std::vector<Rows> to) {
  rows_ = std::move(to);
  for (size_t i = 0; i < shards_.size(); ++i) {
    EngineStream& stream = *shards_[i].result.stream;
    // An operator reads its inputs only.
    const Rows from{static_cast<char*>(const_cast<void*>(shards_[i].keys)),
                    static_cast<char*>(const_cast<void*>(shards_[i].values))};
    absl::Status status = stream.Sort(DivisionOf(options_, shards_[i].count, from, rows_[i]), &devices_[i].report);
    if (!status.ok()) return status;
    const int64_t positions_bytes = (kBuckets - 1) * int64_t{IndexBytes(shards_[i].count)};
    const absl::StatusOr<const void*> d_needles = stream.Upload(needles_.data(), static_cast<int64_t>(needles_.size()));
    const absl::StatusOr<void*> d_positions = stream.AllocateDevice(positions_bytes);
    const absl::StatusOr<void*> h_positions = stream.AllocateHost(positions_bytes);
    for (const absl::Status& made : {d_needles.status(), d_positions.status(), h_positions.status()}) {
      status.Update(made);
    }
    if (!status.ok()) return status;
    SearchArgs search = SearchOf(options_, rows_[i].keys, shards_[i].count);
    search.needles = *d_needles;
    search.positions_out = *d_positions;
    status = stream.Search(search, &devices_[i].search_report);
    if (status.ok()) status = stream.CopyToHost(*h_positions, *d_positions, positions_bytes);
    if (!status.ok()) return status;
    const absl::StatusOr<const void*> point = stream.MarkPoint();
    if (!point.ok()) return point.status();
    are_divided_.push_back(*point);
    devices_[i].h_positions = *h_positions;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ShardedBuckets::Cut(EngineStream& waits) {
  if (absl::Status waited = WaitForAll(are_divided_, waits); !waited.ok()) return waited;
  for (size_t i = 0; i < shards_.size(); ++i) {
    std::vector<int64_t>& starts = devices_[i].starts;
    starts.push_back(0);
    for (int64_t bucket = 1; bucket < kBuckets; ++bucket) {
      const int64_t at = bucket - 1;
      starts.push_back(IndexBytes(shards_[i].count) == 4
                           ? static_cast<int64_t>(static_cast<const uint32_t*>(devices_[i].h_positions)[at])
                           : static_cast<const int64_t*>(devices_[i].h_positions)[at]);
    }
    starts.push_back(shards_[i].count);
  }
  for (size_t bucket = 0; bucket <= kBuckets; ++bucket) {
    int64_t before = 0;
    for (const Device& device : devices_) before += device.starts[bucket];
    starts_.push_back(before);
    if (bucket > 0 && before - starts_[bucket - 1] > MostBucketRows(largest_part_)) return false;
  }
  return true;
}

void ShardedBuckets::FindGroups(size_t shard) {
  const int64_t first = parts_[shard], last = parts_[shard + 1];
  Device& device = devices_[shard];
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    const int64_t begin = starts_[static_cast<size_t>(bucket)], end = starts_[static_cast<size_t>(bucket) + 1];
    if (begin == end || end <= first || begin >= last) continue;
    const bool is_whole = begin >= first && end <= last;
    if (is_whole && !device.groups.empty()) {
      Group& group = device.groups.back();
      if (group.is_whole && group.count + end - begin <= MostGroupRows(largest_part_)) {
        group.last = bucket + 1;
        group.count += end - begin;
        continue;
      }
    }
    device.groups.push_back({bucket, bucket + 1, begin, end - begin, is_whole});
  }
  // The workspace of the first sort is large enough for the others.
  std::stable_sort(device.groups.begin(), device.groups.end(),
                   [](const Group& a, const Group& b) { return a.count > b.count; });
  for (Group& group : device.groups) {
    group.offsets = device.offsets.size();
    for (int bucket = group.first; bucket <= group.last; ++bucket) {
      device.offsets.push_back(starts_[static_cast<size_t>(bucket)] - group.begin);
    }
  }
}

absl::Status ShardedBuckets::AllocateBuffers(size_t shard) {
  Device& device = devices_[shard];
  if (device.groups.empty()) return absl::OkStatus();
  EngineStream& stream = *shards_[shard].result.stream;
  EngineStream& puller = *shards_[shard].result.puller;
  const auto allocate = [this](EngineStream& of, int64_t rows, Rows* to) {
    absl::Status status = AllocateDevice(of, rows * key_bytes_, &to->keys);
    if (status.ok()) status = AllocateDevice(of, rows * options_.value_bytes, &to->values);
    return status;
  };
  absl::Status status = allocate(stream, MostBucketRows(largest_part_), &device.edge);
  device.slots.resize(std::min(kSlots, device.groups.size()));
  for (Rows& slot : device.slots) {
    if (status.ok()) status = allocate(puller, device.groups.front().count, &slot);
  }
  if (!status.ok()) return status;
  const absl::StatusOr<const void*> d_offsets =
      stream.Upload(device.offsets.data(), static_cast<int64_t>(device.offsets.size() * sizeof(int64_t)));
  if (!d_offsets.ok()) return d_offsets.status();
  device.d_offsets = static_cast<const int64_t*>(*d_offsets);
  for (const void* const point : are_divided_) {
    if (status.ok()) status = puller.After(point);
  }
  return status;
}

absl::Status ShardedBuckets::Pull(size_t shard, const Group& group, const Rows& slot) const {
  EngineStream& puller = *shards_[shard].result.puller;
  for (int number = group.first; number < group.last; ++number) {
    const auto bucket = static_cast<size_t>(number);
    std::vector<int64_t> places = {starts_[bucket] - group.begin};
    for (const Device& from : devices_) places.push_back(places.back() + from.starts[bucket + 1] - from.starts[bucket]);
    // Each device begins with another one, so that no link serves all of them at a time.
    for (size_t step = 1; step <= devices_.size(); ++step) {
      const size_t from = (shard + step) % devices_.size();
      const auto copy = [&](char* to, const char* rows, int64_t bytes) {
        return puller.Copy(to + places[from] * bytes, rows + devices_[from].starts[bucket] * bytes,
                           (places[from + 1] - places[from]) * bytes);
      };
      absl::Status copied = copy(slot.keys, rows_[from].keys, key_bytes_);
      if (copied.ok() && options_.value_bytes > 0) copied = copy(slot.values, rows_[from].values, options_.value_bytes);
      if (!copied.ok()) return copied;
    }
  }
  return absl::OkStatus();
}

absl::Status ShardedBuckets::SortGroup(size_t shard, size_t number) {
  Device& device = devices_[shard];
  const Group& group = device.groups[number];
  const ShardResult& part = shards_[shard].result;
  const Rows& slot = device.slots[number % device.slots.size()];
  if (number >= device.slots.size()) {
    const absl::Status waits = part.puller->After(device.are_sorted[number - device.slots.size()]);
    if (!waits.ok()) return waits;
  }
  if (absl::Status pulled = Pull(shard, group, slot); !pulled.ok()) return pulled;
  const absl::StatusOr<const void*> are_there = part.puller->MarkPoint();
  if (!are_there.ok()) return are_there.status();
  if (absl::Status waits = part.stream->After(*are_there); !waits.ok()) return waits;

  // The rows of the group that belong to the part.
  const int64_t begin = std::max(group.begin, parts_[shard]);
  const int64_t count = std::min(group.begin + group.count, parts_[shard + 1]) - begin;
  const int64_t first = begin - parts_[shard];
  const auto at = [this](const Rows& rows, int64_t row) {
    return Rows{rows.keys + row * key_bytes_,
                options_.value_bytes > 0 ? rows.values + row * options_.value_bytes : nullptr};
  };
  const Rows result = at({static_cast<char*>(part.keys), static_cast<char*>(part.values)}, first);
  const Rows& sorted = group.is_whole ? result : device.edge;
  absl::Status status = part.stream->Sort(
      GroupSortOf(options_, group.count, slot, sorted, device.d_offsets + group.offsets, group.last - group.first),
      &device.report);
  if (!group.is_whole) {
    const Rows kept = at(sorted, begin - group.begin);
    if (status.ok()) status = part.stream->Copy(result.keys, kept.keys, count * key_bytes_);
    if (status.ok()) status = part.stream->Copy(result.values, kept.values, count * options_.value_bytes);
  }
  if (!status.ok()) return status;
  const absl::StatusOr<const void*> are_sorted = part.stream->MarkPoint();
  if (!are_sorted.ok()) return are_sorted.status();
  device.are_sorted.push_back(*are_sorted);
  return SendRows(part, key_bytes_, options_.value_bytes, first, count, *are_sorted, number == 0);
}

absl::Status ShardedBuckets::Sort() {
  size_t most_groups = 0;
  for (size_t i = 0; i < shards_.size(); ++i) {
    FindGroups(i);
    if (absl::Status allocated = AllocateBuffers(i); !allocated.ok()) return allocated;
    most_groups = std::max(most_groups, devices_[i].groups.size());
  }
  // Group by group, so that no device waits until all of another's work is enqueued.
  for (size_t group = 0; group < most_groups; ++group) {
    for (size_t i = 0; i < shards_.size(); ++i) {
      if (group >= devices_[i].groups.size()) continue;
      if (absl::Status enqueued = SortGroup(i, group); !enqueued.ok()) return enqueued;
    }
  }
  absl::Status status;
  for (const Shard& shard : shards_) status.Update(shard.result.stream->EndKernels());
  return status;
}

}  // namespace corank
