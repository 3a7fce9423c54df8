// Sorts one table on several devices.
//
// Algorithm: each device takes an equal part of the rows over its own bus and sorts it. Cuts by rank (table_cuts.h)
//            divide the result into a part for each device, and these into tiles. Each device sends the others the
//            pieces of their tiles. SortColumns merges the pieces of one tile, while the pieces of the next one
//            arrive and the rows of the one before leave.
// Bitmaps: copies take whole bytes of 8 rows, so parts and tiles begin at a multiple of 8 rows. Pieces need not; they
//          bring up to 7 rows more at either end. The rows before the pieces are the first ones of the merge, and as
//          the tile begins at a multiple of 8 rows, they are a multiple of 8 rows together.
// Work: a sort of each part and one merge of the result; (devices - 1) / devices of its rows cross a link.
// Stability: equal rows keep the order of the parts and, within a part, of its rows.
// Waits: the host waits twice for rows that tell the cuts, and then for the oldest tile of a device before the next. It
//        has a thread for each device.
#ifndef CORANK_SERVER_RUN_SHARDED_TABLE_H_
#define CORANK_SERVER_RUN_SHARDED_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "server/run/engine_stream_ring.h"
#include "server/run/table.h"
#include "server/run/table_cuts.h"

namespace corank {

/// For one sort. Nothing is in progress on the lane's streams after destruction.
class ShardedTable {
 public:
  struct Options {
    int64_t rows = 0;    // 1 or more
    int64_t limit = -1;  // rows of the result, 1 or more; -1: all
    /// Least bytes of a tile. A part has few tiles at most.
    int64_t tile_bytes = int64_t{32} << 20;
    bool are_linked = true;  // the devices reach each other's memory
  };

  /// Where an array of the result goes: to host memory, or in parts to the memory of all devices. Neither: it is not
  /// wanted.
  struct Place {
    char* host = nullptr;
    std::vector<void*> shards = {};

    bool is_wanted() const { return host != nullptr || !shards.empty(); }
  };

  /// Tables without strings. The pointees outlive this object. `lane` may be null if nothing but device_bytes
  /// and host_bytes is called.
  ShardedTable(const TableShape& shape, const Options& options, const std::vector<int>& devices, Lane* lane);
  ~ShardedTable();
  ShardedTable(const ShardedTable&) = delete;
  ShardedTable& operator=(const ShardedTable&) = delete;

  /// Upper bound of the device memory of each device.
  int64_t device_bytes(const Engine& engine) const;
  /// Upper bound of the pinned memory of all devices.
  int64_t host_bytes() const;

  /// Call it once. `inputs`: the table's arrays in host memory or in parts, without indices. `places`: of each array;
  /// rows go there once all inputs have been read. Returns the errors of the streams, of Lane::CheckWanted and of
  /// OnEachShard.
  absl::Status Sort(const std::vector<const Operand*>& inputs, const std::vector<Place>& places);

  /// After Sort. The algorithm that sorted the first part.
  SortAlgorithm algorithm() const { return parts_.front().report.sort_algorithm; }
  /// Adds the times of the devices, which overlap: for each phase, the longest.
  void AddTimesTo(v1::RequestStats* stats) const;

 private:
  struct Tile {
    int64_t first = 0;  // row of the result
    int64_t count = 0;
    size_t cut = 0;  // the number of its first cut; the next one ends it
    // Its rows of each part, in whole bytes of bitmaps: where they begin there, and among those of all parts.
    std::vector<int64_t> first_of = {}, offsets = {};
    int64_t before = 0;  // so many of them belong to an earlier tile
    EngineStream* stream = nullptr;
    std::vector<char*> pieces = {};          // the arrays of these rows
    const void* has_memory = nullptr;        // a point of the stream
    std::vector<const void*> are_sent = {};  // by part: points of the copiers
  };
  // A device's part of the table, and of the result. One thread at a time uses it, except the tiles.
  struct Part {
    int device = 0;
    int64_t first = 0, rows = 0;
    int64_t kept = 0;  // of its sorted rows, so many may be among the result's
    EngineStream *sorter = nullptr, *cutter = nullptr, *copier = nullptr;
    std::optional<EngineStreamRing> turns = {};  // of the tiles
    std::vector<EngineStream*> begun = {};       // which FinishAll waits for
    std::vector<char*> unsorted = {}, sorted = {};
    OperatorReport report = {};
    std::vector<Tile> tiles = {};
    std::vector<int64_t> cut = {};  // the last one that BeginTile found: the next tile begins there
    absl::Status merged = {};       // what the merges report
    v1::RequestStats stats = {};
  };

  // Of all parts.
  std::vector<int64_t> Kept() const;
  int64_t AllKept() const;
  absl::Status TakeStreams();
  static absl::Status Begin(Part& part, EngineStream* stream);
  static absl::Status FinishAll(Part& part, absl::Status status);
  // The steps of a part's thread. All parts have done one before any begins the next.
  absl::Status SortPart(size_t number, const std::vector<const Operand*>& inputs);
  absl::Status CopyIn(Part& part, const std::vector<const Operand*>& inputs) const;
  absl::Status CopyRanges(size_t number);
  absl::Status BeginTile(Part& part, size_t number) const;
  absl::Status SendPieces(size_t from, size_t number);
  absl::Status MergeTile(size_t part, size_t number, const std::vector<Place>& places);
  // Enqueues copies of a tile's piece of a part to the device of the tile.
  absl::Status CopyPiece(EngineStream& stream, const Tile& tile, size_t part) const;
  // Enqueues copies of a tile's rows of an array to their place.
  absl::Status Return(EngineStream& stream, const Tile& tile, const TableShape::Array& array, const char* d_rows,
                      const Place& place) const;

  const TableShape& shape_;
  Lane* const lane_;
  const bool are_linked_;
  int64_t tile_rows_ = 0;           // the most of a tile
  std::deque<Part> parts_;          // those with rows
  std::vector<int64_t> positions_;  // rows of the result before each cut
  std::optional<TableCuts> cuts_;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_SHARDED_TABLE_H_
