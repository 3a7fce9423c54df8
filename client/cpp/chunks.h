// The arrays of a call cut into chunks, in the order in which they are sent.
#ifndef CORANK_CLIENT_CPP_CHUNKS_H_
#define CORANK_CLIENT_CPP_CHUNKS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "grpcpp/support/byte_buffer.h"

namespace corank::client {

/// An array that is sent in chunks. Borrows the bytes.
struct ChunkedArray {
  uint32_t stream_id = 0;
  int element_bytes = 1;
  absl::string_view bytes;
  bool goes_first = false;
};

struct Chunk {
  uint32_t stream_id = 0;
  int64_t first_element = 0;
  absl::string_view bytes;  // never empty
};

/// Part `part` of `parts` of every array. Arrays that go first are sent one after the other; then the others side by
/// side, each as far as the others in proportion to its length, so that the server never has to hold much of one while
/// it waits for another. Not thread-safe.
class ChunkSource {
 public:
  /// Chunks have at most `chunk_bytes` bytes, but one element at least. 0 <= part < parts.
  ChunkSource(const std::vector<ChunkedArray>& arrays, int part, int parts, int64_t chunk_bytes);

  /// None at the end.
  std::optional<Chunk> Next();

 private:
  struct State {
    ChunkedArray array;
    int64_t next;   // element
    int64_t begin;  // the part's first element
    int64_t end;
  };

  std::vector<State> states_;
  const int64_t chunk_bytes_;
};

/// A chunk as a message that holds it in field `field`, such as an ExecuteRequest; its bytes are copied once.
grpc::ByteBuffer EncodeChunk(int field, const Chunk& chunk);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_CHUNKS_H_
