// Merges sorted tables to the results of a sort by columns.
#ifndef CORANK_SERVER_RUN_TABLE_MERGE_H_
#define CORANK_SERVER_RUN_TABLE_MERGE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/run/chunk_pipe.h"
#include "server/run/row_sink.h"
#include "server/run/table.h"

namespace corank {

/// Takes the rows of a sorted table tile by tile: into host memory, or as chunks of an answer.
class TableSink {
 public:
  struct Tile {
    std::vector<char*> arrays;               // null: not wanted
    std::shared_ptr<void> memory = nullptr;  // of the arrays that are sent
  };

  /// `places`: where each array of the shape goes. Tiles have at most `most_rows` rows. The pointees outlive the sink.
  TableSink(const TableShape& shape, std::vector<RowSink::Column> places, int64_t most_rows, ChunkPipe* pipe,
            Lane* lane);

  /// Rows of each tile but the last. A multiple of 8 if there are bitmaps.
  int64_t tile_rows() const { return tile_rows_; }
  /// Memory for rows [first, first + count). Tiles come in order. Without `wait`, the tile has no arrays if the
  /// pipe has no buffer before it has sent earlier tiles. Returns the errors of ChunkPipe::TakeBuffer.
  absl::StatusOr<Tile> Take(int64_t first, int64_t count, bool wait);
  /// The tile is complete. Called in order.
  void Done(int64_t first, int64_t count, const Tile& tile);

 private:
  int64_t SentBytes(int64_t rows) const;

  const TableShape& shape_;
  const std::vector<RowSink::Column> places_;
  ChunkPipe* const pipe_;
  Lane* const lane_;
  int64_t tile_rows_;
};

/// Merges the first `rows` rows of the runs into tiles of the sink. Stable: equal rows come from the earlier run first.
/// Nothing is in progress when this returns.
absl::Status MergeTables(Lane& lane, const TableShape& shape, const std::vector<TableRun>& runs, int64_t rows,
                         TableSink& sink, v1::RequestStats* stats);

}  // namespace corank

#endif  // CORANK_SERVER_RUN_TABLE_MERGE_H_
