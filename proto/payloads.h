// Serialises and parses messages of corank.v1 without their payloads, so that no payload passes through protobuf.
//
// A payload is the `inline_data` of an Array or the `data` of an ArrayChunk, at any depth of a message. All other bytes
// are heads. The serialiser produces heads and refers to each payload where it lies in memory. The parser reads heads
// and returns the range of each payload within the message's bytes.
#ifndef CORANK_PROTO_PAYLOADS_H_
#define CORANK_PROTO_PAYLOADS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "corank/v1/array.pb.h"
#include "google/protobuf/message.h"

namespace corank {

/// The field of an Array up to the first of its `payload_bytes` bytes of inline data, which end the Array. `array` has
/// no place.
std::string ArrayHead(int field, const v1::Array& array, size_t payload_bytes);

/// The tag and the length of a field that holds a message or bytes.
std::string FieldHead(int field, size_t bytes);

/// Maps an Array or ArrayChunk of a message to its payload. Borrows both.
using PayloadMap = absl::flat_hash_map<const google::protobuf::Message*, absl::string_view>;

/// A head, followed by a payload.
struct WirePiece {
  std::string head;
  absl::string_view payload;
};

/// The bytes of a message as consecutive pieces. An Array or ArrayChunk in `payloads` has no place and no data of its
/// own.
std::vector<WirePiece> SerializeHeads(const google::protobuf::Message& message, const PayloadMap& payloads);

/// The range of a payload within a message's bytes.
struct PayloadRange {
  google::protobuf::Message* holder = nullptr;  // the Array or ArrayChunk, part of the message
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// A message's bytes as consecutive pieces, which are borrowed.
using MessagePieces = std::vector<absl::string_view>;

/// Parses everything but the payloads. An Array with inline bytes gets that place, with no bytes in it. Returns false
/// if the bytes are not such a message, or if the message has far more parts than any real request: parsing a small
/// hostile message would take too much memory or time. Holders stay where they are until the message itself moves.
bool ParseHeads(const MessagePieces& bytes, google::protobuf::Message* message, std::vector<PayloadRange>* payloads);

/// The same for a message of another protocol, whose payloads are the elements of its own repeated bytes field `field`.
/// Each element has a range, in the order of the message; its holder is the message.
bool ParseHeads(const MessagePieces& bytes, google::protobuf::Message* message, int field,
                std::vector<PayloadRange>* payloads);

/// Copies a range of the consecutive bytes of `pieces`. The range lies within them.
void CopyRange(const MessagePieces& pieces, int64_t offset, int64_t bytes, void* to);

/// Whether messages of this type hold payloads, at any depth.
bool HoldsPayloads(const google::protobuf::Descriptor* type);

/// The number of the field of this type that is a payload; 0: none is.
int PayloadField(const google::protobuf::Descriptor* type);

}  // namespace corank

#endif  // CORANK_PROTO_PAYLOADS_H_
