#include "tests/server/bad_requests.h"

#include <cstdint>
#include <limits>

#include "tests/server/bad_request_table.h"
#include "tests/server/messages.h"

namespace corank::testing {
namespace {

constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// Errors that any array can have, shown with the keys of a Sort.
void AddArrays(Table& table) {
  using R = v1::SortRequest;
  table.Add<R>(
      "ArrayMissing", GoodSort(), [](R& r) { r.clear_keys(); }, "keys");
  table.Add<R>(
      "TypeMissing", GoodSort(), [](R& r) { r.mutable_keys()->clear_type(); }, "keys.type");
  table.Add<R>(
      "TypeUnknown", GoodSort(), [](R& r) { r.mutable_keys()->set_type(static_cast<v1::ElementType>(99)); },
      "keys.type");
  table.Add<R>(
      "KeysOfRecords", GoodSort(), [](R& r) { *r.mutable_keys() = Records(4, "abcdefgh"); }, "keys.type");
  table.Add<R>(
      "RecordBytesWithoutRecords", GoodSort(), [](R& r) { r.mutable_keys()->set_record_bytes(4); },
      "keys.record_bytes");
  table.Add<R>(
      "PartOfAnElement", GoodSort(), [](R& r) { r.mutable_keys()->set_inline_data("12345"); }, "keys.inline_data");
  table.Add<R>(
      "CountTooLarge", GoodSort(), [](R& r) { r.mutable_keys()->set_count(4); }, "keys.count");
  table.Add<R>(
      "CountOfOverflowingBytes", GoodSort(), [](R& r) { r.mutable_keys()->set_count((int64_t{1} << 62) + 3); },
      "keys.count");
  table.Add<R>(
      "CountNegative", GoodSort(), [](R& r) { r.mutable_keys()->set_count(-1); }, "keys.count");
  table.Add<R>(
      "CountWithoutBytes", GoodSort(), [](R& r) { r.mutable_keys()->clear_place(), r.mutable_keys()->set_count(3); },
      "keys.count");
  table.Add<R>(
      "SharedMemory", GoodSort(), [](R& r) { r.mutable_keys()->mutable_shared_memory()->set_region("x"); },
      "keys.shared_memory", kUnimplemented);
  table.Add<R>(
      "CudaIpc", GoodSort(), [](R& r) { r.mutable_keys()->mutable_cuda_ipc()->set_region("x"); }, "keys.cuda_ipc",
      kUnimplemented);
  table.Add<R>(
      "Stored", GoodSort(), [](R& r) { r.mutable_keys()->mutable_stored()->set_name("x"); }, "keys.stored",
      kUnimplemented);
  table.Add<R>(
      "Stream", GoodSort(), [](R& r) { r.mutable_keys()->mutable_stream(); }, "keys.stream");
  table.Add<R>(
      "DestinationSharedMemory", GoodSort(), [](R& r) { r.mutable_keys_destination()->mutable_shared_memory(); },
      "keys_destination.shared_memory", kUnimplemented);
  table.Add<R>(
      "DestinationCudaIpc", GoodSort(),
      [](R& r) {
        *r.mutable_values() = r.keys();
        r.mutable_values_destination()->mutable_cuda_ipc();
      },
      "values_destination.cuda_ipc", kUnimplemented);
  table.Add<R>(
      "DestinationStored", GoodSort(),
      [](R& r) {
        r.clear_values();
        r.set_output(v1::SORT_OUTPUT_INDICES);
        r.mutable_indices_destination()->mutable_stored();
      },
      "indices_destination.stored", kUnimplemented);
  table.Add<R>(
      "DestinationOfNoResult", GoodSort(), [](R& r) { r.mutable_indices_destination()->mutable_stored(); },
      "indices_destination");
  table.Add<R>(
      "DestinationStream", GoodSort(), [](R& r) { r.mutable_keys_destination()->mutable_stream(); },
      "keys_destination.stream");
  table.Add<R>(
      "RequestIdTooLong", GoodSort(), [](R& r) { r.mutable_options()->set_request_id(std::string(129, 'x')); },
      "options.request_id");
  table.Add<R>(
      "RequestIdNotPrintable", GoodSort(), [](R& r) { r.mutable_options()->set_request_id("a\r\nb: c"); },
      "options.request_id");
  table.Add<R>(
      "PriorityUnknown", GoodSort(), [](R& r) { r.mutable_options()->set_priority(static_cast<v1::Priority>(9)); },
      "options.priority");
  table.Add<R>(
      "MessageTooLarge", GoodSort(), [](R& r) { r.mutable_keys()->set_inline_data(std::string(70'000, 'x')); },
      "request");
}

void AddSorts(Table& table) {
  using R = v1::SortRequest;
  const auto with_segments = [](std::vector<int64_t> offsets) {
    return [offsets](R& r) { *r.mutable_segment_offsets() = Int64s(offsets); };
  };
  table.Add<R>(
      "OrderUnknown", GoodSort(), [](R& r) { r.set_order(static_cast<v1::SortOrder>(7)); }, "order");
  table.Add<R>(
      "AlgorithmUnknown", GoodSort(), [](R& r) { r.set_algorithm(static_cast<v1::SortAlgorithm>(77)); }, "algorithm");
  table.Add<R>(
      "AlgorithmOfResponses", GoodSort(), [](R& r) { r.set_algorithm(v1::SORT_ALGORITHM_COPY); }, "algorithm");
  table.Add<R>(
      "OutputUnknown", GoodSort(), [](R& r) { r.set_output(static_cast<v1::SortOutput>(-1)); }, "output");
  table.Add<R>(
      "ValuesTooFew", GoodSort(),
      [](R& r) {
        *r.mutable_values() = Int32s({1, 2});
      },
      "values.count");
  table.Add<R>(
      "ValuesWithIndices", GoodSort(),
      [](R& r) {
        *r.mutable_values() = Int32s({1, 2, 3}), r.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
      },
      "values");
  table.Add<R>(
      "RecordsOfNoBytes", GoodSort(), [](R& r) { *r.mutable_values() = Records(0, "abc"); }, "values.record_bytes");
  table.Add<R>(
      "RecordsTooWide", GoodSort(), [](R& r) { *r.mutable_values() = Records(257, std::string(771, 'x')); },
      "values.record_bytes");
  table.Add<R>(
      "SegmentsOfOtherType", GoodSort(),
      [](R& r) {
        *r.mutable_segment_offsets() = Int32s({0, 3});
      },
      "segment_offsets.type");
  table.Add<R>("SegmentsEmpty", GoodSort(), with_segments({}), "segment_offsets");
  table.Add<R>("SegmentsStartLate", GoodSort(), with_segments({1, 3}), "segment_offsets[0]");
  table.Add<R>("SegmentsFall", GoodSort(), with_segments({0, 2, 1, 3}), "segment_offsets[2]");
  table.Add<R>("SegmentsEndEarly", GoodSort(), with_segments({0, 2}), "segment_offsets[1]");
  table.Add<R>("SegmentsEndLate", GoodSort(), with_segments({0, 2, kMax}), "segment_offsets[2]");
  table.Add<R>(
      "LimitNegative", GoodSort(), [](R& r) { r.set_limit(-1); }, "limit");
  table.Add<R>(
      "LimitWithSegments", GoodSort(),
      [](R& r) {
        *r.mutable_segment_offsets() = Int64s({0, 3}), r.set_limit(1);
      },
      "limit");
  // 20 000 bytes of keys whose indices take 80 000 bytes.
  table.Add<R>(
      "ResultTooLarge", GoodSort(),
      [](R& r) {
        r.mutable_keys()->set_type(v1::ELEMENT_TYPE_UINT8);
        r.mutable_keys()->set_inline_data(std::string(20'000, 'x'));
        r.set_output(v1::SORT_OUTPUT_INDICES);
      },
      "keys");
}

void AddMergesAndSearches(Table& table) {
  using M = v1::MergeRequest;
  table.Add<M>(
      "MergeOfOne", GoodMerge(), [](M& r) { r.mutable_keys()->RemoveLast(); }, "keys");
  table.Add<M>(
      "MergeOfTooMany", GoodMerge(),
      [](M& r) {
        r.clear_values();
        for (int i = 2; i < 1025; ++i) *r.add_keys() = Int32s({1});
      },
      "keys");
  table.Add<M>(
      "MergeOfTwoTypes", GoodMerge(), [](M& r) { r.mutable_keys(1)->set_type(v1::ELEMENT_TYPE_UINT32); },
      "keys[1].type");
  table.Add<M>(
      "MergePartOfAnElement", GoodMerge(), [](M& r) { r.mutable_keys(1)->set_inline_data("123"); },
      "keys[1].inline_data");
  table.Add<M>(
      "MergeWithValuesForOne", GoodMerge(), [](M& r) { r.mutable_values()->RemoveLast(); }, "values");
  table.Add<M>(
      "MergeValuesTooFew", GoodMerge(), [](M& r) { *r.mutable_values(1) = Records(3, ""); }, "values[1].count");
  table.Add<M>(
      "MergeValuesOfTwoTypes", GoodMerge(), [](M& r) { *r.mutable_values(1) = Int32s({1}); }, "values[1].type");
  table.Add<M>(
      "MergeValuesOfTwoWidths", GoodMerge(), [](M& r) { *r.mutable_values(1) = Records(4, "bbbb"); },
      "values[1].record_bytes");
  table.Add<M>(
      "MergeAlgorithmUnknown", GoodMerge(), [](M& r) { r.set_algorithm(static_cast<v1::MergeAlgorithm>(9)); },
      "algorithm");
  table.Add<M>(
      "MergeOrderUnknown", GoodMerge(), [](M& r) { r.set_order(static_cast<v1::SortOrder>(9)); }, "order");
  table.Add<M>(
      "MergeDestination", GoodMerge(), [](M& r) { r.mutable_values_destination()->mutable_stored(); },
      "values_destination.stored", kUnimplemented);

  using S = v1::SearchRequest;
  table.Add<S>(
      "SearchHaystackMissing", GoodSearch(), [](S& r) { r.clear_haystack(); }, "haystack");
  table.Add<S>(
      "SearchNeedlesMissing", GoodSearch(), [](S& r) { r.clear_needles(); }, "needles");
  table.Add<S>(
      "SearchNeedlesOfOtherType", GoodSearch(), [](S& r) { r.mutable_needles()->set_type(v1::ELEMENT_TYPE_FLOAT32); },
      "needles.type");
  table.Add<S>(
      "SearchBoundUnknown", GoodSearch(), [](S& r) { r.set_bound(static_cast<v1::SearchBound>(3)); }, "bound");
  table.Add<S>(
      "SearchOrderUnknown", GoodSearch(), [](S& r) { r.set_order(static_cast<v1::SortOrder>(3)); }, "order");
  table.Add<S>(
      "SearchDestination", GoodSearch(), [](S& r) { r.mutable_destination()->mutable_stream(); }, "destination.stream");
  table.Add<S>(
      "SearchResultTooLarge", GoodSearch(),
      [](S& r) {
        r.mutable_haystack()->set_type(v1::ELEMENT_TYPE_INT8);
        *r.mutable_needles() = MakeArray(v1::ELEMENT_TYPE_INT8, std::string(20'000, 'x').data(), 20'000);
      },
      "needles");
}

}  // namespace

Limits TableLimits() {
  Limits limits;
  limits.max_request_bytes = limits.max_response_bytes = 65'536;
  return limits;
}

std::vector<BadRequest> MalformedRequests() {
  Table table;
  AddArrays(table);
  AddSorts(table);
  AddBadColumnSorts(table);
  AddMergesAndSearches(table);
  AddBadIntervals(table);
  return table.Take();
}

std::vector<BadRequest> FaultyRequests() {
  Table table;
  using M = v1::MergeRequest;
  table.Add<M>(
      "MergeUnsorted", GoodMerge(),
      [](M& r) {
        *r.mutable_keys(0) = Int32s({3, 1});
      },
      "keys[0]");
  table.Add<M>(
      "MergeUnsortedLater", GoodMerge(),
      [](M& r) {
        r.clear_values();
        *r.add_keys() = Int32s({1, 2, 4, 3});
      },
      "keys[2]");
  table.Add<M>(
      "MergeSortedTheOtherWay", GoodMerge(), [](M& r) { r.set_order(v1::SORT_ORDER_DESCENDING); }, "keys[0]");
  using S = v1::SearchRequest;
  table.Add<S>(
      "SearchUnsorted", GoodSearch(),
      [](S& r) {
        *r.mutable_haystack() = Int32s({1, 5, 3});
      },
      "haystack");
  using V = v1::MoveIntervalsRequest;
  table.Add<V>(
      "MoveOverlapping", GoodMove(),
      [](V& r) {
        *r.mutable_destination_offsets() = Int64s({1, 0});
      },
      "destination_offsets[0]");
  using C = v1::ScatterIntervalsRequest;
  table.Add<C>(
      "ScatterOverlapping", GoodScatter(),
      [](C& r) {
        *r.mutable_destination_offsets() = Int64s({2, 0});
      },
      "destination_offsets[0]");
  return table.Take();
}

}  // namespace corank::testing
