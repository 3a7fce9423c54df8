// The inline arrays of a request's message.
#ifndef CORANK_SERVER_RPC_INLINE_PAYLOADS_H_
#define CORANK_SERVER_RPC_INLINE_PAYLOADS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "corank/v1/array.pb.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"
#include "proto/payloads.h"
#include "server/memory/host_pool.h"
#include "server/rpc/helpers.h"

namespace corank {

/// Parses messages without their payloads, which are copied from gRPC's slices into one pinned buffer: the only copy on
/// the host.
class InlinePayloads {
 public:
  /// Fills `message` from `bytes`. INVALID_ARGUMENT if they are not a message of its type or exceed the whole pool; the
  /// errors of HostPool::Take.
  absl::Status Parse(const grpc::ByteBuffer& bytes, HostPool* pool, Helpers* helpers,
                     google::protobuf::Message* message);

  /// Copies the payloads of a message that was parsed elsewhere, and those that are not payloads of `bytes`. Errors as
  /// above.
  absl::Status Take(const grpc::ByteBuffer& bytes, const std::vector<PayloadRange>& ranges, const PayloadMap& others,
                    HostPool* pool, Helpers* helpers);

  /// The bytes of an inline array of the message, aligned to 16 bytes.
  absl::string_view Find(const v1::Array& array) const;

  /// Differs, almost surely, if the number, lengths or bytes of the payloads differ. Comparable within this process
  /// only.
  uint64_t Fingerprint() const;

  /// Bytes of the pool that the payloads occupy.
  int64_t pinned_bytes() const { return pinned_bytes_; }

 private:
  std::shared_ptr<void> buffer_;
  int64_t pinned_bytes_ = 0;
  PayloadMap payloads_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_INLINE_PAYLOADS_H_
