// The choice of places for arrays, as a table.
#include "client/cpp/place_choice.h"

#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"

namespace corank::client {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

ServerInfo Info(std::vector<std::string> places) {
  ServerInfo info;
  info.places = std::move(places);
  info.max_request_bytes = 256 * kMiB;
  info.max_response_bytes = 256 * kMiB;
  info.max_parts = 64;
  info.shared_memory_prefixes = {"/corank-"};
  return info;
}

TEST(ChoosePlace, GoesBySizeHostAndServer) {
  const ServerInfo all = Info({"inline", "stream", "shared_memory", "stored"});
  const ServerInfo streams = Info({"inline", "stream"});
  const ServerInfo plain = Info({"inline"});
  ServerInfo no_prefix = all;
  no_prefix.shared_memory_prefixes.clear();
  ServerInfo narrow = streams;
  narrow.max_request_bytes = 4 * kMiB;
  ServerInfo narrow_answers = streams;
  narrow_answers.max_response_bytes = 4 * kMiB;
  ServerInfo one_part = streams;
  one_part.max_parts = 0;
  constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();
  const struct {
    int64_t input_bytes, result_bytes;
    bool may_share;
    const ServerInfo* info;
    Place place;
    int connections;
  } cases[] = {
      {1, 1, true, nullptr, Place::kInline, 1},
      {kSharedMemoryBytes, kSharedMemoryBytes, true, &all, Place::kInline, 1},
      {kSharedMemoryBytes + 1, 1, true, &all, Place::kSharedMemory, 1},
      {1, kSharedMemoryBytes + 1, true, &all, Place::kSharedMemory, 1},
      {kSharedMemoryBytes + 1, 1, false, &all, Place::kInline, 1},
      {kSharedMemoryBytes + 1, 1, true, &no_prefix, Place::kInline, 1},
      {64 * kMiB, 64 * kMiB, false, &all, Place::kInline, 1},
      {64 * kMiB, 64 * kMiB, true, &streams, Place::kInline, 1},
      {64 * kMiB + 1, 1, true, &all, Place::kSharedMemory, 1},
      {64 * kMiB + 1, 1, false, &all, Place::kStream, 1},
      {64 * kMiB + 1, 1, true, &streams, Place::kStream, 1},
      {64 * kMiB + 1, 1, true, &no_prefix, Place::kStream, 1},
      {64 * kMiB + 1, 1, true, &plain, Place::kInline, 1},
      {64 * kMiB + 1, 1, true, nullptr, Place::kInline, 1},
      {1, 64 * kMiB + 1, false, &all, Place::kStream, 1},
      {1, kEndless, false, &all, Place::kStream, 4},
      {4 * kMiB - 70'000, 1, false, &narrow, Place::kInline, 1},
      {4 * kMiB - 100, 1, false, &narrow, Place::kStream, 1},
      {1, 4 * kMiB, false, &narrow_answers, Place::kStream, 1},
      {kSeveralConnectionsBytes, 1, false, &all, Place::kStream, 1},
      {kSeveralConnectionsBytes + 1, 1, false, &all, Place::kStream, 4},
      {1, kSeveralConnectionsBytes + 1, false, &one_part, Place::kStream, 1},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.input_bytes, " in, ", c.result_bytes, " out"));
    PlaceQuestion question;
    question.input_bytes = c.input_bytes;
    question.result_bytes = c.result_bytes;
    question.may_share = c.may_share;
    const auto choice = ChoosePlace(question, {}, {}, c.info);
    ASSERT_TRUE(choice.ok()) << choice.status();
    EXPECT_EQ(choice->place, c.place);
    EXPECT_EQ(choice->connections, c.connections);
  }
}

// A message of max_message_bytes also holds fields beside the arrays.
TEST(ChoosePlace, AnArrayThatFillsTheLargestMessageOfTheClientIsStreamed) {
  const ServerInfo all = Info({"inline", "stream"});
  ClientOptions options;
  options.max_message_bytes = 4 * kMiB;
  PlaceQuestion question;
  question.input_bytes = options.max_message_bytes - 70'000;
  EXPECT_EQ(ChoosePlace(question, {}, options, &all)->place, Place::kInline);
  question.input_bytes = options.max_message_bytes - 100;
  EXPECT_EQ(ChoosePlace(question, {}, options, &all)->place, Place::kStream);
}

// A wrong number in the request must not reserve its memory here before the server has checked it.
TEST(ChoosePlace, AResultThatIsFarLargerThanTheInputsTakesNoRegion) {
  const ServerInfo all = Info({"inline", "stream", "shared_memory"});
  PlaceQuestion question;
  question.input_bytes = 8 * kMiB;
  question.may_share = true;
  question.result_bytes = question.claimed_bytes = kMostGrowth * 8 * kMiB;
  question.read_bytes = 8 * kMiB;
  EXPECT_EQ(ChoosePlace(question, {}, {}, &all)->place, Place::kSharedMemory);
  question.claimed_bytes += kMostGrowth;
  EXPECT_EQ(ChoosePlace(question, {}, {}, &all)->place, Place::kStream);
  question.input_bytes = 0;  // the inputs lie in a region
  question.read_bytes = 9 * kMiB;
  EXPECT_EQ(ChoosePlace(question, {}, {}, &all)->place, Place::kSharedMemory);
  CallOptions call;
  call.place = Place::kSharedMemory;
  question.read_bytes = 0;
  EXPECT_EQ(ChoosePlace(question, call, {}, &all)->place, Place::kSharedMemory);
}

TEST(ChoosePlace, DoesAsItIsTold) {
  const ServerInfo all = Info({"inline", "stream", "shared_memory"});
  const ServerInfo plain = Info({"inline"});
  PlaceQuestion question;
  question.input_bytes = 1;
  CallOptions call;
  ClientOptions options;
  for (const Place place : {Place::kInline, Place::kStream, Place::kSharedMemory}) {
    call.place = place;
    EXPECT_EQ(ChoosePlace(question, call, options, &all)->place, place);
    EXPECT_EQ(ChoosePlace(question, call, options, &plain).ok(), place == Place::kInline);
    EXPECT_EQ(NeedsServerInfo(question, call, options), place != Place::kInline);
  }
  call.place = Place::kStream;
  options.connections = 3;
  EXPECT_EQ(ChoosePlace(question, call, options, &all)->connections, 3);
  call.connections = 5;
  EXPECT_EQ(ChoosePlace(question, call, options, &all)->connections, 5);
  // Each connection could reach another of these servers.
  for (const char* several : {"10.0.0.1:1,10.0.0.2:1", "dns:///gpus:1"}) {
    options.address = several;
    EXPECT_EQ(ChoosePlace(question, call, options, &all)->connections, 1) << several;
  }
  options.address = "dns:///localhost:1";
  EXPECT_EQ(ChoosePlace(question, call, options, &all)->connections, 5);
  for (const int wrong : {-1, 65}) {
    call.connections = wrong;
    EXPECT_TRUE(absl::IsInvalidArgument(ChoosePlace(question, call, options, &all).status()));
  }
  call = {};
  options.place = Place::kSharedMemory;
  EXPECT_EQ(ChoosePlace(question, call, options, &all)->place, Place::kSharedMemory);
  call.place = Place::kInline;
  EXPECT_EQ(ChoosePlace(question, call, options, &all)->place, Place::kInline);
  call = {};
  question.only_stream = true;
  EXPECT_EQ(ChoosePlace(question, call, {}, &all)->place, Place::kStream);
  EXPECT_TRUE(absl::IsUnimplemented(ChoosePlace(question, call, {}, &plain).status()));
}

}  // namespace
}  // namespace corank::client
