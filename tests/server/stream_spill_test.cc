// Execute: interval operators with arrays larger than a request's share of the device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/messages.h"
#include "tests/server/reach_engine.h"
#include "tests/server/running_server.h"
#include "tests/server/streamed_call.h"
#include "tests/support/distributions.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

constexpr int32_t kRecordBytes = 7;

std::string Records(int64_t count, uint64_t seed) {
  const Bytes bytes = MakeBytes(count * kRecordBytes, seed);
  return {bytes.begin(), bytes.end()};
}

v1::Array StreamedRecords(int64_t count, uint32_t stream_id) {
  return Streamed(v1::ELEMENT_TYPE_RECORD, count, stream_id, kRecordBytes);
}

/// Intervals that do not overlap in a destination of kElements, in any order, from any places of a source.
struct Intervals {
  std::vector<int64_t> source_offsets, destination_offsets, counts;
};

class StreamSpillTest : public ::testing::Test {
 protected:
  static constexpr int64_t kMostOnDevice = 1 << 20;
  static constexpr int64_t kElements = 300'000;  // 2 MB
  static constexpr int64_t kMostOnHost = 8 << 20;

  static Server::Options SmallDevice() {
    Server::Options options = TestOptions();
    options.streams.max_device_bytes = kMostOnDevice;
    options.streams.max_host_bytes = kMostOnHost;
    options.streams.piece_bytes = 100'000;
    options.streams.window_bytes = 256 << 10;
    return options;
  }

  static Intervals MakeIntervals() {
    Random random(11);
    std::vector<std::pair<int64_t, int64_t>> places;  // destination, count
    for (int64_t at = 0; at < kElements;) {
      const int64_t count = std::min<int64_t>(random.OneIn(4) ? 0 : random.Below(400), kElements - at);
      places.emplace_back(at, count);
      at += count + random.Below(60);
    }
    for (size_t i = places.size() - 1; i > 0; --i) {
      std::swap(places[i], places[static_cast<size_t>(random.Below(static_cast<int64_t>(i) + 1))]);
    }
    Intervals intervals;
    for (const auto& [at, count] : places) {
      intervals.destination_offsets.push_back(at);
      intervals.counts.push_back(count);
      intervals.source_offsets.push_back(random.Below(kElements - count + 1));
    }
    return intervals;
  }

  // The operation's streams are numbered from 0. Its result is stream 9.
  StreamedAnswer Run(const v1::Plan& plan, const std::vector<StreamedInput>& inputs) {
    return Execute(running_.stub(), plan, Chunks(inputs, 3000));
  }
  void ExpectSpilled(const StreamedAnswer& answer, const v1::RequestStats& stats, const std::string& expected) {
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_TRUE(answer.Output(9, kRecordBytes) == expected);
    EXPECT_TRUE(stats.out_of_core());
    EXPECT_TRUE(Eventually([this] { return running_.server().jobs().memory_in_use == 0; }));
  }

  RunningServer running_{SmallDevice(), ReachEngine()};
  const Intervals intervals_ = MakeIntervals();
  const int64_t interval_count_ = static_cast<int64_t>(intervals_.counts.size());
  const std::string source_ = Records(kElements, 1), initial_ = Records(kElements, 2);
};

