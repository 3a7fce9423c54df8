#include "client/cpp/raw_stream.h"

#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/cancellation_scope.h"
#include "client/cpp/patience.h"
#include "client/cpp/short_memory.h"
#include "client/cpp/status_conversion.h"
#include "grpcpp/generic/generic_stub.h"

namespace corank::client {
namespace {

/// Forwards events, and lets a thread wait for the end.
class Waiting final : public StreamEvents {
 public:
  explicit Waiting(StreamEvents* events) : events_(events) {}

  std::optional<grpc::ByteBuffer> Next() override { return events_->Next(); }
  absl::Status Take(grpc::ByteBuffer* message) override { return events_->Take(message); }
  void Done(const Attempt& attempt) override {
    events_->Done(attempt);
    absl::MutexLock lock(&mutex_);
    attempt_ = attempt;
  }
  /// Whether the end came by then.
  bool WaitUntil(absl::Time time) {
    const auto is_done = [this] {
      mutex_.AssertReaderHeld();
      return attempt_.has_value();
    };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithDeadline(absl::Condition(&is_done), time);
  }
  /// Call it after the end.
  Attempt Take() {
    absl::MutexLock lock(&mutex_);
    return *std::move(attempt_);
  }

 private:
  StreamEvents* const events_;
  absl::Mutex mutex_;
  std::optional<Attempt> attempt_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

/// Everything that gRPC uses of the call. Outlives a RawStream that gave it up.
class RawStream::Call final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Call(std::shared_ptr<grpc::Channel> channel, const char* method, StreamEvents* events)
      : method_(method), events_(events), stub_(std::move(channel)) {}

  grpc::ClientContext* context() { return &context_; }

  void Start(std::shared_ptr<Call> self) {
    self_ = std::move(self);
    stub_.PrepareBidiStreamingCall(&context_, method_, {}, this);
    StartRead(&in_);
    Write();
    StartCall();
  }

  void GiveUp() {
    {
      absl::MutexLock lock(&mutex_);
      if (events_ == nullptr) return;
      events_ = nullptr;
    }
    context_.TryCancel();
  }

 private:
  void Write() {
    std::optional<grpc::ByteBuffer> message;
    absl::Status made;
    {
      absl::ReaderMutexLock lock(&mutex_);
      if (events_ == nullptr) return;
      made = WithinMemory("a message to be sent", [&] { message = events_->Next(); });
    }
    if (!made.ok()) return Fail(made);
    if (!message.has_value()) {
      StartWritesDone();
      return;
    }
    out_ = *std::move(message);
    StartWrite(&out_);
  }

  void OnWriteDone(bool ok) override {
    if (ok) Write();  // otherwise OnDone says why
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    absl::Status taken;
    {
      absl::ReaderMutexLock lock(&mutex_);
      if (events_ == nullptr) return;
      taken.Update(WithinMemory("a message of the server", [&] { taken = events_->Take(&in_); }));
    }
    if (!taken.ok()) return Fail(taken);
    StartRead(&in_);
  }

  /// Ends the call with this error, unless it already has one.
  void Fail(const absl::Status& error) {
    {
      absl::MutexLock lock(&error_mutex_);
      error_.Update(error);
    }
    context_.TryCancel();
  }

  void OnDone(const grpc::Status& status) override {
    absl::Status error;
    {
      absl::MutexLock lock(&error_mutex_);
      error = error_;
    }
    {
      absl::ReaderMutexLock lock(&mutex_);
      if (events_ != nullptr) {
        self_.reset();  // the RawStream still owns it: its destructor waits for the lock
        events_->Done({error.ok() ? ToAbslStatus(status) : error, IdsOf(context_)});
        return;
      }
    }
    // This may destroy the channel, which waits for gRPC's threads, so a thread of gRPC must not do it.
    std::thread([self = std::move(self_)]() mutable { self.reset(); }).detach();
  }

  const char* const method_;
  absl::Mutex mutex_;  // gRPC's threads lock it for reading, so none waits for another
  StreamEvents* events_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Call> self_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer in_, out_;
  absl::Mutex error_mutex_;  // messages arrive and leave concurrently
  absl::Status error_ ABSL_GUARDED_BY(error_mutex_);
};

RawStream::RawStream(std::shared_ptr<grpc::Channel> channel, const char* method, StreamEvents* events)
    : call_(std::make_shared<Call>(std::move(channel), method, events)) {}

RawStream::~RawStream() { GiveUp(); }

grpc::ClientContext* RawStream::context() { return call_->context(); }

void RawStream::Start() { call_->Start(call_); }

void RawStream::Cancel() { call_->context()->TryCancel(); }

void RawStream::GiveUp() { call_->GiveUp(); }

Attempt RunStream(Connection* connection, const char* method, absl::Time deadline, const CallOptions& call,
                  StreamEvents* events) {
  Waiting waiting(events);
  const std::shared_ptr<grpc::Channel> channel = connection->channel();
  RawStream stream(channel, method, &waiting);
  connection->Prepare(deadline, call, stream.context());
  CancellationScope scope(call.cancellation);
  scope.Add(stream.context());
  stream.Start();
  Patience patience(deadline, call.cancellation);
  if (patience.Await([&waiting](absl::Time until) { return waiting.WaitUntil(until); })) return waiting.Take();
  stream.GiveUp();
  connection->Leave(channel.get());
  return {patience.error(), {}};
}

}  // namespace corank::client
