// Execute: every operator, with each of its arrays inline, streamed with a count or streamed without one, in all
// combinations, gives the result that a plain oracle makes from the input.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/messages.h"
#include "tests/server/reach_engine.h"
#include "tests/server/running_server.h"
#include "tests/server/streamed_call.h"
#include "tests/server/streamed_operation.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"
#include "tests/support/rows.h"

namespace corank::testing {
namespace {

using google::protobuf::Message;

enum class Input : uint8_t { kInline, kCounted, kUncounted };
constexpr int kInputWays = 3;
enum class Output : uint8_t { kInline, kStream, kKept };
constexpr Output kOutputs[] = {Output::kInline, Output::kStream, Output::kKept};

struct Case {
  explicit Case(std::string case_name) : name(std::move(case_name)) {}

  std::string name;
  v1::Operation operation;       // all arrays inline
  v1::OperationResult expected;  // its arrays inline
};

v1::Array ArrayOf(v1::ElementType type, const Bytes& bytes, uint32_t record_bytes = 0) {
  v1::Array array = MakeArray(type, bytes.data(), bytes.size());
  array.set_record_bytes(record_bytes);
  return array;
}
v1::Array Int32Array(const Bytes& bytes) { return ArrayOf(v1::ELEMENT_TYPE_INT32, bytes); }
v1::Array IndicesOf(const std::vector<int64_t>& indices) {
  return ArrayOf(v1::ELEMENT_TYPE_UINT32, IndexArray(indices, 4));
}
Bytes KeysOf(int64_t count, uint64_t seed) {
  return MakeKeys(KeyType::kInt32, Distribution::kSixteenDistinct, count, seed);
}
Bytes SortedKeys(int64_t count, uint64_t seed) {
  const Bytes keys = KeysOf(count, seed);
  return Gather(keys, 4, StableOrder(KeyType::kInt32, Order::kAscending, keys));
}

Case SortOfValues() {
  Case one{"sort of keys and values"};
  const Bytes keys = KeysOf(200, 1), values = MakeBytes(3 * 200, 2);
  const std::vector<int64_t> order = StableOrder(KeyType::kInt32, Order::kAscending, keys);
  v1::SortRequest& request = *one.operation.mutable_sort();
  *request.mutable_keys() = Int32Array(keys);
  *request.mutable_values() = ArrayOf(v1::ELEMENT_TYPE_RECORD, values, 3);
  v1::SortResponse& response = *one.expected.mutable_sort();
  *response.mutable_keys() = Int32Array(Gather(keys, 4, order));
  *response.mutable_values() = ArrayOf(v1::ELEMENT_TYPE_RECORD, Gather(values, 3, order), 3);
  return one;
}

Case FirstOfSort() {
  Case one{"first keys and indices of a sort"};
  const Bytes keys = KeysOf(200, 3);
  std::vector<int64_t> order = StableOrder(KeyType::kInt32, Order::kAscending, keys);
  order.resize(7);
  v1::SortRequest& request = *one.operation.mutable_sort();
  *request.mutable_keys() = Int32Array(keys);
  request.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
  request.set_limit(7);
  v1::SortResponse& response = *one.expected.mutable_sort();
  *response.mutable_keys() = Int32Array(Gather(keys, 4, order));
  *response.mutable_indices() = IndicesOf(order);
  return one;
}

Case SortOfSegments(int64_t limit) {
  Case one{"sort of segments, limit " + std::to_string(limit)};
  const Bytes keys = KeysOf(200, 4), values = MakeBytes(200, 5);
  const std::vector<int64_t> offsets = {0, 50, 50, 199, 200};
  const std::vector<int64_t> order =
      FirstOfOrder(StableOrder(KeyType::kInt32, Order::kAscending, keys, offsets), limit, offsets);
  v1::SortRequest& request = *one.operation.mutable_sort();
  *request.mutable_keys() = Int32Array(keys);
  *request.mutable_values() = ArrayOf(v1::ELEMENT_TYPE_UINT8, values);
  *request.mutable_segment_offsets() = Int64s(offsets);
  if (limit >= 0) request.set_limit(limit);
  v1::SortResponse& response = *one.expected.mutable_sort();
  *response.mutable_keys() = Int32Array(Gather(keys, 4, order));
  *response.mutable_values() = ArrayOf(v1::ELEMENT_TYPE_UINT8, Gather(values, 1, order));
  return one;
}

// The first `limit` rows of a sort by int32 ascending, then by string descending.
Case SortOfColumns(int64_t limit) {
  Case one{"sort of columns, limit " + std::to_string(limit)};
  const std::vector<int32_t> numbers = {2, 1, 2, 1, 2};
  const std::vector<std::string> strings = {"", "pear", "fig", "plum", "fig"};
  const Bytes values = MakeBytes(2 * 5, 6);
  std::vector<int64_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  const auto is_null = [](int64_t row) { return row % 3 == 0; };  // in the column of numbers
  std::stable_sort(order.begin(), order.end(), [&](int64_t left, int64_t right) {
    const auto a = static_cast<size_t>(left), b = static_cast<size_t>(right);
    if (is_null(left) || is_null(right)) {
      return is_null(left) && is_null(right) ? strings[a] > strings[b] : is_null(right);
    }
    return numbers[a] != numbers[b] ? numbers[a] < numbers[b] : strings[a] > strings[b];
  });
  if (limit >= 0) order.resize(static_cast<size_t>(limit));
  const auto add_strings = [](const std::vector<std::string>& all, auto& column) {
    std::string bytes;
    std::vector<int64_t> offsets = {0};
    for (const std::string& string : all) {
      bytes += string;
      offsets.push_back(static_cast<int64_t>(bytes.size()));
    }
    *column.mutable_data() = MakeArray(v1::ELEMENT_TYPE_UINT8, bytes.data(), bytes.size());
    *column.mutable_offsets() = Int64s(offsets);
  };
  const auto validity = [&is_null](const std::vector<int64_t>& rows) {
    std::vector<bool> bits;
    for (const int64_t row : rows) bits.push_back(!is_null(row));
    return ArrayOf(v1::ELEMENT_TYPE_UINT8, Bitmap(bits));
  };
  v1::SortRequest& request = *one.operation.mutable_sort();
  *request.add_key_columns()->mutable_data() = Int32s(numbers);
  std::vector<int64_t> rows(numbers.size());
  std::iota(rows.begin(), rows.end(), 0);
  *request.mutable_key_columns(0)->mutable_validity() = validity(rows);
  v1::KeyColumn& column = *request.add_key_columns();
  add_strings(strings, column);
  column.set_order(v1::SORT_ORDER_DESCENDING);
  *request.mutable_values() = ArrayOf(v1::ELEMENT_TYPE_RECORD, values, 2);
  if (limit >= 0) request.set_limit(limit);
  std::vector<int32_t> sorted_numbers;
  std::vector<std::string> sorted_strings;
  for (const int64_t row : order) {
    sorted_numbers.push_back(numbers[static_cast<size_t>(row)]);
    sorted_strings.push_back(strings[static_cast<size_t>(row)]);
  }
  v1::SortResponse& response = *one.expected.mutable_sort();
  *response.mutable_values() = ArrayOf(v1::ELEMENT_TYPE_RECORD, Gather(values, 2, order), 2);
  *response.add_key_columns()->mutable_data() = Int32s(sorted_numbers);
  *response.mutable_key_columns(0)->mutable_validity() = validity(order);
  add_strings(sorted_strings, *response.add_key_columns());
  return one;
}

Case MergeOfValues() {
  Case one{"merge of keys and values"};
  const std::vector<Bytes> keys = {SortedKeys(90, 7), SortedKeys(160, 8)};
  const std::vector<Bytes> values = {MakeBytes(90, 9), MakeBytes(160, 10)};
  const std::vector<int64_t> order = MergeOrder(KeyType::kInt32, Order::kAscending, keys);
  v1::MergeRequest& request = *one.operation.mutable_merge();
  Bytes all_keys, all_values;
  for (size_t i = 0; i < keys.size(); ++i) {
    *request.add_keys() = Int32Array(keys[i]);
    *request.add_values() = ArrayOf(v1::ELEMENT_TYPE_UINT8, values[i]);
    all_keys.insert(all_keys.end(), keys[i].begin(), keys[i].end());
    all_values.insert(all_values.end(), values[i].begin(), values[i].end());
  }
  v1::MergeResponse& response = *one.expected.mutable_merge();
  *response.mutable_keys() = Int32Array(Gather(all_keys, 4, order));
  *response.mutable_values() = ArrayOf(v1::ELEMENT_TYPE_UINT8, Gather(all_values, 1, order));
  return one;
}

const std::vector<int64_t> kCounts = {2, 0, 30, 1, 17};  // sum 50

Case Expand() {
  Case one{"expand"};
  const Bytes values = MakeBytes(3 * 5, 11);
  v1::ExpandIntervalsRequest& request = *one.operation.mutable_expand_intervals();
  *request.mutable_values() = ArrayOf(v1::ELEMENT_TYPE_RECORD, values, 3);
  *request.mutable_counts() = Int64s(kCounts);
  *one.expected.mutable_expand_intervals()->mutable_values() =
      ArrayOf(v1::ELEMENT_TYPE_RECORD, Gather(values, 3, LoadBalance(kCounts).first), 3);
  return one;
}

// The intervals share their source, so that they are together larger than it.
Case MoveCase(bool onto_destination, bool allow_overlap) {
  Case one{std::string("move ") + (onto_destination ? "onto a destination" : "into zeros") +
           (allow_overlap ? ", overlap allowed" : "")};
  const Bytes source = KeysOf(40, 12);
  const Bytes destination = onto_destination ? KeysOf(60, 13) : Bytes(4 * 60);
  const std::vector<int64_t> source_offsets = {38, 40, 5, 0, 20}, offsets = {58, 0, 27, 20, 1};
  v1::MoveIntervalsRequest& request = *one.operation.mutable_move_intervals();
  *request.mutable_source() = Int32Array(source);
  *request.mutable_source_offsets() = Int64s(source_offsets);
  *request.mutable_destination_offsets() = Int64s(offsets);
  *request.mutable_counts() = Int64s(kCounts);
  request.set_allow_overlap(allow_overlap);
  if (onto_destination) {
    *request.mutable_destination() = Int32Array(destination);
  } else {
    request.set_destination_count(60);
  }
  *one.expected.mutable_move_intervals()->mutable_result() =
      Int32Array(Move(source, destination, 4, source_offsets, offsets, kCounts));
  return one;
}

Case GatherCase() {
  Case one{"gather"};
  const Bytes source = KeysOf(40, 14);
  const std::vector<int64_t> offsets = {38, 40, 5, 0, 20};
  v1::GatherIntervalsRequest& request = *one.operation.mutable_gather_intervals();
  *request.mutable_source() = Int32Array(source);
  *request.mutable_source_offsets() = Int64s(offsets);
  *request.mutable_counts() = Int64s(kCounts);
  *one.expected.mutable_gather_intervals()->mutable_result() =
      Int32Array(Move(source, Bytes(4 * 50), 4, offsets, PrefixSums(kCounts), kCounts));
  return one;
}

Case Scatter(bool onto_destination) {
  Case one{std::string("scatter ") + (onto_destination ? "onto a destination" : "into zeros")};
  const Bytes source = KeysOf(50, 15);
  const Bytes destination = onto_destination ? KeysOf(60, 16) : Bytes(4 * 60);
  const std::vector<int64_t> offsets = {58, 0, 27, 20, 1};
  v1::ScatterIntervalsRequest& request = *one.operation.mutable_scatter_intervals();
  *request.mutable_source() = Int32Array(source);
  *request.mutable_destination_offsets() = Int64s(offsets);
  *request.mutable_counts() = Int64s(kCounts);
  if (onto_destination) {
    *request.mutable_destination() = Int32Array(destination);
  } else {
    request.set_destination_count(60);
  }
  *one.expected.mutable_scatter_intervals()->mutable_result() =
      Int32Array(Move(source, destination, 4, PrefixSums(kCounts), offsets, kCounts));
  return one;
}

Case Balance() {
  Case one{"load balance"};
  *one.operation.mutable_load_balance()->mutable_counts() = Int64s(kCounts);
  const auto [objects, ranks] = LoadBalance(kCounts);
  *one.expected.mutable_load_balance()->mutable_objects() = IndicesOf(objects);
  *one.expected.mutable_load_balance()->mutable_ranks() = IndicesOf(ranks);
  return one;
}

Case SearchCase() {
  Case one{"search"};
  const Bytes haystack = SortedKeys(100, 17), needles = KeysOf(50, 17);
  v1::SearchRequest& request = *one.operation.mutable_search();
  *request.mutable_haystack() = Int32Array(haystack);
  *request.mutable_needles() = Int32Array(needles);
  request.set_bound(v1::SEARCH_BOUND_UPPER);
  *one.expected.mutable_search()->mutable_positions() =
      IndicesOf(Bounds(KeyType::kInt32, Order::kAscending, haystack, needles, SearchBound::kUpper));
  return one;
}

Case GroupCase() {
  Case one{"group"};
  const Bytes keys = KeysOf(200, 18), values = MakeKeys(KeyType::kFloat32, Distribution::kUniform, 200, 19);
  const std::vector<int64_t> order = StableOrder(KeyType::kInt32, Order::kAscending, keys);
  const Bytes sorted = Gather(keys, 4, order);
  const std::vector<int64_t> starts = GroupStarts(KeyType::kInt32, sorted);
  std::vector<int64_t> firsts;
  for (const int64_t start : starts) firsts.push_back(order[static_cast<size_t>(start)]);
  v1::GroupRequest& request = *one.operation.mutable_group();
  *request.mutable_keys() = Int32Array(keys);
  *request.mutable_values() = ArrayOf(v1::ELEMENT_TYPE_FLOAT32, values);
  for (const v1::GroupOutput output : {v1::GROUP_OUTPUT_KEYS, v1::GROUP_OUTPUT_FIRSTS, v1::GROUP_OUTPUT_SUMS}) {
    request.add_outputs(output);
  }
  v1::GroupResponse& response = *one.expected.mutable_group();
  *response.mutable_keys() = Int32Array(Gather(sorted, 4, starts));
  *response.mutable_firsts() = IndicesOf(firsts);
  *response.mutable_sums() =
      ArrayOf(v1::ELEMENT_TYPE_FLOAT64, ReduceGroups(KeyType::kFloat32, Gather(values, 4, order), starts).sums);
  return one;
}

Case SelectCase() {
  Case one{"select"};
  const Bytes elements = KeysOf(200, 26), flags = MakeKeys(KeyType::kUint8, Distribution::kSixteenDistinct, 200, 27);
  std::vector<int64_t> rows, others;
  for (int64_t i = 0; i < 200; ++i) (flags[static_cast<size_t>(i)] != 0 ? rows : others).push_back(i);
  const auto selected = static_cast<int64_t>(rows.size());
  rows.insert(rows.end(), others.begin(), others.end());
  v1::SelectRequest& request = *one.operation.mutable_select();
  *request.mutable_elements() = Int32Array(elements);
  *request.mutable_flags() = ArrayOf(v1::ELEMENT_TYPE_UINT8, flags);
  request.set_partition(true);
  for (const auto output : {v1::SELECT_OUTPUT_ELEMENTS, v1::SELECT_OUTPUT_INDICES, v1::SELECT_OUTPUT_COUNT}) {
    request.add_outputs(output);
  }
  v1::SelectResponse& response = *one.expected.mutable_select();
  *response.mutable_elements() = Int32Array(Gather(elements, 4, rows));
  *response.mutable_indices() = ArrayOf(v1::ELEMENT_TYPE_UINT32, IndexArray(rows, 4));
  *response.mutable_count() = ArrayOf(v1::ELEMENT_TYPE_INT64, IndexArray({selected}, 8));
  return one;
}

Case RankCase() {
  Case one{"rank"};
  const Bytes keys = KeysOf(200, 28);
  *one.operation.mutable_rank()->mutable_keys() = Int32Array(keys);
  *one.expected.mutable_rank()->mutable_ranks() =
      ArrayOf(v1::ELEMENT_TYPE_FLOAT64, Ranks(RankMethod::kAverage, KeyType::kInt32, Order::kAscending, keys));
  return one;
}

Case RankOfSegments() {
  Case one{"rank of segments"};
  const Bytes keys = KeysOf(200, 29);
  const std::vector<int64_t> offsets = {0, 50, 50, 199, 200};
  v1::RankRequest& request = *one.operation.mutable_rank();
  *request.mutable_keys() = Int32Array(keys);
  request.set_method(v1::RANK_METHOD_DENSE);
  *request.mutable_segment_offsets() = Int64s(offsets);
  *one.expected.mutable_rank()->mutable_ranks() =
      ArrayOf(v1::ELEMENT_TYPE_UINT32, Ranks(RankMethod::kDense, KeyType::kInt32, Order::kAscending, keys, offsets));
  return one;
}

Case JoinCase() {
  Case one{"join"};
  const Bytes left = KeysOf(200, 24), right = KeysOf(150, 25);
  std::vector<int64_t> left_rows, right_rows;
  for (const auto& [a, b] : JoinRows(JoinKind::kFull, KeyType::kInt32, left, right)) {
    left_rows.push_back(a);
    right_rows.push_back(b);
  }
  v1::JoinRequest& request = *one.operation.mutable_join();
  request.set_kind(v1::JOIN_KIND_FULL);
  *request.mutable_left() = Int32Array(left);
  *request.mutable_right() = Int32Array(right);
  request.set_max_rows(static_cast<int64_t>(left_rows.size()) + 10);
  v1::JoinResponse& response = *one.expected.mutable_join();
  *response.mutable_left_rows() = Int32Array(IndexArray(left_rows, 4));
  *response.mutable_right_rows() = Int32Array(IndexArray(right_rows, 4));
  return one;
}

Case SetsCase() {
  Case one{"combine_sets"};
  const auto sorted = [](uint64_t seed) {
    const Bytes keys = KeysOf(200, seed);
    return Gather(keys, 4, StableOrder(KeyType::kInt32, Order::kAscending, keys));
  };
  Bytes keys = sorted(20), values = MakeKeys(KeyType::kFloat32, Distribution::kUniform, 400, 22);
  const Bytes right = sorted(21), right_values(values.begin() + 800, values.end());
  const std::vector<int64_t> order =
      SetOrder(SetOperation::kSymmetricDifference, KeyType::kInt32, Order::kAscending, keys, right);
  v1::CombineSetsRequest& request = *one.operation.mutable_combine_sets();
  request.set_operation(v1::SET_OPERATION_SYMMETRIC_DIFFERENCE);
  *request.mutable_left() = Int32Array(keys);
  *request.mutable_right() = Int32Array(right);
  *request.mutable_left_values() = ArrayOf(v1::ELEMENT_TYPE_FLOAT32, Bytes(values.begin(), values.begin() + 800));
  *request.mutable_right_values() = ArrayOf(v1::ELEMENT_TYPE_FLOAT32, right_values);
  keys.insert(keys.end(), right.begin(), right.end());
  v1::CombineSetsResponse& response = *one.expected.mutable_combine_sets();
  *response.mutable_keys() = Int32Array(Gather(keys, 4, order));
  *response.mutable_values() = ArrayOf(v1::ELEMENT_TYPE_FLOAT32, Gather(values, 4, order));
  return one;
}

std::vector<Case> Cases() {
  return {SortOfValues(),
          FirstOfSort(),
          SortOfSegments(-1),
          SortOfSegments(20),
          SortOfColumns(-1),
          SortOfColumns(3),
          MergeOfValues(),
          Expand(),
          MoveCase(false, false),
          MoveCase(true, false),
          MoveCase(true, true),
          GatherCase(),
          Scatter(false),
          Scatter(true),
          Balance(),
          SearchCase(),
          GroupCase(),
          SetsCase(),
          JoinCase(),
          SelectCase(),
          RankCase(),
          RankOfSegments()};
}

class StreamCombinationsTest : public ::testing::TestWithParam<int> {
 protected:
  // The case with its inputs in these ways; `behind`: another operation of the plan follows.
  void Check(const Case& one, const std::vector<Input>& ways, Output output, bool behind) {
    v1::Plan plan;
    *plan.add_operations() = one.operation;
    v1::Operation& operation = *plan.mutable_operations(0);
    std::vector<StreamedInput> inputs;
    size_t next = 0;
    ForArrays(operation, [&](v1::Array& array) {
      const Input way = ways[next++];
      if (way == Input::kInline) return;
      inputs.push_back(MakeStream(array, static_cast<uint32_t>(3 * next), way == Input::kCounted));
    });
    v1::OperationResult expected = one.expected;
    uint32_t results = 0;
    ForDestinations(MessageOf(operation), ResultOf(expected), [&](v1::Destination& destination) {
      if (output == Output::kStream) destination.mutable_stream()->set_stream_id(results);
      if (output == Output::kKept) destination.mutable_stored()->set_name(NameOf(results));
      ++results;
    });
    if (behind) *plan.add_operations()->mutable_load_balance()->mutable_counts() = Int64s({1});

    StreamedAnswer answer = Execute(running_.stub(), plan, Chunks(inputs, 23));
    ASSERT_TRUE(answer.status.ok()) << BadField(answer.status) << ": " << answer.status.error_message();
    ASSERT_EQ(answer.results.size(), behind ? 2U : 1U);
    std::vector<v1::Array> due;
    ForArrays(expected, [&due](const v1::Array& array) { due.push_back(array); });
    size_t i = 0;
    ForArrays(ResultOf(answer.results[0]), [&](const v1::Array& array) {
      ASSERT_LT(i, due.size());
      EXPECT_EQ(array.type(), due[i].type());
      const std::string bytes = output == Output::kInline ? array.inline_data()
                                : output == Output::kStream
                                    ? answer.Output(array.stream().stream_id(), ElementBytes(array))
                                    : Kept(array);
      EXPECT_TRUE(bytes == due[i].inline_data()) << "result " << i << " differs";
      ++i;
    });
    EXPECT_EQ(i, due.size());
  }
  void TearDown() override { ExpectAllFreed(running_.server()); }

