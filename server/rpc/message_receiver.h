// Receives messages: short ones as they are, the arrays of longer ones straight into pinned memory.
#ifndef CORANK_SERVER_RPC_MESSAGE_RECEIVER_H_
#define CORANK_SERVER_RPC_MESSAGE_RECEIVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "google/protobuf/descriptor.h"
#include "kernels/engine/budget.h"
#include "proto/payload_scanner.h"
#include "server/memory/received_message.h"
#include "server/wire/call.h"

namespace corank {

/// One message after the other. Belongs to the loop of its call.
class MessageReceiver final : public wire::Sink {
 public:
  /// Pinned memory for a payload of so many bytes. Null: it is received as the rest of its message is.
  using Place = std::function<absl::StatusOr<std::shared_ptr<void>>(size_t bytes)>;

  /// `type`, `field`: as in PayloadScanner. `buffered`: bounds everything that is not in memory from `place`; outlives
  /// the receiver. `on_failure`: a message under way cannot be received; it must end the call.
  MessageReceiver(const google::protobuf::Descriptor* type, int field, Budget* buffered, Place place,
                  std::function<void(const absl::Status&)> on_failure)
      : type_(type),
        field_(field),
        buffered_(*buffered),
        place_(std::move(place)),
        on_failure_(std::move(on_failure)) {}

  /// A message of `size` bytes begins. RESOURCE_EXHAUSTED with RetryInfo: there is no room for it.
  absl::Status Begin(size_t size);
  /// The message, once it is complete.
  ReceivedMessage Take();

  absl::Span<char> Room() override;
  void Fill(size_t bytes) override;

 private:
  absl::Status StartPiece(size_t bytes);
  void EndPiece();
  absl::Status Scan();
  absl::Status BeginPayload();

  const google::protobuf::Descriptor* const type_;
  const int field_;
  Budget& buffered_;
  const Place place_;
  const std::function<void(const absl::Status&)> on_failure_;
  ReceivedMessage message_;
  size_t left_ = 0;                        // bytes of the message that have not come
  std::optional<PayloadScanner> scanner_;  // unset: the message is collected
  size_t head_bytes_ = 0;                  // that came
  size_t room_bytes_ = 0;                  // of the next piece of heads
  size_t passing_ = 0;                     // bytes of a payload that is received like a head
  std::shared_ptr<char[]> piece_;          // of heads
  size_t piece_bytes_ = 0, used_ = 0, scanned_ = 0;
  std::shared_ptr<void> payload_;
  size_t payload_bytes_ = 0, payload_used_ = 0;
};

/// Lets the caller send the only message of a call, of this size, without waiting for the server more often than every
/// few MiB.
void AllowMessage(size_t size, wire::Call* call);

/// What a caller with several messages may send before the server asks for it. The wire holds it in memory meanwhile,
/// so it counts as buffered for as long as the call.
class SendAhead {
 public:
  /// `buffered` outlives this.
  explicit SendAhead(Budget* buffered) : buffered_(*buffered) {}

  /// AllowMessage, as far as half of the budget stays free for messages; without that, messages come more slowly.
  /// RESOURCE_EXHAUSTED with RetryInfo: there is no room for what every caller may send.
  absl::Status Allow(size_t size, wire::Call* call);
  int64_t bytes() const { return room_.bytes(); }

 private:
  Budget& buffered_;
  Budget::Reservation room_;
};

/// RESOURCE_EXHAUSTED with RetryInfo: messages fill their budget.
absl::Status MessagesFill();

}  // namespace corank

#endif  // CORANK_SERVER_RPC_MESSAGE_RECEIVER_H_
