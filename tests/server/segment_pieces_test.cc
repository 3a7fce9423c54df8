// Sorts by segments of arrays in shared memory and of streams, whole and out of core, compared with the oracle. The
// arrays are small; the server's settings make it treat them as large.
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
#include "tests/server/messages.h"
#include "tests/server/reach_engine.h"
#include "tests/server/running_server.h"
#include "tests/server/shared_object.h"
#include "tests/server/streamed_call.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRegionBytes = int64_t{4} << 20;
constexpr int64_t kKeysOut = kRegionBytes / 4, kMore = kRegionBytes / 2, kMoreOut = kRegionBytes / 4 * 3;
constexpr int64_t kWhole = int64_t{64} << 20, kOutOfCore = 64 << 10;  // device memory of one request
// Bytes of a tile out of core: of keys in shared memory, and of streams.
constexpr int64_t kSharedTile = kOutOfCore / 32, kStreamTile = kOutOfCore / 16;

struct SegmentCase {
  KeyType type = KeyType::kUint32;
  Order order = Order::kAscending;
  std::vector<int64_t> offsets;
  int value_bytes = 0;
  int64_t limit = -1;  // of each segment
  v1::SortOutput output = v1::SORT_OUTPUT_KEYS;
  Bytes keys = {}, values = {};         // input
  Bytes sorted = {}, sorted_more = {};  // expected: keys, and values or indices

  int64_t count() const { return offsets.back(); }
  bool wants_keys() const { return output != v1::SORT_OUTPUT_INDICES; }
  bool wants_indices() const { return output != v1::SORT_OUTPUT_KEYS; }
  bool has_more() const { return value_bytes > 0 || wants_indices(); }
};

void Fill(SegmentCase& test) {
  test.keys = MakeKeys(test.type, Distribution::kSpecialFloats, test.count(), 7);
  test.values = MakeBytes(test.count() * test.value_bytes, 8);
  const std::vector<int64_t> order =
      FirstOfOrder(StableOrder(test.type, test.order, test.keys, test.offsets), test.limit, test.offsets);
  test.sorted = Gather(test.keys, KeyBytes(test.type), order);
  test.sorted_more = test.wants_indices() ? IndexArray(order, 4) : Gather(test.values, test.value_bytes, order);
}

v1::SortRequest RequestOf(const SegmentCase& test) {
  v1::SortRequest request;
  request.set_output(test.output);
  request.set_order(test.order == Order::kAscending ? v1::SORT_ORDER_ASCENDING : v1::SORT_ORDER_DESCENDING);
  if (test.limit >= 0) request.set_limit(test.limit);
  return request;
}

