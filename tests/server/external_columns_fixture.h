// Sorts by columns of tables in shared memory and streams, compared with the oracle. The tables are small; the server's
// settings make it treat them as large.
#ifndef CORANK_TESTS_SERVER_EXTERNAL_COLUMNS_FIXTURE_H_
#define CORANK_TESTS_SERVER_EXTERNAL_COLUMNS_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/server/memory_calls.h"
#include "tests/server/reach_engine.h"
#include "tests/server/running_server.h"
#include "tests/server/shared_object.h"
#include "tests/server/streamed_call.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"
#include "tests/support/rows.h"

namespace corank::testing {

constexpr int64_t kRegionBytes = int64_t{16} << 20;
constexpr int64_t kWhole = int64_t{64} << 20, kOutOfCore = 200'000;  // device memory of one request

struct Table {
  std::vector<TestColumn> columns;
  int value_bytes = 0;
  v1::SortOutput output = v1::SORT_OUTPUT_KEYS;
  int64_t limit = -1;
  std::vector<int64_t> run_offsets = {};  // of rows that are sorted already
  std::vector<int64_t> segment_offsets = {};
};

// A request whose arrays and results have no places yet.
struct SortCall {
  struct Input {
    v1::Array* array;
    int element_bytes;
    std::string bytes;
  };
  struct Output {
    v1::Destination* destination;
    int element_bytes;
    std::string expected;
    int64_t room = 0;    // bytes that the server wants, if more than are expected
    int strings_of = 0;  // of strings: the number of their column, from 1 on
  };
  v1::SortRequest request;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
};

inline v1::NanOrder WireNans(NanOrder nans) {
  return nans == NanOrder::kGreatest      ? v1::NAN_ORDER_GREATEST
         : nans == NanOrder::kBesideNulls ? v1::NAN_ORDER_BESIDE_NULLS
                                          : v1::NAN_ORDER_AS_NULLS;
}

inline void Describe(v1::Array& array, v1::ElementType type, int64_t count, int record_bytes) {
  array.set_type(type);
  array.set_count(count);
  if (type == v1::ELEMENT_TYPE_RECORD) array.set_record_bytes(static_cast<uint32_t>(record_bytes));
}

// `call` stays where it is.
inline void Build(const Table& table, SortCall& call) {
  const int64_t rows = table.columns.front().rows();
  const std::vector<int64_t> order =
      FirstOfOrder(StableRowOrder(table.columns, table.segment_offsets), table.limit, table.segment_offsets);
  v1::SortRequest& request = call.request;
  request.set_output(table.output);
  if (table.limit >= 0) request.set_limit(table.limit);
  const bool wants_columns = table.output != v1::SORT_OUTPUT_INDICES;
  for (const TestColumn& column : table.columns) {
    v1::KeyColumn& key = *request.add_key_columns();
    key.set_order(column.order == Order::kAscending ? v1::SORT_ORDER_ASCENDING : v1::SORT_ORDER_DESCENDING);
    key.set_nulls(column.nulls == NullOrder::kLast ? v1::NULL_ORDER_LAST : v1::NULL_ORDER_FIRST);
    key.set_nans(WireNans(column.nans));
    const TestColumn sorted = TakeRows(column, order);
    if (column.kind == ColumnKind::kStrings) {
      Describe(*key.mutable_data(), v1::ELEMENT_TYPE_UINT8, static_cast<int64_t>(column.data.size()), 0);
      Describe(*key.mutable_offsets(), v1::ELEMENT_TYPE_INT64, rows + 1, 0);
      call.inputs.push_back({key.mutable_data(), 1, Text(column.data)});
      call.inputs.push_back({key.mutable_offsets(), 8, BytesOf(column.offsets)});
      if (wants_columns) {
        const auto room = static_cast<int64_t>(column.data.size());
        call.outputs.push_back(
            {key.mutable_data_destination(), 1, Text(sorted.data), room, request.key_columns_size()});
        call.outputs.push_back({key.mutable_offsets_destination(), 8, BytesOf(sorted.offsets)});
      }
    } else {
      const bool is_number = column.kind == ColumnKind::kNumbers;
      Describe(*key.mutable_data(), is_number ? static_cast<v1::ElementType>(column.type) : v1::ELEMENT_TYPE_RECORD,
               rows, column.row_bytes);
      call.inputs.push_back({key.mutable_data(), column.row_bytes, Text(column.data)});
      if (wants_columns) call.outputs.push_back({key.mutable_data_destination(), column.row_bytes, Text(sorted.data)});
    }
    if (column.valid.empty()) continue;
    Describe(*key.mutable_validity(), v1::ELEMENT_TYPE_UINT8, ValidityBytes(rows), 0);
    call.inputs.push_back({key.mutable_validity(), 1, Text(Bitmap(column.valid, /*rest=*/true))});
    if (wants_columns) call.outputs.push_back({key.mutable_validity_destination(), 1, Text(Bitmap(sorted.valid))});
  }
  const auto add_offsets = [&call](const std::vector<int64_t>& offsets, v1::Array* array) {
    Describe(*array, v1::ELEMENT_TYPE_INT64, static_cast<int64_t>(offsets.size()), 0);
    call.inputs.push_back({array, 8, BytesOf(offsets)});
  };
  if (!table.run_offsets.empty()) add_offsets(table.run_offsets, request.mutable_run_offsets());
  if (!table.segment_offsets.empty()) add_offsets(table.segment_offsets, request.mutable_segment_offsets());
  if (table.value_bytes > 0) {
    const Bytes values = MakeBytes(rows * table.value_bytes, 3);
    Describe(*request.mutable_values(), v1::ELEMENT_TYPE_RECORD, rows, table.value_bytes);
    call.inputs.push_back({request.mutable_values(), table.value_bytes, Text(values)});
    call.outputs.push_back(
        {request.mutable_values_destination(), table.value_bytes, Text(Gather(values, table.value_bytes, order))});
  }
  if (table.output != v1::SORT_OUTPUT_KEYS) {
    call.outputs.push_back({request.mutable_indices_destination(), 4, Text(IndexArray(order, 4))});
  }
}

inline std::vector<bool> SomeNulls(int64_t rows, uint64_t seed) {
  Random random(seed);
  std::vector<bool> valid(static_cast<size_t>(rows));
  for (size_t i = 0; i < valid.size(); ++i) valid[i] = !random.OneIn(5);
  return valid;
}

inline Bytes FewNumbers(int64_t rows, int kinds, uint64_t seed) {
  Random random(seed);
  Bytes bytes;
  for (int64_t i = 0; i < rows; ++i) bytes.push_back(static_cast<uint8_t>(random.Below(kinds)));
  return bytes;
}

// Many ties in the first two columns.
inline Table Mixed(int64_t rows) {
  Table table;
  table.columns.push_back(NumberColumn(KeyType::kUint8, Order::kDescending, FewNumbers(rows, 3, 1)));
  table.columns.back().valid = SomeNulls(rows, 2);
  table.columns.push_back(BytesColumn(3, Order::kAscending, FewNumbers(3 * rows, 2, 3)));
  table.columns.push_back(NumberColumn(KeyType::kFloat64, Order::kAscending,
                                       MakeKeys(KeyType::kFloat64, Distribution::kSpecialFloats, rows, 4)));
  table.columns.back().valid = SomeNulls(rows, 5);
  table.columns.back().nulls = NullOrder::kFirst;
  table.columns.back().nans = NanOrder::kAsNulls;
  return table;
}

// Strings of 0 to 40 bytes. Many are prefixes of others, and some hold zero bytes.
inline std::vector<std::string> SomeStrings(int64_t rows, int kinds, uint64_t seed) {
  Random random(seed);
  std::vector<std::string> strings;
  for (int64_t i = 0; i < rows; ++i) {
    const auto kind = static_cast<size_t>(random.Below(kinds));
    strings.push_back(std::string(kind % 37, 'a') + std::string(kind % 3, '\0') + static_cast<char>('b' + kind % 5));
    if (kind == 0) strings.back().clear();
  }
  return strings;
}

inline Table Strings(int64_t rows) {
  Table table;
  table.columns.push_back(StringColumn(Order::kDescending, SomeStrings(rows, 60, 1)));
  table.columns.back().valid = SomeNulls(rows, 2);
  table.columns.push_back(NumberColumn(KeyType::kUint8, Order::kAscending, FewNumbers(rows, 3, 3)));
  table.columns.push_back(StringColumn(Order::kAscending, SomeStrings(rows, 1000, 4)));
  return table;
}

// What a sort may return, with the size of its values.
inline const std::vector<std::pair<v1::SortOutput, int>> kOutputs = {
    {v1::SORT_OUTPUT_KEYS, 5}, {v1::SORT_OUTPUT_INDICES, 0}, {v1::SORT_OUTPUT_KEYS_AND_INDICES, 0}};

// The parameter is the device memory for one request.
class ExternalColumnsTest : public ::testing::TestWithParam<int64_t> {
 protected:
  explicit ExternalColumnsTest(const Server::Options& options = PiecesOptions(GetParam()))
      : server_(options, ReachEngine()) {
    EXPECT_TRUE(MemoryCalls(server_.channel()).Register(object_).ok());
  }