TEST_F(StreamSpillTest, MovesBetweenArraysThatTheDeviceMayNotHold) {
  for (const bool has_initial : {true, false}) {  // zeros in memory that was used before
    SCOPED_TRACE(has_initial ? "into an array" : "into zeros");
    std::string expected = has_initial ? initial_ : std::string(source_.size(), '\0');
    for (size_t i = 0; i < intervals_.counts.size(); ++i) {
      expected.replace(static_cast<size_t>(intervals_.destination_offsets[i] * kRecordBytes),
                       static_cast<size_t>(intervals_.counts[i] * kRecordBytes), source_,
                       static_cast<size_t>(intervals_.source_offsets[i] * kRecordBytes),
                       static_cast<size_t>(intervals_.counts[i] * kRecordBytes));
    }
    v1::Plan plan;
    v1::MoveIntervalsRequest& move = *plan.add_operations()->mutable_move_intervals();
    *move.mutable_source() = StreamedRecords(kElements, 0);
    *move.mutable_source_offsets() = Streamed(v1::ELEMENT_TYPE_INT64, interval_count_, 1);
    *move.mutable_destination_offsets() = Streamed(v1::ELEMENT_TYPE_INT64, interval_count_, 2);
    *move.mutable_counts() = Streamed(v1::ELEMENT_TYPE_INT64, interval_count_, 3);
    *move.mutable_result_destination() = ToStream(9);
    std::vector<StreamedInput> inputs = {{0, kRecordBytes, source_},
                                         {1, 8, BytesOf(intervals_.source_offsets)},
                                         {2, 8, BytesOf(intervals_.destination_offsets)},
                                         {3, 8, BytesOf(intervals_.counts)}};
    if (has_initial) {
      *move.mutable_destination() = StreamedRecords(kElements, 4);
      inputs.push_back({4, kRecordBytes, initial_});
    } else {
      move.set_destination_count(kElements);
    }
    const StreamedAnswer answer = Run(plan, inputs);
    ASSERT_EQ(answer.results.size(), 1U) << answer.status.error_message();
    ExpectSpilled(answer, answer.results[0].move_intervals().stats(), expected);
  }
}

TEST_F(StreamSpillTest, AnArrayOfTheMessageNeedsNoCount) {
  // Source and result fit onto the device one by one, but not together.
  constexpr int64_t kMoved = 80'000, kInitial = 90'000;
  static_assert(kInitial * kRecordBytes < kMostOnDevice && (kMoved + kInitial) * kRecordBytes > kMostOnDevice);
  const std::string initial = initial_.substr(0, kInitial * kRecordBytes);
  const std::string source = source_.substr(0, kMoved * kRecordBytes);
  std::string expected = initial;
  expected.replace(5 * kRecordBytes, source.size(), source);
  for (const bool has_count : {true, false}) {
    SCOPED_TRACE(has_count);
    v1::Plan plan;
    v1::ScatterIntervalsRequest& scatter = *plan.add_operations()->mutable_scatter_intervals();
    *scatter.mutable_source() = StreamedRecords(kMoved, 0);
    *scatter.mutable_destination_offsets() = Int64s({5});
    *scatter.mutable_counts() = Int64s({kMoved});
    v1::Array& destination = *scatter.mutable_destination();
    destination.set_type(v1::ELEMENT_TYPE_RECORD);
    destination.set_record_bytes(kRecordBytes);
    destination.set_inline_data(initial);
    if (has_count) destination.set_count(kInitial);
    *scatter.mutable_result_destination() = ToStream(9);
    const StreamedAnswer answer = Run(plan, {{0, kRecordBytes, source}});
    ASSERT_EQ(answer.results.size(), 1U) << answer.status.error_message();
    ExpectSpilled(answer, answer.results[0].scatter_intervals().stats(), expected);
  }
}

TEST_F(StreamSpillTest, MovesIntoAnArrayOfTheMessage) {
  // Small, with a source that is too large: the result is spilled too.
  const std::string initial(100 * kRecordBytes, 'i');
  std::string expected = initial;
  expected.replace(5 * kRecordBytes, 3 * kRecordBytes, source_, 1000 * kRecordBytes, 3 * kRecordBytes);
  v1::Plan plan;
  v1::MoveIntervalsRequest& move = *plan.add_operations()->mutable_move_intervals();
  *move.mutable_source() = StreamedRecords(kElements, 0);
  *move.mutable_source_offsets() = Int64s({1000});
  *move.mutable_destination_offsets() = Int64s({5});
  *move.mutable_counts() = Int64s({3});
  move.mutable_destination()->set_type(v1::ELEMENT_TYPE_RECORD);
  move.mutable_destination()->set_record_bytes(kRecordBytes);
  move.mutable_destination()->set_inline_data(initial);
  *move.mutable_result_destination() = ToStream(9);
  const StreamedAnswer answer = Run(plan, {{0, kRecordBytes, source_}});
  ASSERT_EQ(answer.results.size(), 1U) << answer.status.error_message();
  ExpectSpilled(answer, answer.results[0].move_intervals().stats(), expected);
}