std::vector<int64_t> OffsetsOf(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> offsets = {0};
  for (const int64_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

// Short segments, many of them empty, with longer ones than a tile among them.
std::vector<int64_t> MixedOffsets(int64_t short_ones, const std::vector<int64_t>& long_ones) {
  Random random(static_cast<uint64_t>(short_ones));
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < short_ones; ++i) {
    lengths.push_back(random.OneIn(3) ? 0 : random.Below(300));
    const auto part = static_cast<size_t>(i * static_cast<int64_t>(long_ones.size()) / short_ones);
    if (i % (short_ones / static_cast<int64_t>(long_ones.size())) == 1) lengths.push_back(long_ones[part]);
  }
  return OffsetsOf(lengths);
}

// The parameter is the device memory for one request.
class SegmentPiecesTest : public ::testing::TestWithParam<int64_t> {
 protected:
  SegmentPiecesTest() { EXPECT_TRUE(MemoryCalls(server_.channel()).Register(object_).ok()); }

  static bool IsOut() { return GetParam() == kOutOfCore; }

  grpc::Status CallShared(const SegmentCase& test, v1::SortResponse* response, bool in_place = false,
                          int64_t keys_out = kKeysOut) {
    std::memset(object_.As<char>(), 0xEE, kRegionBytes);
    std::memcpy(object_.As<char>(), test.keys.data(), test.keys.size());
    v1::SortRequest request = RequestOf(test);
    *request.mutable_keys() = InRegion(static_cast<v1::ElementType>(test.type), test.count(), 0);
    *request.mutable_segment_offsets() = Int64s(test.offsets);
    if (test.wants_keys()) *request.mutable_keys_destination() = ToRegion(in_place ? 0 : keys_out);
    if (test.value_bytes > 0) {
      std::memcpy(object_.As<char>(kMore), test.values.data(), test.values.size());
      *request.mutable_values() = InRegion(v1::ELEMENT_TYPE_RECORD, test.count(), kMore);
      request.mutable_values()->set_record_bytes(static_cast<uint32_t>(test.value_bytes));
      *request.mutable_values_destination() = ToRegion(in_place ? kMore : kMoreOut);
    }
    if (test.wants_indices()) *request.mutable_indices_destination() = ToRegion(kMoreOut);
    grpc::ClientContext context;
    return Call(server_.stub(), &context, request, response);
  }

  void CheckShared(const SegmentCase& test, bool in_place = false) {
    v1::SortResponse response;
    const grpc::Status status = CallShared(test, &response, in_place);
    ASSERT_TRUE(status.ok()) << status.error_message();
    const auto holds = [this, in_place](const Bytes& expected, int64_t place) {
      const char* const found = object_.As<char>(place);
      return std::memcmp(found, expected.data(), expected.size()) == 0 &&
             (in_place || found[expected.size()] == '\xEE');
    };
    if (test.wants_keys()) {
      EXPECT_TRUE(holds(test.sorted, in_place ? 0 : kKeysOut)) << "keys";
      EXPECT_EQ(response.keys().count(), static_cast<int64_t>(test.sorted.size()) / KeyBytes(test.type));
    }
    if (test.has_more()) {
      EXPECT_TRUE(holds(test.sorted_more, in_place && test.value_bytes > 0 ? kMore : kMoreOut)) << "values or indices";
    }
    if (!in_place) {
      EXPECT_EQ(std::memcmp(object_.As<char>(), test.keys.data(), test.keys.size()), 0) << "the input";
    }
    EXPECT_EQ(response.stats().out_of_core(), IsOut());
    EXPECT_NE(response.algorithm(), v1::SORT_ALGORITHM_AUTO);
  }

  struct Stream {
    bool announced = true;
    bool streams_offsets = true;
    bool offsets_last = false;
    int64_t chunk_elements = 444;
  };

  StreamedAnswer CallStreamed(const SegmentCase& test, const Stream& how) {
    const auto counted = [&how](int64_t count) { return how.announced ? count : -1; };
    v1::Plan plan;
    v1::SortRequest& sort = *plan.add_operations()->mutable_sort();
    sort = RequestOf(test);
    std::vector<StreamedInput> inputs;
    *sort.mutable_keys() = Streamed(static_cast<v1::ElementType>(test.type), counted(test.count()), 0);
    inputs.push_back({0, KeyBytes(test.type), Text(test.keys), 0, !how.announced});
    if (test.wants_keys()) *sort.mutable_keys_destination() = ToStream(0);
    if (test.value_bytes > 0) {
      *sort.mutable_values() =
          Streamed(v1::ELEMENT_TYPE_RECORD, counted(test.count()), 1, static_cast<uint32_t>(test.value_bytes));
      inputs.push_back({1, test.value_bytes, Text(test.values), 0, !how.announced});
      *sort.mutable_values_destination() = ToStream(1);
    }
    if (test.wants_indices()) *sort.mutable_indices_destination() = ToStream(1);
    std::vector<v1::ExecuteRequest> chunks;
    if (how.streams_offsets) {
      const auto count = static_cast<int64_t>(test.offsets.size());
      *sort.mutable_segment_offsets() = Streamed(v1::ELEMENT_TYPE_INT64, counted(count), 2);
      const StreamedInput offsets{2, 8, BytesOf(test.offsets), 0, !how.announced};
      if (how.offsets_last) {
        chunks = Chunks(inputs, how.chunk_elements);
        for (v1::ExecuteRequest& chunk : Chunks({offsets}, how.chunk_elements)) chunks.push_back(std::move(chunk));
      } else {
        inputs.push_back(offsets);
      }
    } else {
      *sort.mutable_segment_offsets() = Int64s(test.offsets);
    }
    if (chunks.empty()) chunks = Chunks(inputs, how.chunk_elements);
    return Execute(server_.stub(), plan, chunks);
  }

  void CheckStreamed(const SegmentCase& test, const Stream& how) {
    SCOPED_TRACE(::testing::Message() << (how.announced ? "" : "not ") << "announced, offsets "
                                      << (how.streams_offsets ? how.offsets_last ? "last" : "streamed" : "inline"));
    const StreamedAnswer answer = CallStreamed(test, how);
    ASSERT_TRUE(answer.status.ok()) << BadField(answer.status) << ": " << answer.status.error_message();
    if (test.wants_keys()) {
      EXPECT_TRUE(answer.Output(0, KeyBytes(test.type)) == Text(test.sorted)) << "keys";
    }
    if (test.has_more()) {
      EXPECT_TRUE(answer.Output(1, test.wants_indices() ? 4 : test.value_bytes) == Text(test.sorted_more));
    }
    ASSERT_EQ(answer.results.size(), 1U);
    EXPECT_EQ(answer.results[0].sort().stats().out_of_core(), IsOut());
    ExpectAllFreed(server_.server());
    EXPECT_TRUE(Eventually([this] { return server_.server().run_buffers().bytes_in_use() == 0; }));
  }

  void CheckAll(SegmentCase test, const std::vector<int64_t>& limits = {-1}) {
    for (const int64_t limit : limits) {
      test.limit = limit;
      CheckOne(test);
    }
  }

  void CheckOne(SegmentCase test) {
    SCOPED_TRACE(::testing::Message() << KeyTypeName(test.type) << " values=" << test.value_bytes
                                      << " output=" << test.output << " segments=" << test.offsets.size() - 1
                                      << " limit=" << test.limit);
    Fill(test);
    CheckShared(test);
    CheckStreamed(test, {});
  }

  SharedObject object_{kRegionBytes};
  RunningServer server_{PiecesOptions(GetParam()), ReachEngine()};
};

INSTANTIATE_TEST_SUITE_P(Memory, SegmentPiecesTest, ::testing::Values(kWhole, kOutOfCore));

TEST_P(SegmentPiecesTest, EveryTypeInEveryOrder) {
  for (const KeyType type : kAllKeyTypes) {
    for (const Order order : {Order::kAscending, Order::kDescending}) {
      SegmentCase test;
      test.type = type;
      test.order = order;
      test.offsets = MixedOffsets(300, {kStreamTile, 3 * kStreamTile});
      test.value_bytes = 3;  // distinguishes equal keys
      CheckAll(test);
    }
  }
}

TEST_P(SegmentPiecesTest, EveryOutputInEveryStream) {
  for (const auto& [output, value_bytes] :
       std::vector<std::pair<v1::SortOutput, int>>{{v1::SORT_OUTPUT_KEYS, 0},
                                                   {v1::SORT_OUTPUT_KEYS, 17},
                                                   {v1::SORT_OUTPUT_INDICES, 0},
                                                   {v1::SORT_OUTPUT_KEYS_AND_INDICES, 0}}) {
    SegmentCase test;
    test.type = KeyType::kInt16;
    test.output = output;
    test.value_bytes = value_bytes;
    test.offsets = MixedOffsets(200, {5000, 12'000});
    CheckAll(test, {-1, 1, 100, 6000});
    test.limit = 50;
    Fill(test);
    CheckStreamed(test, {/*announced=*/true, /*streams_offsets=*/false});
    CheckStreamed(test, {/*announced=*/true, /*streams_offsets=*/true, /*offsets_last=*/true});
    CheckStreamed(test, {/*announced=*/false, /*streams_offsets=*/true});
    CheckStreamed(test, {/*announced=*/false, /*streams_offsets=*/false});
  }
}

// Keys alone have 4 bytes, so these are segments of a tile and one key more or less.
TEST_P(SegmentPiecesTest, SegmentsAsLongAsATile) {
  for (const int64_t tile : {kSharedTile / 4, kStreamTile / 4}) {
    std::vector<int64_t> lengths;
    for (const int64_t more : {-1, 0, 1}) {
      lengths.insert(lengths.end(), {tile + more, 0, 1, tile + more, tile + more, 0, 0, tile / 2, tile / 2 + more});
    }
    lengths.push_back(20'000);  // enough for any work in pieces
    SegmentCase test;
    test.offsets = OffsetsOf(lengths);
    CheckAll(test, {-1, 1, tile - 1, tile, tile + 1});
  }
}

TEST_P(SegmentPiecesTest, ManyTinySegments) {
  SegmentCase test;
  test.type = KeyType::kUint8;  // offsets take more memory than keys
  std::vector<int64_t> lengths(90'000, 1);
  for (size_t i = 0; i < lengths.size(); i += 3) lengths[i] = 0;
  lengths[5] = 4;
  test.offsets = OffsetsOf(lengths);
  CheckAll(test);
}

TEST_P(SegmentPiecesTest, OneSegmentIsTheWholeArray) {
  SegmentCase test;
  test.offsets = {0, 0, 100'000, 100'000};
  test.output = v1::SORT_OUTPUT_KEYS_AND_INDICES;
  CheckAll(test, {-1, 70'000});
}

TEST_P(SegmentPiecesTest, ResultsMayReplaceTheirInputs) {
  SegmentCase test;
  test.value_bytes = 8;
  test.offsets = MixedOffsets(200, {5000});
  for (test.limit = -1; test.limit < 300; test.limit += 100) {
    Fill(test);
    CheckShared(test, /*in_place=*/true);
  }
}

TEST_P(SegmentPiecesTest, TheFirstOfEachSegmentNeedRoomForNoMore) {
  SegmentCase test;
  test.offsets = MixedOffsets(200, {5000});
  test.limit = 9;
  Fill(test);
  const int64_t place = kRegionBytes - static_cast<int64_t>(test.sorted.size());
  v1::SortResponse response;
  EXPECT_TRUE(CallShared(test, &response, /*in_place=*/false, place).ok());
  EXPECT_EQ(std::memcmp(object_.As<char>(place), test.sorted.data(), test.sorted.size()), 0);
  EXPECT_EQ(BadField(CallShared(test, &response, /*in_place=*/false, place + 4)),
            "keys_destination.shared_memory.offset_bytes");
}

// A tile would overwrite keys that have not been read.
TEST_P(SegmentPiecesTest, ResultsBesideTheirInputsAreMadeAsAWhole) {
  SegmentCase test;
  test.offsets = MixedOffsets(200, {5000});
  Fill(test);
  v1::SortResponse response;
  EXPECT_TRUE(CallShared(test, &response, /*in_place=*/false, /*keys_out=*/4096).ok());
  EXPECT_EQ(std::memcmp(object_.As<char>(4096), test.sorted.data(), test.sorted.size()), 0);
  EXPECT_FALSE(response.stats().out_of_core());
}

TEST_P(SegmentPiecesTest, OffsetsOfStreamsAreChecked) {
  SegmentCase test;
  test.offsets = MixedOffsets(200, {5000});
  Fill(test);
  test.offsets[150] = test.offsets[151] + 1;
  for (const bool announced : {true, false}) {
    Stream how;
    how.announced = announced;
    const StreamedAnswer answer = CallStreamed(test, how);
    EXPECT_EQ(BadField(answer.status), "plan.operations[0].segment_offsets[151]");
  }
  ExpectAllFreed(server_.server());
}

TEST_P(SegmentPiecesTest, PartsOfAJobSendRangesOfTheKeys) {
  SegmentCase test;
  test.offsets = MixedOffsets(300, {9000});
  Fill(test);
  constexpr int64_t kCut = 10'007;
  const std::string text = Text(test.keys);
  std::vector<StreamedAnswer> answers(2);
  std::vector<std::thread> parts;
  for (size_t part = 0; part < 2; ++part) {
    parts.emplace_back([&, part] {
      v1::Plan plan = SortPlan(v1::ELEMENT_TYPE_UINT32, test.count());
      *plan.mutable_operations(0)->mutable_sort()->mutable_segment_offsets() = Int64s(test.offsets);
      plan.set_job_id("job");
      plan.set_parts(2);
      plan.set_part(static_cast<uint32_t>(part));
      StreamedInput input{0, 4, part == 0 ? text.substr(0, 4 * kCut) : text.substr(4 * kCut)};
      input.first_element = part == 0 ? 0 : kCut;
      const auto stub = v1::CorankService::NewStub(Connect(server_.server().address()));
      answers[part] = Execute(*stub, plan, Chunks({input}, 999));
    });
  }
  for (std::thread& part : parts) part.join();
  std::string joined(text.size(), '\0');
  for (const StreamedAnswer& answer : answers) {
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    for (const v1::ArrayChunk& chunk : answer.chunks) {
      joined.replace(static_cast<size_t>(chunk.first_element()) * 4, chunk.data().size(), chunk.data());
    }
  }
  EXPECT_TRUE(joined == Text(test.sorted));
}

// A stream whose keys fit into host memory, but not beside the runs of one segment of them all.
TEST(SegmentPiecesMemoryTest, ASegmentThatIsTooLongForTheHostIsRefused) {
  Server::Options options = PiecesOptions(kOutOfCore);
  options.streams.max_host_bytes = 600 << 10;
  RunningServer server(options);
  constexpr int64_t kCount = 100'000;
  const Bytes keys = MakeKeys(KeyType::kUint32, Distribution::kUniform, kCount, 1);
  for (const bool is_long : {false, true}) {
    const std::vector<int64_t> offsets =
        is_long ? OffsetsOf({kCount}) : OffsetsOf(std::vector<int64_t>(10, kCount / 10));
    v1::Plan plan = SortPlan(v1::ELEMENT_TYPE_UINT32, kCount);
    v1::SortRequest& sort = *plan.mutable_operations(0)->mutable_sort();
    *sort.mutable_segment_offsets() = Streamed(v1::ELEMENT_TYPE_INT64, static_cast<int64_t>(offsets.size()), 5);
    const StreamedAnswer answer =
        Execute(server.stub(), plan, Chunks({{0, 4, Text(keys)}, {5, 8, BytesOf(offsets)}}, 999));
    EXPECT_EQ(answer.status.error_code(), is_long ? grpc::StatusCode::INVALID_ARGUMENT : grpc::StatusCode::OK);
    if (is_long) {
      EXPECT_THAT(answer.status.error_message(), HasSubstr("max_stream_host_bytes"));
    }
    ExpectAllFreed(server.server());
  }
}

}  // namespace
}  // namespace corank::testing
