#include "server/respond/responses.h"

#include <cstring>
#include <string>
#include <type_traits>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "grpc/slice.h"
#include "grpcpp/support/slice.h"

namespace corank {
namespace {

using google::protobuf::io::CodedOutputStream;

// The number of the response's field for a role.
template <typename Response>
int FieldNumber(ResultRole role) {
  if constexpr (std::is_same_v<Response, v1::SortResponse>) {
    if (role == ResultRole::kIndices) return Response::kIndicesFieldNumber;
    return role == ResultRole::kValues ? Response::kValuesFieldNumber : Response::kKeysFieldNumber;
  } else if constexpr (std::is_same_v<Response, v1::MergeResponse>) {
    return role == ResultRole::kValues ? Response::kValuesFieldNumber : Response::kKeysFieldNumber;
  } else if constexpr (std::is_same_v<Response, v1::LoadBalanceResponse>) {
    return role == ResultRole::kRanks ? Response::kRanksFieldNumber : Response::kObjectsFieldNumber;
  } else if constexpr (std::is_same_v<Response, v1::ExpandIntervalsResponse>) {
    return Response::kValuesFieldNumber;
  } else if constexpr (std::is_same_v<Response, v1::SearchResponse>) {
    return Response::kPositionsFieldNumber;
  } else {
    return Response::kResultFieldNumber;
  }
}

bool IsColumnPart(ResultRole role) { return role == ResultRole::kColumnData || role == ResultRole::kColumnOffsets; }

// Of the bytes that go into the response.
size_t Size(const ResultArray& result) {
  return result.is_inline() ? static_cast<size_t>(result.count * result.element_bytes) : 0;
}

// The tag of a field that holds bytes or a message.
constexpr uint32_t LengthDelimitedTag(int field) { return static_cast<uint32_t>(field) << 3 | 2; }

// A field of the response that holds an Array whose bytes are elsewhere.
std::string Placed(int field, const v1::Array& array) {
  std::string text;
  google::protobuf::io::StringOutputStream stream(&text);
  CodedOutputStream out(&stream);
  out.WriteTag(LengthDelimitedTag(field));
  out.WriteVarint32(static_cast<uint32_t>(array.ByteSizeLong()));
  array.SerializeWithCachedSizes(&out);
  out.Trim();
  return text;
}

// A field of the response that holds an Array, up to the first of the result's bytes, which are the Array's last field.
std::string Head(int field, const ResultArray& result) {
  constexpr uint32_t kBytesTag = LengthDelimitedTag(v1::Array::kInlineDataFieldNumber);
  if (!result.is_inline()) return Placed(field, *result.described);
  v1::Array array;
  array.set_type(result.type);
  array.set_count(result.count);
  if (result.type == v1::ELEMENT_TYPE_RECORD) array.set_record_bytes(static_cast<uint32_t>(result.element_bytes));
  const auto bytes = static_cast<uint32_t>(Size(result));
  const size_t array_bytes = array.ByteSizeLong() + CodedOutputStream::VarintSize32(kBytesTag) +
                             CodedOutputStream::VarintSize32(bytes) + bytes;
  std::string head;
  google::protobuf::io::StringOutputStream stream(&head);
  CodedOutputStream out(&stream);
  out.WriteTag(LengthDelimitedTag(field));
  out.WriteVarint32(static_cast<uint32_t>(array_bytes));
  array.SerializeWithCachedSizes(&out);
  out.WriteTag(kBytesTag);
  out.WriteVarint32(bytes);
  out.Trim();
  return head;
}

// The same for a part of a SortedColumn: the head of its data begins the column's message, which ends with its offsets
// where it has any. `next`: the result behind it, or null.
std::string ColumnHead(const ResultArray& result, const ResultArray* next) {
  if (result.role == ResultRole::kColumnOffsets) return Head(v1::SortedColumn::kOffsetsFieldNumber, result);
  const std::string data = Head(v1::SortedColumn::kDataFieldNumber, result);
  size_t bytes = data.size() + Size(result);
  if (next != nullptr && next->role == ResultRole::kColumnOffsets)
    bytes += ColumnHead(*next, nullptr).size() + Size(*next);
  std::string head;
  {
    google::protobuf::io::StringOutputStream stream(&head);
    CodedOutputStream out(&stream);
    out.WriteTag(LengthDelimitedTag(v1::SortResponse::kKeyColumnsFieldNumber));
    out.WriteVarint32(static_cast<uint32_t>(bytes));
  }
  return head + data;
}

}  // namespace

template <typename Response>
grpc::ByteBuffer EncodeResponse(const Outcome& outcome) {
  Response rest;  // all but the results
  *rest.mutable_stats() = outcome.stats;
  if constexpr (std::is_same_v<Response, v1::SortResponse>) rest.set_algorithm(outcome.sort_algorithm);
  if constexpr (std::is_same_v<Response, v1::MergeResponse>) rest.set_algorithm(outcome.merge_algorithm);
  absl::InlinedVector<std::string, 3> heads;
  size_t size = rest.ByteSizeLong();
  for (size_t i = 0; i < outcome.results.size(); ++i) {
    const ResultArray& result = outcome.results[i];
    const ResultArray* next = i + 1 < outcome.results.size() ? &outcome.results[i + 1] : nullptr;
    heads.push_back(IsColumnPart(result.role) ? ColumnHead(result, next)
                                              : Head(FieldNumber<Response>(result.role), result));
    size += heads.back().size() + Size(result);
  }
  grpc_slice bytes = grpc_slice_malloc(size);
  uint8_t* to = rest.SerializeWithCachedSizesToArray(GRPC_SLICE_START_PTR(bytes));
  const auto append = [&to](const void* from, size_t count) {
    if (count > 0) std::memcpy(to, from, count);
    to += count;
  };
  for (size_t i = 0; i < heads.size(); ++i) {
    append(heads[i].data(), heads[i].size());
    append(outcome.results[i].bytes, Size(outcome.results[i]));
  }
  const grpc::Slice slice(bytes, grpc::Slice::STEAL_REF);
  return grpc::ByteBuffer(&slice, 1);
}

template grpc::ByteBuffer EncodeResponse<v1::SortResponse>(const Outcome&);
template grpc::ByteBuffer EncodeResponse<v1::MergeResponse>(const Outcome&);
template grpc::ByteBuffer EncodeResponse<v1::ExpandIntervalsResponse>(const Outcome&);
template grpc::ByteBuffer EncodeResponse<v1::MoveIntervalsResponse>(const Outcome&);
template grpc::ByteBuffer EncodeResponse<v1::GatherIntervalsResponse>(const Outcome&);
template grpc::ByteBuffer EncodeResponse<v1::ScatterIntervalsResponse>(const Outcome&);
template grpc::ByteBuffer EncodeResponse<v1::LoadBalanceResponse>(const Outcome&);
template grpc::ByteBuffer EncodeResponse<v1::SearchResponse>(const Outcome&);

}  // namespace corank