TEST_F(StreamSpillTest, ScattersIntoAnArrayThatTheDeviceMayNotHold) {
  std::string expected(source_.size(), '\0');
  int64_t total = 0;
  for (size_t i = 0; i < intervals_.counts.size(); ++i) {
    expected.replace(static_cast<size_t>(intervals_.destination_offsets[i] * kRecordBytes),
                     static_cast<size_t>(intervals_.counts[i] * kRecordBytes), source_,
                     static_cast<size_t>(total * kRecordBytes),
                     static_cast<size_t>(intervals_.counts[i] * kRecordBytes));
    total += intervals_.counts[i];
  }
  v1::Plan plan;
  v1::ScatterIntervalsRequest& scatter = *plan.add_operations()->mutable_scatter_intervals();
  *scatter.mutable_source() = StreamedRecords(total, 0);
  *scatter.mutable_destination_offsets() = Streamed(v1::ELEMENT_TYPE_INT64, interval_count_, 1);
  *scatter.mutable_counts() = Streamed(v1::ELEMENT_TYPE_INT64, -1, 2);
  scatter.set_destination_count(kElements);
  *scatter.mutable_result_destination() = ToStream(9);
  const StreamedAnswer answer =
      Run(plan, {{0, kRecordBytes, source_.substr(0, static_cast<size_t>(total * kRecordBytes))},
                 {1, 8, BytesOf(intervals_.destination_offsets)},
                 {2, 8, BytesOf(intervals_.counts), 0, true}});
  ASSERT_EQ(answer.results.size(), 1U) << answer.status.error_message();
  ExpectSpilled(answer, answer.results[0].scatter_intervals().stats(), expected);
}

TEST_F(StreamSpillTest, GathersFromAnArrayThatTheDeviceMayNotHold) {
  std::string expected;
  for (size_t i = 0; i < intervals_.counts.size(); ++i) {
    expected.append(source_, static_cast<size_t>(intervals_.source_offsets[i] * kRecordBytes),
                    static_cast<size_t>(intervals_.counts[i] * kRecordBytes));
  }
  v1::Plan plan;
  v1::GatherIntervalsRequest& gather = *plan.add_operations()->mutable_gather_intervals();
  *gather.mutable_source() = StreamedRecords(kElements, 0);
  *gather.mutable_source_offsets() = Streamed(v1::ELEMENT_TYPE_INT64, interval_count_, 1);
  *gather.mutable_counts() = Streamed(v1::ELEMENT_TYPE_INT64, interval_count_, 2);
  *gather.mutable_destination() = ToStream(9);
  const StreamedAnswer answer =
      Run(plan,
          {{0, kRecordBytes, source_}, {1, 8, BytesOf(intervals_.source_offsets)}, {2, 8, BytesOf(intervals_.counts)}});
  ASSERT_EQ(answer.results.size(), 1U) << answer.status.error_message();
  ExpectSpilled(answer, answer.results[0].gather_intervals().stats(), expected);
}

TEST_F(StreamSpillTest, ExpandsValuesThatTheDeviceMayNotHold) {
  constexpr int64_t kValues = 250'000;
  Random random(12);
  std::vector<int64_t> counts(kValues);
  for (int64_t& count : counts) count = random.Below(3);
  const std::string values = source_.substr(0, kValues * kRecordBytes);
  std::string expected;
  for (size_t i = 0; i < counts.size(); ++i) {
    for (int64_t k = 0; k < counts[i]; ++k) expected.append(values, i * kRecordBytes, kRecordBytes);
  }
  v1::Plan plan;
  v1::ExpandIntervalsRequest& expand = *plan.add_operations()->mutable_expand_intervals();
  *expand.mutable_values() = StreamedRecords(kValues, 0);
  *expand.mutable_counts() = Streamed(v1::ELEMENT_TYPE_INT64, kValues, 1);
  *expand.mutable_destination() = ToStream(9);
  const StreamedAnswer answer = Run(plan, {{0, kRecordBytes, values}, {1, 8, BytesOf(counts)}});
  ASSERT_EQ(answer.results.size(), 1U) << answer.status.error_message();
  ExpectSpilled(answer, answer.results[0].expand_intervals().stats(), expected);
}

