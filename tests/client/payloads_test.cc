// Messages split into heads and payloads are equal to protobuf's messages.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "corank/v1/corank_service.pb.h"
#include "corank/v1/memory_service.pb.h"
#include "google/protobuf/util/message_differencer.h"
#include "proto/grpc_payloads.h"
#include "tests/client/puppet_arrays.h"

namespace corank {
namespace {

using google::protobuf::util::MessageDifferencer;

// The bytes in slices of this size.
grpc::ByteBuffer InSlices(const std::string& bytes, size_t size) {
  std::vector<grpc::Slice> slices;
  for (size_t i = 0; i < bytes.size(); i += size) slices.emplace_back(bytes.substr(i, size));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

v1::Array MakeArray(v1::ElementType type, const std::string& bytes) {
  v1::Array array;
  array.set_type(type);
  array.set_count(3);
  if (type == v1::ELEMENT_TYPE_RECORD) array.set_record_bytes(5);
  array.set_inline_data(bytes);
  return array;
}

std::vector<v1::ExecuteRequest> Examples() {
  std::vector<v1::ExecuteRequest> examples(4);
  v1::SortRequest* sort = examples[0].mutable_plan()->add_operations()->mutable_sort();
  *sort->mutable_keys() = MakeArray(v1::ELEMENT_TYPE_UINT32, std::string(300, 'k'));
  *sort->mutable_values() = MakeArray(v1::ELEMENT_TYPE_RECORD, std::string(70000, 'v'));
  sort->mutable_segment_offsets()->mutable_stored()->set_name("s");
  sort->set_limit(0);
  for (int i = 0; i < 3; ++i) {
    v1::KeyColumn* column = sort->add_key_columns();
    *column->mutable_data() = MakeArray(v1::ELEMENT_TYPE_UINT8, std::string(static_cast<size_t>(i), 'd'));
    if (i == 1) *column->mutable_offsets() = MakeArray(v1::ELEMENT_TYPE_INT64, "offsets");
    column->mutable_data_destination()->mutable_stream()->set_stream_id(7);
  }
  v1::MergeRequest* merge = examples[0].mutable_plan()->add_operations()->mutable_merge();
  for (int i = 0; i < 200; ++i) *merge->add_keys() = MakeArray(v1::ELEMENT_TYPE_INT8, std::to_string(i));
  merge->mutable_options()->set_request_id("id");
  examples[0].mutable_plan()->set_job_id("job");
  examples[1].mutable_chunk()->set_stream_id(3);
  examples[1].mutable_chunk()->set_first_element(int64_t{1} << 40);
  examples[1].mutable_chunk()->set_data(std::string(100'000, 'c'));
  examples[2].mutable_chunk();
  return examples;
}

// Messages that protobuf writes are parsed in any slices, and restoring the payloads gives the same message.
TEST(Payloads, ParseWhatProtobufWrites) {
  for (const v1::ExecuteRequest& example : Examples()) {
    const std::string bytes = example.SerializeAsString();
    for (const size_t size : {size_t{1}, size_t{7}, size_t{4096}, size_t{1} << 20}) {
      if (size == 1 && bytes.size() > 200'000) continue;
      const grpc::ByteBuffer buffer = InSlices(bytes, size);
      v1::ExecuteRequest parsed;
      std::vector<PayloadRange> payloads;
      ASSERT_TRUE(ParseHeads(buffer, &parsed, &payloads));
      std::vector<grpc::Slice> slices;
      ASSERT_TRUE(buffer.Dump(&slices).ok() || bytes.empty());
      for (const PayloadRange& range : payloads) {
        std::string payload(static_cast<size_t>(range.bytes), '?');
        CopyRange(slices, range.offset, range.bytes, payload.data());
        if (range.holder->GetDescriptor() == v1::Array::descriptor()) {
          EXPECT_TRUE(static_cast<v1::Array*>(range.holder)->inline_data().empty());
          static_cast<v1::Array*>(range.holder)->set_inline_data(payload);
        } else {
          static_cast<v1::ArrayChunk*>(range.holder)->set_data(payload);
        }
      }
      EXPECT_TRUE(MessageDifferencer::Equals(parsed, example));
    }
  }
}

TEST(Payloads, WriteWhatProtobufParses) {
  for (const v1::ExecuteRequest& example : Examples()) {
    v1::ExecuteRequest heads = example;
    std::vector<std::string> bytes;
    std::vector<const google::protobuf::Message*> holders;
    for (v1::Array* array : client::ArraysOf(&heads)) {
      if (!array->has_inline_data()) continue;
      bytes.push_back(array->inline_data());
      array->clear_place();
      holders.push_back(array);
    }
    if (heads.has_chunk()) {
      bytes.push_back(heads.chunk().data());
      heads.mutable_chunk()->clear_data();
      holders.push_back(&heads.chunk());
    }
    PayloadMap payloads;
    for (size_t i = 0; i < holders.size(); ++i) payloads[holders[i]] = bytes[i];
    std::string whole;
    for (const WirePiece& piece : SerializeHeads(heads, payloads)) {
      whole += piece.head;
      whole += std::string(piece.payload);
    }
    v1::ExecuteRequest parsed;
    ASSERT_TRUE(parsed.ParseFromString(whole));
    EXPECT_TRUE(MessageDifferencer::Equals(parsed, example));
  }
}

TEST(Payloads, AnArrayHeadIsAnArrayUpToItsBytes) {
  v1::Array array = MakeArray(v1::ELEMENT_TYPE_RECORD, "");
  array.clear_place();
  for (const size_t size : {size_t{0}, size_t{1}, size_t{127}, size_t{128}, size_t{100'000}}) {
    const std::string payload(size, 'p');
    v1::SortResponse response;
    ASSERT_TRUE(response.ParseFromString(ArrayHead(v1::SortResponse::kValuesFieldNumber, array, size) + payload));
    EXPECT_EQ(response.values().inline_data(), payload);
    EXPECT_EQ(response.values().record_bytes(), 5u);
    EXPECT_TRUE(response.values().has_inline_data());
  }
}

TEST(Payloads, OfTwoPlacesTheLastCounts) {
  v1::Array inline_array, stored;
  inline_array.set_inline_data("first");
  stored.mutable_stored()->set_name("name");
  const auto parse = [](const std::string& bytes, std::vector<PayloadRange>* payloads) {
    v1::SortRequest request;
    const std::string field = FieldHead(v1::SortRequest::kKeysFieldNumber, bytes.size()) + bytes;
    EXPECT_TRUE(ParseHeads(InSlices(field, 3), &request, payloads));
    return request.keys();
  };
  std::vector<PayloadRange> payloads;
  EXPECT_TRUE(parse(inline_array.SerializeAsString() + stored.SerializeAsString(), &payloads).has_stored());
  EXPECT_TRUE(payloads.empty());
  EXPECT_TRUE(parse(stored.SerializeAsString() + inline_array.SerializeAsString(), &payloads).has_inline_data());
  EXPECT_EQ(payloads.size(), 1u);
  inline_array.set_inline_data("second!");
  const std::string second = inline_array.SerializeAsString();
  inline_array.set_inline_data("1");
  parse(second + inline_array.SerializeAsString(), &payloads);
  ASSERT_EQ(payloads.size(), 1u);
  EXPECT_EQ(payloads[0].bytes, 1);
}

// Every prefix of a message, and every message with one changed byte, is accepted or refused as by protobuf.
TEST(Payloads, TakeAndRefuseWhatProtobufTakesAndRefuses) {
  v1::ExecuteRequest example;
  v1::SortRequest* sort = example.mutable_plan()->add_operations()->mutable_sort();
  *sort->mutable_keys() = MakeArray(v1::ELEMENT_TYPE_UINT32, "123456789012");
  *sort->add_key_columns()->mutable_data() = MakeArray(v1::ELEMENT_TYPE_UINT8, "abc");
  example.mutable_plan()->set_job_id("job");
  const std::string bytes = example.SerializeAsString();
  std::vector<std::string> variants;
  for (size_t i = 0; i < bytes.size(); ++i) {
    variants.push_back(bytes.substr(0, i));
    for (const int flip : {0x01, 0x08, 0x80, 0xFF}) {
      variants.push_back(bytes);
      variants.back()[i] = static_cast<char>(variants.back()[i] ^ flip);
    }
  }
  for (const std::string& variant : variants) {
    v1::ExecuteRequest expected, parsed;
    std::vector<PayloadRange> payloads;
    const bool is_message = expected.ParseFromString(variant);
    EXPECT_EQ(ParseHeads(InSlices(variant, 5), &parsed, &payloads), is_message || variant.empty());
    for (const PayloadRange& range : payloads) {
      EXPECT_LE(range.offset + range.bytes, static_cast<int64_t>(variant.size()));
    }
  }
}

std::string Times(int count, const std::string& bytes) {
  std::string all;
  for (int i = 0; i < count; ++i) all += bytes;
  return all;
}

bool Parses(const std::string& bytes, google::protobuf::Message* message) {
  std::vector<PayloadRange> payloads;
  return ParseHeads(InSlices(bytes, 3), message, &payloads);
}

TEST(Payloads, RefusesManyPartsOfFewBytes) {
  const std::string empty_array("\x0a\x00", 2);
  const std::string number_of_no_field("\xf8\x7f\x01", 3);
  v1::MergeRequest request;
  EXPECT_TRUE(Parses(Times(2048, empty_array), &request));
  EXPECT_EQ(request.keys_size(), 2048);
  EXPECT_FALSE(Parses(Times(200'000, empty_array), &request));
  EXPECT_TRUE(Parses(Times(100'000, number_of_no_field), &request));
  EXPECT_FALSE(Parses(Times(3'000'000, number_of_no_field), &request));
}

// Each change of the destination's place searches all payloads for those it deletes.
TEST(Payloads, RefusesManyChangesOfAPlaceBesideManyPayloads) {
  v1::MoveIntervalsRequest one_payload, one_array, one_count;
  one_payload.mutable_source()->set_inline_data("");
  one_array.mutable_destination();
  one_count.set_destination_count(1);
  const std::string change = one_array.SerializeAsString() + one_count.SerializeAsString();
  v1::MoveIntervalsRequest request;
  EXPECT_TRUE(Parses(Times(1000, one_payload.SerializeAsString()) + Times(1000, change), &request));
  EXPECT_EQ(request.destination_count(), 1);
  EXPECT_FALSE(Parses(Times(20'000, one_payload.SerializeAsString()) + Times(20'000, change), &request));
}

}  // namespace
}  // namespace corank
