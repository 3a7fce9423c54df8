// Sorts a large table by columns to runs in host memory.
#ifndef CORANK_SERVER_RUN_TABLE_SORT_H_
#define CORANK_SERVER_RUN_TABLE_SORT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/run/device_ops/column_sort.h"
#include "server/run/engine_stream_ring.h"
#include "server/run/job_memory.h"
#include "server/run/row_source.h"
#include "server/run/table.h"

namespace corank {

/// Uploads and sorts pieces of a table while later ones arrive. With a limit, each run keeps only so many rows. Used by
/// one thread; its arguments outlive it.
class TableSorter {
 public:
  /// Engine streams that take turns: one uploads, one sorts and one downloads.
  static constexpr int kStreams = 3;

  /// The most that a piece holds. Without strings, each piece but the last has so many rows. The pieces in progress fit
  /// into the job's device memory.
  static TableSize PieceSize(const TableShape& shape, int64_t rows, const JobMemory& memory);
  /// INVALID_ARGUMENT names the offsets of a string that is too long for a piece of this size, or for a tile of the
  /// result. `inputs`: complete, in the order of the shape.
  static absl::Status CheckLongest(const TableShape& shape, const TableSize& piece,
                                   const std::vector<RowSource::Array>& inputs, int64_t rows);
  /// Upper bound of the pinned memory for the runs, and for the pieces before they are sorted.
  static int64_t HostBytes(const TableShape& shape, int64_t rows, int64_t limit, bool is_streamed,
                           const JobMemory& memory);

  TableSorter(const TableShape& shape, int64_t rows, int64_t limit, JobMemory* memory, Lane* lane,
              v1::RequestStats* stats);

  /// Reads all input arrays, in the order of the shape. A source of strings must be complete. Returns the errors of the
  /// source and of allocations. INVALID_ARGUMENT names the offsets of a string that is too long for a piece.
  absl::Status AddAll(RowSource& source);
  /// The runs, in the order of the input. After AddAll.
  absl::StatusOr<std::vector<TableRun>> Finish();
  /// The algorithm that sorted the first piece. After Finish.
  SortAlgorithm algorithm() const { return algorithm_; }

 private:
  struct Piece {
    std::vector<char*> arrays;                      // where their elements are before they are sorted
    std::shared_ptr<StreamBlock> memory = nullptr;  // of chunks
    int64_t missing = 0;                            // bytes of the inputs that have not arrived
    int64_t first_row = 0;
    TableSize size = {};
  };

  absl::Status CutPieces(const std::vector<RowSource::Array>& inputs);
  int64_t RowsOf(size_t piece) const { return pieces_[piece].size.rows; }
  int64_t KeptOf(size_t piece) const;
  absl::Status CopyIn(const InputChunk& chunk, absl::string_view field);
  absl::Status Sort(size_t piece, absl::string_view field);

  const TableShape& shape_;
  const int64_t rows_, limit_;
  const TableSize most_;  // of a piece
  JobMemory* const memory_;
  Lane* const lane_;
  std::vector<Piece> pieces_;
  std::vector<TableRun> runs_;
  SortAlgorithm algorithm_ = SortAlgorithm::kAuto;
  EngineStreamRing turns_;  // destroyed before the memory of its copies
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_TABLE_SORT_H_
