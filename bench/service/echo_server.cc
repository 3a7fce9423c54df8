// echo_server: the reference of service_bench. It uses the same gRPC callback API and raw messages as corankd's Sort
// and Execute, and returns the payload unchanged. The difference to a sort is the cost that the service adds.
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/byte_buffer.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "bench/harness/flags.h"
#include "bench/harness/results.h"
#include "corank/v1/corank_service.grpc.pb.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:0", "address to serve on; port 0 means a free one");
ABSL_FLAG(std::string, ports_file, "", "once it serves, its address is written here, as corankd does");
ABSL_FLAG(bool, hold, false,
          "streams: keep all chunks until the caller has sent the last one, which a server that sorts them has to do");
ABSL_FLAG(
    bool, copy, false,
    "calls: send back a copy of the message, in memory of its own, which a server that hands it to a GPU has to do");

namespace corank::bench {
namespace {

/// Returns chunks as they arrive. Request and response differ in one byte, the field number of the chunk, so the echo
/// touches no payload.
class EchoStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit EchoStream(bool hold) : hold_(hold) { StartRead(&incoming_); }

  void OnReadDone(bool ok) override {
    absl::MutexLock lock(&mutex_);
    reading_ = false;
    if (!ok) {
      ended_ = true;
    } else if (has_plan_) {
      waiting_.push_back(AsResponse(incoming_));
    }
    has_plan_ = true;
    Pump();
  }
  void OnWriteDone(bool) override {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    Pump();
  }
  void OnDone() override { delete this; }

 private:
  static constexpr size_t kMostWaiting = 64;

  static grpc::ByteBuffer AsResponse(const grpc::ByteBuffer& request) {
    std::vector<grpc::Slice> slices;
    if (request.Length() == 0 || !request.Dump(&slices).ok()) return request;
    std::string head(reinterpret_cast<const char*>(slices[0].begin()), std::min<size_t>(slices[0].size(), 32));
    head[0] = static_cast<char>(v1::ExecuteResponse::kChunkFieldNumber << 3 | 2);
    const grpc::Slice rest(slices[0].sub(head.size(), slices[0].size()));
    slices[0] = rest;
    slices.insert(slices.begin(), grpc::Slice(head));
    return grpc::ByteBuffer(slices.data(), slices.size());
  }
  void Pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!writing_ && !waiting_.empty() && (!hold_ || ended_)) {
      outgoing_ = waiting_.front();
      waiting_.pop_front();
      writing_ = true;
      StartWrite(&outgoing_);
    }
    if (!reading_ && !ended_ && (hold_ || waiting_.size() < kMostWaiting)) {
      reading_ = true;
      StartRead(&incoming_);
    }
    if (ended_ && !writing_ && !finished_) {
      finished_ = true;
      Finish(grpc::Status::OK);
    }
  }

  const bool hold_;
  absl::Mutex mutex_;
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_ ABSL_GUARDED_BY(mutex_);
  std::deque<grpc::ByteBuffer> waiting_ ABSL_GUARDED_BY(mutex_);
  bool has_plan_ ABSL_GUARDED_BY(mutex_) = false;
  bool reading_ ABSL_GUARDED_BY(mutex_) = true;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

/// Memory for copies, reused by the next copy of the same size, as a server reuses pinned memory.
class CopyBuffers {
 public:
  /// The message as one slice. The buffers outlive it.
  grpc::ByteBuffer Copy(const grpc::ByteBuffer& message) {
    std::vector<grpc::Slice> slices;
    if (!message.Dump(&slices).ok()) return message;
    auto copy = std::make_unique<Buffer>(Take(message.Length()));
    char* to = copy->bytes.data();
    for (const grpc::Slice& slice : slices) to = std::copy(slice.begin(), slice.end(), to);
    copy->buffers = this;
    void* const bytes = copy->bytes.data();
    const grpc::Slice whole(bytes, message.Length(), &GiveBack, copy.release());
    return grpc::ByteBuffer(&whole, 1);
  }

 private:
  struct Buffer {
    std::vector<char> bytes;
    CopyBuffers* buffers = nullptr;
  };

  Buffer Take(size_t size) {
    {
      absl::MutexLock lock(&mutex_);
      std::vector<Buffer>& kept = kept_[size];
      if (!kept.empty()) {
        Buffer buffer = std::move(kept.back());
        kept.pop_back();
        return buffer;
      }
    }
    return {std::vector<char>(size)};
  }
  static void GiveBack(void* given) {
    const std::unique_ptr<Buffer> buffer(static_cast<Buffer*>(given));
    CopyBuffers& buffers = *buffer->buffers;
    absl::MutexLock lock(&buffers.mutex_);
    buffers.kept_[buffer->bytes.size()].push_back(std::move(*buffer));
  }

  absl::Mutex mutex_;
  std::map<size_t, std::vector<Buffer>> kept_ ABSL_GUARDED_BY(mutex_);  // by size
};

using EchoBase = v1::CorankService::WithRawCallbackMethod_Sort<
    v1::CorankService::WithRawCallbackMethod_Execute<v1::CorankService::Service>>;

class EchoService final : public EchoBase {
 public:
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Execute(grpc::CallbackServerContext*) override {
    return new EchoStream(absl::GetFlag(FLAGS_hold));
  }
  grpc::ServerUnaryReactor* Sort(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override {
    // The keys are field 1 of both messages, so the received slices are sent again without parsing or copying.
    static_assert(static_cast<int>(v1::SortRequest::kKeysFieldNumber) == v1::SortResponse::kKeysFieldNumber);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    if (!request->Valid()) {  // the call ended before its message was complete; gRPC aborts on a response without bytes
      reactor->Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "the request has no complete message"));
      return reactor;
    }
    *response = absl::GetFlag(FLAGS_copy) ? buffers_->Copy(*request) : *request;
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  CopyBuffers* const buffers_ = new CopyBuffers;  // never destroyed: gRPC may hold slices until the process ends
};

int Serve() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before gRPC starts threads, which inherit it

  EchoService service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::GetFlag(FLAGS_listen), grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.SetMaxSendMessageSize(-1);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::fprintf(stderr, "echo_server: cannot serve on %s\n", absl::GetFlag(FLAGS_listen).c_str());
    return 1;
  }
  const std::string ports_file = absl::GetFlag(FLAGS_ports_file);
  if (!ports_file.empty()) {
    const absl::Status status = WriteFileAtomically(
        ports_file, absl::StrCat("{\"grpc\":\"127.0.0.1:", port, "\",\"pid\":", getpid(), ",\"engine\":\"echo\"}\n"));
    if (!status.ok()) {
      std::fprintf(stderr, "echo_server: %s\n", status.ToString().c_str());
      return 1;
    }
  }
  int received = 0;
  sigwait(&signals, &received);
  server->Shutdown();
  return 0;
}

}  // namespace
}  // namespace corank::bench

int main(int argc, char** argv) {
  corank::bench::ParseFlags("sends the keys of every Sort request, and the chunks of every Execute call, straight back",
                            argc, argv);
  return corank::bench::Serve();
}
