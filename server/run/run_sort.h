// The runs of an external sort: pieces of the array that are sorted while later ones arrive.
#ifndef CORANK_SERVER_RUN_RUN_SORT_H_
#define CORANK_SERVER_RUN_RUN_SORT_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "server/run/chunk_pipe.h"
#include "server/run/device_ops/sort.h"
#include "server/run/engine_stream_ring.h"
#include "server/run/job_memory.h"
#include "server/run/row_source.h"
#include "server/run/run_merge.h"

namespace corank {

/// Takes chunks in order of arrival and sorts each piece of the array once it is complete. Pieces lie in device memory
/// if the array takes at most half of the job's share of it, otherwise in pinned host memory. Used by the lane's
/// thread. Nothing is in progress on the lane's streams after destruction.
class RunSorter {
 public:
  /// `arrays`: the keys, then the values if the sort has any. `piece_bytes`: least size of a piece, if the device
  /// memory allows it. The pointees and references outlive the sorter.
  RunSorter(const SortOperation::Spec& sort, const std::vector<RowSource::Array>& arrays, int64_t piece_bytes,
            JobMemory* memory, Lane* lane, v1::RequestStats* stats);

  /// Takes the source's whole arrays.
  absl::Status AddAll(RowSource& source);
  /// Copies the chunks, whose inputs count the arrays, returns their memory, and sorts complete pieces.
  absl::Status Add(std::vector<InputChunk> chunks);
  /// Takes all rows at once instead of chunks, from pinned memory that must not change before Finish. A piece is
  /// uploaded while its predecessor is sorted. Their number is known.
  absl::Status AddAll(const std::array<const char*, 2>& rows);
  /// After the last chunk: sorts the rest. The runs are in the order of the array.
  absl::StatusOr<std::vector<SortedRun>> Finish();

  /// Rows of the array; -1: unknown.
  static int64_t Count(const SortOperation::Spec& sort);
  /// The columns of its rows. The values are the request's values, or unsigned row numbers, which have one width for
  /// all rows. If nobody announced the number of rows, that width may be more than the result's.
  static RowShape ShapeOf(const SortOperation::Spec& sort);
  /// The arguments of a sort of `count` of its rows, without addresses, and the workspace for such arguments.
  static SortArgs ArgsOf(const SortOperation::Spec& sort, int64_t count);
  static int64_t WorkspaceBytes(SortArgs args, const Engine& engine);
  /// Upper bounds of the memory for a sort, including the merge in tiles of `tile_bytes`: device memory, at most the
  /// job's share, and pinned memory. `parts`: number of calls that send chunks concurrently; 0: all rows are there.
  static int64_t DeviceBytes(const SortOperation::Spec& sort, int64_t piece_bytes, int64_t tile_bytes,
                             const JobMemory& memory, const Engine& engine);
  static int64_t HostBytes(const SortOperation::Spec& sort, int64_t parts, int64_t piece_bytes,
                           const JobMemory& memory);

  /// The algorithm of the first piece. AUTO may choose another one for each piece.
  SortAlgorithm algorithm() const { return algorithm_; }
  bool out_of_core() const { return !in_core_; }
  /// Rows of the array, after Finish.
  int64_t row_count() const { return rows_; }

 private:
  struct Piece {
    int64_t first = 0;
    int64_t count = 0;
    std::array<int64_t, 2> filled = {};  // keys, values: elements received
    std::array<std::shared_ptr<StreamBlock>, 2> data;
  };

  // A piece in progress on a stream.
  struct Upload {
    Piece* piece = nullptr;
    EngineStream* stream = nullptr;
    std::shared_ptr<OperatorReport> report;
    std::array<void*, 2> from = {}, to = {};
  };

  // Of `count` rows, the first ones that may be among the results.
  int64_t ResultCount(int64_t count) const {
    const int64_t kept = sort_.kept_of_parts();
    return kept >= 0 ? std::min(kept, count) : count;
  }
  size_t Columns() const { return shape_.value_bytes > 0 ? 2 : 1; }
  size_t InputColumns() const { return sort_.values ? 2 : 1; }
  int64_t ElementBytes(size_t column) const { return column == 0 ? shape_.key_bytes : shape_.value_bytes; }
  absl::Status CopyIn(EngineStream& stream, const InputChunk& chunk, std::vector<Piece*>& complete);
  absl::Status CountsDiffer(int64_t element) const;
  absl::StatusOr<Piece*> PieceAt(int64_t element);
  int64_t PieceCount(int64_t first) const;
  // Takes a block of the kind of memory that holds pieces.
  absl::StatusOr<std::shared_ptr<StreamBlock>> TakeBlock(int64_t bytes);
  absl::Status SortAll(std::vector<Piece*>& complete);
  absl::Status Sort(Piece& piece);
  // Columns of `h_rows` that are null are on the device, or are row numbers.
  absl::StatusOr<Upload> StartUpload(Piece& piece, const std::array<const char*, 2>& h_rows);
  absl::Status SortUploaded(const Upload& upload);
  // Bytes of a column for those rows of the piece that may be among the first.
  int64_t SortedBytes(const Piece& piece, size_t column) const {
    return ResultCount(piece.count) * ElementBytes(column);
  }
  absl::Status Spill();

  const SortOperation::Spec& sort_;
  const std::vector<RowSource::Array>& arrays_;
  const RowShape shape_;
  const int64_t piece_bytes_;
  JobMemory* const memory_;
  Lane* const lane_;
  v1::RequestStats* const stats_;
  int64_t count_ = -1;  // of the array; -1: unknown
  int64_t rows_ = 0;    // of all runs, before the limit
  bool in_core_ = true;
  SortAlgorithm algorithm_ = SortAlgorithm::kAuto;
  std::map<int64_t, Piece> pieces_;                  // by first
  std::vector<std::shared_ptr<StreamBlock>> spare_;  // memory of sorted pieces, of the kind that holds pieces
  EngineStreamRing turns_;                           // the last member: finishes before the others are destroyed
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_RUN_SORT_H_
