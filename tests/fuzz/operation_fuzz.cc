// Mostly well-formed requests, so that fuzzing reaches the engine. The input determines shapes and contents.
//
// Input: operator, then choices in the order in which the functions below make them.
#include <algorithm>
#include <cstring>

#include "tests/fuzz/answers.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/world.h"
#include "tests/support/oracles.h"

namespace corank::fuzz {
namespace {

constexpr int64_t kMostElements = 3000;

int64_t Count(Input& input) {
  const int64_t count = input.Number();
  return count < 0 || count > kMostElements ? input.Choice(64) : count;
}

v1::ElementType AnyKey(Input& input) { return static_cast<v1::ElementType>(1 + input.Choice(12)); }

// `count` elements that repeat a few bytes of the input, or are all equal, with occasional differences.
v1::Array Elements(Input& input, v1::ElementType type, int64_t count, int record_bytes = 0) {
  v1::Array array;
  array.set_type(type);
  if (record_bytes > 0) array.set_record_bytes(static_cast<uint32_t>(record_bytes));
  const int element_bytes = record_bytes > 0 ? record_bytes : KeyBytes(static_cast<KeyType>(type));
  const int mode = input.Choice(4);
  const absl::string_view pattern = input.Take(static_cast<size_t>(input.Choice(64)));
  std::string bytes(static_cast<size_t>(count * element_bytes), '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (!pattern.empty()) bytes[i] = pattern[i % pattern.size()];
    if (mode == 1) bytes[i] = static_cast<char>(bytes[i] + static_cast<char>(i * i >> 3));
  }
  if (mode >= 2 && element_bytes <= 8 && record_bytes == 0) {  // sorted or reversed, as unsigned numbers
    for (int64_t i = 0; i < count; ++i) {
      const int64_t number = mode == 2 ? i / 3 : (count - i) / 2;
      std::memcpy(&bytes[static_cast<size_t>(i * element_bytes)], &number, static_cast<size_t>(element_bytes));
    }
  }
  if (input.Bit()) array.set_count(input.Choice(16) == 0 ? input.Number() : count);
  *array.mutable_inline_data() = std::move(bytes);
  return array;
}

v1::Array Values(Input& input, int64_t count) {
  if (input.Bit()) return Elements(input, AnyKey(input), count);
  return Elements(input, v1::ELEMENT_TYPE_RECORD, count, 1 + input.Byte() % 256);
}

v1::Array Numbers(const std::vector<int64_t>& numbers) {
  v1::Array array;
  array.set_type(v1::ELEMENT_TYPE_INT64);
  array.set_inline_data(numbers.data(), numbers.size() * sizeof(int64_t));
  return array;
}

std::vector<int64_t> SmallNumbers(Input& input, int64_t count) {
  std::vector<int64_t> numbers;
  const bool any = input.Choice(8) == 0;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(any ? input.Number() : input.Choice(16));
  return numbers;
}

// Mostly ascending offsets from 0 to `last`.
std::vector<int64_t> Offsets(Input& input, int64_t last) {
  std::vector<int64_t> offsets = {0};
  for (int i = input.Choice(12); i > 0; --i) {
    offsets.push_back(std::min(last, offsets.back() + input.Choice(40)));
  }
  if (input.Choice(16) == 0) offsets.push_back(input.Number());
  offsets.push_back(last);
  return offsets;
}

std::vector<int64_t> RisingOffsets(Input& input, int64_t rows) {
  std::vector<int64_t> offsets = SmallNumbers(input, rows + 1);
  offsets[0] = 0;
  for (size_t i = 1; i < offsets.size(); ++i) offsets[i] = offsets[i - 1] + (offsets[i] & 15);
  return offsets;
}

// Strings, numbers or records, some of them null.
void AnyColumn(Input& input, int64_t rows, v1::KeyColumn* column) {
  column->set_order(static_cast<v1::SortOrder>(input.Choice(3)));
  if (input.Bit()) {
    const std::vector<int64_t> offsets = RisingOffsets(input, rows);
    *column->mutable_offsets() = Numbers(offsets);
    *column->mutable_data() = Elements(input, v1::ELEMENT_TYPE_UINT8, offsets.back());
  } else {
    *column->mutable_data() = Values(input, rows);
  }
  if (input.Choice(3) == 0) {
    const int64_t bytes = (rows + 7) / 8 + (input.Choice(16) == 0 ? 1 : 0);
    *column->mutable_validity() = Elements(input, v1::ELEMENT_TYPE_UINT8, bytes);
  }
  column->set_nulls(static_cast<v1::NullOrder>(input.Choice(3)));
  column->set_nans(static_cast<v1::NanOrder>(input.Choice(4)));
}

std::string Sort(Input& input) {
  v1::SortRequest request;
  const int64_t count = Count(input);
  request.set_order(static_cast<v1::SortOrder>(input.Choice(3)));
  request.set_algorithm(static_cast<v1::SortAlgorithm>(input.Choice(5)));
  request.set_output(static_cast<v1::SortOutput>(input.Choice(5)));
  if (input.Choice(4) == 0) request.set_limit(input.Number());
  if (input.Choice(4) == 0) request.set_offset(input.Number());
  if (input.Choice(3) == 0) {
    const int64_t rows = std::min<int64_t>(count, 200);
    for (int columns = 1 + input.Choice(4); columns > 0; --columns) AnyColumn(input, rows, request.add_key_columns());
    if (input.Bit()) *request.mutable_values() = Values(input, rows);
    if (input.Choice(3) == 0) *request.mutable_segment_offsets() = Numbers(Offsets(input, rows));
  } else {
    *request.mutable_keys() = Elements(input, AnyKey(input), count);
    if (input.Bit()) *request.mutable_values() = Values(input, count);
    if (input.Choice(3) == 0) *request.mutable_segment_offsets() = Numbers(Offsets(input, count));
  }
  return request.SerializeAsString();
}

std::string Merge(Input& input) {
  v1::MergeRequest request;
  const v1::ElementType type = AnyKey(input);
  request.set_order(static_cast<v1::SortOrder>(input.Choice(3)));
  request.set_algorithm(static_cast<v1::MergeAlgorithm>(input.Choice(5)));
  request.set_assume_sorted(input.Choice(4) == 0);
  const bool with_values = input.Bit();
  const int record_bytes = 1 + input.Byte();
  for (int inputs = 2 + input.Choice(12); inputs > 0; --inputs) {
    const int64_t count = Count(input);
    *request.add_keys() = Elements(input, type, count);
    if (with_values) *request.add_values() = Elements(input, v1::ELEMENT_TYPE_RECORD, count, record_bytes);
  }
  return request.SerializeAsString();
}

std::string Expand(Input& input) {
  v1::ExpandIntervalsRequest request;
  const int64_t count = Count(input);
  *request.mutable_counts() = Numbers(SmallNumbers(input, count));
  *request.mutable_values() = Values(input, count);
  return request.SerializeAsString();
}

template <typename Request>
void SetInitial(Input& input, Request& request) {
  if (input.Bit()) {
    request.set_destination_count(input.Number());
  } else {
    *request.mutable_destination() = request.source();
  }
  request.set_allow_overlap(input.Bit());
}

std::string Move(Input& input) {
  v1::MoveIntervalsRequest request;
  const int64_t count = Count(input);
  *request.mutable_source() = Values(input, Count(input));
  *request.mutable_counts() = Numbers(SmallNumbers(input, count));
  *request.mutable_source_offsets() = Numbers(SmallNumbers(input, count));
  *request.mutable_destination_offsets() = Numbers(SmallNumbers(input, count));
  SetInitial(input, request);
  return request.SerializeAsString();
}

std::string Gather(Input& input) {
  v1::GatherIntervalsRequest request;
  const int64_t count = Count(input);
  *request.mutable_source() = Values(input, Count(input));
  *request.mutable_counts() = Numbers(SmallNumbers(input, count));
  *request.mutable_source_offsets() = Numbers(SmallNumbers(input, count));
  return request.SerializeAsString();
}

std::string Scatter(Input& input) {
  v1::ScatterIntervalsRequest request;
  const std::vector<int64_t> counts = SmallNumbers(input, Count(input) % 100);
  int64_t total = 0;
  std::vector<int64_t> to;
  const int64_t gap = input.Choice(4);
  for (const int64_t count : counts) {
    to.push_back(total + gap * static_cast<int64_t>(to.size()));
    if (count >= 0 && count < kMostElements) total += count;
  }
  *request.mutable_source() = Values(input, std::min(total, kMostElements));
  *request.mutable_counts() = Numbers(counts);
  *request.mutable_destination_offsets() = Numbers(input.Bit() ? to : SmallNumbers(input, counts.size()));
  SetInitial(input, request);
  return request.SerializeAsString();
}

std::string Balance(Input& input) {
  v1::LoadBalanceRequest request;
  *request.mutable_counts() = Numbers(SmallNumbers(input, Count(input)));
  return request.SerializeAsString();
}

// A table of needles beside AnyColumn's. Mostly of its types.
void NeedlesLike(Input& input, int64_t rows, const v1::KeyColumn& haystack, v1::KeyColumn* needles) {
  if (input.Choice(16) == 0) return AnyColumn(input, rows, needles);
  int64_t count = rows;
  if (haystack.has_offsets()) {
    const std::vector<int64_t> offsets = RisingOffsets(input, rows);
    *needles->mutable_offsets() = Numbers(offsets);
    count = offsets.back();
  }
  *needles->mutable_data() =
      Elements(input, haystack.data().type(), count, static_cast<int>(haystack.data().record_bytes()));
  if (input.Choice(3) == 0) {
    *needles->mutable_validity() = Elements(input, v1::ELEMENT_TYPE_UINT8, (rows + 7) / 8);
  }
}

std::string Search(Input& input) {
  v1::SearchRequest request;
  if (input.Choice(3) == 0) {
    const int64_t rows = std::min<int64_t>(Count(input), 200), needles = std::min<int64_t>(Count(input), 200);
    request.set_bound(static_cast<v1::SearchBound>(input.Choice(3)));
    request.set_assume_sorted(input.Bit());
    for (int columns = 1 + input.Choice(4); columns > 0; --columns) {
      AnyColumn(input, rows, request.add_haystack_columns());
      NeedlesLike(input, needles, *request.haystack_columns().rbegin(), request.add_needle_columns());
    }
    return request.SerializeAsString();
  }
  const v1::ElementType type = AnyKey(input);
  request.set_order(static_cast<v1::SortOrder>(input.Choice(3)));
  request.set_bound(static_cast<v1::SearchBound>(input.Choice(3)));
  request.set_assume_sorted(input.Choice(4) == 0);
  *request.mutable_haystack() = Elements(input, type, Count(input));
  *request.mutable_needles() = Elements(input, type, Count(input));
  return request.SerializeAsString();
}

std::string Group(Input& input) {
  v1::GroupRequest request;
  const int64_t count = Count(input);
  request.set_input(static_cast<v1::GroupInput>(input.Choice(4)));
  request.set_order(static_cast<v1::SortOrder>(input.Choice(3)));
  *request.mutable_keys() = Elements(input, AnyKey(input), count);
  const bool reduces = input.Bit();
  const int first = input.Choice(7);
  for (int output = first; output < first + 7; ++output) {
    const auto one = static_cast<v1::GroupOutput>(1 + output % 7);
    if ((reduces || one <= v1::GROUP_OUTPUT_FIRSTS) && input.Bit()) request.add_outputs(one);
  }
  if (reduces) *request.mutable_values() = Elements(input, AnyKey(input), count);
  if (reduces && input.Bit()) {
    *request.mutable_values_validity() = Elements(input, v1::ELEMENT_TYPE_UINT8, (count + 7) / 8);
  }
  return request.SerializeAsString();
}

/// The same elements in order.
v1::Array Sorted(v1::Array array, v1::SortOrder order) {
  const auto type = static_cast<KeyType>(array.type());  // they have the same numbers
  const std::string& data = array.inline_data();
  const testing::Bytes keys(data.begin(), data.end());
  const Order direction = order == v1::SORT_ORDER_DESCENDING ? Order::kDescending : Order::kAscending;
  const testing::Bytes sorted = testing::Gather(keys, KeyBytes(type), testing::StableOrder(type, direction, keys));
  array.set_inline_data(sorted.data(), sorted.size());
  return array;
}

std::string Sets(Input& input) {
  v1::CombineSetsRequest request;
  const v1::ElementType type = AnyKey(input);
  request.set_operation(static_cast<v1::SetOperation>(1 + input.Choice(4)));
  request.set_order(static_cast<v1::SortOrder>(input.Choice(3)));
  const int64_t left = Count(input), right = Count(input);
  *request.mutable_left() = Elements(input, type, left);
  *request.mutable_right() = Elements(input, type, right);
  if (input.Choice(4) != 0) {
    for (v1::Array* side : {request.mutable_left(), request.mutable_right()}) *side = Sorted(*side, request.order());
  }
  request.set_count_only(input.Choice(4) == 0);
  if (request.count_only() || input.Bit()) return request.SerializeAsString();
  const v1::ElementType value_type = AnyKey(input);
  *request.mutable_left_values() = Elements(input, value_type, left);
  if (request.operation() == v1::SET_OPERATION_UNION || request.operation() == v1::SET_OPERATION_SYMMETRIC_DIFFERENCE) {
    *request.mutable_right_values() = Elements(input, value_type, right);
  }
  return request.SerializeAsString();
}

std::string JoinSides(Input& input) {
  v1::JoinRequest request;
  const v1::ElementType type = AnyKey(input);
  request.set_kind(static_cast<v1::JoinKind>(1 + input.Choice(6)));
  *request.mutable_left() = Elements(input, type, Count(input));
  *request.mutable_right() = Elements(input, type, Count(input));
  if (input.Choice(3) == 0) {
    request.set_right_sorted(true);
    if (input.Choice(4) != 0) *request.mutable_right() = Sorted(request.right(), v1::SORT_ORDER_ASCENDING);
  }
  request.set_count_only(input.Choice(4) == 0);
  // Keys of one byte have many pairs.
  if (!request.count_only() && input.Choice(4) != 0) request.set_max_rows(input.Bit() ? 200'000 : input.Choice(200));
  return request.SerializeAsString();
}

std::string Ranked(Input& input) {
  v1::RankRequest request;
  const int64_t count = Count(input);
  *request.mutable_keys() = Elements(input, AnyKey(input), count);
  if (input.Choice(3) == 0) *request.mutable_segment_offsets() = Numbers(Offsets(input, count));
  request.set_method(static_cast<v1::RankMethod>(input.Choice(6)));
  request.set_order(static_cast<v1::SortOrder>(input.Choice(3)));
  if (input.Choice(3) == 0) {
    request.set_keys_sorted(true);
    if (input.Choice(4) != 0) *request.mutable_keys() = Sorted(request.keys(), request.order());
  }
  return request.SerializeAsString();
}

std::string Selected(Input& input) {
  v1::SelectRequest request;
  const int64_t count = Count(input);
  const bool compares = input.Choice(4) == 0;
  *request.mutable_elements() = compares ? Elements(input, AnyKey(input), count) : Values(input, count);
  if (input.Bit()) *request.mutable_values() = Values(input, count);
  if (compares) {
    *request.mutable_threshold() = Elements(input, request.elements().type(), 1);
    request.set_comparison(static_cast<v1::Comparison>(1 + input.Choice(6)));
  } else if (input.Choice(3) == 0) {
    *request.mutable_bitmap() = Elements(input, v1::ELEMENT_TYPE_UINT8, (count + 7) / 8);
  } else if (input.Bit()) {
    *request.mutable_flags() = Elements(input, v1::ELEMENT_TYPE_UINT8, count);
  } else {
    *request.mutable_positions() = Numbers(SmallNumbers(input, input.Choice(50)));
  }
  request.set_negate(input.Bit());
  request.set_partition(input.Bit());
  for (int output = v1::SELECT_OUTPUT_ELEMENTS; output <= v1::SELECT_OUTPUT_COUNT; ++output) {
    if (input.Bit()) request.add_outputs(static_cast<v1::SelectOutput>(output));
  }
  return request.SerializeAsString();
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (int op = 0; op < kOperators; ++op) {
    for (int variant = 0; variant < 6; ++variant) {
      std::string seed(1, static_cast<char>(op));
      for (int i = 0; i < 150; ++i) seed += static_cast<char>(variant == 0 ? 0 : (i * (2 * variant + 1) + op) % 61);
      seeds.push_back(seed);
    }
  }
  return seeds;
}

}  // namespace corank::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using Maker = std::string (*)(corank::fuzz::Input&);
  static constexpr Maker kMakers[corank::fuzz::kOperators] = {
      corank::fuzz::Sort,      corank::fuzz::Merge,    corank::fuzz::Expand, corank::fuzz::Move,  corank::fuzz::Gather,
      corank::fuzz::Scatter,   corank::fuzz::Balance,  corank::fuzz::Search, corank::fuzz::Group, corank::fuzz::Sets,
      corank::fuzz::JoinSides, corank::fuzz::Selected, corank::fuzz::Ranked};
  corank::fuzz::Input input(data, size);
  const int op = input.Choice(corank::fuzz::kOperators);
  const uint8_t cuts = input.Byte();
  corank::fuzz::RunRequestBytes(op, kMakers[op](input), cuts);
  return 0;
}
