// proto/payloads.h for messages that gRPC's C++ library has received.
#ifndef CORANK_PROTO_GRPC_PAYLOADS_H_
#define CORANK_PROTO_GRPC_PAYLOADS_H_

#include <cstdint>
#include <vector>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "proto/payloads.h"

namespace corank {

inline MessagePieces PiecesOf(const std::vector<grpc::Slice>& slices) {
  MessagePieces pieces;
  pieces.reserve(slices.size());
  for (const grpc::Slice& slice : slices)
    pieces.emplace_back(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return pieces;
}

inline bool ParseHeads(const grpc::ByteBuffer& bytes, google::protobuf::Message* message,
                       std::vector<PayloadRange>* payloads) {
  std::vector<grpc::Slice> slices;
  return bytes.Dump(&slices).ok() && ParseHeads(PiecesOf(slices), message, payloads);
}

inline void CopyRange(const std::vector<grpc::Slice>& slices, int64_t offset, int64_t bytes, void* to) {
  CopyRange(PiecesOf(slices), offset, bytes, to);
}

}  // namespace corank

#endif  // CORANK_PROTO_GRPC_PAYLOADS_H_
