#include "client/cpp/raw_stream.h"

#include <utility>

#include "absl/synchronization/notification.h"
#include "client/cpp/cancellation.h"
#include "client/cpp/errors.h"

namespace corank::client {
namespace {

/// Passes all on, and says when the end has come.
class Waiting final : public StreamEvents {
 public:
  explicit Waiting(StreamEvents* events) : events_(events) {}

  std::optional<grpc::ByteBuffer> Next() override { return events_->Next(); }
  absl::Status Take(grpc::ByteBuffer* message) override { return events_->Take(message); }
  void Done(const Attempt& attempt) override {
    events_->Done(attempt);
    attempt_ = attempt;
    done_.Notify();
  }
  Attempt Wait() {
    done_.WaitForNotification();
    return std::move(attempt_);
  }

 private:
  StreamEvents* const events_;
  Attempt attempt_;
  absl::Notification done_;
};

}  // namespace

RawStream::RawStream(std::shared_ptr<grpc::Channel> channel, const char* method, StreamEvents* events)
    : method_(method), events_(events), stub_(std::move(channel)) {}

void RawStream::Start() {
  stub_.PrepareBidiStreamingCall(&context_, method_, {}, this);
  StartRead(&in_);
  Write();
  StartCall();
}

void RawStream::Write() {
  std::optional<grpc::ByteBuffer> message = events_->Next();
  if (!message.has_value()) {
    StartWritesDone();
    return;
  }
  out_ = *std::move(message);
  StartWrite(&out_);
}

void RawStream::OnWriteDone(bool ok) {
  if (ok) Write();  // otherwise OnDone says why
}

void RawStream::OnReadDone(bool ok) {
  if (!ok) return;
  taken_ = events_->Take(&in_);
  if (!taken_.ok()) {
    context_.TryCancel();
    return;
  }
  StartRead(&in_);
}

void RawStream::OnDone(const grpc::Status& status) {
  events_->Done({taken_.ok() ? ToAbslStatus(status) : taken_, IdsOf(context_)});
}

Attempt RunStream(Connection* connection, const char* method, absl::Time deadline, const CallOptions& call,
                  StreamEvents* events) {
  Waiting waiting(events);
  RawStream stream(connection->channel(), method, &waiting);
  connection->Prepare(deadline, call, stream.context());
  CancellationScope scope(call.cancellation);
  scope.Add(stream.context());
  stream.Start();
  return waiting.Wait();
}

}  // namespace corank::client
