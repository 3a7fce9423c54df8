#include "tests/server/good_requests.h"

#include "tests/server/messages.h"

namespace corank::testing {

v1::SortRequest GoodSort() {
  v1::SortRequest request;
  *request.mutable_keys() = Int32s({3, 1, 2});
  return request;
}
v1::SortRequest GoodColumnSort() {
  v1::SortRequest request;
  *request.add_key_columns()->mutable_data() = Int32s({2, 1, 2});
  *request.add_key_columns()->mutable_data() = Records(2, "bbaaab");
  v1::KeyColumn* strings = request.add_key_columns();
  *strings->mutable_data() = MakeArray(v1::ELEMENT_TYPE_UINT8, "abcd", 4);
  *strings->mutable_offsets() = Int64s({0, 1, 1, 4});
  strings->set_order(v1::SORT_ORDER_DESCENDING);
  return request;
}
v1::MergeRequest GoodMerge() {
  v1::MergeRequest request;
  *request.add_keys() = Int32s({1, 3});
  *request.add_keys() = Int32s({2});
  *request.add_values() = Records(3, "aaaccc");
  *request.add_values() = Records(3, "bbb");
  return request;
}
v1::ExpandIntervalsRequest GoodExpand() {
  v1::ExpandIntervalsRequest request;
  *request.mutable_values() = Int32s({7, 8, 9});
  *request.mutable_counts() = Int64s({1, 0, 2});
  return request;
}
v1::MoveIntervalsRequest GoodMove() {
  v1::MoveIntervalsRequest request;
  *request.mutable_source() = Int32s({1, 2, 3, 4});
  *request.mutable_source_offsets() = Int64s({0, 2});
  *request.mutable_destination_offsets() = Int64s({3, 0});
  *request.mutable_counts() = Int64s({2, 2});
  request.set_destination_count(5);
  return request;
}
v1::GatherIntervalsRequest GoodGather() {
  v1::GatherIntervalsRequest request;
  *request.mutable_source() = Int32s({1, 2, 3, 4});
  *request.mutable_source_offsets() = Int64s({2, 0});
  *request.mutable_counts() = Int64s({2, 3});
  return request;
}
v1::ScatterIntervalsRequest GoodScatter() {
  v1::ScatterIntervalsRequest request;
  *request.mutable_source() = Int32s({1, 2, 3, 4});
  *request.mutable_destination_offsets() = Int64s({4, 0});
  *request.mutable_counts() = Int64s({1, 3});
  *request.mutable_destination() = Int32s({0, 0, 0, 0, 0, 9});
  return request;
}
v1::LoadBalanceRequest GoodBalance() {
  v1::LoadBalanceRequest request;
  *request.mutable_counts() = Int64s({2, 0, 1});
  return request;
}
v1::SearchRequest GoodSearch() {
  v1::SearchRequest request;
  *request.mutable_haystack() = Int32s({1, 3, 5});
  *request.mutable_needles() = Int32s({4, 0});
  return request;
}

std::vector<AnyRequest> GoodRequests() {
  return {GoodSort(),    GoodMerge(),   GoodExpand(), GoodMove(),      GoodGather(),
          GoodScatter(), GoodBalance(), GoodSearch(), GoodColumnSort()};
}

}  // namespace corank::testing
