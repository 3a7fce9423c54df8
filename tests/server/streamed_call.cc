#include "tests/server/streamed_call.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace corank::testing {

std::string StreamedAnswer::Output(uint32_t stream_id, int32_t element_bytes) const {
  std::string bytes;
  for (const v1::ArrayChunk& chunk : chunks) {
    if (chunk.stream_id() != stream_id) continue;
    EXPECT_EQ(chunk.first_element() * element_bytes, static_cast<int64_t>(bytes.size())) << "stream " << stream_id;
    bytes += chunk.data();
  }
  return bytes;
}

v1::Array Streamed(v1::ElementType type, int64_t count, uint32_t stream_id, uint32_t record_bytes) {
  v1::Array array;
  array.set_type(type);
  array.set_record_bytes(record_bytes);
  if (count >= 0) array.set_count(count);
  array.mutable_stream()->set_stream_id(stream_id);
  return array;
}

v1::Destination ToStream(uint32_t stream_id) {
  v1::Destination destination;
  destination.mutable_stream()->set_stream_id(stream_id);
  return destination;
}

v1::Plan SortPlan(v1::ElementType type, int64_t count) {
  v1::Plan plan;
  v1::SortRequest* sort = plan.add_operations()->mutable_sort();
  *sort->mutable_keys() = Streamed(type, count, 0);
  *sort->mutable_keys_destination() = ToStream(0);
  return plan;
}

v1::ExecuteRequest Chunk(uint32_t stream_id, int64_t first_element, const std::string& data) {
  v1::ExecuteRequest request;
  request.mutable_chunk()->set_stream_id(stream_id);
  request.mutable_chunk()->set_first_element(first_element);
  request.mutable_chunk()->set_data(data);
  return request;
}

std::vector<v1::ExecuteRequest> Chunks(const std::vector<StreamedInput>& inputs, int64_t chunk_elements) {
  std::vector<v1::ExecuteRequest> chunks;
  bool any = true;
  for (int64_t first = 0; any; first += chunk_elements) {
    any = false;
    for (const StreamedInput& input : inputs) {
      const int64_t count = static_cast<int64_t>(input.bytes.size()) / input.element_bytes;
      if (first < count) {
        const int64_t elements = std::min(chunk_elements, count - first);
        chunks.push_back(Chunk(input.stream_id, input.first_element + first,
                               input.bytes.substr(static_cast<size_t>(first * input.element_bytes),
                                                  static_cast<size_t>(elements * input.element_bytes))));
        any = true;
      }
    }
  }
  for (const StreamedInput& input : inputs) {
    if (!input.ends_with_empty_chunk) continue;
    const int64_t count = static_cast<int64_t>(input.bytes.size()) / input.element_bytes;
    chunks.push_back(Chunk(input.stream_id, count, ""));
  }
  return chunks;
}

StreamedAnswer Execute(v1::CorankService::Stub& stub, const v1::Plan& plan,
                       const std::vector<v1::ExecuteRequest>& chunks, grpc::ClientContext* context) {
  const auto call = stub.Execute(context);
  std::thread writer([&] {
    v1::ExecuteRequest first;
    *first.mutable_plan() = plan;
    if (!call->Write(first)) return;
    for (const v1::ExecuteRequest& chunk : chunks) {
      if (!call->Write(chunk)) return;
    }
    call->WritesDone();
  });
  StreamedAnswer answer;
  v1::ExecuteResponse response;
  while (call->Read(&response)) {
    if (response.has_chunk()) {
      answer.chunks.push_back(std::move(*response.mutable_chunk()));
    } else {
      answer.results.push_back(std::move(*response.mutable_result()));
    }
  }
  answer.status = call->Finish();
  writer.join();
  return answer;
}

StreamedAnswer Execute(v1::CorankService::Stub& stub, const v1::Plan& plan,
                       const std::vector<v1::ExecuteRequest>& chunks) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  return Execute(stub, plan, chunks, &context);
}

}  // namespace corank::testing
