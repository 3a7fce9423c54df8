// A client of Execute that sends arrays in chunks while it reads the response.
#ifndef CORANK_TESTS_SERVER_STREAMED_CALL_H_
#define CORANK_TESTS_SERVER_STREAMED_CALL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "corank/v1/corank_service.grpc.pb.h"
#include "grpcpp/client_context.h"

namespace corank::testing {

/// An input of a call: the bytes of elements [first_element, ...) of the array.
struct StreamedInput {
  uint32_t stream_id = 0;
  int32_t element_bytes = 1;
  std::string bytes;
  int64_t first_element = 0;
  bool ends_with_empty_chunk = false;
};

/// An array as its bytes. A list in braces without a type is INT64.
template <typename Element = int64_t>
std::string BytesOf(const std::vector<Element>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(Element)};
}

struct StreamedAnswer {
  grpc::Status status;
  std::vector<v1::ArrayChunk> chunks;
  std::vector<v1::OperationResult> results;

  /// The bytes of an output of a call that is its whole job. Empty, with a test failure, if chunks are out of order.
  std::string Output(uint32_t stream_id, int32_t element_bytes) const;
};

/// An Array or a Destination that is a stream. count -1: unset.
v1::Array Streamed(v1::ElementType type, int64_t count, uint32_t stream_id, uint32_t record_bytes = 0);
v1::Destination ToStream(uint32_t stream_id);

/// A plan of one sort, with keys in stream 0 (and values in stream 1), and results in the same streams.
v1::Plan SortPlan(v1::ElementType type, int64_t count);

/// The chunks of the inputs, in turn. Each has `chunk_elements` elements, except the last ones.
std::vector<v1::ExecuteRequest> Chunks(const std::vector<StreamedInput>& inputs, int64_t chunk_elements);

v1::ExecuteRequest Chunk(uint32_t stream_id, int64_t first_element, const std::string& data);

/// Sends the plan and the chunks, and reads until the call ends.
StreamedAnswer Execute(v1::CorankService::Stub& stub, const v1::Plan& plan,
                       const std::vector<v1::ExecuteRequest>& chunks, grpc::ClientContext* context);
StreamedAnswer Execute(v1::CorankService::Stub& stub, const v1::Plan& plan,
                       const std::vector<v1::ExecuteRequest>& chunks);

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_STREAMED_CALL_H_
