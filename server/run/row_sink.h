// The output of an external sort or merge, tile by tile.
#ifndef CORANK_SERVER_RUN_ROW_SINK_H_
#define CORANK_SERVER_RUN_ROW_SINK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/common/types.h"
#include "server/run/chunk_pipe.h"
#include "server/run/operation.h"

namespace corank {

class EngineStreamRing;

/// The columns of a row.
struct RowShape {
  KeyType key_type = KeyType::kUint32;
  Order order = Order::kAscending;
  int32_t key_bytes = 4;  // of any element of that size if nothing is merged
  int32_t value_bytes = 0;

  int64_t row_bytes() const { return int64_t{key_bytes} + value_bytes; }
  /// Arguments of an operator with the type and the order of the keys.
  template <typename Args>
  Args ArgsOf() const {
    Args args;
    args.key_type = key_type;
    args.order = order;
    return args;
  }
};

/// Takes the rows of a result in tiles: into memory, or as chunks of an answer.
class RowSink {
 public:
  /// The destination of a column: a stream, memory, or nothing if the column is unwanted.
  struct Column {
    std::optional<uint32_t> stream_id = std::nullopt;
    char* place = nullptr;

    bool is_wanted() const { return stream_id || place != nullptr; }
  };
  struct Tile {
    char* keys = nullptr;  // null: not wanted
    char* values = nullptr;
    bool on_device = false;                  // otherwise in host memory, pinned unless the rows are few
    std::shared_ptr<void> memory = nullptr;  // of a tile that is sent
    int64_t first = 0, count = 0;            // its rows of the result
  };

  /// Places tiles of at most `tile_bytes` one after another in memory.
  RowSink(const RowShape& shape, char* keys, char* values, bool on_device, int64_t tile_bytes);
  /// Takes tiles from the answer's window if a column goes to a stream; otherwise as above, in host memory. `values`
  /// counts only if rows have values. The pointees outlive the sink.
  RowSink(const RowShape& shape, const Column& keys, const Column& values, ChunkPipe* pipe, Lane* lane,
          int64_t tile_bytes = 0);

  /// Rows of a tile, 1 or more. Several tiles fit into the window.
  int64_t tile_rows() const { return tile_rows_; }
  /// Number of tiles that have room in the window now.
  int64_t free_tiles() const;
  /// The values are unsigned numbers, which leave with this width, as wide as they are or with half as many bytes. Call
  /// it before the first tile.
  void NarrowValues(int32_t bytes) { sent_value_bytes_ = bytes; }

  /// Memory for the next `count` rows of the keys, the values or both. `turns`: TakeRoom.
  absl::StatusOr<Tile> Take(int64_t count, EngineStreamRing* turns);
  /// The tile is complete. Called in order.
  void Done(const Tile& tile);

 private:
  bool narrows() const { return sent_value_bytes_ < shape_.value_bytes; }
  void Send(const Column& column, const Tile& tile, int64_t element_bytes, char* bytes) const;

  const RowShape shape_;
  const Column keys_, values_;
  const bool on_device_ = false;
  ChunkPipe* const pipe_ = nullptr;  // null: tiles stay where they are made
  Lane* const lane_ = nullptr;
  const int64_t tile_rows_;
  int32_t sent_value_bytes_ = shape_.value_bytes;
  int64_t taken_rows_ = 0;
};

/// Pinned memory of the answer's window, once there is room. If `turns` is not null, earlier tiles leave meanwhile.
/// Returns the errors of `turns` and of ChunkPipe::TakeBuffer.
absl::StatusOr<std::shared_ptr<void>> TakeRoom(ChunkPipe& pipe, Lane& lane, int64_t bytes, EngineStreamRing* turns);

/// Sends elements [first, first + count) of an output in chunks. `memory` keeps their bytes.
void SendChunks(ChunkPipe& pipe, uint32_t stream_id, int64_t first, int64_t count, int64_t element_bytes,
                const char* bytes, const std::shared_ptr<void>& memory);

/// Whether rows that arrive in chunks can go there: to a stream, or into the response if they are few. `limit`: most
/// rows, -1 if all.
bool TakesStreamedRows(const std::shared_ptr<ResultTarget>& target, int64_t row_bytes, int64_t limit);

/// A result that is made in rows: for a stream, in the memory of its target, or in memory of its own for the response.
/// One of a sharded result has no memory.
class RowResult {
 public:
  /// Whether rows can be placed there: in host memory, the response's included.
  static bool CanHold(const std::shared_ptr<ResultTarget>& target) {
    return target == nullptr || target->HostPlace() != nullptr;
  }
  /// Checks the places of all results, before the first row is made. Results are for streams, sharded
  /// or CanHold.
  static absl::StatusOr<std::vector<RowResult>> Make(absl::Span<const PendingResult> results);

  RowSink::Column column() const { return {stream_id_, place_}; }
  ResultArray Collect() const;

 private:
  explicit RowResult(const PendingResult& result);

  PendingResult result_;
  std::optional<uint32_t> stream_id_;
  std::shared_ptr<std::vector<char>> owned_;
  char* place_ = nullptr;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_ROW_SINK_H_
