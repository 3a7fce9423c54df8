// Received messages, compared with the bytes that were sent.
#include "server/rpc/message_receiver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "corank/v1/corank_service.pb.h"
#include "corank/v1/operators.pb.h"
#include "inference/grpc_service.pb.h"
#include "proto/payloads.h"
#include "server/base/errors.h"

namespace corank {
namespace {

constexpr size_t kApart = (32 << 10) + 1;  // the shortest payload that is received apart

class MessageReceiverTest : public ::testing::Test {
 protected:
  std::unique_ptr<MessageReceiver> Receiver(const google::protobuf::Descriptor* type, int field = 0) {
    return std::make_unique<MessageReceiver>(
        type, field, buffered_.get(),
        [this](size_t bytes) -> absl::StatusOr<std::shared_ptr<void>> {
          if (!place_error_.ok()) return place_error_;
          placed_.push_back(bytes);
          if (places_nothing_) return nullptr;
          return std::shared_ptr<void>(new char[bytes], std::default_delete<char[]>());
        },
        [this](const absl::Status& status) { failure_ = status; });
  }
  // Hands the bytes over in pieces of at most `cut`.
  void Send(absl::string_view bytes, size_t cut, MessageReceiver& receiver) {
    while (!bytes.empty() && failure_.ok()) {
      const absl::Span<char> room = receiver.Room();
      ASSERT_FALSE(room.empty());
      const size_t count = std::min({room.size(), bytes.size(), cut});
      std::memcpy(room.data(), bytes.data(), count);
      receiver.Fill(count);
      bytes.remove_prefix(count);
    }
  }
  ReceivedMessage Receive(const std::string& bytes, size_t cut, MessageReceiver& receiver) {
    EXPECT_TRUE(receiver.Begin(bytes.size()).ok());
    Send(bytes, cut, receiver);
    ReceivedMessage message = receiver.Take();
    EXPECT_TRUE(message.bytes.ToString() == bytes);
    return message;
  }

  const std::shared_ptr<Budget> buffered_ = Budget::Create(16 << 20);
  absl::Status place_error_, failure_;
  bool places_nothing_ = false;
  std::vector<size_t> placed_;
};

std::string Payload(size_t bytes, char first) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(first + i * 7);
  return text;
}

TEST_F(MessageReceiverTest, LongArraysLieApartWhereverTheyStand) {
  for (const size_t cut : {size_t{1}, size_t{1000}, size_t{1} << 20}) {
    for (const size_t bytes : {size_t{0}, size_t{1}, kApart - 1, kApart, 5 * kApart}) {
      v1::MergeRequest request;
      request.mutable_options()->set_request_id(std::string(200, 'i'));
      for (const size_t size : {bytes, kApart, size_t{10}, bytes}) {
        v1::Array* const array = request.add_keys();
        array->set_type(v1::ELEMENT_TYPE_UINT8);
        array->set_inline_data(Payload(size, 'a'));
      }
      const size_t apart = bytes >= kApart ? 3 : 1;
      const auto receiver = Receiver(v1::MergeRequest::descriptor());
      const ReceivedMessage message = Receive(request.SerializeAsString(), cut, *receiver);
      EXPECT_EQ(message.pinned.size(), apart) << bytes;
      v1::MergeRequest parsed;
      std::vector<PayloadRange> ranges;
      ASSERT_TRUE(ParseHeads(message.pieces(), &parsed, &ranges));
      EXPECT_EQ(ranges.size(), 4U);
    }
  }
}

TEST_F(MessageReceiverTest, OneReceiverTakesManyMessages) {
  const auto receiver = Receiver(v1::ExecuteRequest::descriptor());
  for (const size_t bytes : {kApart, size_t{3}, 2 * kApart}) {
    v1::ExecuteRequest request;
    request.mutable_chunk()->set_stream_id(3);
    request.mutable_chunk()->set_first_element(1 << 20);
    request.mutable_chunk()->set_data(Payload(bytes, 'c'));
    const ReceivedMessage message = Receive(request.SerializeAsString(), 4096, *receiver);
    EXPECT_EQ(message.pinned.size(), bytes >= kApart ? 1U : 0U);
  }
  EXPECT_EQ(buffered_->used(), 0) << "messages that are gone take no room";
}

TEST_F(MessageReceiverTest, RawContentsOfAnInferenceLieApartToo) {
  inference::ModelInferRequest request;
  request.set_model_name("sort");
  request.add_inputs()->set_name("keys");
  for (const size_t bytes : {kApart, size_t{5}, kApart}) request.add_raw_input_contents(Payload(bytes, 'r'));
  const auto receiver =
      Receiver(inference::ModelInferRequest::descriptor(), inference::ModelInferRequest::kRawInputContentsFieldNumber);
  EXPECT_EQ(Receive(request.SerializeAsString(), 777, *receiver).pinned.size(), 2U);
}

TEST_F(MessageReceiverTest, BytesThatAreNoMessageAreReceivedAllTheSame) {
  for (const char first : {'\x0b', '\xff', '\x0a', '\x00'}) {
    std::string bytes = Payload(3 * kApart, first);
    bytes[0] = first;
    const auto receiver = Receiver(v1::SortRequest::descriptor());
    Receive(bytes, 1 << 16, *receiver);
  }
  // An array that claims to be longer than the message.
  std::string bytes = FieldHead(v1::SortRequest::kKeysFieldNumber, size_t{1} << 40) + Payload(2 * kApart, 'x');
  Receive(bytes, 1 << 16, *Receiver(v1::SortRequest::descriptor()));
  EXPECT_TRUE(placed_.empty());
}

// The message of the keys ends with its tag, or in the middle of the length that follows.
TEST_F(MessageReceiverTest, ALengthBeyondTheEndOfItsMessageFindsNoArray) {
  const std::string tag = FieldHead(v1::Array::kInlineDataFieldNumber, 0).substr(0, 1);
  for (const size_t end : {1, 2, 5}) {
    for (const uint64_t length : {uint64_t{1} << 20, uint64_t{1} << 40, (uint64_t{1} << 63) + 5, ~uint64_t{0}}) {
      const std::string array = tag + FieldHead(/*field=*/1, length).substr(1);
      const std::string bytes = FieldHead(v1::SortRequest::kKeysFieldNumber, end) + array + Payload(2 * kApart, 'x');
      Receive(bytes, 1 << 16, *Receiver(v1::SortRequest::descriptor()));
      EXPECT_TRUE(placed_.empty()) << end << ' ' << length;
    }
  }
}

TEST_F(MessageReceiverTest, NoArrayIsLongerThanWhatIsLeftOfTheMessage) {
  constexpr int kRounds = 20'000, kHeadBytes = 48;
  std::minstd_rand random(1);  // NOLINT(cert-msc51-cpp): the same cases each time
  v1::MergeRequest request;
  for (const size_t size : {size_t{3}, kApart, size_t{0}, kApart}) {
    request.add_keys()->set_inline_data(Payload(size, 'a'));
  }
  const std::string whole = request.SerializeAsString();
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = whole;
    for (int changes = 1 + static_cast<int>(random() % 4); changes > 0; --changes) {
      bytes[random() % kHeadBytes] = static_cast<char>(random());
    }
    PayloadScanner scanner(v1::MergeRequest::descriptor(), /*field=*/0, bytes.size());
    for (size_t at = 0; at < bytes.size();) {
      at += scanner.Take(absl::string_view(bytes).substr(at));
      ASSERT_LE(scanner.payload_bytes(), bytes.size() - at) << "round " << round;
      at += scanner.payload_bytes();
      if (scanner.payload_bytes() > 0) scanner.SkipPayload();
    }
  }
}

