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
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const grpc::Slice slice(request);
  const auto call = stub.PrepareUnaryCall(context, method, grpc::ByteBuffer(&slice, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status;
}

}  // namespace corank::testing
