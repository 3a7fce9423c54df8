#include "bench/service/stream_client.h"

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "corank/v1/corank_service.pb.h"
#include "proto/payloads.h"

namespace corank::bench {
namespace {

constexpr char kMethod[] = "/corank.v1.CorankService/Execute";

grpc::ByteBuffer PlanMessage(const StreamCall& call) {
  v1::ExecuteRequest request;
  v1::Plan& plan = *request.mutable_plan();
  v1::SortRequest& sort = *plan.add_operations()->mutable_sort();
  sort.mutable_keys()->set_type(v1::ELEMENT_TYPE_UINT32);
  sort.mutable_keys()->set_count(call.count);
  sort.mutable_keys()->mutable_stream()->set_stream_id(0);
  sort.mutable_keys_destination()->mutable_stream()->set_stream_id(0);
  if (call.parts > 1) {
    plan.set_job_id(call.job_id);
    plan.set_part(static_cast<uint32_t>(call.part));
    plan.set_parts(static_cast<uint32_t>(call.parts));
  }
  const grpc::Slice slice(request.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

grpc::ByteBuffer ChunkMessage(const StreamCall& call, int64_t first, int64_t count) {
  v1::ArrayChunk head;
  head.set_first_element(first);
  const size_t bytes = static_cast<size_t>(count) * sizeof(uint32_t);
  const std::string inner = head.SerializeAsString() + FieldHead(v1::ArrayChunk::kDataFieldNumber, bytes);
  const grpc::Slice slices[] = {
      grpc::Slice(FieldHead(v1::ExecuteRequest::kChunkFieldNumber, inner.size() + bytes) + inner),
      grpc::Slice(call.keys + first, bytes, grpc::Slice::STATIC_SLICE)};
  return grpc::ByteBuffer(slices, 2);
}

// One call, on the thread that runs it.
class Stream {
 public:
  Stream(const StreamCall& call, int64_t chunk_bytes)
      : call_(call), chunk_keys_(chunk_bytes / static_cast<int64_t>(sizeof(uint32_t))), next_(call.begin) {}

  absl::Status Run(StreamAnswer* answer) {
    grpc::GenericStub stub(call_.channel);
    const auto stream = stub.PrepareCall(&context_, kMethod, &queue_);
    stream->StartCall(Tag(kStarted));
    grpc::ByteBuffer incoming;
    grpc::Status status;
    void* tag = nullptr;
    for (bool ok = false, ended = false; !ended && queue_.Next(&tag, &ok);) {
      switch (static_cast<Event>(reinterpret_cast<intptr_t>(tag))) {
        case kStarted:
          stream->Read(&incoming, Tag(kRead));
          stream->Write(PlanMessage(call_), Tag(kWritten));
          break;
        case kWritten:
          if (ok) WriteNext(*stream);
          break;
        case kRead:
          if (ok) {
            answer->messages.push_back(incoming);
            stream->Read(&incoming, Tag(kRead));
          } else {
            stream->Finish(&status, Tag(kFinished));
          }
          break;
        case kHalfClosed:
          break;
        case kFinished:
          ended = true;
          break;
      }
    }
    queue_.Shutdown();
    bool ignored = false;
    while (queue_.Next(&tag, &ignored)) {
    }
    return status.ok() ? absl::OkStatus()
                       : absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }

 private:
  enum Event : intptr_t { kStarted = 1, kWritten, kRead, kHalfClosed, kFinished };
  static void* Tag(Event event) { return reinterpret_cast<void*>(static_cast<intptr_t>(event)); }

  void WriteNext(grpc::GenericClientAsyncReaderWriter& stream) {
    if (next_ == call_.end) {
      stream.WritesDone(Tag(kHalfClosed));
      return;
    }
    const int64_t count = std::min(chunk_keys_, call_.end - next_);
    stream.Write(ChunkMessage(call_, next_, count), Tag(kWritten));
    next_ += count;
  }

  const StreamCall& call_;
  const int64_t chunk_keys_;
  int64_t next_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
};

}  // namespace

absl::StatusOr<std::vector<StreamAnswer>> RunStreamCalls(const std::vector<StreamCall>& calls, int64_t chunk_bytes) {
  std::vector<StreamAnswer> answers(calls.size());
  std::vector<absl::Status> statuses(calls.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < calls.size(); ++i) {
    threads.emplace_back([&, i] { statuses[i] = Stream(calls[i], chunk_bytes).Run(&answers[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return answers;
}

v1::RequestStats ReadStats(const StreamAnswer& answer) {
  if (answer.messages.empty()) return {};
  grpc::ByteBuffer last = answer.messages.back();
  v1::ExecuteResponse response;
  if (!grpc::SerializationTraits<v1::ExecuteResponse>::Deserialize(&last, &response).ok()) return {};
  return response.result().sort().stats();
}

absl::StatusOr<std::vector<uint32_t>> JoinChunks(const std::vector<StreamAnswer>& answers, int64_t count) {
  std::vector<uint32_t> keys(static_cast<size_t>(count));
  int64_t joined = 0;
  for (const StreamAnswer& answer : answers) {
    for (grpc::ByteBuffer message : answer.messages) {
      v1::ExecuteResponse response;
      if (!grpc::SerializationTraits<v1::ExecuteResponse>::Deserialize(&message, &response).ok()) {
        return absl::InternalError("an answer is not an ExecuteResponse");
      }
      if (!response.has_chunk()) continue;
      const int64_t first = response.chunk().first_element();
      const auto elements = static_cast<int64_t>(response.chunk().data().size() / sizeof(uint32_t));
      if (first < 0 || elements > count - first) return absl::InternalError("a chunk lies outside of the array");
      std::memcpy(keys.data() + first, response.chunk().data().data(), response.chunk().data().size());
      joined += elements;
    }
  }
  if (joined != count) return absl::InternalError("the chunks do not cover the array once");
  return keys;
}

}  // namespace corank::bench