  static bool IsOut() { return GetParam() == kOutOfCore; }

  static void CheckStats(const Table& table, const v1::RequestStats& stats) {
    EXPECT_EQ(stats.out_of_core(), IsOut());
    EXPECT_EQ(stats.runs() > 1, IsOut() && table.run_offsets.size() != 2);
  }

  static int64_t Room(const SortCall::Output& output) {
    return std::max(output.room, static_cast<int64_t>(output.expected.size()));
  }

  struct SharedAnswer {
    grpc::Status status;
    v1::SortResponse response;
    std::string inputs;           // as they were before the call
    std::vector<int64_t> places;  // of the results
  };

  // With all arrays in shared memory, or the first ones in the message.
  SharedAnswer CallShared(SortCall& call, size_t inline_inputs = 0, size_t inline_outputs = 0) {
    SharedAnswer answer;
    std::memset(object_.As<char>(), 0xEE, kRegionBytes);
    int64_t at = 0;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const SortCall::Input& input = call.inputs[i];
      if (i < inline_inputs) {
        input.array->set_inline_data(input.bytes);
        continue;
      }
      input.array->mutable_shared_memory()->set_region("r");
      input.array->mutable_shared_memory()->set_offset_bytes(at);
      std::memcpy(object_.As<char>(at), input.bytes.data(), input.bytes.size());
      at += static_cast<int64_t>(input.bytes.size() + 63) / 64 * 64;
    }
    answer.inputs.assign(object_.As<char>(), static_cast<size_t>(at));
    for (size_t i = inline_outputs; i < call.outputs.size(); ++i) {
      *call.outputs[i].destination = ToRegion(at);
      answer.places.push_back(at);
      at += (Room(call.outputs[i]) + 65) / 64 * 64;  // and a byte behind it
    }
    EXPECT_LE(at, kRegionBytes);
    for (size_t i = 0; i < inline_outputs; ++i) {  // unset
      if (call.outputs[i].destination == &call.request.indices_destination()) call.request.clear_indices_destination();
    }
    grpc::ClientContext context;
    answer.status = Call(server_.stub(), &context, call.request, &answer.response);
    EXPECT_EQ(std::string(object_.As<char>(), answer.inputs.size()), answer.inputs) << "inputs stay as they are";
    return answer;
  }