TEST_F(StreamSpillTest, ArraysOfUnknownLengthSpillAsTheyCome) {
  // Fewer elements than fill half of the device, while they grow; fewer than fill all of it; and more.
  constexpr int64_t kFew = 10'000, kMiddle = 60'000, kMany = 200'000;
  for (const int64_t from : {kFew, kMiddle, kMany}) {
    for (const int64_t to : {kFew, kMiddle, kMany}) {
      SCOPED_TRACE(::testing::Message() << from << " to " << to);
      const std::string source = source_.substr(0, static_cast<size_t>(from * kRecordBytes));
      const std::string initial = initial_.substr(0, static_cast<size_t>(to * kRecordBytes));
      std::string expected = initial;
      expected.replace(static_cast<size_t>((to - 50) * kRecordBytes), 50 * kRecordBytes, source,
                       static_cast<size_t>((from - 50) * kRecordBytes), 50 * kRecordBytes);
      v1::Plan plan;
      v1::MoveIntervalsRequest& move = *plan.add_operations()->mutable_move_intervals();
      *move.mutable_source() = StreamedRecords(-1, 0);
      *move.mutable_source_offsets() = Int64s({from - 50});
      *move.mutable_destination_offsets() = Int64s({to - 50});
      *move.mutable_counts() = Int64s({50});
      *move.mutable_destination() = StreamedRecords(-1, 1);
      *move.mutable_result_destination() = ToStream(9);
      const StreamedAnswer answer =
          Run(plan, {{0, kRecordBytes, source, 0, true}, {1, kRecordBytes, initial, 0, true}});
      ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
      EXPECT_TRUE(answer.Output(9, kRecordBytes) == expected);
      EXPECT_EQ(answer.results[0].move_intervals().stats().out_of_core(), from + to > 2 * kFew);
      EXPECT_TRUE(Eventually([this] { return running_.server().jobs().memory_in_use == 0; }));
    }
  }
}

TEST_F(StreamSpillTest, ArraysOfKnownLengthSpillBesideOneOfUnknownLength) {
  v1::Plan plan;
  v1::ScatterIntervalsRequest& scatter = *plan.add_operations()->mutable_scatter_intervals();
  *scatter.mutable_source() = StreamedRecords(-1, 0);
  *scatter.mutable_counts() = Streamed(v1::ELEMENT_TYPE_INT64, 1, 2);
  *scatter.mutable_destination_offsets() = Streamed(v1::ELEMENT_TYPE_INT64, 1, 3);
  *scatter.mutable_destination() = StreamedRecords(kElements, 1);
  *scatter.mutable_result_destination() = ToStream(9);
  const std::string source = source_.substr(0, 10 * kRecordBytes);
  const StreamedAnswer answer = Run(plan, {{0, kRecordBytes, source, 0, true},
                                           {1, kRecordBytes, initial_},
                                           {2, 8, BytesOf({10})},
                                           {3, 8, BytesOf({kElements - 10})}});
  ASSERT_EQ(answer.results.size(), 1U) << answer.status.error_message();
  ExpectSpilled(answer, answer.results[0].scatter_intervals().stats(),
                initial_.substr(0, (kElements - 10) * kRecordBytes) + source);
}

