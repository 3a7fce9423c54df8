#include "bench/service/stream_work.h"

#include <algorithm>
#include <cstddef>

#include "bench/harness/intervals.h"
#include "bench/service/keys.h"

namespace corank::bench {
namespace {

constexpr int64_t kMeanInterval = 1024;

void SetStream(uint32_t stream_id, int64_t count, v1::Array* array) {
  array->set_type(v1::ELEMENT_TYPE_UINT32);
  array->set_count(count);
  array->mutable_stream()->set_stream_id(stream_id);
}

void SetInline(const std::vector<int64_t>& elements, v1::Array* array) {
  array->set_type(v1::ELEMENT_TYPE_INT64);
  array->set_inline_data(Bytes(elements));
}

StreamWork Sort(int64_t count) {
  StreamWork work;
  v1::SortRequest& sort = *work.operation.mutable_sort();
  SetStream(0, count, sort.mutable_keys());
  sort.mutable_keys_destination()->mutable_stream()->set_stream_id(0);
  work.keys = UniformKeys(count);
  work.counts = {count};
  work.result = SortedOnAllCores(work.keys);
  return work;
}

StreamWork Merge(int64_t count) {
  StreamWork work;
  v1::MergeRequest& merge = *work.operation.mutable_merge();
  work.counts = {count / 2, count - count / 2};
  for (uint32_t stream = 0; stream < 2; ++stream) {
    const int64_t half = work.counts[stream];
    SetStream(stream, half, merge.add_keys());
    const std::vector<uint32_t> keys = SortedOnAllCores(UniformKeys(half, stream + 1));
    work.keys.insert(work.keys.end(), keys.begin(), keys.end());
  }
  merge.mutable_keys_destination()->mutable_stream()->set_stream_id(0);
  work.result.resize(work.keys.size());
  const auto middle = work.keys.begin() + work.counts[0];
  std::merge(work.keys.begin(), middle, middle, work.keys.end(), work.result.begin());
  return work;
}

StreamWork Move(int64_t count) {
  StreamWork work;
  const IntervalSet intervals = MakeShuffledIntervals(count, kMeanInterval);
  v1::MoveIntervalsRequest& move = *work.operation.mutable_move_intervals();
  SetStream(0, count, move.mutable_source());
  SetInline(intervals.source_offsets, move.mutable_source_offsets());
  SetInline(intervals.destination_offsets, move.mutable_destination_offsets());
  SetInline(intervals.counts, move.mutable_counts());
  move.set_destination_count(count);
  move.mutable_result_destination()->mutable_stream()->set_stream_id(0);
  work.keys = UniformKeys(count);
  work.counts = {count};
  work.result.resize(work.keys.size());
  for (size_t i = 0; i < intervals.counts.size(); ++i) {
    std::copy_n(work.keys.begin() + intervals.source_offsets[i], intervals.counts[i],
                work.result.begin() + intervals.destination_offsets[i]);
  }
  return work;
}

}  // namespace

StreamWork MakeStreamWork(StreamOperator op, int64_t keys) {
  switch (op) {
    case StreamOperator::kSort:
      return Sort(keys);
    case StreamOperator::kMerge:
      return Merge(keys);
    case StreamOperator::kMove:
      return Move(keys);
  }
  return {};
}

}  // namespace corank::bench