  void CheckShared(const Table& table, size_t inline_inputs = 0, size_t inline_outputs = 0) {
    SortCall call;
    Build(table, call);
    const SharedAnswer answer = CallShared(call, inline_inputs, inline_outputs);
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    for (size_t i = inline_outputs; i < call.outputs.size(); ++i) {
      const std::string& expected = call.outputs[i].expected;
      const char* const place = object_.As<char>(answer.places[i - inline_outputs]);
      EXPECT_TRUE(std::string(place, expected.size()) == expected) << "result " << i;
      EXPECT_EQ(place[Room(call.outputs[i])], '\xEE') << "behind result " << i;
      if (const int column = call.outputs[i].strings_of; column > 0) {
        EXPECT_EQ(answer.response.key_columns(column - 1).data().count(), static_cast<int64_t>(expected.size()));
      }
    }
    if (inline_outputs > 0) {
      EXPECT_TRUE(answer.response.key_columns(0).data().inline_data() == call.outputs[0].expected);
    }
    CheckStats(table, answer.response.stats());
  }

  StreamedAnswer CallStreamed(SortCall& call, int64_t chunk_elements = 999, bool one_after_another = false,
                              bool announced = true) {
    std::vector<StreamedInput> inputs;
    for (const SortCall::Input& input : call.inputs) {
      const auto id = static_cast<uint32_t>(inputs.size());
      input.array->mutable_stream()->set_stream_id(id);
      inputs.push_back({id, input.element_bytes, input.bytes, 0, !announced});
      if (!announced) input.array->clear_count();
    }
    for (size_t i = 0; i < call.outputs.size(); ++i) *call.outputs[i].destination = ToStream(static_cast<uint32_t>(i));
    v1::Plan plan;
    *plan.add_operations()->mutable_sort() = call.request;
    std::vector<v1::ExecuteRequest> chunks;
    if (one_after_another) {
      for (auto input = inputs.rbegin(); input != inputs.rend(); ++input) {
        for (v1::ExecuteRequest& chunk : Chunks({*input}, chunk_elements)) chunks.push_back(std::move(chunk));
      }
    } else {
      chunks = Chunks(inputs, chunk_elements);
    }
    return Execute(server_.stub(), plan, chunks);
  }

  static void CheckAnswer(const Table& table, const SortCall& call, const StreamedAnswer& answer) {
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      const SortCall::Output& output = call.outputs[i];
      EXPECT_TRUE(answer.Output(static_cast<uint32_t>(i), output.element_bytes) == output.expected) << "result " << i;
    }
    ASSERT_EQ(answer.results.size(), 1U);
    CheckStats(table, answer.results[0].sort().stats());
  }

  // With the last array in the message.
  void CheckStreamedBesideInline(const Table& table) {
    SortCall call;
    Build(table, call);
    call.inputs.back().array->set_inline_data(call.inputs.back().bytes);
    call.inputs.pop_back();
    CheckAnswer(table, call, CallStreamed(call));
  }

  void CheckStreamed(const Table& table, int64_t chunk_elements = 999, bool one_after_another = false) {
    for (const bool announced : {true, false}) {
      SCOPED_TRACE(announced ? "announced" : "not announced");
      SortCall call;
      Build(table, call);
      CheckAnswer(table, call, CallStreamed(call, chunk_elements, one_after_another, announced));
      ExpectAllFreed(server_.server());
      EXPECT_TRUE(Eventually([this] { return server_.server().run_buffers().bytes_in_use() == 0; }));
    }
  }

  SharedObject object_{kRegionBytes};
  RunningServer server_;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_EXTERNAL_COLUMNS_FIXTURE_H_
