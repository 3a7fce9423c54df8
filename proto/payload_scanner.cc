#include "proto/payload_scanner.h"

#include <algorithm>

#include "proto/payloads.h"

namespace corank {
namespace {

constexpr int kVarintType = 0, kFixed64Type = 1, kDelimitedType = 2, kFixed32Type = 5;
constexpr int kMostShift = 63;

}  // namespace

PayloadScanner::PayloadScanner(const google::protobuf::Descriptor* type, int field, size_t size) {
  levels_[0] = {type, field, size};
}

size_t PayloadScanner::Take(absl::string_view bytes) {
  size_t taken = 0;
  while (taken < bytes.size() && payload_bytes_ == 0) {
    if (state_ == State::kLost) return bytes.size();
    if (state_ != State::kSkip) {
      ++position_;
      TakeByte(static_cast<unsigned char>(bytes[taken++]));
      continue;
    }
    const size_t count = std::min(skip_, bytes.size() - taken);
    taken += count;
    position_ += count;
    skip_ -= count;
    if (skip_ == 0) EndLevels();
  }
  return taken;
}

void PayloadScanner::SkipPayload() {
  position_ += payload_bytes_;
  payload_bytes_ = 0;
  EndLevels();
}

void PayloadScanner::TakeByte(unsigned char byte) {
  if (shift_ > kMostShift) {
    state_ = State::kLost;
    return;
  }
  number_ |= static_cast<uint64_t>(byte & 0x7f) << shift_;
  shift_ += 7;
  if ((byte & 0x80) != 0) return;
  switch (state_) {
    case State::kTag:
      field_ = static_cast<int>(number_ >> 3);
      wire_type_ = static_cast<int>(number_ & 7);
      number_ = 0;
      shift_ = 0;
      BeginValue();
      break;
    case State::kLength:
      BeginDelimited();
      number_ = 0;
      shift_ = 0;
      break;
    default:
      EndLevels();
  }
}

void PayloadScanner::BeginValue() {
  switch (wire_type_) {
    case kVarintType:
      state_ = State::kVarint;
      break;
    case kFixed64Type:
    case kFixed32Type:
      state_ = State::kSkip;
      skip_ = wire_type_ == kFixed64Type ? 8 : 4;
      break;
    case kDelimitedType:
      state_ = State::kLength;
      break;
    default:  // no message of the contract has groups
      state_ = State::kLost;
  }
}

void PayloadScanner::BeginDelimited() {
  const Level& level = levels_[depth_ - 1];
  // The tag or the length itself may lie beyond the end of its message.
  if (position_ > level.end || number_ > level.end - position_) {
    state_ = State::kLost;
    return;
  }
  const auto length = static_cast<size_t>(number_);
  if (field_ == level.payload_field) {
    payload_bytes_ = length;
    if (length == 0) EndLevels();
    return;
  }
  const google::protobuf::FieldDescriptor* const field = level.type->FindFieldByNumber(field_);
  const google::protobuf::Descriptor* const inner = field == nullptr ? nullptr : field->message_type();
  if (inner != nullptr && depth_ < kMostLevels && HoldsPayloads(inner)) {
    levels_[depth_++] = {inner, PayloadField(inner), position_ + length};
    EndLevels();
    return;
  }
  state_ = State::kSkip;
  skip_ = length;
  if (length == 0) EndLevels();
}

// A field has ended, and with it perhaps the messages that it was the last one of.
void PayloadScanner::EndLevels() {
  state_ = State::kTag;
  number_ = 0;
  shift_ = 0;
  while (depth_ > 1 && position_ >= levels_[depth_ - 1].end) --depth_;
}

}  // namespace corank
