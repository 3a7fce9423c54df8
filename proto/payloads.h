// Messages of corank.v1 without their payloads, so that no payload ever passes through protobuf.
//
// A payload is the `inline_data` of an Array or the `data` of an ArrayChunk, wherever it stands in a message. Heads are
// all other bytes. On the way out, heads are serialised and the payloads are named by where they lie; on the way in,
// heads are parsed and the payloads are named by where they lie in the message's bytes.
#ifndef CORANK_PROTO_PAYLOADS_H_
#define CORANK_PROTO_PAYLOADS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "corank/v1/array.pb.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

namespace corank {

/// A field that holds an Array, up to the first of `payload_bytes` bytes of inline data, which are the Array's last
/// field. `array` has no place.
std::string ArrayHead(int field, const v1::Array& array, size_t payload_bytes);

/// The tag of a field that holds a message or bytes, and its length.
std::string FieldHead(int field, size_t bytes);

/// The payloads of a message by the Array or ArrayChunk that holds them. Borrows both.
using PayloadMap = absl::flat_hash_map<const google::protobuf::Message*, absl::string_view>;

/// Head, then payload.
struct WirePiece {
  std::string head;
  absl::string_view payload;
};

/// A message's bytes as pieces, one after the other. Holders in `payloads` have no place and no data of their own.
std::vector<WirePiece> SerializeHeads(const google::protobuf::Message& message, const PayloadMap& payloads);

/// Where a payload lies in a message's bytes.
struct PayloadRange {
  google::protobuf::Message* holder = nullptr;  // the Array or ArrayChunk, part of the message
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// Parses all but the payloads: an Array with inline bytes has that place, empty. False if the bytes are no such
/// message, or one of far more parts than any request has: a little of an attacker's would cost much time or memory.
/// What a holder owns moves only when its message does.
bool ParseHeads(const grpc::ByteBuffer& bytes, google::protobuf::Message* message, std::vector<PayloadRange>* payloads);

/// Copies a range of the bytes that the slices hold one after the other; the range lies within them.
void CopyRange(const std::vector<grpc::Slice>& slices, int64_t offset, int64_t bytes, void* to);

}  // namespace corank

#endif  // CORANK_PROTO_PAYLOADS_H_
