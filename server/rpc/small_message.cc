#include "server/rpc/small_message.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"

namespace corank {
namespace {

constexpr size_t kMostBytes = 64 << 10;

class AnsweredCall final : public SmallCall {
 public:
  AnsweredCall(std::shared_ptr<wire::Call> call, std::function<void(absl::StatusOr<std::string>)> answer,
               std::function<void(const absl::Status&)> cancelled)
      : SmallCall(std::move(call)), answer_(std::move(answer)), cancelled_(std::move(cancelled)) {}

  using SmallCall::Begin;

 private:
  void Take(absl::StatusOr<std::string> message) override { std::exchange(answer_, nullptr)(std::move(message)); }
  void Cancelled(const absl::Status& cause) override {
    if (cancelled_) cancelled_(cause);
  }

  std::function<void(absl::StatusOr<std::string>)> answer_;
  const std::function<void(const absl::Status&)> cancelled_;
};

}  // namespace

wire::Sink* SmallCall::OnMessageBegin(size_t size) {
  if (size > kMostBytes) {
    TakeOnce(TooLargeField("request", absl::StrCat("must have at most ", kMostBytes, " bytes, not ", size)));
    return nullptr;
  }
  collector_ = std::make_unique<wire::Collector>(size);
  return collector_.get();
}

void SmallCall::OnMessage() {
  call_->DropRest();
  TakeOnce(std::string(std::exchange(collector_, nullptr)->view()));
}

void SmallCall::OnHalfClose() { TakeOnce(InvalidField("request", "the call has no message")); }

void SmallCall::OnCancel(const CallStatus& status) {
  const absl::Status cause = CauseOf(call_->head(), status);
  if (is_taken_) return Cancelled(cause);
  TakeOnce(cause);
}

void SmallCall::TakeOnce(absl::StatusOr<std::string> message) {
  if (!std::exchange(is_taken_, true)) Take(std::move(message));
}

void SmallCall::Begin(absl::Status admitted) {
  if (!admitted.ok()) return TakeOnce(std::move(admitted));
  call_->Read();
}

std::shared_ptr<wire::Handler> AnswerSmall(const std::shared_ptr<wire::Call>& call, absl::Status admitted,
                                           std::function<void(absl::StatusOr<std::string>)> answer,
                                           std::function<void(const absl::Status&)> cancelled) {
  auto handler = std::make_shared<AnsweredCall>(call, std::move(answer), std::move(cancelled));
  handler->Begin(std::move(admitted));
  return handler;
}

absl::Status ParseSmall(absl::string_view bytes, google::protobuf::Message* message) {
  if (message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return absl::OkStatus();
  return InvalidField("request", absl::StrCat("the bytes are not a ", message->GetTypeName(), " message"));
}

Bytes SmallBytes(const google::protobuf::Message& message) { return Bytes(message.SerializeAsString()); }

absl::Status CauseOf(const wire::CallHead& call, const CallStatus& status) {
  if (IsShortBefore(call.deadline, call.arrival, std::chrono::steady_clock::now())) return DeadlinePassed();
  switch (status.code) {
    case wire::kCancelled:
      return CallerCancelled();
    case wire::kDeadlineExceeded:
      return Error(v1::ERROR_REASON_STREAM_IDLE, status.message);
    case wire::kInternal:
      return RequestIncomplete(status.message);
    case wire::kUnavailable:
      return RetryLater(v1::ERROR_REASON_DRAINING, status.message, absl::Seconds(5));
    default:
      return absl::Status(static_cast<absl::StatusCode>(status.code), status.message);
  }
}

}  // namespace corank
