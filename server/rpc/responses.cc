#include "server/rpc/responses.h"

#include <array>
#include <string>
#include <type_traits>

#include "absl/types/span.h"
#include "google/protobuf/descriptor.h"
#include "proto/payloads.h"
#include "server/model/operator_traits.h"
#include "server/rpc/response_slices.h"

namespace corank {
namespace {

// The number of the response's field for a role.
template <typename Response>
int FieldNumber(ResultRole role) {
  static const std::array<int, kResultRoles> kNumbers = [] {
    std::array<int, kResultRoles> numbers{};
    for (int i = 0; i < kResultRoles; ++i) {
      const auto* const field = Response::descriptor()->FindFieldByName(RoleName(static_cast<ResultRole>(i)));
      if (field != nullptr) numbers[static_cast<size_t>(i)] = field->number();
    }
    return numbers;
  }();
  return kNumbers[static_cast<size_t>(role)];
}

// The field of a SortedColumn for a role; 0 if the result is no part of one.
int ColumnField(ResultRole role) {
  switch (role) {
    case ResultRole::kColumnData:
      return v1::SortedColumn::kDataFieldNumber;
    case ResultRole::kColumnOffsets:
      return v1::SortedColumn::kOffsetsFieldNumber;
    case ResultRole::kColumnValidity:
      return v1::SortedColumn::kValidityFieldNumber;
    default:
      return 0;
  }
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
  return ArrayHead(field, array, InlineBytes(result));
}

// The same for results[i], a part of a SortedColumn. The head of its data starts the column's message, which ends with
// the other parts.
std::string ColumnHead(absl::Span<const ResultArray> results, size_t i) {
  const std::string head = Head(ColumnField(results[i].role), results[i]);
  if (results[i].role != ResultRole::kColumnData) return head;
  size_t bytes = head.size() + InlineBytes(results[i]);
  while (++i < results.size() && ColumnField(results[i].role) > v1::SortedColumn::kDataFieldNumber) {
    bytes += Head(ColumnField(results[i].role), results[i]).size() + InlineBytes(results[i]);
  }
  return FieldHead(v1::SortResponse::kKeyColumnsFieldNumber, bytes) + head;
}

}  // namespace

template <typename Response>
Bytes EncodeResponse(const Outcome& outcome) {
  Response rest;  // everything except stats and results
  if constexpr (std::is_same_v<Response, v1::SortResponse>) rest.set_algorithm(outcome.sort_algorithm);
  if constexpr (std::is_same_v<Response, v1::MergeResponse>) rest.set_algorithm(outcome.merge_algorithm);
  size_t copied = kResponseHeadBytes;
  for (const ResultArray& result : outcome.results) {
    if (!IsCopied(result)) break;
    copied += kResponseHeadBytes + InlineBytes(result);
  }
  ResponseSlices slices(copied);
  const std::string head = FieldHead(Response::kStatsFieldNumber, outcome.stats.ByteSizeLong()) +
                           outcome.stats.SerializeAsString() + rest.SerializeAsString();
  slices.Copy(head.data(), head.size());
  for (size_t i = 0; i < outcome.results.size(); ++i) {
    const ResultArray& result = outcome.results[i];
    const std::string head = ColumnField(result.role) > 0 ? ColumnHead(outcome.results, i)
                                                          : Head(FieldNumber<Response>(result.role), result);
    slices.Copy(head.data(), head.size());
    slices.Add(result);
  }
  return slices.Take();
}

#define CORANK_ROW(Name, name) template Bytes EncodeResponse<v1::Name##Response>(const Outcome&);
CORANK_OPERATORS(CORANK_ROW)
#undef CORANK_ROW

Bytes EncodeResult(const v1::Operation& operation, const Outcome& outcome) {
  const Bytes response = WithRequest(operation, [&outcome](const auto& request) {
    return EncodeResponse<typename OperatorTraits<std::decay_t<decltype(request)>>::Response>(outcome);
  });
  // OperationResult and Operation have the same field numbers.
  const std::string inner = FieldHead(static_cast<int>(operation.operation_case()), response.size());
  Bytes result(FieldHead(v1::ExecuteResponse::kResultFieldNumber, inner.size() + response.size()) + inner);
  result.Append(response);
  return result;
}

}  // namespace corank
