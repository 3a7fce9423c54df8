#include "tests/wire/grpc_peer.h"

#include "absl/strings/str_cat.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/channel_arguments.h"

namespace corank::wire::testing {
namespace {

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

std::string ToText(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Dump(&slices).ok()) return "no bytes";
  for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

bool Await(grpc::CompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  return queue->Next(&tag, &ok) && ok;
}

}  // namespace

std::shared_ptr<grpc::Channel> Connect(int port, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port), credentials, arguments);
}

Answer Stream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
              const std::vector<std::string>& messages, grpc::ClientContext* context) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(context, method, &queue);
  call->StartCall(nullptr);
  bool ok = Await(&queue);
  for (const std::string& message : messages) {
    if (!ok) break;
    call->Write(ToBuffer(message), nullptr);
    ok = Await(&queue);
  }
  if (ok) {
    call->WritesDone(nullptr);
    Await(&queue);
  }
  Answer answer;
  while (true) {
    grpc::ByteBuffer buffer;
    call->Read(&buffer, nullptr);
    if (!Await(&queue)) break;
    answer.messages.push_back(ToText(buffer));
  }
  call->Finish(&answer.status, nullptr);
  Await(&queue);
  return answer;
}

Answer Ask(const std::shared_ptr<grpc::Channel>& channel, const std::string& method, const std::string& message) {
  grpc::ClientContext context;
  return Stream(channel, method, {message}, &context);
}

}  // namespace corank::wire::testing
