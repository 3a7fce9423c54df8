// Tiles of a streamed job that are sent as chunks.
#ifndef CORANK_SERVER_RUN_SENDING_SINK_H_
#define CORANK_SERVER_RUN_SENDING_SINK_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "server/run/chunk_pipe.h"
#include "server/run/run_merge.h"

namespace corank {

/// The destination of a column of rows: a stream, host memory, or nothing if the column is unwanted.
struct ColumnOutput {
  std::optional<uint32_t> stream_id;
  char* place = nullptr;

  bool is_wanted() const { return stream_id || place != nullptr; }
};

/// Takes its memory from the answer's window. The pointees outlive the sink.
class SendingSink final : public TileSink {
 public:
  /// `values` counts only if rows have values.
  SendingSink(const RowShape& shape, ColumnOutput keys, ColumnOutput values, ChunkPipe* exchange, Lane* lane)
      : shape_(shape), keys_(keys), values_(values), exchange_(exchange), lane_(lane) {}

  /// Rows of a tile. Several tiles fit into the window.
  int64_t tile_rows() const;
  /// Number of tiles that have room now.
  int64_t free_tiles() const;
  /// From now on, row 0 of a tile is this row of the answer.
  void set_base(int64_t row) { base_ = row; }

  absl::StatusOr<Tile> Take(int64_t first, int64_t count, bool wait) override;
  void Done(int64_t first, int64_t count, Tile tile) override;

 private:
  void Send(const ColumnOutput& output, int64_t first, int64_t count, int64_t element_bytes, char* bytes,
            const std::shared_ptr<void>& memory);

  const RowShape shape_;
  const ColumnOutput keys_, values_;
  ChunkPipe* const exchange_;
  Lane* const lane_;
  int64_t base_ = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_SENDING_SINK_H_
