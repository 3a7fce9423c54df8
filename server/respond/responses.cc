#include "server/respond/responses.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "grpcpp/support/slice.h"
#include "proto/payloads.h"
#include "server/respond/owned_slice.h"

namespace corank {
namespace {

// The response's field number for a role.
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

// Size of the bytes that go into the response.
size_t Size(const ResultArray& result) {
  return result.is_inline() ? static_cast<size_t>(result.count * result.element_bytes) : 0;
}

// A field of the response that holds an Array, up to the start of the result's bytes, which are the Array's last field.
// Complete if the bytes are elsewhere.
std::string Head(int field, const ResultArray& result) {
  if (!result.is_inline()) {
    return FieldHead(field, result.described->ByteSizeLong()) + result.described->SerializeAsString();
  }
  v1::Array array;
  array.set_type(result.type);
  array.set_count(result.count);
  if (result.type == v1::ELEMENT_TYPE_RECORD) array.set_record_bytes(static_cast<uint32_t>(result.element_bytes));
  return ArrayHead(field, array, Size(result));
}

// The same for a part of a SortedColumn: the head of its data starts the column's message, which ends with the offsets
// if there are any. `next`: the following result, or null.
std::string ColumnHead(const ResultArray& result, const ResultArray* next) {
  if (result.role == ResultRole::kColumnOffsets) return Head(v1::SortedColumn::kOffsetsFieldNumber, result);
  const std::string data = Head(v1::SortedColumn::kDataFieldNumber, result);
  size_t bytes = data.size() + Size(result);
  if (next != nullptr && next->role == ResultRole::kColumnOffsets)
    bytes += ColumnHead(*next, nullptr).size() + Size(*next);
  return FieldHead(v1::SortResponse::kKeyColumnsFieldNumber, bytes) + data;
}

// Enough for the response without its arrays, and for the heads of arrays, of some 20 bytes each.
constexpr size_t kHeadBytes = 256;

bool IsCopied(const ResultArray& result) { return result.target == nullptr || Size(result) <= kCopiedResultBytes; }

// Assembles the bytes of a response: small pieces in one slice, large ones in slices that keep their memory alive.
class Slices {
 public:
  /// `bytes`: rough number of bytes to copy before the first large piece.
  explicit Slices(size_t bytes) : copied_(bytes) {}

  void Copy(const void* bytes, size_t count) {
    if (count == 0) return;
    if (count > copied_.size() - used_) Flush(count);
    std::memcpy(const_cast<uint8_t*>(copied_.begin()) + used_, bytes, count);
    used_ += count;
  }
  void Add(const ResultArray& result) {
    const size_t size = Size(result);
    if (IsCopied(result)) return Copy(result.bytes, size);
    Flush(kHeadBytes);
    slices_.push_back(OwnedSlice(result.target, result.bytes, size));
  }
  grpc::ByteBuffer Take() {
    Flush(0);
    return grpc::ByteBuffer(slices_.data(), slices_.size());
  }

 private:
  // Starts another slice of at least this many bytes.
  void Flush(size_t next) {
    if (used_ > 0) slices_.push_back(copied_.sub(0, used_));
    copied_ = grpc::Slice(next == 0 ? 0 : std::max(next, kHeadBytes));
    used_ = 0;
  }

  grpc::Slice copied_;  // unshared while it is written
  size_t used_ = 0;
  absl::InlinedVector<grpc::Slice, 4> slices_;
};

}  // namespace

template <typename Response>
grpc::ByteBuffer EncodeResponse(const Outcome& outcome) {
  Response rest;  // everything except stats and results
  if constexpr (std::is_same_v<Response, v1::SortResponse>) rest.set_algorithm(outcome.sort_algorithm);
  if constexpr (std::is_same_v<Response, v1::MergeResponse>) rest.set_algorithm(outcome.merge_algorithm);
  size_t copied = kHeadBytes;
  for (const ResultArray& result : outcome.results) {
    if (!IsCopied(result)) break;
    copied += kHeadBytes + Size(result);
  }
  Slices slices(copied);
  const std::string head = FieldHead(Response::kStatsFieldNumber, outcome.stats.ByteSizeLong()) +
                           outcome.stats.SerializeAsString() + rest.SerializeAsString();
  slices.Copy(head.data(), head.size());
  for (size_t i = 0; i < outcome.results.size(); ++i) {
    const ResultArray& result = outcome.results[i];
    const ResultArray* next = i + 1 < outcome.results.size() ? &outcome.results[i + 1] : nullptr;
    const std::string head =
        IsColumnPart(result.role) ? ColumnHead(result, next) : Head(FieldNumber<Response>(result.role), result);
    slices.Copy(head.data(), head.size());
    slices.Add(result);
  }
  return slices.Take();
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
