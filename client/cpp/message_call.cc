#include "client/cpp/message_call.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "client/cpp/messages.h"
#include "proto/grpc_payloads.h"

namespace corank::client {
namespace {

absl::StatusOr<grpc::ByteBuffer> Encode(Job* job, int64_t max_message_bytes) {
  PayloadMap payloads;
  int64_t bytes = 0;
  for (const JobInput& input : job->inputs) {
    if (!input.travels) continue;
    payloads[input.array] = input.view.bytes;
    bytes += static_cast<int64_t>(input.view.bytes.size());
  }
  const std::vector<WirePiece> pieces = SerializeHeads(*OperatorMessage(job), payloads);
  for (const WirePiece& piece : pieces) bytes += static_cast<int64_t>(piece.head.size());
  if (bytes > max_message_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("the request has ", bytes,
                                                   " bytes, more than one message of at most ", max_message_bytes,
                                                   " bytes holds; send it as a stream or in smaller calls"));
  }
  std::vector<grpc::Slice> slices;
  for (const WirePiece& piece : pieces) {
    grpc_slice slice = grpc_slice_malloc(piece.head.size() + piece.payload.size());
    uint8_t* to = GRPC_SLICE_START_PTR(slice);
    std::memcpy(to, piece.head.data(), piece.head.size());
    if (!piece.payload.empty()) std::memcpy(to + piece.head.size(), piece.payload.data(), piece.payload.size());
    slices.emplace_back(slice, grpc::Slice::STEAL_REF);
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

absl::Status CheckCount(const JobResult& result, int64_t count) {
  const bool is_possible = result.is_exact ? count == result.max_count : count <= result.max_count;
  if (is_possible || result.max_count < 0) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("the server answered ", count, " elements of ", result.max_count, " of ", result.name));
}

absl::Status TakeInline(const JobResult& result, const v1::Array& array, ElementType type,
                        const std::vector<PayloadRange>& payloads, const std::vector<grpc::Slice>& slices) {
  if (array.place_case() != v1::Array::kInlineData && array.place_case() != v1::Array::PLACE_NOT_SET) {
    return MalformedArray("its bytes are not in the message");
  }
  const auto found = std::find_if(payloads.begin(), payloads.end(),
                                  [&array](const PayloadRange& range) { return range.holder == &array; });
  const int64_t bytes = found == payloads.end() ? 0 : found->bytes;
  if (bytes % type.bytes() != 0) return MalformedArray("not a whole number of elements");
  if (array.has_count() && array.count() != bytes / type.bytes()) {
    return MalformedArray("its count is not that of its bytes");
  }
  if (const absl::Status counted = CheckCount(result, bytes / type.bytes()); !counted.ok()) return counted;
  const absl::Span<char> memory = result.target()->Allocate(bytes);
  if (static_cast<int64_t>(memory.size()) < bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the output for ", result.name, " holds ", memory.size(), " bytes, the result has ", bytes));
  }
  if (bytes > 0) CopyRange(slices, found->offset, bytes, memory.data());
  return result.target()->Finish(type, bytes);
}

}  // namespace

absl::StatusOr<ElementType> CheckAnswer(const JobResult& result, const v1::Array* array) {
  if (array == nullptr) return absl::InternalError(absl::StrCat("the server answered without ", result.name));
  absl::StatusOr<ElementType> type = TypeFromProto(array->type(), array->record_bytes());
  if (!type.ok()) return type.status();
  const bool is_index = *type == KeyType::kUint32 || *type == KeyType::kUint64;
  if (*type != result.type && !(result.is_index && is_index)) {
    return absl::InternalError(
        absl::StrCat("the server answered ", result.name, " of type ", type->Name(), ", not ", result.type.Name()));
  }
  if (array->has_count()) {
    if (const absl::Status counted = CheckCount(result, array->count()); !counted.ok()) return counted;
  }
  if (!result.travels && (!array->has_count() || array->count() < 0)) return MalformedArray("it has no count");
  return type;
}

absl::StatusOr<CallCost> SendMessage(Connection* connection, Job* job, absl::Time deadline, const CallOptions& call,
                                     Repeat repeat, v1::OperationResult* result) {
  // Refuses a call that is too large before any copy.
  if (job->input_bytes() > connection->options().max_message_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the arrays have ", job->input_bytes(), " bytes, more than one message of at most ",
        connection->options().max_message_bytes, " bytes holds; send them as a stream or in smaller calls"));
  }
  grpc::ByteBuffer response;
  absl::StatusOr<CallCost> cost = absl::UnknownError("");
  {
    const absl::StatusOr<grpc::ByteBuffer> request = Encode(job, connection->options().max_message_bytes);
    if (!request.ok()) return request.status();
    cost = connection->Try(deadline, call, repeat,
                           [&] { return connection->Once(UnaryMethod(*job), *request, deadline, call, &response); });
  }
  if (!cost.ok()) return cost.status();
  const auto response_bytes = static_cast<int64_t>(response.Length());
  if (response_bytes > connection->options().max_message_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the answer has ", response_bytes, " bytes, more than one message of at most ",
                     connection->options().max_message_bytes, " bytes holds; have it sent as a stream"));
  }
  std::vector<PayloadRange> payloads;
  std::vector<grpc::Slice> slices;
  if (!ParseHeads(response, OperatorResponse(*job, result), &payloads) || !response.Dump(&slices).ok()) {
    return absl::InternalError("the server's answer is not a message of this operator");
  }
  for (const JobResult& expected : job->results) {
    const v1::Array* array = expected.find(*result, expected.column);
    const absl::StatusOr<ElementType> type = CheckAnswer(expected, array);
    if (!type.ok()) return type.status();
    const absl::Status taken = expected.travels ? TakeInline(expected, *array, *type, payloads, slices)
                                                : expected.target()->Place(*type, array->count());
    if (!taken.ok()) return taken;
  }
  return cost;
}

absl::StatusOr<CallCost> CallWithMessage(Connection* connection, Job* job, absl::Time deadline, const CallOptions& call,
                                         Repeat repeat, v1::OperationResult* result) {
  TransferProgress* const progress = call.progress;
  if (progress != nullptr) progress->bytes_to_send = job->input_bytes();
  absl::StatusOr<CallCost> cost = SendMessage(connection, job, deadline, call, repeat, result);
  if (progress == nullptr || !cost.ok()) return cost;
  progress->bytes_sent = job->input_bytes();
  for (const JobResult& given : job->results) {
    const v1::Array* array = given.find(*result, given.column);
    if (given.travels && array != nullptr) progress->bytes_received += array->count() * given.element_bytes;
  }
  return cost;
}

}  // namespace corank::client
