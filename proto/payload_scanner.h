// Finds the payloads of a message while its bytes arrive, so that each can be received where it is to lie.
#ifndef CORANK_PROTO_PAYLOAD_SCANNER_H_
#define CORANK_PROTO_PAYLOAD_SCANNER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace corank {

/// A guide for whoever receives. It does not judge: ParseHeads does that once the message is complete, and also
/// accepts messages that the scanner does not understand, of which it finds no more payloads. Allocates nothing.
class PayloadScanner {
 public:
  /// A message of `type` with `size` bytes. `field`: the number of the type's field that is a payload, as in
  /// ParseHeads; 0: none of its own.
  PayloadScanner(const google::protobuf::Descriptor* type, int field, size_t size);

  /// Takes bytes of the message up to the next payload. Returns how many; the first byte after them, if any, is the
  /// first one of a payload of payload_bytes().
  size_t Take(absl::string_view bytes);
  /// Bytes of the payload that comes next; 0: none is known. Never more than the message has left, whatever it claims.
  size_t payload_bytes() const { return payload_bytes_; }
  /// The payload that came next has been received elsewhere.
  void SkipPayload();

 private:
  enum class State { kTag, kVarint, kLength, kSkip, kLost };
  struct Level {
    const google::protobuf::Descriptor* type;
    int payload_field;
    size_t end;
  };
  static constexpr size_t kMostLevels = 16;

  void TakeByte(unsigned char byte);
  void BeginValue();
  void BeginDelimited();
  void EndLevels();

  std::array<Level, kMostLevels> levels_;
  size_t depth_ = 1;
  size_t position_ = 0;
  State state_ = State::kTag;
  uint64_t number_ = 0;  // the varint under way
  int shift_ = 0;
  int field_ = 0, wire_type_ = 0;
  size_t skip_ = 0;
  size_t payload_bytes_ = 0;
};

}  // namespace corank

#endif  // CORANK_PROTO_PAYLOAD_SCANNER_H_
