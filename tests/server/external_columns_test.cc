// Sorts by columns of tables in shared memory and streams, whole and out of core, compared with the oracle. The tables
// are small; the server's settings make it treat them as large.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
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
namespace {

constexpr int64_t kRegionBytes = int64_t{16} << 20;
constexpr int64_t kWhole = int64_t{64} << 20, kOutOfCore = 200'000;  // device memory of one request

struct Table {
  std::vector<TestColumn> columns;
  int value_bytes = 0;
  v1::SortOutput output = v1::SORT_OUTPUT_KEYS;
  int64_t limit = -1;
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

v1::NanOrder WireNans(NanOrder nans) {
  return nans == NanOrder::kGreatest      ? v1::NAN_ORDER_GREATEST
         : nans == NanOrder::kBesideNulls ? v1::NAN_ORDER_BESIDE_NULLS
                                          : v1::NAN_ORDER_AS_NULLS;
}

void Describe(v1::Array& array, v1::ElementType type, int64_t count, int record_bytes) {
  array.set_type(type);
  array.set_count(count);
  if (type == v1::ELEMENT_TYPE_RECORD) array.set_record_bytes(static_cast<uint32_t>(record_bytes));
}

// `call` stays where it is.
void Build(const Table& table, SortCall& call) {
  const int64_t rows = table.columns.front().rows();
  std::vector<int64_t> order = StableRowOrder(table.columns);
  if (table.limit >= 0 && table.limit < rows) order.resize(static_cast<size_t>(table.limit));
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

std::vector<bool> SomeNulls(int64_t rows, uint64_t seed) {
  Random random(seed);
  std::vector<bool> valid(static_cast<size_t>(rows));
  for (size_t i = 0; i < valid.size(); ++i) valid[i] = !random.OneIn(5);
  return valid;
}

Bytes FewNumbers(int64_t rows, int kinds, uint64_t seed) {
  Random random(seed);
  Bytes bytes;
  for (int64_t i = 0; i < rows; ++i) bytes.push_back(static_cast<uint8_t>(random.Below(kinds)));
  return bytes;
}

// Many ties in the first two columns.
Table Mixed(int64_t rows) {
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

Server::Options PiecesOptions(int64_t max_device_bytes) {
  Server::Options options = TestOptions();
  options.regions.shared_memory_prefixes = {SharedObject::kPrefix};
  options.long_bytes = 1000;
  options.in_pieces = true;
  options.long_lanes = 1;
  options.limits.max_chunk_bytes = 8 << 10;
  options.streams.window_bytes = 64 << 10;
  options.streams.piece_bytes = 20000;
  options.streams.max_device_bytes = max_device_bytes;
  options.streams.max_host_bytes = int64_t{64} << 20;
  return options;
}

// The parameter is the device memory for one request.
class ExternalColumnsTest : public ::testing::TestWithParam<int64_t> {
 protected:
  ExternalColumnsTest() { EXPECT_TRUE(MemoryCalls(server_.channel()).Register(object_).ok()); }

  static bool IsOut() { return GetParam() == kOutOfCore; }

  static void CheckStats(const v1::RequestStats& stats) {
    EXPECT_EQ(stats.out_of_core(), IsOut());
    EXPECT_EQ(stats.runs() > 1, IsOut());
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
    CheckStats(answer.response.stats());
  }

  StreamedAnswer CallStreamed(SortCall& call, int64_t chunk_elements = 999, bool one_after_another = false) {
    std::vector<StreamedInput> inputs;
    for (const SortCall::Input& input : call.inputs) {
      const auto id = static_cast<uint32_t>(inputs.size());
      input.array->mutable_stream()->set_stream_id(id);
      inputs.push_back({id, input.element_bytes, input.bytes});
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

  void CheckStreamed(const Table& table, int64_t chunk_elements = 999, bool one_after_another = false) {
    SortCall call;
    Build(table, call);
    const StreamedAnswer answer = CallStreamed(call, chunk_elements, one_after_another);
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      const SortCall::Output& output = call.outputs[i];
      EXPECT_TRUE(answer.Output(static_cast<uint32_t>(i), output.element_bytes) == output.expected) << "result " << i;
    }
    ASSERT_EQ(answer.results.size(), 1U);
    CheckStats(answer.results[0].sort().stats());
    ExpectAllFreed(server_.server());
    EXPECT_TRUE(Eventually([this] { return server_.server().run_buffers().bytes_in_use() == 0; }));
  }

  SharedObject object_{kRegionBytes};
  RunningServer server_{PiecesOptions(GetParam()), ReachEngine()};
};

INSTANTIATE_TEST_SUITE_P(Memory, ExternalColumnsTest, ::testing::Values(kWhole, kOutOfCore));

TEST_P(ExternalColumnsTest, EveryTypeInEveryOrder) {
  constexpr int64_t kRows = 6001;
  for (const KeyType type : kAllKeyTypes) {
    for (int variant = 0; variant < 12; ++variant) {
      SCOPED_TRACE(::testing::Message() << KeyTypeName(type) << " variant " << variant);
      Table table;
      const Order order = variant % 2 == 0 ? Order::kAscending : Order::kDescending;
      table.columns.push_back(NumberColumn(type, order, MakeKeys(type, Distribution::kSpecialFloats, kRows, 7)));
      table.columns.front().nulls = variant / 2 % 2 == 0 ? NullOrder::kLast : NullOrder::kFirst;
      table.columns.front().nans = static_cast<NanOrder>(variant / 4);
      if (variant % 3 != 1) table.columns.front().valid = SomeNulls(kRows, 8);
      table.columns.push_back(NumberColumn(KeyType::kInt8, Order::kDescending, FewNumbers(kRows, 2, 9)));
      table.output = v1::SORT_OUTPUT_KEYS_AND_INDICES;
      variant % 4 == 0 ? CheckStreamed(table) : CheckShared(table);
    }
  }
}

TEST_P(ExternalColumnsTest, EveryOutputAndLimit) {
  constexpr int64_t kRows = 20011;
  for (const auto& [output, value_bytes] :
       std::vector<std::pair<v1::SortOutput, int>>{{v1::SORT_OUTPUT_KEYS, 0},
                                                   {v1::SORT_OUTPUT_KEYS, 5},
                                                   {v1::SORT_OUTPUT_INDICES, 0},
                                                   {v1::SORT_OUTPUT_KEYS_AND_INDICES, 0}}) {
    for (const int64_t limit : {-1, 1, 13, 700, 19999, 30000}) {
      SCOPED_TRACE(::testing::Message() << "output " << output << " values of " << value_bytes << " limit " << limit);
      Table table = Mixed(kRows);
      table.output = output;
      table.value_bytes = value_bytes;
      table.limit = limit;
      CheckShared(table);
      CheckStreamed(table);
    }
  }
}

TEST_P(ExternalColumnsTest, RowsThatAreAllEqualKeepTheirOrder) {
  Table table;
  table.columns.push_back(NumberColumn(KeyType::kUint64, Order::kDescending, Bytes(8 * 9000)));
  table.columns.push_back(BytesColumn(17, Order::kAscending, Bytes(17 * 9000)));
  table.output = v1::SORT_OUTPUT_INDICES;
  CheckShared(table);
  CheckStreamed(table, 400);
}

TEST_P(ExternalColumnsTest, ChunksOfAnySizeInAnyOrder) {
  for (const int64_t chunk : {int64_t{1}, int64_t{8}, int64_t{100}}) CheckStreamed(Mixed(4001), chunk);
  Table table = Mixed(20011);
  table.value_bytes = 4;
  CheckStreamed(table, 333, /*one_after_another=*/true);
}

TEST_P(ExternalColumnsTest, SmallArraysAndResultsMayTravelInTheMessage) {
  Table table = Mixed(20011);
  CheckShared(table, /*inline_inputs=*/2, /*inline_outputs=*/0);
  CheckShared(table, /*inline_inputs=*/0, /*inline_outputs=*/1);
}

// Strings of 0 to 40 bytes. Many are prefixes of others, and some hold zero bytes.
std::vector<std::string> SomeStrings(int64_t rows, int kinds, uint64_t seed) {
  Random random(seed);
  std::vector<std::string> strings;
  for (int64_t i = 0; i < rows; ++i) {
    const auto kind = static_cast<size_t>(random.Below(kinds));
    strings.push_back(std::string(kind % 37, 'a') + std::string(kind % 3, '\0') + static_cast<char>('b' + kind % 5));
    if (kind == 0) strings.back().clear();
  }
  return strings;
}

Table Strings(int64_t rows) {
  Table table;
  table.columns.push_back(StringColumn(Order::kDescending, SomeStrings(rows, 60, 1)));
  table.columns.back().valid = SomeNulls(rows, 2);
  table.columns.push_back(NumberColumn(KeyType::kUint8, Order::kAscending, FewNumbers(rows, 3, 3)));
  table.columns.push_back(StringColumn(Order::kAscending, SomeStrings(rows, 1000, 4)));
  return table;
}

TEST_P(ExternalColumnsTest, Strings) {
  for (const auto& [output, value_bytes] :
       std::vector<std::pair<v1::SortOutput, int>>{{v1::SORT_OUTPUT_KEYS, 5}, {v1::SORT_OUTPUT_KEYS_AND_INDICES, 0}}) {
    for (const int64_t limit : {-1, 1, 100, 5000, 7000}) {
      SCOPED_TRACE(::testing::Message() << "output " << output << " limit " << limit);
      Table table = Strings(6001);
      table.output = output;
      table.value_bytes = value_bytes;
      table.limit = limit;
      CheckShared(table);
      CheckStreamed(table);
    }
  }
  Table one;
  one.columns.push_back(StringColumn(Order::kAscending, SomeStrings(20011, 30000, 5)));
  CheckShared(one);
  CheckStreamed(one, 333, /*one_after_another=*/true);
  Table empty;
  empty.columns.push_back(StringColumn(Order::kAscending, std::vector<std::string>(9000)));
  empty.columns.push_back(BytesColumn(8, Order::kAscending, FewNumbers(8 * 9000, 4, 3)));
  CheckShared(empty);
  CheckStreamed(empty);
}

TEST_P(ExternalColumnsTest, StringsOfUnequalLengths) {
  constexpr int64_t kRows = 20000;
  std::vector<std::string> strings = SomeStrings(kRows, 9, 6);
  // The longest lie together, in the table and in the result.
  for (size_t i = 3000; i < 3200; ++i) strings[i] = std::string(300, 'z') + static_cast<char>('a' + i % 7);
  Table table;
  table.columns.push_back(StringColumn(Order::kAscending, strings));
  table.columns.push_back(NumberColumn(KeyType::kUint8, Order::kDescending, FewNumbers(kRows, 3, 7)));
  table.columns.back().valid = SomeNulls(kRows, 8);
  CheckShared(table);
  CheckStreamed(table);
}

TEST_P(ExternalColumnsTest, OffsetsOfStreamedStringsAreChecked) {
  Table table;
  table.columns.push_back(StringColumn(Order::kAscending, SomeStrings(9000, 900, 6)));
  table.columns.push_back(BytesColumn(8, Order::kAscending, FewNumbers(8 * 9000, 4, 3)));
  SortCall call;
  Build(table, call);
  std::string& offsets = call.inputs[1].bytes;
  offsets.replace(8 * 777, 8, offsets.substr(8 * 2777, 8));
  EXPECT_EQ(BadField(CallStreamed(call).status), "plan.operations[0].key_columns[0].offsets[778]");
}

// Nobody knows how long the first strings are before they are sorted, so the response would need room for all.
TEST_P(ExternalColumnsTest, FirstStringsOfManyAreNotForTheResponse) {
  Table table = Strings(6001);
  table.limit = 5;
  SortCall call;
  Build(table, call);
  call.outputs.erase(call.outputs.begin(), call.outputs.begin() + 2);  // the data and offsets of the first column
  EXPECT_EQ(CallStreamed(call).status.error_code(),
            IsOut() ? grpc::StatusCode::INVALID_ARGUMENT : grpc::StatusCode::OK);
}

TEST_P(ExternalColumnsTest, StringsThatAreTooLongForAPieceAreNamed) {
  if (!IsOut()) GTEST_SKIP() << "the table is sorted whole";
  std::vector<std::string> strings = SomeStrings(20000, 9, 6);
  strings[7] = std::string(100'000, 'a');
  Table table;
  table.columns.push_back(StringColumn(Order::kAscending, strings));
  SortCall call;
  Build(table, call);
  const grpc::Status status = CallShared(call).status;
  EXPECT_EQ(BadField(status), "key_columns[0].offsets");
  EXPECT_THAT(status.error_message(), ::testing::HasSubstr("a string of 100000 bytes"));
}

// Eight rows, the least tile with bitmaps, are longer than a tile of the answer.
TEST_P(ExternalColumnsTest, RowsOfManyBytes) {
  constexpr int64_t kRows = 500;
  Table table;
  for (uint64_t i = 0; i < 16; ++i) {
    table.columns.push_back(BytesColumn(256, i % 2 == 0 ? Order::kAscending : Order::kDescending,
                                        i < 15 ? FewNumbers(256 * kRows, 1, i) : MakeBytes(256 * kRows, i)));
    table.columns.back().valid = SomeNulls(kRows, i / 4);
  }
  CheckStreamed(table, 30);
  CheckShared(table);
}

TEST_P(ExternalColumnsTest, PartsOfAJobSendRangesOfAllArrays) {
  constexpr int64_t kRows = 20011, kCut = 8 * 1001;
  Table table = Mixed(kRows);
  table.output = v1::SORT_OUTPUT_INDICES;
  std::vector<StreamedAnswer> answers(2);
  std::vector<std::thread> parts;
  std::string expected;
  for (size_t part = 0; part < 2; ++part) {
    SortCall call;
    Build(table, call);
    std::vector<StreamedInput> inputs;
    for (const SortCall::Input& input : call.inputs) {
      const auto id = static_cast<uint32_t>(inputs.size());
      input.array->mutable_stream()->set_stream_id(id);
      const bool is_bitmap = input.bytes.size() < kRows;
      const size_t cut = static_cast<size_t>(is_bitmap ? kCut / 8 : kCut * input.element_bytes);
      StreamedInput sent{id, input.element_bytes, part == 0 ? input.bytes.substr(0, cut) : input.bytes.substr(cut)};
      sent.first_element = part == 0 ? 0 : static_cast<int64_t>(cut) / input.element_bytes;
      inputs.push_back(std::move(sent));
    }
    *call.outputs[0].destination = ToStream(0);
    expected = call.outputs[0].expected;
    v1::Plan plan;
    *plan.add_operations()->mutable_sort() = call.request;
    plan.set_job_id("job");
    plan.set_parts(2);
    plan.set_part(static_cast<uint32_t>(part));
    parts.emplace_back([this, part, &answers, plan, inputs] {
      const auto stub = v1::CorankService::NewStub(Connect(server_.server().address()));
      answers[part] = Execute(*stub, plan, Chunks(inputs, 999));
    });
  }
  for (std::thread& part : parts) part.join();
  std::string joined(expected.size(), '\0');
  size_t bytes = 0;
  for (const StreamedAnswer& answer : answers) {
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    for (const v1::ArrayChunk& chunk : answer.chunks) {
      joined.replace(static_cast<size_t>(chunk.first_element()) * 4, chunk.data().size(), chunk.data());
      bytes += chunk.data().size();
    }
  }
  EXPECT_EQ(bytes, expected.size());
  EXPECT_TRUE(joined == expected);
}

}  // namespace
}  // namespace corank::testing