TEST_F(StreamSpillTest, AnArrayOfUnknownLengthThatOutgrowsTheHostIsRefused) {
  const std::string more = source_ + source_ + source_ + source_ + source_;  // 10 MB, but the limit is 8 MiB
  v1::Plan plan;
  v1::GatherIntervalsRequest& gather = *plan.add_operations()->mutable_gather_intervals();
  *gather.mutable_source() = StreamedRecords(-1, 0);
  *gather.mutable_source_offsets() = Int64s({0});
  *gather.mutable_counts() = Int64s({1});
  const StreamedAnswer answer = Run(plan, {{0, kRecordBytes, more, 0, true}});
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << answer.status.error_message();
  EXPECT_EQ(BadField(answer.status), "plan.operations[0].source.count") << answer.status.error_message();
  EXPECT_THAT(answer.status.error_message(), HasSubstr("max_stream_host_bytes"));
  EXPECT_TRUE(Eventually([this] { return running_.server().jobs().memory_in_use == 0; }));
}

TEST_F(StreamSpillTest, ReportsIntervalsThatOverlap) {
  v1::Plan plan;
  v1::ScatterIntervalsRequest& scatter = *plan.add_operations()->mutable_scatter_intervals();
  *scatter.mutable_source() = StreamedRecords(kElements, 0);
  *scatter.mutable_counts() = Int64s({kElements - 1, 1});
  *scatter.mutable_destination_offsets() = Int64s({0, 7});
  scatter.set_destination_count(kElements);
  *scatter.mutable_result_destination() = ToStream(9);
  const StreamedAnswer answer = Run(plan, {{0, kRecordBytes, source_}});
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(BadField(answer.status), "plan.operations[0].destination_offsets[1]") << answer.status.error_message();
  EXPECT_TRUE(answer.chunks.empty());
  EXPECT_TRUE(Eventually([this] { return running_.server().jobs().memory_in_use == 0; }));
}

