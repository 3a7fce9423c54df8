#include "tests/server/raw_stream.h"

#include <chrono>
#include <vector>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

namespace corank::testing {

RawStream::RawStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     const std::string& request) {
  context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  grpc::GenericStub stub(channel);
  call_ = stub.PrepareCall(&context_, method, &queue_);
  call_->StartCall(nullptr);
  Await();
  const grpc::Slice slice(request);
  call_->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
  Await();
}

RawStream::~RawStream() {
  context_.TryCancel();
  grpc::Status status;
  call_->Finish(&status, nullptr);
  Await();
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

std::optional<std::string> RawStream::Read() {
  grpc::ByteBuffer message;
  call_->Read(&message, nullptr);
  std::vector<grpc::Slice> slices;
  if (!Await() || !message.Dump(&slices).ok()) return std::nullopt;
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

bool RawStream::Await() {
  void* tag = nullptr;
  bool ok = false;
  return queue_.Next(&tag, &ok) && ok;
}

grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     grpc::ClientContext* context, const std::string& request) {
  const grpc::Slice slice(request);
  grpc::ByteBuffer response;
  return CallRaw(channel, method, context, grpc::ByteBuffer(&slice, 1), &response);
}

grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     grpc::ClientContext* context, const grpc::ByteBuffer& request, grpc::ByteBuffer* response) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(context, method, request, &queue);
  call->StartCall();
  grpc::Status status;
  call->Finish(response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status;
}

grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     grpc::ClientContext* context, const std::vector<grpc::ByteBuffer>& requests,
                     std::vector<grpc::ByteBuffer>* responses) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const auto await = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(context, method, &queue);
  call->StartCall(nullptr);
  await();
  for (const grpc::ByteBuffer& request : requests) {
    call->Write(request, nullptr);
    await();
  }
  call->WritesDone(nullptr);
  await();
  grpc::ByteBuffer response;
  for (call->Read(&response, nullptr); await(); call->Read(&response, nullptr)) responses->push_back(response);
  grpc::Status status;
  call->Finish(&status, nullptr);
  await();
  return status;
}

}  // namespace corank::testing
