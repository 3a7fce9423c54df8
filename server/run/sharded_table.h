// Sorts one table on several devices.
//
// Algorithm: each device takes an equal part of the rows over its own bus and sorts it. Cuts by rank (table_cuts.h)
//            divide the result into a part for each device, and these into tiles. Each device copies the pieces of a
//            tile from the others, one after the other, and SortColumns merges them, while another tile's pieces
//            are on their way and a third one's rows leave.
// Bitmaps: copies take whole bytes of 8 rows, so parts and tiles begin at a multiple of 8 rows. Pieces need not; they
//          bring up to 7 rows more at either end. The rows before the pieces are the first ones of the merge, and as
//          the tile begins at a multiple of 8 rows, they are a multiple of 8 rows together.
// Work: a sort of each part and one merge of the result; (devices - 1) / devices of its rows cross a link.
// Stability: equal rows keep the order of the parts and, within a part, of its rows.
// Waits: the host waits twice for rows that tell the cuts, and then for the oldest tile of a device before the next.
#ifndef CORANK_SERVER_RUN_SHARDED_TABLE_H_
#define CORANK_SERVER_RUN_SHARDED_TABLE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/run/engine_stream_ring.h"
#include "server/run/table.h"
#include "server/run/table_cuts.h"

namespace corank {

/// Used by one thread, for one sort. Nothing is in progress on the lane's streams after destruction.
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

  /// Call these in this order, once each. They return the errors of the streams and of Lane::CheckWanted.

  /// `inputs`: the table's arrays in host memory or in parts, without indices. They may change once this has returned.
  absl::Status SortParts(const std::vector<const Operand*>& inputs);
  /// `places`: of each array.
  absl::Status MergeParts(const std::vector<Place>& places);

  /// After MergeParts. The algorithm that sorted the first part.
  SortAlgorithm algorithm() const { return parts_.front().report.sort_algorithm; }
  /// Adds the times of the devices, which overlap: for each phase, the longest.
  void AddTimesTo(v1::RequestStats* stats) const;

 private:
  struct Tile {
    int64_t first = 0;  // row of the result
    int64_t count = 0;
    size_t cut = 0;  // the number of its first cut; the next one ends it
  };
  // A device's part of the table, and of the result.
  struct Part {
    int device = 0;
    int64_t first = 0, rows = 0;
    int64_t kept = 0;  // of its sorted rows, so many may be among the result's
    EngineStream* stream = nullptr;
    std::vector<char*> unsorted, sorted;
    OperatorReport report = {};
    std::vector<Tile> tiles = {};
    v1::RequestStats stats = {};
  };

  // Of all parts.
  int64_t AllKept() const;
  // A stream of the part's device that FinishAll waits for.
  absl::StatusOr<EngineStream*> Begin(Part& part, int number);
  absl::Status FinishAll(absl::Status status);
  absl::Status CopyIn(Part& part, const std::vector<const Operand*>& inputs);
  absl::Status Sort(Part& part);
  absl::Status CopyRanges();
  absl::Status MergeTile(const Tile& tile, EngineStreamRing& turns, const std::vector<Place>& places);
  // Enqueues copies of a tile's rows of an array to their place.
  absl::Status Send(EngineStream& stream, const Tile& tile, const TableShape::Array& array, const char* d_rows,
                    const Place& place) const;

  const TableShape& shape_;
  Lane* const lane_;
  const bool are_linked_;
  int64_t tile_rows_ = 0;           // the most of a tile
  std::deque<Part> parts_;          // those with rows
  std::vector<int64_t> positions_;  // rows of the result before each cut
  std::unique_ptr<TableCuts> cuts_;
  std::vector<std::pair<EngineStream*, Part*>> begun_;
  absl::Status merged_;  // what the merges report
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_SHARDED_TABLE_H_