TEST_F(StreamSpillTest, GathersIntoTheAnswer) {
  v1::Plan plan;
  v1::GatherIntervalsRequest& gather = *plan.add_operations()->mutable_gather_intervals();
  *gather.mutable_source() = StreamedRecords(kElements, 0);
  *gather.mutable_source_offsets() = Int64s({9, 200'000});
  *gather.mutable_counts() = Int64s({2, 3});
  const StreamedAnswer answer = Run(plan, {{0, kRecordBytes, source_}});
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  const v1::GatherIntervalsResponse& response = answer.results[0].gather_intervals();
  EXPECT_EQ(response.result().inline_data(), source_.substr(9 * kRecordBytes, 2 * kRecordBytes) +
                                                 source_.substr(200'000 * kRecordBytes, 3 * kRecordBytes));
  EXPECT_TRUE(response.stats().out_of_core());
}

TEST_F(StreamSpillTest, MovesIntoAnArrayThatGoesIntoTheAnswer) {
  const std::string initial = initial_.substr(0, 200'000 * kRecordBytes);
  std::string expected = initial;
  expected.replace(0, kRecordBytes, source_, 3 * kRecordBytes, kRecordBytes);
  v1::Plan plan;
  v1::MoveIntervalsRequest& move = *plan.add_operations()->mutable_move_intervals();
  *move.mutable_source() = StreamedRecords(kElements, 0);
  *move.mutable_source_offsets() = Int64s({3});
  *move.mutable_destination_offsets() = Int64s({0});
  *move.mutable_counts() = Int64s({1});
  *move.mutable_destination() = StreamedRecords(200'000, 1);
  const StreamedAnswer answer = Run(plan, {{0, kRecordBytes, source_}, {1, kRecordBytes, initial}});
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_TRUE(answer.results[0].move_intervals().result().inline_data() == expected);
}

TEST_F(StreamSpillTest, WhatTheDeviceMayHoldIsNotSpilled) {
  v1::Plan plan;
  v1::MoveIntervalsRequest& move = *plan.add_operations()->mutable_move_intervals();
  *move.mutable_source_offsets() = Int64s({2});
  *move.mutable_destination_offsets() = Int64s({0});
  *move.mutable_counts() = Int64s({4});
  *move.mutable_result_destination() = ToStream(9);
  const int64_t most = kMostOnDevice / kRecordBytes;
  for (const int64_t elements : {most / 2, most + 1}) {
    SCOPED_TRACE(elements);
    *move.mutable_source() = StreamedRecords(elements, 0);
    move.set_destination_count(4);
    const auto bytes = static_cast<size_t>(elements * kRecordBytes);
    const StreamedAnswer answer = Run(plan, {{0, kRecordBytes, source_.substr(0, bytes)}});
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_TRUE(answer.Output(9, kRecordBytes) == source_.substr(2 * kRecordBytes, 4 * kRecordBytes));
    EXPECT_EQ(answer.results[0].move_intervals().stats().out_of_core(), elements > most);
  }
}

TEST_F(StreamSpillTest, WhatIsTooMuchForTheHostIsRefusedBeforeItComes) {
  const auto refused = [&](int64_t source, int64_t destination, const std::string& field) {
    SCOPED_TRACE(::testing::Message() << source << " to " << destination);
    v1::Plan plan;
    v1::ScatterIntervalsRequest& scatter = *plan.add_operations()->mutable_scatter_intervals();
    *scatter.mutable_source() = StreamedRecords(source, 0);
    *scatter.mutable_counts() = Int64s({source});
    *scatter.mutable_destination_offsets() = Int64s({0});
    scatter.set_destination_count(destination);
    *scatter.mutable_result_destination() = ToStream(9);
    const grpc::Status status = Run(plan, {}).status;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    EXPECT_EQ(BadField(status), "plan.operations[0]." + field) << status.error_message();
    return status.error_message();
  };
  constexpr int64_t kMost = kMostOnHost / kRecordBytes;
  EXPECT_THAT(refused(kMost + 1, kMost + 1, "source.count"), HasSubstr(std::to_string(kMostOnHost)));
  EXPECT_THAT(refused(kMost / 2, kMost, "destination_count"), HasSubstr("max_stream_host_bytes"));
}

TEST_F(StreamSpillTest, AResultThatIsTooMuchIsRefusedWhereNothingIsStreamed) {
  v1::Plan plan;
  v1::ScatterIntervalsRequest& scatter = *plan.add_operations()->mutable_scatter_intervals();
  *scatter.mutable_source() = MakeArray(v1::ELEMENT_TYPE_UINT8, "x", 1);
  *scatter.mutable_counts() = Int64s({1});
  *scatter.mutable_destination_offsets() = Int64s({0});
  scatter.set_destination_count(int64_t{1} << 39);
  *scatter.mutable_result_destination() = ToStream(9);
  const grpc::Status status = Run(plan, {}).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_EQ(BadField(status), "plan.operations[0].destination_count") << status.error_message();
}

TEST_F(StreamSpillTest, CountsThatAreTooMuchForTheDeviceAreRefusedBeforeTheyCome) {
  constexpr int64_t kCounts = 80'000;  // and as many offsets: more than 1 MiB
  v1::Plan plan;
  v1::ScatterIntervalsRequest& scatter = *plan.add_operations()->mutable_scatter_intervals();
  *scatter.mutable_source() = StreamedRecords(kElements, 0);
  *scatter.mutable_counts() = Streamed(v1::ELEMENT_TYPE_INT64, kCounts, 1);
  *scatter.mutable_destination_offsets() = Streamed(v1::ELEMENT_TYPE_INT64, kCounts, 2);
  scatter.set_destination_count(kElements);
  *scatter.mutable_result_destination() = ToStream(9);
  const grpc::Status status = Run(plan, {}).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_EQ(BadField(status), "plan.operations[0].counts") << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("max_device_bytes"));
}

TEST_F(StreamSpillTest, ChainsOfOperatorsAreNotSpilled) {
  v1::Plan plan;
  for (int i = 0; i < 2; ++i) {
    v1::GatherIntervalsRequest& gather = *plan.add_operations()->mutable_gather_intervals();
    *gather.mutable_source() = StreamedRecords(kElements, static_cast<uint32_t>(i));
    *gather.mutable_source_offsets() = Int64s({0});
    *gather.mutable_counts() = Int64s({1});
  }
  const grpc::Status status = Run(plan, {}).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("source.count"));
}

}  // namespace
}  // namespace corank::testing
