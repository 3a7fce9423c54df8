// Calls whose one message has a few fields. Their callers are authenticated before it is read, and it is short.
#ifndef CORANK_SERVER_RPC_SMALL_MESSAGE_H_
#define CORANK_SERVER_RPC_SMALL_MESSAGE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "server/base/bytes.h"
#include "server/wire/call.h"

namespace corank {

/// Reads the message of its call.
class SmallCall : public wire::Handler {
 public:
  explicit SmallCall(std::shared_ptr<wire::Call> call) : call_(std::move(call)) {}

  wire::Sink* OnMessageBegin(size_t size) final;
  void OnMessage() final;
  void OnHalfClose() final;
  void OnCancel(const CallStatus& status) final;
  void OnDone() override {}

 protected:
  /// Asks for the message, or takes the status instead of it.
  void Begin(absl::Status admitted);
  /// Called once. Not OK: there is none, because it was not admitted or is too long, or because the call
  /// has ended. The call must be finished, now or later.
  virtual void Take(absl::StatusOr<std::string> message) = 0;
  /// The call ended after Take, and must be finished.
  virtual void Cancelled(const absl::Status& cause) { static_cast<void>(cause); }

  const std::shared_ptr<wire::Call>& call() const { return call_; }

 private:
  void TakeOnce(absl::StatusOr<std::string> message);

  const std::shared_ptr<wire::Call> call_;
  std::unique_ptr<wire::Collector> collector_;
  bool is_taken_ = false;
};

/// A call that `answer` finishes when it has the message. `admitted`: not OK: the message is not wanted, and `answer`
/// gets this status instead. `cancelled`, if not null, gets the reason if the call ends before it is answered.
std::shared_ptr<wire::Handler> AnswerSmall(const std::shared_ptr<wire::Call>& call, absl::Status admitted,
                                           std::function<void(absl::StatusOr<std::string> message)> answer,
                                           std::function<void(const absl::Status& cause)> cancelled = nullptr);

/// INVALID_ARGUMENT if the bytes are not a message of its type.
absl::Status ParseSmall(absl::string_view bytes, google::protobuf::Message* message);

/// The message as it is sent.
Bytes SmallBytes(const google::protobuf::Message& message);

/// Why a call ended before it was answered.
absl::Status CauseOf(const wire::CallHead& call, const CallStatus& status);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_SMALL_MESSAGE_H_
