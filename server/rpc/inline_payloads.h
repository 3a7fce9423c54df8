// The inline arrays of a request's message.
#ifndef CORANK_SERVER_RPC_INLINE_PAYLOADS_H_
#define CORANK_SERVER_RPC_INLINE_PAYLOADS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "proto/payloads.h"
#include "server/memory/host_pool.h"
#include "server/memory/received_message.h"
#include "server/plan/payloads.h"

namespace corank {

/// Parses messages without their payloads. Those that were received in pinned memory stay there; the others are copied
/// into one pinned buffer: the only copy on the host.
class InlinePayloads final : public Payloads {
 public:
  /// Fills `message` from `bytes`. INVALID_ARGUMENT if they are not a message of its type or exceed the whole pool; the
  /// errors of HostPool::Take.
  absl::Status Parse(const ReceivedMessage& bytes, HostPool* pool, google::protobuf::Message* message);

  /// Keeps the payloads of a message that was parsed elsewhere, and those that are not payloads of `bytes`. Errors as
  /// above.
  absl::Status Take(const ReceivedMessage& bytes, const std::vector<PayloadRange>& ranges, const PayloadMap& others,
                    HostPool* pool);

  /// Memory in which a payload may be received. INVALID_ARGUMENT if it exceeds the whole pool; the errors of
  /// HostPool::Take.
  static absl::StatusOr<std::shared_ptr<void>> Place(size_t bytes, HostPool* pool);
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_INLINE_PAYLOADS_H_
