#include "server/run/row_sink.h"

#include <algorithm>
#include <cstring>

#include "kernels/engine/alignment.h"
#include "server/base/status_macros.h"
#include "server/run/engine_stream_ring.h"
#include "server/run/stream_options.h"

namespace corank {
namespace {

int64_t RowsIn(int64_t bytes, const RowShape& shape) { return std::max<int64_t>(1, bytes / shape.row_bytes()); }

// Drops the upper halves of the numbers.
void Narrow(char* numbers, int64_t count) {
  const auto* const wide = reinterpret_cast<const uint64_t*>(numbers);
  for (int64_t i = 0; i < count; ++i) {
    const auto narrow = static_cast<uint32_t>(wide[i]);
    std::memcpy(numbers + i * static_cast<int64_t>(sizeof(narrow)), &narrow, sizeof(narrow));
  }
}

char* At(char* begin, int64_t bytes) { return begin == nullptr ? nullptr : begin + bytes; }

}  // namespace

RowSink::RowSink(const RowShape& shape, char* keys, char* values, bool on_device, int64_t tile_bytes)
    : shape_(shape),
      keys_({std::nullopt, keys}),
      values_({std::nullopt, values}),
      on_device_(on_device),
      tile_rows_(RowsIn(tile_bytes, shape)) {}

RowSink::RowSink(const RowShape& shape, const Column& keys, const Column& values, ChunkPipe* pipe, Lane* lane,
                 int64_t tile_bytes)
    : shape_(shape),
      keys_(keys),
      values_(values),
      pipe_(keys.stream_id || values.stream_id ? pipe : nullptr),
      lane_(lane),
      tile_rows_(RowsIn(pipe_ == nullptr ? tile_bytes : pipe_->tile_bytes() - kArrayAlignment, shape)) {}

int64_t RowSink::free_tiles() const {
  return pipe_->output_room() /
         HostPool::BufferBytes(AlignUp(tile_rows_ * shape_.key_bytes) + tile_rows_ * shape_.value_bytes);
}

absl::StatusOr<RowSink::Tile> RowSink::Take(int64_t count, EngineStreamRing* turns) {
  Tile tile;
  tile.first = taken_rows_;
  tile.count = count;
  if (pipe_ == nullptr) {
    tile.keys = At(keys_.place, tile.first * shape_.key_bytes);
    tile.values = At(values_.place, tile.first * shape_.value_bytes);
    tile.on_device = on_device_;
    if (narrows()) {
      const auto wide = std::make_shared<std::vector<uint64_t>>(static_cast<size_t>(count));
      tile.values = reinterpret_cast<char*>(wide->data());
      tile.memory = wide;
    }
  } else {
    const int64_t keys_bytes = keys_.is_wanted() ? AlignUp(count * shape_.key_bytes) : 0;
    CORANK_ASSIGN_OR_RETURN(tile.memory, TakeRoom(*pipe_, *lane_, keys_bytes + count * shape_.value_bytes, turns));
    auto* const bytes = static_cast<char*>(tile.memory.get());
    if (keys_.is_wanted()) tile.keys = bytes;
    if (shape_.value_bytes > 0) tile.values = bytes + keys_bytes;
  }
  taken_rows_ += count;
  return tile;
}

void RowSink::Done(const Tile& tile) {
  if (pipe_ == nullptr && !narrows()) return;
  if (pipe_ != nullptr && tile.keys != nullptr) Send(keys_, tile, shape_.key_bytes, tile.keys);
  if (tile.values == nullptr) return;
  if (narrows()) Narrow(tile.values, tile.count);
  Send(values_, tile, sent_value_bytes_, tile.values);
}

void RowSink::Send(const Column& column, const Tile& tile, int64_t element_bytes, char* bytes) const {
  if (column.stream_id) {
    return SendChunks(*pipe_, *column.stream_id, tile.first, tile.count, element_bytes, bytes, tile.memory);
  }
  std::memcpy(column.place + tile.first * element_bytes, bytes, static_cast<size_t>(tile.count * element_bytes));
}

absl::StatusOr<std::shared_ptr<void>> TakeRoom(ChunkPipe& pipe, Lane& lane, int64_t bytes, EngineStreamRing* turns) {
  if (turns != nullptr) {
    CORANK_ASSIGN_OR_RETURN(std::shared_ptr<void> memory, pipe.TakeBuffer(lane, bytes, /*wait=*/false));
    if (memory != nullptr) return memory;
    CORANK_RETURN_IF_ERROR(turns->FinishAll());
  }
  return pipe.TakeBuffer(lane, bytes, /*wait=*/true);
}

void SendChunks(ChunkPipe& pipe, uint32_t stream_id, int64_t first, int64_t count, int64_t element_bytes,
                const char* bytes, const std::shared_ptr<void>& memory) {
  const int64_t most =
      std::max<int64_t>(1, std::min(kAnswerChunkBytes, pipe.options().max_chunk_bytes) / element_bytes);
  for (int64_t done = 0; done < count; done += most) {
    const int64_t elements = std::min(most, count - done);
    pipe.Send({stream_id, first + done, elements * element_bytes,
               std::shared_ptr<const void>(memory, bytes + done * element_bytes)});
  }
}

bool TakesStreamedRows(const std::shared_ptr<ResultTarget>& target, int64_t row_bytes, int64_t limit) {
  constexpr int64_t kMostInResponse = 64 << 10;
  if (target != nullptr && !target->is_response()) return target->stream_id().has_value();
  return limit > 0 && limit <= kMostInResponse / row_bytes;
}

absl::StatusOr<std::vector<RowResult>> RowResult::Make(absl::Span<const PendingResult> results) {
  for (const PendingResult& result : results) CORANK_RETURN_IF_ERROR(result.Check());
  std::vector<RowResult> made;
  for (const PendingResult& result : results) made.push_back(RowResult(result));
  return made;
}

RowResult::RowResult(const PendingResult& result) : result_(result) {
  if (result.target != nullptr) {
    stream_id_ = result.target->stream_id();
    place_ = result.target->HostPlace();
    if (stream_id_ || place_ != nullptr || result.target->is_sharded()) return;
  }
  result_.target = nullptr;
  if (result.size_bytes() == 0) return;
  owned_ = std::make_shared<std::vector<char>>(static_cast<size_t>(result.size_bytes()));
  place_ = owned_->data();
}

ResultArray RowResult::Collect() const {
  return {result_.role, result_.type, result_.element_bytes, result_.count, place_, result_.target, nullptr, owned_};
}

}  // namespace corank
