#include "bench/service/stream_client.h"

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "bench/service/closed_loop.h"
#include "corank/v1/corank_service.pb.h"
#include "proto/grpc_payloads.h"

namespace corank::bench {
namespace {

constexpr char kMethod[] = "/corank.v1.CorankService/Execute";

grpc::ByteBuffer PlanMessage(const StreamCall& call) {
  v1::ExecuteRequest request;
  v1::Plan& plan = *request.mutable_plan();
  *plan.add_operations() = call.work->operation;
  if (call.parts > 1) {
    plan.set_job_id(call.job_id);
    plan.set_part(static_cast<uint32_t>(call.part));
    plan.set_parts(static_cast<uint32_t>(call.parts));
  }
  const grpc::Slice slice(request.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

// The rest of one input that a call still has to send.
struct Cursor {
  uint32_t stream_id;
  const uint32_t* keys;  // of the whole input
  int64_t next, end;
};

std::vector<Cursor> Inputs(const StreamCall& call) {
  std::vector<Cursor> inputs;
  const uint32_t* keys = call.work->keys.data();
  for (const int64_t count : call.work->counts) {
    const auto bound = [&](int part) { return part == call.parts ? count : count / call.parts * part; };
    inputs.push_back({static_cast<uint32_t>(inputs.size()), keys, bound(call.part), bound(call.part + 1)});
    keys += count;
  }
  return inputs;
}

grpc::ByteBuffer ChunkMessage(const Cursor& input, int64_t count) {
  v1::ArrayChunk head;
  head.set_stream_id(input.stream_id);
  head.set_first_element(input.next);
  const size_t bytes = static_cast<size_t>(count) * sizeof(uint32_t);
  const std::string inner = head.SerializeAsString() + FieldHead(v1::ArrayChunk::kDataFieldNumber, bytes);
  const grpc::Slice slices[] = {
      grpc::Slice(FieldHead(v1::ExecuteRequest::kChunkFieldNumber, inner.size() + bytes) + inner),
      grpc::Slice(input.keys + input.next, bytes, grpc::Slice::STATIC_SLICE)};
  return grpc::ByteBuffer(slices, 2);
}

// One call, on the thread that runs it.
class Stream {
 public:
  Stream(const StreamCall& call, int64_t chunk_bytes)
      : call_(call), chunk_keys_(chunk_bytes / static_cast<int64_t>(sizeof(uint32_t))), inputs_(Inputs(call)) {}

  absl::Status Run(StreamAnswer* answer) {
    grpc::GenericStub stub(call_.channel);
    const absl::Time start = absl::Now();
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
            if (answer->messages.empty()) answer->first = absl::Now() - start;
            answer->messages.push_back(incoming);
            stream->Read(&incoming, Tag(kRead));
          } else {
            stream->Finish(&status, Tag(kFinished));
          }
          break;
        case kHalfClosed:
          answer->sent = absl::Now() - start;
          break;
        case kFinished:
          ended = true;
          break;
      }
    }
    answer->ended = absl::Now() - start;
    queue_.Shutdown();
    bool ignored = false;
    while (queue_.Next(&tag, &ignored)) {
    }
    return FromGrpc(status);
  }

 private:
  enum Event : intptr_t { kStarted = 1, kWritten, kRead, kHalfClosed, kFinished };
  static void* Tag(Event event) { return reinterpret_cast<void*>(static_cast<intptr_t>(event)); }

  // Sends a chunk of each input in turn, because a merge needs some of each.
  void WriteNext(grpc::GenericClientAsyncReaderWriter& stream) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Cursor& input = inputs_[turn_++ % inputs_.size()];
      if (input.next == input.end) continue;
      const int64_t count = std::min(chunk_keys_, input.end - input.next);
      stream.Write(ChunkMessage(input, count), Tag(kWritten));
      input.next += count;
      return;
    }
    stream.WritesDone(Tag(kHalfClosed));
  }

  const StreamCall& call_;
  const int64_t chunk_keys_;
  std::vector<Cursor> inputs_;
  size_t turn_ = 0;
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
  const v1::OperationResult& result = response.result();
  if (result.has_merge()) return result.merge().stats();
  if (result.has_move_intervals()) return result.move_intervals().stats();
  return result.sort().stats();
}

absl::StatusOr<std::vector<uint32_t>> JoinChunks(const std::vector<StreamAnswer>& answers,
                                                 const std::vector<int64_t>& counts) {
  std::vector<int64_t> starts = {0};  // and the end
  for (const int64_t count : counts) starts.push_back(starts.back() + count);
  std::vector<uint32_t> keys(static_cast<size_t>(starts.back()));
  int64_t joined = 0;
  for (const StreamAnswer& answer : answers) {
    for (grpc::ByteBuffer message : answer.messages) {
      v1::ExecuteResponse response;
      if (!grpc::SerializationTraits<v1::ExecuteResponse>::Deserialize(&message, &response).ok()) {
        return absl::InternalError("an answer is not an ExecuteResponse");
      }
      if (!response.has_chunk()) continue;
      const uint32_t stream = response.chunk().stream_id();
      if (stream >= counts.size()) return absl::InternalError("a chunk of a stream that there is not");
      const int64_t first = response.chunk().first_element();
      const auto elements = static_cast<int64_t>(response.chunk().data().size() / sizeof(uint32_t));
      if (first < 0 || elements > counts[stream] - first) {
        return absl::InternalError("a chunk lies outside of the array");
      }
      std::memcpy(keys.data() + starts[stream] + first, response.chunk().data().data(), response.chunk().data().size());
      joined += elements;
    }
  }
  if (joined != starts.back()) return absl::InternalError("the chunks do not cover the array once");
  return keys;
}

}  // namespace corank::bench
