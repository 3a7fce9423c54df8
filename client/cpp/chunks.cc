#include "client/cpp/chunks.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "corank/v1/array.pb.h"
#include "proto/grpc_payloads.h"

namespace corank::client {
namespace {

/// count * part / parts, without overflow.
int64_t Share(int64_t count, int part, int parts) { return count / parts * part + count % parts * part / parts; }

}  // namespace

ChunkSource::ChunkSource(const std::vector<ChunkedArray>& arrays, int part, int parts, int64_t chunk_bytes)
    : chunk_bytes_(chunk_bytes) {
  for (const ChunkedArray& array : arrays) {
    const int64_t count = static_cast<int64_t>(array.bytes.size()) / array.element_bytes;
    const int64_t begin = Share(count, part, parts), end = Share(count, part + 1, parts);
    if (begin < end) states_.push_back({array, begin, begin, end});
  }
}

std::optional<Chunk> ChunkSource::Next() {
  State* chosen = nullptr;
  double least = 2;
  for (State& state : states_) {
    if (state.next == state.end) continue;
    const double done = state.array.goes_first ? -1
                                               : static_cast<double>(state.next - state.begin) /
                                                     static_cast<double>(state.end - state.begin);
    if (done < least) {
      least = done;
      chosen = &state;
    }
  }
  if (chosen == nullptr) return std::nullopt;
  const int64_t width = chosen->array.element_bytes;
  const int64_t count = std::min(chosen->end - chosen->next, std::max<int64_t>(chunk_bytes_ / width, 1));
  const Chunk chunk = {
      chosen->array.stream_id, chosen->next,
      chosen->array.bytes.substr(static_cast<size_t>(chosen->next * width), static_cast<size_t>(count * width))};
  chosen->next += count;
  return chunk;
}

grpc::ByteBuffer EncodeChunk(int field, const Chunk& chunk) {
  v1::ArrayChunk message;
  message.set_stream_id(chunk.stream_id);
  message.set_first_element(chunk.first_element);
  const std::string inner =
      message.SerializeAsString() + FieldHead(v1::ArrayChunk::kDataFieldNumber, chunk.bytes.size());
  const std::string head = FieldHead(field, inner.size() + chunk.bytes.size()) + inner;
  grpc_slice slice = grpc_slice_malloc(head.size() + chunk.bytes.size());
  uint8_t* to = GRPC_SLICE_START_PTR(slice);
  std::memcpy(to, head.data(), head.size());
  std::memcpy(to + head.size(), chunk.bytes.data(), chunk.bytes.size());
  const grpc::Slice owned(slice, grpc::Slice::STEAL_REF);
  return grpc::ByteBuffer(&owned, 1);
}

}  // namespace corank::client
