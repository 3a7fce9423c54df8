#include "server/run/sending_sink.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/engine/alignment.h"
#include "server/base/status_macros.h"
#include "server/run/stream_options.h"

namespace corank {
int64_t SendingSink::tile_rows() const {
  return std::max<int64_t>(1, (exchange_->tile_bytes() - kArrayAlignment) / shape_.row_bytes());
}

int64_t SendingSink::free_tiles() const {
  const int64_t rows = tile_rows();
  return exchange_->output_room() / HostPool::BufferBytes(AlignUp(rows * shape_.key_bytes) + rows * shape_.value_bytes);
}

absl::StatusOr<TileSink::Tile> SendingSink::Take(int64_t, int64_t count, bool wait) {
  const int64_t keys_bytes = keys_.is_wanted() ? AlignUp(count * shape_.key_bytes) : 0;
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<void> memory,
                          exchange_->TakeBuffer(*lane_, keys_bytes + count * shape_.value_bytes, wait));
  if (memory == nullptr) return Tile();
  auto* const bytes = static_cast<char*>(memory.get());
  return Tile{keys_.is_wanted() ? bytes : nullptr, shape_.value_bytes == 0 ? nullptr : bytes + keys_bytes, false,
              std::move(memory)};
}

void SendingSink::Done(int64_t first, int64_t count, Tile tile) {
  if (tile.keys != nullptr) Send(keys_, base_ + first, count, shape_.key_bytes, tile.keys, tile.memory);
  if (tile.values != nullptr) {
    Send(values_, base_ + first, count, shape_.value_bytes, tile.values, tile.memory);
  }
}

void SendingSink::Send(const ColumnOutput& output, int64_t first, int64_t count, int64_t element_bytes, char* bytes,
                       const std::shared_ptr<void>& memory) {
  if (!output.stream_id) {
    std::memcpy(output.place + first * element_bytes, bytes, static_cast<size_t>(count * element_bytes));
    return;
  }
  const int64_t most =
      std::max<int64_t>(1, std::min(kAnswerChunkBytes, exchange_->options().max_chunk_bytes) / element_bytes);
  for (int64_t done = 0; done < count; done += most) {
    const int64_t elements = std::min(most, count - done);
    exchange_->Send({*output.stream_id, first + done, elements * element_bytes,
                     std::shared_ptr<const void>(memory, bytes + done * element_bytes)});
  }
}

}  // namespace corank