TEST_F(MessageReceiverTest, WithoutAPlaceAnArrayIsCollected) {
  places_nothing_ = true;
  v1::SortRequest request;
  request.mutable_keys()->set_inline_data(Payload(4 * kApart, 'k'));
  request.mutable_values()->set_inline_data(Payload(10, 'v'));
  EXPECT_TRUE(Receive(request.SerializeAsString(), 1 << 20, *Receiver(v1::SortRequest::descriptor())).pinned.empty());
  EXPECT_EQ(placed_.size(), 1U);
}

TEST_F(MessageReceiverTest, FailsWhereThereIsNoRoomForAnArray) {
  place_error_ = DeviceMemoryFull();
  v1::SortRequest request;
  request.mutable_keys()->set_inline_data(Payload(4 * kApart, 'k'));
  const auto receiver = Receiver(v1::SortRequest::descriptor());
  ASSERT_TRUE(receiver->Begin(request.ByteSizeLong()).ok());
  Send(request.SerializeAsString(), 500, *receiver);
  EXPECT_EQ(failure_, place_error_);
}

TEST_F(MessageReceiverTest, RefusesMessagesThatFillTheBudget) {
  const Budget::Reservation others = buffered_->Reserve((16 << 20) - 100);
  const auto receiver = Receiver(v1::SortRequest::descriptor());
  EXPECT_TRUE(receiver->Begin(100).ok());
  const absl::Status status = Receiver(v1::SortRequest::descriptor())->Begin(1);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_MEMORY_FULL);
  EXPECT_TRUE(HasRetryDelay(status));
}

TEST_F(MessageReceiverTest, GivesUpOnHeadsWithoutEnd) {
  const auto receiver = Receiver(v1::SortRequest::descriptor());
  const std::string field = FieldHead(100, 1000) + std::string(1000, 'f');
  std::string bytes;
  while (bytes.size() < (9 << 20)) bytes += field;
  ASSERT_TRUE(receiver->Begin(bytes.size()).ok());
  Send(bytes, 1 << 16, *receiver);
  EXPECT_EQ(failure_.code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace corank
