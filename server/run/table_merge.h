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
    TableSize before, size;                  // of the rows before it, and of its own
    std::vector<char*> arrays;               // null: not wanted. Of offsets, the first is that of the tile's end before
    std::shared_ptr<void> memory = nullptr;  // of the arrays that are sent
  };

  /// `places`: where each array of the shape goes. Tiles have at most the size `most`. The pointees outlive the sink.
  TableSink(const TableShape& shape, std::vector<RowSink::Column> places, TableSize most, ChunkPipe* pipe, Lane* lane);

  /// The most rows of a tile: whole ones (TableShape::WholeRows).
  int64_t tile_rows() const { return most_.rows; }
  /// Whether a tile may have this size. One of the least number of whole rows may always.
  bool Fits(const TableSize& size) const;
  /// Memory for the next rows. A tile but the last has whole rows (TableShape::WholeRows). `turns`: TakeRoom.
  absl::StatusOr<Tile> Take(const TableSize& size, EngineStreamRing& turns);
  /// The tile is complete: all arrays hold their elements, but offsets are relative to the tile's strings. Called in
  /// order.
  void Done(const Tile& tile);
  const TableShape& shape() const { return shape_; }
  Lane& lane() const { return *lane_; }
  /// Of all tiles that were taken.
  const TableSize& taken() const { return taken_; }

 private:
  int64_t SentBytes(const TableSize& size) const;

  const TableShape& shape_;
  const std::vector<RowSink::Column> places_;
  ChunkPipe* const pipe_;
  Lane* const lane_;
  TableSize most_, taken_;
};

/// What a merge found out about runs that it checked.
struct TableCheck {
  bool in_order = true;                            // if not, the tiles are invalid
  SortAlgorithm algorithm = SortAlgorithm::kAuto;  // that merged the first tile
};

/// Merges the first `rows` rows of the runs into tiles of the sink, on its lane. Stable: equal rows come from the
/// earlier run first. Nothing is in progress when this returns. `check`: if not null, the caller sorted the runs, so
/// all their rows are checked. They may lie in memory that anybody can change meanwhile, except for offsets; even then
/// no tile exceeds its memory.
absl::Status MergeTables(const std::vector<TableRun>& runs, int64_t rows, TableSink& sink, v1::RequestStats* stats,
                         TableCheck* check = nullptr);
/// Upper bound of the pinned memory for tiles of a table on their way to the device.
int64_t TileHostBytes(const TableShape& shape, const TableSize& tile);

}  // namespace corank

#endif  // CORANK_SERVER_RUN_TABLE_MERGE_H_
