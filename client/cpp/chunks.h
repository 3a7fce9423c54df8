// Cuts the arrays of a call into chunks, in sending order.
#ifndef CORANK_CLIENT_CPP_CHUNKS_H_
#define CORANK_CLIENT_CPP_CHUNKS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "grpcpp/support/byte_buffer.h"

namespace corank::client {

/// An array to send in chunks. Borrows the bytes.
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

/// Yields part `part` of `parts` of every array. Arrays that go first come one after the other. The others then advance
/// side by side, each in proportion to its length, so that the server never buffers much of one while it waits for
/// another. Not thread-safe.
class ChunkSource {
 public:
  /// Chunks have at most `chunk_bytes` bytes, but at least one element. 0 <= part < parts.
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

/// Encodes a message, such as an ExecuteRequest, that holds the chunk in field `field`. Copies the bytes once.
grpc::ByteBuffer EncodeChunk(int field, const Chunk& chunk);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_CHUNKS_H_
