// The arrays that lie in a request's message.
#ifndef CORANK_SERVER_RPC_INLINE_PAYLOADS_H_
#define CORANK_SERVER_RPC_INLINE_PAYLOADS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "corank/v1/array.pb.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"
#include "proto/payloads.h"
#include "server/memory/host_pool.h"
#include "server/rpc/helpers.h"

namespace corank {

/// Parses messages without their payloads, which go from gRPC's slices into one pinned buffer: their only copy on this
/// side of the device.
class InlinePayloads {
 public:
  /// Fills `message` from `bytes`. INVALID_ARGUMENT where they are no such message, or more than the pool ever has;
  /// what HostPool::Take says.
  absl::Status Parse(const grpc::ByteBuffer& bytes, HostPool* pool, Helpers* helpers,
                     google::protobuf::Message* message);

  /// The inline bytes of an array of the message, aligned to 16 bytes.
  absl::string_view Find(const v1::Array& array) const;

  /// Differs, almost surely, where the payloads do: their number, lengths or bytes. The same within this process only.
  uint64_t Fingerprint() const;

  /// What the payloads take of the pool.
  int64_t pinned_bytes() const { return pinned_bytes_; }

 private:
  std::shared_ptr<void> buffer_;
  int64_t pinned_bytes_ = 0;
  PayloadMap payloads_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RPC_INLINE_PAYLOADS_H_