 private:
  static std::string NameOf(uint32_t result) { return "result" + std::to_string(result); }
  static Message& MessageOf(v1::Operation& operation) {
    const auto* oneof = operation.GetDescriptor()->oneof_decl(0);
    return *operation.GetReflection()->MutableMessage(
        &operation, operation.GetReflection()->GetOneofFieldDescriptor(operation, oneof));
  }
  // The bytes of a result that the server keeps.
  std::string Kept(const v1::Array& array) {
    v1::GatherIntervalsRequest request;
    *request.mutable_source() = array;
    *request.mutable_source_offsets() = Int64s({0});
    *request.mutable_counts() = Int64s({array.count()});
    grpc::ClientContext context;
    v1::GatherIntervalsResponse response;
    const grpc::Status status = Call(running_.stub(), &context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.result().inline_data();
  }
  static Server::Options Options() {
    Server::Options options = TestOptions();
    options.arrays.max_bytes = options.arrays.quota_bytes = 1 << 20;
    return options;
  }

  RunningServer running_{Options(), ReachEngine()};
};

std::string Describe(const std::vector<Input>& ways) {
  constexpr std::array<const char*, kInputWays> kNames = {"inline", "counted", "uncounted"};
  std::string text;
  for (const Input way : ways) text += std::string(text.empty() ? "" : ", ") + kNames[static_cast<size_t>(way)];
  return text;
}

TEST_P(StreamCombinationsTest, GiveTheOraclesResult) {
  Case one = Cases()[static_cast<size_t>(GetParam())];
  SCOPED_TRACE(one.name);
  std::vector<Input> ways;
  ForArrays(one.operation, [&ways](const v1::Array&) { ways.push_back(Input::kInline); });
  for (;;) {
    SCOPED_TRACE("inputs in the order of their fields: " + Describe(ways));
    for (const Output output : kOutputs) {
      for (const bool behind : {false, true}) {
        SCOPED_TRACE("output " + std::to_string(static_cast<int>(output)) +
                     (behind ? ", with an operation behind" : ""));
        Check(one, ways, output, behind);
      }
    }
    // The next combination: counts up, with one digit for each input.
    size_t digit = 0;
    while (digit < ways.size() && ways[digit] == Input::kUncounted) ways[digit++] = Input::kInline;
    if (digit == ways.size()) break;
    ways[digit] = static_cast<Input>(static_cast<int>(ways[digit]) + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, StreamCombinationsTest, ::testing::Range(0, static_cast<int>(Cases().size())));

}  // namespace
}  // namespace corank::testing
