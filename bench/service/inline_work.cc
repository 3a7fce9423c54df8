#include "bench/service/inline_work.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/string_view.h"
#include "bench/service/keys.h"
#include "corank/v1/operators.pb.h"
#include "proto/grpc_payloads.h"

namespace corank::bench {
namespace {

constexpr uint64_t kOtherSeed = 1000;  // distinct from the ids of callers

void SetInline(v1::ElementType type, std::string bytes, v1::Array* array) {
  array->set_type(type);
  array->set_inline_data(std::move(bytes));
}
void SetInline(const std::vector<uint32_t>& elements, v1::Array* array) {
  SetInline(v1::ELEMENT_TYPE_UINT32, Bytes(elements), array);
}

std::vector<uint32_t> Sorted(std::vector<uint32_t> keys) {
  std::sort(keys.begin(), keys.end());
  return keys;
}

template <typename Response, typename Request>
InlineWork MakeWork(const char* method, const Request& request, std::vector<std::string> results) {
  InlineWork work;
  work.type = "u32";
  work.distribution = "uniform";
  work.method = method;
  const grpc::Slice bytes(request.SerializeAsString());
  work.request = grpc::ByteBuffer(&bytes, 1);
  work.stats_field = Response::kStatsFieldNumber;
  work.response = &Response::default_instance();
  work.results = std::move(results);
  return work;
}

InlineWork Sort(int64_t count, uint64_t seed) {
  const std::vector<uint32_t> keys = UniformKeys(count, seed);
  v1::SortRequest request;
  SetInline(keys, request.mutable_keys());
  return MakeWork<v1::SortResponse>(kSortMethod, request, {Bytes(Sorted(keys))});
}

InlineWork SortPairs(int64_t count, uint64_t seed) {
  const std::vector<uint32_t> keys = UniformKeys(count, seed), values = UniformKeys(count, seed + kOtherSeed);
  v1::SortRequest request;
  SetInline(keys, request.mutable_keys());
  SetInline(values, request.mutable_values());
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&keys](size_t a, size_t b) { return keys[a] < keys[b]; });
  std::vector<uint32_t> moved;
  for (const size_t i : order) moved.push_back(values[i]);
  InlineWork work = MakeWork<v1::SortResponse>(kSortMethod, request, {Bytes(Sorted(keys)), Bytes(moved)});
  work.type = "u32+u32";
  return work;
}

InlineWork Merge(int64_t count, uint64_t seed) {
  const std::vector<uint32_t> first = Sorted(UniformKeys(count / 2, seed));
  const std::vector<uint32_t> second = Sorted(UniformKeys(count - count / 2, seed + kOtherSeed));
  v1::MergeRequest request;
  SetInline(first, request.add_keys());
  SetInline(second, request.add_keys());
  std::vector<uint32_t> merged;
  std::merge(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(merged));
  InlineWork work = MakeWork<v1::MergeResponse>("/corank.v1.CorankService/Merge", request, {Bytes(merged)});
  work.distribution = "two halves";
  return work;
}

InlineWork Search(int64_t count, uint64_t seed) {
  const std::vector<uint32_t> haystack = Sorted(UniformKeys(count, seed));
  const std::vector<uint32_t> needles = UniformKeys(count, seed + kOtherSeed);
  v1::SearchRequest request;
  SetInline(haystack, request.mutable_haystack());
  SetInline(needles, request.mutable_needles());
  std::vector<uint32_t> positions;
  for (const uint32_t needle : needles) {
    const auto found = std::lower_bound(haystack.begin(), haystack.end(), needle);
    positions.push_back(static_cast<uint32_t>(found - haystack.begin()));
  }
  InlineWork work = MakeWork<v1::SearchResponse>("/corank.v1.CorankService/Search", request, {Bytes(positions)});
  work.distribution = "as many needles";
  return work;
}

InlineWork Expand(int64_t count, uint64_t seed) {
  const std::vector<uint32_t> values = UniformKeys(count, seed);
  std::vector<int64_t> counts;
  std::vector<uint32_t> repeated;
  for (const uint32_t random : UniformKeys(count, seed + kOtherSeed)) {
    repeated.insert(repeated.end(), random % 7, values[counts.size()]);
    counts.push_back(random % 7);
  }
  v1::ExpandIntervalsRequest request;
  SetInline(values, request.mutable_values());
  SetInline(v1::ELEMENT_TYPE_INT64, Bytes(counts), request.mutable_counts());
  InlineWork work =
      MakeWork<v1::ExpandIntervalsResponse>("/corank.v1.CorankService/ExpandIntervals", request, {Bytes(repeated)});
  work.distribution = "mean 3";
  return work;
}

bool HoldsAt(const std::vector<grpc::Slice>& slices, size_t offset, absl::string_view expected) {
  for (const grpc::Slice& slice : slices) {
    if (expected.empty()) break;
    if (offset >= slice.size()) {
      offset -= slice.size();
      continue;
    }
    const size_t here = std::min(slice.size() - offset, expected.size());
    if (std::memcmp(slice.begin() + offset, expected.data(), here) != 0) return false;
    expected.remove_prefix(here);
    offset = 0;
  }
  return expected.empty();
}

}  // namespace

InlineWork MakeInlineWork(InlineOperator op, int64_t keys, uint64_t seed) {
  switch (op) {
    case InlineOperator::kSort:
      return Sort(keys, seed);
    case InlineOperator::kSortPairs:
      return SortPairs(keys, seed);
    case InlineOperator::kMerge:
      return Merge(keys, seed);
    case InlineOperator::kSearch:
      return Search(keys, seed);
    case InlineOperator::kExpand:
      return Expand(keys, seed);
  }
  return {};
}

bool IsAnswer(const InlineWork& work, const grpc::ByteBuffer& answer) {
  const std::unique_ptr<google::protobuf::Message> message(work.response->New());
  std::vector<PayloadRange> payloads;
  std::vector<grpc::Slice> slices;
  if (!ParseHeads(answer, message.get(), &payloads) || payloads.size() != work.results.size()) return false;
  if (!answer.Dump(&slices).ok()) return false;
  for (size_t i = 0; i < payloads.size(); ++i) {
    if (payloads[i].bytes != static_cast<int64_t>(work.results[i].size())) return false;
    if (!HoldsAt(slices, static_cast<size_t>(payloads[i].offset), work.results[i])) return false;
  }
  return true;
}

}  // namespace corank::bench
