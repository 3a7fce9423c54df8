#include "tests/fuzz/answers.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/common/group.h"
#include "tests/support/oracles.h"

namespace corank::fuzz {
namespace {

using testing::Bytes;

bool IsInline(const v1::Array& array) { return array.place_case() == v1::Array::kInlineData; }
bool IsInline(const v1::Destination& destination) {
  return destination.place_case() == v1::Destination::PLACE_NOT_SET || destination.has_inline_response();
}

Bytes BytesOf(const v1::Array& array) { return {array.inline_data().begin(), array.inline_data().end()}; }

std::vector<int64_t> Int64sOf(const v1::Array& array) {
  std::vector<int64_t> numbers(array.inline_data().size() / sizeof(int64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), array.inline_data().data(), numbers.size() * sizeof(int64_t));
  return numbers;
}

int ElementBytes(const v1::Array& array) {
  if (array.type() == v1::ELEMENT_TYPE_RECORD) return static_cast<int>(array.record_bytes());
  return KeyBytes(static_cast<KeyType>(array.type()));  // keys have the contract's numbers
}

KeyType KeyTypeOf(const v1::Array& array) { return static_cast<KeyType>(array.type()); }

Order OrderOf(v1::SortOrder order) {
  return order == v1::SORT_ORDER_DESCENDING ? Order::kDescending : Order::kAscending;
}

bool Holds(const v1::Array& array, const v1::Array& like, const Bytes& bytes) {
  return BytesOf(array) == bytes && array.type() == like.type() && array.record_bytes() == like.record_bytes();
}

bool HoldsIndices(const v1::Array& array, const std::vector<int64_t>& indices) {
  if (array.type() != v1::ELEMENT_TYPE_UINT32 && array.type() != v1::ELEMENT_TYPE_UINT64) return false;
  return BytesOf(array) == testing::IndexArray(indices, ElementBytes(array));
}

std::vector<int64_t> WholePositions(const std::vector<int64_t>& counts) {
  std::vector<int64_t> positions;
  for (size_t i = 0; i < counts.size(); ++i) {
    positions.insert(positions.end(), static_cast<size_t>(counts[i]), static_cast<int64_t>(i));
  }
  return positions;
}

// The destination before MoveIntervals and ScatterIntervals.
template <typename Request>
Bytes Initial(const Request& request, int element_bytes) {
  if (request.has_destination()) return BytesOf(request.destination());
  return Bytes(static_cast<size_t>(request.destination_count() * element_bytes));
}

}  // namespace

bool IsRight(const v1::SortRequest& request, const v1::SortResponse& response) {
  if (request.key_columns_size() > 0 || !IsInline(request.keys()) || !IsInline(request.keys_destination()) ||
      !IsInline(request.values_destination()) || !IsInline(request.indices_destination()) ||
      (request.has_values() && !IsInline(request.values())) ||
      (request.has_segment_offsets() && !IsInline(request.segment_offsets()))) {
    return true;
  }
  const Bytes keys = BytesOf(request.keys());
  const std::vector<int64_t> offsets =
      request.has_segment_offsets() ? Int64sOf(request.segment_offsets()) : std::vector<int64_t>();
  std::vector<int64_t> order = testing::StableOrder(KeyTypeOf(request.keys()), OrderOf(request.order()), keys, offsets);
  order.erase(order.begin(), order.begin() + std::min(request.offset(), static_cast<int64_t>(order.size())));
  if (request.has_limit() && request.limit() < static_cast<int64_t>(order.size())) {
    order.resize(static_cast<size_t>(request.limit()));
  }
  const bool wants_keys = request.output() != v1::SORT_OUTPUT_INDICES;
  const bool wants_indices =
      request.output() == v1::SORT_OUTPUT_INDICES || request.output() == v1::SORT_OUTPUT_KEYS_AND_INDICES;
  if (response.has_keys() != wants_keys || response.has_indices() != wants_indices ||
      response.has_values() != request.has_values()) {
    return false;
  }
  const auto gathered = [&order](const v1::Array& array) {
    return testing::Gather(BytesOf(array), ElementBytes(array), order);
  };
  if (wants_keys && !Holds(response.keys(), request.keys(), gathered(request.keys()))) return false;
  if (request.has_values() && !Holds(response.values(), request.values(), gathered(request.values()))) return false;
  return !wants_indices || HoldsIndices(response.indices(), order);
}

bool IsRight(const v1::MergeRequest& request, const v1::MergeResponse& response) {
  if (!IsInline(request.keys_destination()) || !IsInline(request.values_destination())) return true;
  const Order order = OrderOf(request.order());
  std::vector<Bytes> inputs;
  Bytes keys, values;
  for (int i = 0; i < request.keys_size(); ++i) {
    if (!IsInline(request.keys(i)) || (request.values_size() > 0 && !IsInline(request.values(i)))) return true;
    inputs.push_back(BytesOf(request.keys(i)));
    // Nothing is promised for unsorted inputs with assume_sorted.
    if (testing::FirstUnsorted(KeyTypeOf(request.keys(i)), order, inputs.back())) return request.assume_sorted();
    keys.insert(keys.end(), inputs.back().begin(), inputs.back().end());
    if (request.values_size() == 0) continue;
    const Bytes more = BytesOf(request.values(i));
    values.insert(values.end(), more.begin(), more.end());
  }
  const std::vector<int64_t> merged = testing::MergeOrder(KeyTypeOf(request.keys(0)), order, inputs);
  if (!Holds(response.keys(), request.keys(0), testing::Gather(keys, ElementBytes(request.keys(0)), merged))) {
    return false;
  }
  return request.values_size() == 0 ||
         Holds(response.values(), request.values(0), testing::Gather(values, ElementBytes(request.values(0)), merged));
}

bool IsRight(const v1::ExpandIntervalsRequest& request, const v1::ExpandIntervalsResponse& response) {
  if (!IsInline(request.values()) || !IsInline(request.counts()) || !IsInline(request.destination())) return true;
  const std::vector<int64_t> positions = WholePositions(Int64sOf(request.counts()));
  return Holds(response.values(), request.values(),
               testing::Gather(BytesOf(request.values()), ElementBytes(request.values()), positions));
}

bool IsRight(const v1::MoveIntervalsRequest& request, const v1::MoveIntervalsResponse& response) {
  if (!IsInline(request.source()) || !IsInline(request.source_offsets()) || !IsInline(request.destination_offsets()) ||
      !IsInline(request.counts()) || !IsInline(request.result_destination()) ||
      (request.has_destination() && !IsInline(request.destination()))) {
    return true;
  }
  const std::vector<int64_t> counts = Int64sOf(request.counts());
  const std::vector<int64_t> to = Int64sOf(request.destination_offsets());
  if (testing::FirstOverlap(to, counts)) return request.allow_overlap();  // which interval wins is not promised
  const int element_bytes = ElementBytes(request.source());
  return Holds(response.result(), request.source(),
               testing::Move(BytesOf(request.source()), Initial(request, element_bytes), element_bytes,
                             Int64sOf(request.source_offsets()), to, counts));
}

bool IsRight(const v1::GatherIntervalsRequest& request, const v1::GatherIntervalsResponse& response) {
  if (!IsInline(request.source()) || !IsInline(request.source_offsets()) || !IsInline(request.counts()) ||
      !IsInline(request.destination())) {
    return true;
  }
  const std::vector<int64_t> counts = Int64sOf(request.counts());
  const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  const int element_bytes = ElementBytes(request.source());
  return Holds(response.result(), request.source(),
               testing::Move(BytesOf(request.source()), Bytes(static_cast<size_t>(total * element_bytes)),
                             element_bytes, Int64sOf(request.source_offsets()), testing::PrefixSums(counts), counts));
}

bool IsRight(const v1::ScatterIntervalsRequest& request, const v1::ScatterIntervalsResponse& response) {
  if (!IsInline(request.source()) || !IsInline(request.destination_offsets()) || !IsInline(request.counts()) ||
      !IsInline(request.result_destination()) || (request.has_destination() && !IsInline(request.destination()))) {
    return true;
  }
  const std::vector<int64_t> counts = Int64sOf(request.counts());
  const std::vector<int64_t> to = Int64sOf(request.destination_offsets());
  if (testing::FirstOverlap(to, counts)) return request.allow_overlap();
  const int element_bytes = ElementBytes(request.source());
  return Holds(response.result(), request.source(),
               testing::Move(BytesOf(request.source()), Initial(request, element_bytes), element_bytes,
                             testing::PrefixSums(counts), to, counts));
}

bool IsRight(const v1::LoadBalanceRequest& request, const v1::LoadBalanceResponse& response) {
  if (!IsInline(request.counts()) || !IsInline(request.objects_destination()) ||
      !IsInline(request.ranks_destination())) {
    return true;
  }
  const auto [objects, ranks] = testing::LoadBalance(Int64sOf(request.counts()));
  return HoldsIndices(response.objects(), objects) && HoldsIndices(response.ranks(), ranks);
}

bool IsRight(const v1::SearchRequest& request, const v1::SearchResponse& response) {
  if (request.haystack_columns_size() > 0) return true;
  if (!IsInline(request.haystack()) || !IsInline(request.needles()) || !IsInline(request.destination())) return true;
  const Order order = OrderOf(request.order());
  const KeyType type = KeyTypeOf(request.haystack());
  const Bytes haystack = BytesOf(request.haystack());
  if (testing::FirstUnsorted(type, order, haystack)) return request.assume_sorted();
  const SearchBound bound = request.bound() == v1::SEARCH_BOUND_UPPER ? SearchBound::kUpper : SearchBound::kLower;
  return HoldsIndices(response.positions(), testing::Bounds(type, order, haystack, BytesOf(request.needles()), bound));
}

namespace {

// A result that the request asks for, or that there must not be.
bool HoldsOrLacks(bool wanted, bool has, const v1::Array& array, v1::ElementType type, const Bytes& bytes) {
  return wanted ? has && array.type() == type && BytesOf(array) == bytes : !has;
}

bool HoldsOrLacksIndices(bool wanted, bool has, const v1::Array& array, const std::vector<int64_t>& indices) {
  return wanted ? has && HoldsIndices(array, indices) : !has;
}

}  // namespace

bool IsRight(const v1::GroupRequest& request, const v1::GroupResponse& response) {
  const v1::Destination* const destinations[] = {&request.keys_destination(),        &request.counts_destination(),
                                                 &request.firsts_destination(),      &request.sums_destination(),
                                                 &request.minima_destination(),      &request.maxima_destination(),
                                                 &request.value_counts_destination()};
  for (const v1::Destination* destination : destinations) {
    if (!IsInline(*destination)) return true;
  }
  if (!IsInline(request.keys()) || (request.has_values() && !IsInline(request.values())) ||
      (request.has_values_validity() && !IsInline(request.values_validity()))) {
    return true;
  }
  const KeyType type = KeyTypeOf(request.keys());
  const Bytes asked = BytesOf(request.keys());
  const auto count = static_cast<int64_t>(asked.size()) / KeyBytes(type);
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  if (request.input() == v1::GROUP_INPUT_UNSPECIFIED || request.input() == v1::GROUP_INPUT_UNSORTED) {
    order = testing::StableOrder(type, OrderOf(request.order()), asked);
  }
  if (request.input() == v1::GROUP_INPUT_SORTED && testing::FirstUnsorted(type, OrderOf(request.order()), asked)) {
    return false;  // the server must refuse it
  }
  const Bytes keys = testing::Gather(asked, KeyBytes(type), order);
  const std::vector<int64_t> starts = testing::GroupStarts(type, keys);
  std::vector<int64_t> counts, firsts;
  for (size_t i = 0; i < starts.size(); ++i) {
    counts.push_back((i + 1 < starts.size() ? starts[i + 1] : count) - starts[i]);
    firsts.push_back(order[static_cast<size_t>(starts[i])]);
  }
  const auto wants = [&request](v1::GroupOutput output) {
    return std::count(request.outputs().begin(), request.outputs().end(), output) > 0;
  };
  const bool is_default = request.outputs_size() == 0;
  if (!HoldsOrLacks(is_default || wants(v1::GROUP_OUTPUT_KEYS), response.has_keys(), response.keys(),
                    request.keys().type(), testing::Gather(keys, KeyBytes(type), starts)) ||
      !HoldsOrLacks(is_default || wants(v1::GROUP_OUTPUT_COUNTS), response.has_counts(), response.counts(),
                    v1::ELEMENT_TYPE_INT64, testing::IndexArray(counts, 8)) ||
      !HoldsOrLacksIndices(wants(v1::GROUP_OUTPUT_FIRSTS), response.has_firsts(), response.firsts(), firsts)) {
    return false;
  }
  if (!request.has_values()) {
    return !response.has_sums() && !response.has_minima() && !response.has_maxima() && !response.has_value_counts();
  }
  const v1::ElementType value_type = request.values().type();
  std::vector<bool> valid;
  if (request.has_values_validity()) {
    const Bytes bitmap = BytesOf(request.values_validity());
    for (const int64_t row : order) valid.push_back((bitmap[static_cast<size_t>(row / 8)] >> (row % 8) & 1) != 0);
  }
  const testing::GroupReductions reductions = testing::ReduceGroups(
      KeyTypeOf(request.values()), testing::Gather(BytesOf(request.values()), ElementBytes(request.values()), order),
      starts, valid);
  if (wants(v1::GROUP_OUTPUT_SUMS) && reductions.overflow >= 0) return false;  // the server must refuse it
  const auto sum_type = static_cast<v1::ElementType>(SumType(KeyTypeOf(request.values())));
  return HoldsOrLacks(wants(v1::GROUP_OUTPUT_SUMS), response.has_sums(), response.sums(), sum_type, reductions.sums) &&
         HoldsOrLacks(wants(v1::GROUP_OUTPUT_MINIMA), response.has_minima(), response.minima(), value_type,
                      reductions.minima) &&
         HoldsOrLacks(wants(v1::GROUP_OUTPUT_MAXIMA), response.has_maxima(), response.maxima(), value_type,
                      reductions.maxima) &&
         HoldsOrLacks(wants(v1::GROUP_OUTPUT_VALUE_COUNTS), response.has_value_counts(), response.value_counts(),
                      v1::ELEMENT_TYPE_INT64, reductions.value_counts);
}

bool IsRight(const v1::CombineSetsRequest& request, const v1::CombineSetsResponse& response) {
  if (!IsInline(request.keys_destination()) || !IsInline(request.values_destination())) return true;
  if (!IsInline(request.count_destination())) return true;
  for (const v1::Array* array : {&request.left(), &request.right(), &request.left_values(), &request.right_values()}) {
    if (array->place_case() != v1::Array::PLACE_NOT_SET && !IsInline(*array)) return true;
  }
  const KeyType type = KeyTypeOf(request.left());
  const Order order = OrderOf(request.order());
  Bytes keys = BytesOf(request.left());
  const Bytes right = BytesOf(request.right());
  // The server must refuse these.
  if (testing::FirstUnsorted(type, order, keys) || testing::FirstUnsorted(type, order, right)) return false;
  const std::vector<int64_t> expected =
      testing::SetOrder(static_cast<SetOperation>(request.operation()), type, order, keys, right);
  keys.insert(keys.end(), right.begin(), right.end());
  if (!HoldsOrLacks(request.count_only(), response.has_count(), response.count(), v1::ELEMENT_TYPE_INT64,
                    testing::IndexArray({static_cast<int64_t>(expected.size())}, 8)) ||
      !HoldsOrLacks(!request.count_only(), response.has_keys(), response.keys(), request.left().type(),
                    testing::Gather(keys, KeyBytes(type), expected))) {
    return false;
  }
  if (!request.has_left_values()) return !response.has_values();
  Bytes values = BytesOf(request.left_values());
  const Bytes more = BytesOf(request.right_values());
  values.insert(values.end(), more.begin(), more.end());
  return Holds(response.values(), request.left_values(),
               testing::Gather(values, ElementBytes(request.left_values()), expected));
}

bool IsRight(const v1::JoinRequest& request, const v1::JoinResponse& response) {
  if (!IsInline(request.left_rows_destination()) || !IsInline(request.right_rows_destination())) return true;
  if (!IsInline(request.count_destination()) || !IsInline(request.left()) || !IsInline(request.right())) return true;
  const KeyType type = KeyTypeOf(request.left());
  const Bytes left = BytesOf(request.left()), right = BytesOf(request.right());
  // The server must refuse it.
  if (request.right_sorted() && testing::FirstUnsorted(type, Order::kAscending, right)) return false;
  const auto kind = static_cast<JoinKind>(request.kind());
  const auto expected = testing::JoinRows(kind, type, left, right);
  const auto rows = static_cast<int64_t>(expected.size());
  const int64_t keys = static_cast<int64_t>(left.size() + right.size()) / KeyBytes(type);
  if (!request.count_only() && rows > (request.has_max_rows() ? request.max_rows() : keys)) return false;
  std::vector<int64_t> left_rows, right_rows;
  for (const auto& [a, b] : expected) {
    left_rows.push_back(a);
    right_rows.push_back(b);
  }
  return HoldsOrLacks(request.count_only(), response.has_count(), response.count(), v1::ELEMENT_TYPE_INT64,
                      testing::IndexArray({rows}, 8)) &&
         HoldsOrLacks(!request.count_only(), response.has_left_rows(), response.left_rows(), v1::ELEMENT_TYPE_INT32,
                      testing::IndexArray(left_rows, 4)) &&
         HoldsOrLacks(!request.count_only() && !IsLeftOnly(kind), response.has_right_rows(), response.right_rows(),
                      v1::ELEMENT_TYPE_INT32, testing::IndexArray(right_rows, 4));
}

bool IsRight(const v1::SelectRequest& request, const v1::SelectResponse& response) {
  for (const v1::Array* array : {&request.elements(), &request.values(), &request.flags(), &request.bitmap(),
                                 &request.positions(), &request.threshold()}) {
    if (!IsInline(*array)) return true;
  }
  for (const v1::Destination* destination : {&request.elements_destination(), &request.values_destination(),
                                             &request.indices_destination(), &request.count_destination()}) {
    if (!IsInline(*destination)) return true;
  }
  const Bytes elements = BytesOf(request.elements());
  const int element_bytes = ElementBytes(request.elements());
  std::vector<bool> holds(elements.size() / static_cast<size_t>(element_bytes));
  if (request.has_flags()) {
    const Bytes flags = BytesOf(request.flags());
    if (flags.size() != holds.size()) return false;
    for (size_t i = 0; i < holds.size(); ++i) holds[i] = flags[i] != 0;
  } else if (request.has_bitmap()) {
    const Bytes bits = BytesOf(request.bitmap());
    if (bits.size() != (holds.size() + 7) / 8) return false;
    for (size_t i = 0; i < holds.size(); ++i) holds[i] = (bits[i / 8] >> (i % 8) & 1) != 0;
  } else if (request.has_positions()) {
    for (const int64_t position : Int64sOf(request.positions())) {
      if (position < 0 || position >= static_cast<int64_t>(holds.size())) return false;
      holds[static_cast<size_t>(position)] = true;
    }
  } else {
    holds = testing::CompareAll(static_cast<Comparison>(request.comparison()), KeyTypeOf(request.elements()), elements,
                                BytesOf(request.threshold()));
  }
  std::vector<int64_t> rows, others;
  for (size_t i = 0; i < holds.size(); ++i) {
    (holds[i] != request.negate() ? rows : others).push_back(static_cast<int64_t>(i));
  }
  const auto selected = static_cast<int64_t>(rows.size());
  if (request.partition()) rows.insert(rows.end(), others.begin(), others.end());
  const auto wants = [&](v1::SelectOutput output) {
    const auto& outputs = request.outputs();
    return std::find(outputs.begin(), outputs.end(), output) != outputs.end();
  };
  return HoldsOrLacks(request.outputs_size() == 0 || wants(v1::SELECT_OUTPUT_ELEMENTS), response.has_elements(),
                      response.elements(), request.elements().type(), testing::Gather(elements, element_bytes, rows)) &&
         HoldsOrLacks(request.has_values(), response.has_values(), response.values(), request.values().type(),
                      request.has_values()
                          ? testing::Gather(BytesOf(request.values()), ElementBytes(request.values()), rows)
                          : Bytes()) &&
         HoldsOrLacks(wants(v1::SELECT_OUTPUT_INDICES), response.has_indices(), response.indices(),
                      v1::ELEMENT_TYPE_UINT32, testing::IndexArray(rows, 4)) &&
         HoldsOrLacks(wants(v1::SELECT_OUTPUT_COUNT), response.has_count(), response.count(), v1::ELEMENT_TYPE_INT64,
                      testing::IndexArray({selected}, 8));
}

bool IsRight(const v1::RankRequest& request, const v1::RankResponse& response) {
  if (!IsInline(request.ranks_destination()) || !IsInline(request.keys()) ||
      (request.has_segment_offsets() && !IsInline(request.segment_offsets()))) {
    return true;
  }
  const KeyType type = KeyTypeOf(request.keys());
  const Order order = OrderOf(request.order());
  const Bytes keys = BytesOf(request.keys());
  const std::vector<int64_t> offsets =
      request.has_segment_offsets() ? Int64sOf(request.segment_offsets()) : std::vector<int64_t>();
  const std::vector<int64_t> sorted = testing::StableOrder(type, order, keys, offsets);
  // The server must refuse keys that are not sorted.
  if (request.keys_sorted() && !std::is_sorted(sorted.begin(), sorted.end())) return false;
  const auto method = request.method() == v1::RANK_METHOD_UNSPECIFIED ? RankMethod::kAverage
                                                                      : static_cast<RankMethod>(request.method());
  return HoldsOrLacks(true, response.has_ranks(), response.ranks(),
                      method == RankMethod::kAverage ? v1::ELEMENT_TYPE_FLOAT64 : v1::ELEMENT_TYPE_UINT32,
                      testing::Ranks(method, type, order, keys, offsets));
}

}  // namespace corank::fuzz
