// Sorts by columns of tables in shared memory and streams, whole and out of core.
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/server/external_columns_fixture.h"

namespace corank::testing {
namespace {

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

TEST_P(ExternalColumnsTest, SmallArraysBesideStreamsMayTravelInTheMessage) { CheckStreamedBesideInline(Mixed(6001)); }

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
