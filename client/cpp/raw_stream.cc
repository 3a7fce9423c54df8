#include "client/cpp/raw_stream.h"

#include <utility>

#include "absl/synchronization/notification.h"
#include "client/cpp/cancellation.h"
#include "client/cpp/connection.h"
#include "client/cpp/errors.h"

namespace corank::client {
namespace {

/// Passes all on, and says when the end has come.
class Waiting final : public StreamEvents {
 public:
  explicit Waiting(StreamEvents* events) : events_(events) {}

  std::optional<grpc::ByteBuffer> Next() override { return events_->Next(); }
  absl::Status Take(grpc::ByteBuffer* message) override { return events_->Take(message); }
  void Done(const absl::Status& status, const std::string& request_id) override {
    events_->Done(status, request_id);
    status_ = status;
    request_id_ = request_id;
    done_.Notify();
  }
  absl::Status Wait(std::string* request_id) {
    done_.WaitForNotification();
    *request_id = request_id_;
    return status_;
  }

 private:
  StreamEvents* const events_;
  absl::Status status_;
  std::string request_id_;
  absl::Notification done_;
};

}  // namespace

RawStream::RawStream(std::shared_ptr<grpc::Channel> channel, const char* method, StreamEvents* events)
    : method_(method), events_(events), stub_(std::move(channel)) {}

void RawStream::Start(absl::Time deadline) {
  if (deadline != absl::InfiniteFuture()) context_.set_deadline(absl::ToChronoTime(deadline));
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
  events_->Done(taken_.ok() ? ToAbslStatus(status) : taken_, RequestId(context_));
}

absl::Status RunStream(std::shared_ptr<grpc::Channel> channel, const char* method, absl::Time deadline,
                       Cancellation* cancellation, StreamEvents* events, std::string* request_id) {
  Waiting waiting(events);
  RawStream stream(std::move(channel), method, &waiting);
  CancellationScope scope(cancellation);
  scope.Add(stream.context());
  stream.Start(deadline);
  return waiting.Wait(request_id);
}

}  // namespace corank::client
