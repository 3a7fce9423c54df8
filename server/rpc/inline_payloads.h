// The inline arrays of a request's message.
#ifndef CORANK_SERVER_RPC_INLINE_PAYLOADS_H_
#define CORANK_SERVER_RPC_INLINE_PAYLOADS_H_

#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"
#include "proto/payloads.h"
#include "server/memory/host_pool.h"
#include "server/plan/payloads.h"
#include "server/rpc/helpers.h"

namespace corank {

/// Parses messages without their payloads, which are copied from gRPC's slices into one pinned buffer: the only copy on
/// the host.
class InlinePayloads final : public Payloads {
 public:
  /// Fills `message` from `bytes`. INVALID_ARGUMENT if they are not a message of its type or exceed the whole pool; the
  /// errors of HostPool::Take.
  absl::Status Parse(const grpc::ByteBuffer& bytes, HostPool* pool, Helpers* helpers,
                     google::protobuf::Message* message);

  /// Copies the payloads of a message that was parsed elsewhere, and those that are not payloads of `bytes`. Errors as
  /// above.
  absl::Status Take(const grpc::ByteBuffer& bytes, const std::vector<PayloadRange>& ranges, const PayloadMap& others,
                    HostPool* pool, Helpers* helpers);
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_INLINE_PAYLOADS_H_
